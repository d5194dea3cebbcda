package runs

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/clipperhouse/displaywidth"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/history"
)

// Whatever names are in it, the history fits its terminal, and commands it nothing.
func TestHistoryFits(t *testing.T) {
	t.Parallel()
	const hostile = "::error::\x1b[2J 日本語 \u202e long, and longer than any terminal is wide, and longer still, until it has to be cut " +
		"somewhere"
	for _, name := range []string{"short", hostile} {
		h := History{}
		for i := range 365 {
			h.Runs = append(h.Runs, history.Run{
				ID: fmt.Sprintf(
					"20260101-%06d.000-abcdef", i,
				), StartedAt: "2026-01-01T00:00:00Z", Reason: eval.EndInterrupted, Emulator: true, Planned: 123456,
				Arms: []history.Arm{{Suite: name, Arm: name, Counts: eval.Counts{Pass: 123, Error: 45}, Judged: 7, Rates: 3}},
			})
		}
		for _, caseName := range []string{"", name} {
			for _, metric := range []string{"pass", "latency", "tokens", name} {
				c := historyCourse{Suite: name, Arm: name, Case: caseName, Metric: metric}
				for i := range 365 {
					p := historyPoint{Run: h.Runs[i].ID, StartedAt: h.Runs[i].StartedAt, Value: float64(i) / 364, N: 12345}
					if metric != "latency" {
						p.Interval = &[2]float64{0.123456, 1}
					}
					c.Points = append(c.Points, p)
				}
				h.Courses = append(h.Courses, c)
			}
		}
		for width := 60; width <= 200; width += 7 {
			var b bytes.Buffer
			h.draw(&b, width)
			for line := range strings.Lines(b.String()) {
				line = strings.TrimSuffix(line, "\n")
				if n := displaywidth.String(line); n > width {
					t.Errorf("got %d columns, want at most %d: %s", n, width, line)
				}
				if strings.ContainsAny(line, "\x1b\u202e") || strings.HasPrefix(strings.TrimLeft(line, " "), "::") {
					t.Errorf("%q, want nothing that commands a terminal or a CI system", line)
				}
			}
			if !strings.Contains(b.String(), "█") || !strings.Contains(b.String(), "pass rate") {
				t.Errorf("%d columns: got\n%s\nwant the pass rate with its bars", width, b.String())
			}
		}
	}
}

func TestSparkline(t *testing.T) {
	t.Parallel()
	for want, values := range map[string][]float64{
		"▁▂▃▄▅▆▇█": {0, 1, 2, 3, 4, 5, 6, 7},
		"▅▅▅":      {0.5, 0.5, 0.5},
		"▅":        {0},
		"▁█":       {-1, 1},
		"▁▃▆█":     {1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4},
	} {
		var points []historyPoint
		for _, v := range values {
			points = append(points, historyPoint{Value: v})
		}
		room := 8
		if len(values) > 8 {
			room = 4
		}
		if got := sparkline(points, room); got != want {
			t.Errorf("%v: %s, want %s", values, got, want)
		}
	}
}
