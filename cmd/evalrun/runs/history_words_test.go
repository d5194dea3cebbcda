package runs

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// remembered records runs with a falling pass rate in a folder, and remembers them.
func remembered(t *testing.T) inFolder {
	t.Helper()
	f := newRunFolder(t)
	for i, text := range []string{"pppp", "pppf", "ppff"} {
		name := fmt.Sprint("run", i)
		f.record(name, func(r *eval.Run) {
			r.StartedAt = fmt.Sprintf("2026-01-0%dT10:00:00Z", i+1)
			r.Plan.Arms = []string{"t/p"}
		}, completed(), letters(text, "t/p", 0, 1)...)
		d, err := f.Open(name)
		expect.OK(t, err)
		expect.OK(t, f.Remember(d), d.Close())
	}
	return f
}

// trendsOf are the trends as NAME: the values of their points.
func trendsOf(h *historyReport) (out []string) {
	for _, c := range h.Trends {
		text := strings.TrimSpace(c.Case+" "+c.Metric) + ":"
		for _, p := range c.Points {
			text += fmt.Sprintf(" %g", p.Value)
		}
		out = append(out, text)
	}
	return out
}

// A trend has a point for each run, the oldest first; globs and a limit narrow it.
func TestHistoryHasAPointForEachRun(t *testing.T) {
	t.Parallel()
	f := remembered(t)
	for name, test := range map[string]struct {
		o    HistoryOptions
		want []string
	}{
		"a metric":          {HistoryOptions{Metrics: []string{"pass"}}, []string{"pass: 1 0.75 0.5"}},
		"metrics by a glob": {HistoryOptions{Metrics: []string{"*en*y"}}, []string{"latency: 100 100 100"}},
		"the newest runs":   {HistoryOptions{Metrics: []string{"pass"}, Limit: 2}, []string{"pass: 0.75 0.5"}},
		"a case":            {HistoryOptions{Metrics: []string{"pass"}, Cases: []string{"c03"}}, []string{"c03 pass: 1 0 0"}},
		"cases by a glob": {
			HistoryOptions{Metrics: []string{"pass"}, Cases: []string{"c0*3", "c02"}},
			[]string{"c03 pass: 1 0 0", "c02 pass: 1 1 0"},
		},
		"an arm and a suite": {
			HistoryOptions{Metrics: []string{"errors"}, Arms: []string{"t/*"}, Suites: []string{"s"}},
			[]string{"errors: 0 0 0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, err := f.History(test.o)
			expect.OK(t, err)
			expect.Same(t, "courses", trendsOf(h), test.want)
			out, shown := screen()
			expect.OK(t, h.Write(out))
			contains(t, shown.String(), h.Trends[0].Metric)
		})
	}
}

// A pattern that fits nothing is bad input, with the nearest name.
func TestUnknownNamesOfTheHistoryAreBadInput(t *testing.T) {
	t.Parallel()
	f := remembered(t)
	for want, o := range map[string]HistoryOptions{
		"the history has no suite \"x\"; did you mean `s`?":       {Suites: []string{"x"}},
		"the history has no arm \"t/q\"; did you mean `t/p`?":     {Arms: []string{"t/q"}},
		"the history has no metric \"pas\"; did you mean `pass`?": {Metrics: []string{"pas"}},
		"the history has no case \"c0\"; did you mean `c00`?":     {Cases: []string{"c0"}},
	} {
		_, err := f.History(o)
		expect.Same(t, "exit code", eval.Of(err), eval.CodeBadInput)
		expect.Same(t, "message", fmt.Sprint(err), want)
	}
}

// Without a history there is a hint at how it begins.
func TestWithoutAHistoryThereIsAHint(t *testing.T) {
	t.Parallel()
	f := newRunFolder(t)
	h, err := f.History(HistoryOptions{})
	expect.OK(t, err)
	if h != nil {
		t.Errorf("got a history of %d runs, want none", len(h.Runs))
	}
	out, shown := screen()
	expect.OK(t, f.WriteNoHistory(out, false))
	expect.Same(t, "the hint", shown.String(), "no history yet: it begins with the next run\n")
	out, shown = screen()
	expect.OK(t, f.WriteNoHistory(out, true))
	var read map[string]any
	expect.OK(t, json.Unmarshal(shown.Bytes(), &read))
	expect.Same(t, "the lists", [2]any{read["runs"], read["courses"]}, [2]any{[]any{}, []any{}})
}
