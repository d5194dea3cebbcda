package main

import (
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
		o    trendOptions
		want []string
	}{
		"a metric":          {trendOptions{Metrics: []string{"pass"}}, []string{"pass: 1 0.75 0.5"}},
		"metrics by a glob": {trendOptions{Metrics: []string{"*en*y"}}, []string{"latency: 100 100 100"}},
		"the newest runs":   {trendOptions{Metrics: []string{"pass"}, Limit: 2}, []string{"pass: 0.75 0.5"}},
		"a case":            {trendOptions{Metrics: []string{"pass"}, Cases: []string{"c03"}}, []string{"c03 pass: 1 0 0"}},
		"cases by a glob": {
			trendOptions{Metrics: []string{"pass"}, Cases: []string{"c0*3", "c02"}},
			[]string{"c03 pass: 1 0 0", "c02 pass: 1 1 0"},
		},
		"an arm and a suite": {
			trendOptions{Metrics: []string{"errors"}, Arms: []string{"t/*"}, Suites: []string{"s"}},
			[]string{"errors: 0 0 0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, err := f.history(test.o)
			expect.OK(t, err)
			expect.Same(t, "trends", trendsOf(h), test.want)
			out, shown := screen()
			expect.OK(t, h.Write(out))
			contains(t, shown.String(), h.Trends[0].Metric)
		})
	}
}
