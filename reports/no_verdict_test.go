package reports_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/testrun"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/reports"
)

// ungated is a complete run all of whose trials passed, as journal.Open gives it: no gate was applied.
func ungated(t *testing.T) *journal.Document {
	t.Helper()
	d := testrun.Record(t, &eval.Run{
		ID: "r", StartedAt: "2026-01-01T00:00:00Z",
		Suites: []eval.RunSuite{{Name: "s", File: "s.yaml", Gate: &eval.GateConfig{PassRateMin: new(0.9)}}},
		Plan:   eval.RunPlan{Trials: 1, Arms: []string{"t/p"}},
	}, completed, &eval.Result{
		Trial: eval.Trial{ID: "a", Suite: "s", Case: "c", Arm: "t/p", Repeat: 1}, Ending: eval.Passed{},
		Response: testrun.Answered("Paris", "STOP"),
	})
	d.Decision = nil
	return d
}

// A run to which no gate was applied has no verdict in any format, and never looks as if it had passed.
func TestWithoutAGateNoFormatSaysPassed(t *testing.T) {
	t.Parallel()
	d := ungated(t)
	want := map[string][]string{
		"table":      {"gate: the gate was not applied", "NOT GATED"},
		"json":       {`"gate":null,"noVerdict":"the gate was not applied"`},
		"junit":      {`<error message="NOT GATED: the gate was not applied"`, `value="NOT GATED: the gate was not applied"`},
		"junit-gate": {`<error message="NOT GATED: the gate was not applied"`, `errors="1"`},
		"markdown":   {"## evalrun: NOT GATED", "The gate was not applied."},
		"github":     {"::error", "NOT GATED", "the gate was not applied"},
		"html":       {"The gate was not applied."},
		"jsonl":      {`"outcome":"pass"`}, // of the trial: neither has a word of the run
		"csv":        {"pass"},
	}
	for _, name := range reports.Names() {
		got := written(t, name, d, reports.Options{})
		for _, words := range want[name] {
			expect.Contains(t, name, got, words)
		}
		if len(want[name]) == 0 {
			t.Errorf("%s: got no words that this test wants of it, want some", name)
		}
		for _, green := range []string{"PASS", "exit 0", `"exit":0`, `evalrun.exit`, "gate holds"} {
			if name != "html" && strings.Contains(got, green) { // the page's program has words for every verdict
				t.Errorf("%s: got %q, want none in\n%s", name, green, got)
			}
		}
	}
	for what, got := range map[string]string{
		"verdict": overview.HeadlineOf(d).String(), "quiet": written(t, "table", d, reports.Options{Quiet: true}),
	} {
		if !strings.HasPrefix(got, "NOT GATED") {
			t.Errorf("%s: got %q, want one that begins with NOT GATED", what, got)
		}
	}
}

// Trials in JSON lines and CSV are the same with a gate and without: they say nothing of the run.
func TestLinesOfTrialsHaveNoVerdict(t *testing.T) {
	t.Parallel()
	d := ungated(t)
	for _, name := range []string{"jsonl", "csv"} {
		d.Decision = nil
		without := written(t, name, d, reports.Options{})
		d.Decision = &journal.Decision{Gate: journal.Gate{Exit: 1}}
		expect.Same(t, name, written(t, name, d, reports.Options{}), without)
	}
}

// The JSON report of a run whose gate was applied has the gate, and nothing of a missing verdict.
func TestJSONHasTheAppliedGate(t *testing.T) {
	t.Parallel()
	d := ungated(t)
	d.Decision = &journal.Decision{}
	text := written(t, "json", d, reports.Options{})
	if !strings.Contains(text, `"gate":{"exit":0,"rules":[]}`) || strings.Contains(text, "noVerdict") {
		t.Errorf("got %s, want an empty gate and no word of a missing verdict", text)
	}
	if !json.Valid([]byte(text)) {
		t.Errorf("got %s, want JSON", text)
	}
}

// The counts of JUnit and JSON agree without a gate, too.
func TestCountsAgreeWithoutAGate(t *testing.T) {
	t.Parallel()
	d := ungated(t)
	var doc struct {
		Summary struct{ Cases journal.CaseCounts }
	}
	expect.OK(t, json.Unmarshal([]byte(written(t, "json", d, reports.Options{})), &doc))
	for _, format := range []string{"junit", "junit-gate"} {
		stated, counted := parsed(t, written(t, format, d, reports.Options{})).counts()
		expect.Same(t, format+": stated", stated, doc.Summary.Cases)
		expect.Same(t, format+": counted", counted, stated)
	}
}

// A shard that went well is not called passed: the gate is applied when all are merged.
func TestAShardHasNoVerdict(t *testing.T) {
	t.Parallel()
	d := ungated(t)
	d.Run.Plan.Shard = &eval.ShardOf{Index: 1, Of: 2, Trials: 2}
	d.Decision = &journal.Decision{}
	if got := written(t, "markdown", d, reports.Options{}); !strings.Contains(got, "## evalrun: NOT GATED") {
		t.Errorf("got %s, want NOT GATED in its headline", got)
	}
}
