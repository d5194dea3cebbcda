package reports

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/clipperhouse/displaywidth"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/journal/history"
)

func historyDrawn(h *history.Excerpt, width int) string {
	var b bytes.Buffer
	if err := History(&b, h, Options{Width: width}); err != nil { // it goes into a buffer
		panic(err)
	}
	return b.String()
}

// Whatever names are in it, the history fits its terminal, and commands it nothing.
func TestHistoryFitsItsTerminal(t *testing.T) {
	t.Parallel()
	const hostile = "::error::\x1b[2J 日本語 \u202e long, and longer than any terminal is wide, and longer still, until it has to be cut " +
		"somewhere"
	for _, name := range []string{"short", hostile} {
		var h history.Excerpt
		for i := range 365 {
			h.Runs = append(h.Runs, history.RunRecord{
				ID: fmt.Sprintf(
					"20260101-%06d.000-abcdef", i,
				), StartedAt: "2026-01-01T00:00:00Z", Reason: eval.EndInterrupted, Emulator: true, Planned: 123456,
				Arms: []history.ArmRecord{{Suite: name, Arm: name, Counts: eval.Counts{Pass: 123, Error: 45}, Scored: 7, Rates: 3}},
			})
		}
		for _, caseName := range []string{"", name} {
			for _, metric := range []string{"pass", "latency", "tokens", name} {
				c := history.ArmTrend{Suite: name, Arm: name, Case: caseName, Metric: metric}
				for i := range 365 {
					p := history.Point{Run: h.Runs[i].ID, StartedAt: h.Runs[i].StartedAt, Value: float64(i) / 364, N: 12345}
					if metric != "latency" {
						p.Interval = &[2]float64{0.123456, 1}
					}
					c.Points = append(c.Points, p)
				}
				h.Trends = append(h.Trends, c)
			}
		}
		for width := 60; width <= 200; width += 7 {
			b := historyDrawn(&h, width)
			for line := range strings.Lines(b) {
				line = strings.TrimSuffix(line, "\n")
				if n := displaywidth.String(line); n > width {
					t.Errorf("got %d columns, want at most %d: %s", n, width, line)
				}
				if strings.ContainsAny(line, "\x1b\u202e") || strings.HasPrefix(strings.TrimLeft(line, " "), "::") {
					t.Errorf("%q, want nothing that commands a terminal or a CI system", line)
				}
			}
			if !strings.Contains(b, "█") || !strings.Contains(b, "pass rate") {
				t.Errorf("%d columns: got\n%s\nwant the pass rate with its bars", width, b)
			}
		}
	}
}

func TestSparklineScalesFromLeastToMost(t *testing.T) {
	t.Parallel()
	for want, values := range map[string][]float64{
		"▁▂▃▄▅▆▇█": {0, 1, 2, 3, 4, 5, 6, 7},
		"▅▅▅":      {0.5, 0.5, 0.5},
		"▅":        {0},
		"▁█":       {-1, 1},
		"▁▃▆█":     {1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4},
	} {
		var points []history.Point
		for _, v := range values {
			points = append(points, history.Point{Value: v})
		}
		room := 8
		if len(values) > 8 {
			room = 4
		}
		expect.Same(t, fmt.Sprint(values), sparkline(points, room), want)
	}
}

// A run is noted for what it is unlike others in.
func TestARunIsNotedForWhatIsUnusual(t *testing.T) {
	t.Parallel()
	skipped := []history.ArmRecord{{Counts: eval.Counts{Pass: 1, Skip: 7}}}
	for want, run := range map[string]history.RunRecord{
		"":                            {Reason: eval.EndCompleted},
		"early stop, 7 not run":       {Reason: eval.EndCompleted, Arms: skipped},
		"no end":                      {},
		"interrupted":                 {Reason: eval.EndInterrupted, Arms: skipped},
		"emulator, shard 1/2, budget": {Reason: eval.EndBudget, Emulator: true, Shard: "1/2"},
	} {
		expect.Same(t, "note", noteOf(&run), want)
	}
}

// In the narrowest terminal each run has its name, its suites and its verdict, and what waits says how it goes on.
func TestNarrowHistoryKeepsNamesAndVerdicts(t *testing.T) {
	t.Parallel()
	h := &history.Excerpt{}
	for _, verdict := range []string{"Passed, but worse", "Interrupted", "Waiting"} {
		h.Runs = append(h.Runs, history.RunRecord{
			ID: "20260101-000000.000-abcdef", Dir: "/w/.evalrun/runs/20260101-000000.000-abcdef", Verdict: verdict, Commit: "0123456789",
			Suites: []history.SuiteRecord{{Name: "capitals"}}, Reason: eval.EndCompleted,
		})
	}
	h.Runs[2].Reason, h.Runs[2].Waiting = eval.EndWaiting, &journal.Waiting{Calls: 3, Batches: 2}
	for _, width := range []int{60, 80} {
		drawn := historyDrawn(h, width)
		for _, run := range h.Runs {
			expect.Contains(t, "the history", drawn, " 20260101-000000.000-abcdef  capitals  "+run.Verdict)
		}
		expect.Contains(t, "the history", drawn, "\nevalrun resume 20260101-000000.000-abcdef collects 3 calls")
	}
}

// The table shows twenty arms and counts the others, and the runs of the emulator.
func TestTheTableSaysWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	h := &history.Excerpt{Runs: []history.RunRecord{{ID: "a", Emulator: true}, {ID: "b"}}}
	for i := range maxTrends + 3 {
		h.Trends = append(
			h.Trends,
			history.ArmTrend{Suite: "s", Arm: fmt.Sprintf("arm%02d", i), Metric: "pass", Points: []history.Point{{Value: 1}}},
		)
	}
	drawn := historyDrawn(h, 100)
	for _, want := range []string{
		"s: arm19\n", "... and 3 more; --suite, --arm and --case choose, and -o json has all\n",
		"1 run of 2 against evalrun's emulator, not a model\n",
	} {
		if !strings.Contains(drawn, want) {
			t.Errorf("want %q in:\n%s", want, drawn)
		}
	}
	if strings.Contains(drawn, "arm20") {
		t.Error("got the arm arm20 in the table, want it left out")
	}
	expect.Same(t, "without runs", historyDrawn(&history.Excerpt{}, 0), "no runs in the history yet\n")
}
