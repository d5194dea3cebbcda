package gate

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// versions is a plan of a suite with an earlier version, of the cases that are given.
func versions(t *testing.T, own, base string) *runner.Plan {
	t.Helper()
	load := func(cases string, opts suite.Options) *suite.Suite {
		text := "version: 1\nname: s\ntargets: [{name: t, model: m}]\nprompts: [{name: p, text: \"{{.x}}\"}]\n" +
			"defaults: {scorers: [{contains: y}]}\ncases:\n" + cases
		var diags diag.List
		s := suite.Load(fstest.MapFS{"s.yaml": {Data: []byte(text)}}, "s.yaml", scorers.Builtin(), opts, &diags)
		expect.OK(t, diags.Err())
		return s
	}
	both := load(own, suite.Options{Base: load(base, suite.Options{Ref: "main"})})
	return runner.NewPlan([]*suite.Suite{both}, scorers.Builtin(), runner.Filter{}, "v1")
}

// The early stop looks at the cases that the comparison at the end pairs, and runs both sides of each one after the
// other.
func TestTheEarlyStopPairsAsTheComparisonDoes(t *testing.T) {
	t.Parallel()
	const quarantine = ", quarantine: {reason: r, owner: o, until: 2999-01-01}"
	plan := versions(t, `
  - {name: new, vars: {x: new}}
  - {name: renamed, vars: {x: b}}
  - {name: same, vars: {x: a}}
  - {name: weak, vars: {x: c}, threshold: 0}
  - {name: edited, id: e, vars: {x: easy}}
  - {name: isolated, vars: {x: f}`+quarantine+`}
  - {name: healed, vars: {x: g}}
`, `
  - {name: same, vars: {x: a}}
  - {name: before, vars: {x: b}}
  - {name: weak, vars: {x: c}}
  - {name: removed, vars: {x: d}}
  - {name: edited, id: e, vars: {x: hard}}
  - {name: isolated, vars: {x: f}}
  - {name: healed, vars: {x: g}`+quarantine+`}
`)
	rule := &eval.BaselineRule{
		Against: eval.BaseVersion{Suffix: "@main"}, Alpha: 0.05, StopEarly: true,
		Metrics: []eval.MetricMargin{{Name: eval.MetricPass, Margin: 0.1}},
	}
	run := &eval.Run{RandomSeed: 7, StartedAt: "2026-11-22T00:00:00Z"}
	run.Suites = []eval.RunSuite{{Name: "s", Gate: &eval.GateConfig{Baseline: rule}}}
	q, err := NewSequential(run, plan, nil)
	expect.OK(t, err)
	pending := map[string]int{}
	for _, u := range q.suites["s"].arms["t/p"].units {
		for key := range u.cases {
			_, name, _ := strings.Cut(key, "\x00")
			pending[name] = u.pending
		}
	}
	want := map[string]int{"new": 1, "renamed": 2, "same": 2, "weak": 2, "edited": 1, "healed": 1}
	if !maps.Equal(pending, want) {
		t.Errorf("the units wait for %v results, want %v", pending, want)
	}
	var order []string
	for trial := range q.Schedule(plan) {
		order = append(order, trial.Case+"@"+trial.Arm)
	}
	for own, base := range map[string]string{"same": "same", "renamed": "before", "weak": "weak", "edited": "edited"} {
		if at := slices.Index(order, own+"@t/p"); at < 0 || order[at+1] != base+"@t/p@main" {
			t.Errorf("after %[1]s: got %[3]v, want %[2]s of main", own, base, order)
		}
	}
}

// The first case of a unit, on which the schedule depends, is that of the first arm, not that of whichever arm comes first out of a map.
func TestUnitsDependOnTheOrderOfTheArms(t *testing.T) {
	t.Parallel()
	arm := func(names ...string) *compare.Side {
		s := &compare.Side{}
		for _, name := range names {
			s.Cases = append(s.Cases, &compare.CaseTotals{Name: name, ID: name, Cluster: "one"})
		}
		return s
	}
	a, b := arm("x", "both"), arm("y", "both")
	first, second := compare.Units([]*compare.Side{a, b}, nil), compare.Units([]*compare.Side{b, a}, nil)
	if maps.Equal(first, second) {
		t.Errorf("got %v in two orders, want two schedules: the test sees nothing", first)
	}
	for range 20 {
		if second := compare.Units([]*compare.Side{a, b}, nil); !maps.Equal(second, first) {
			t.Errorf("got %v, want %v as before", second, first)
		}
	}
}

// The schedule has the units of the final test: a request of several cases makes them one unit on either side, unless the
// whole baseline sends it.
func TestUnitsShareRequestsOfTheBaseline(t *testing.T) {
	t.Parallel()
	side := func(requests ...string) *compare.Side {
		s := &compare.Side{}
		for i, r := range requests {
			s.Cases = append(s.Cases, &compare.CaseTotals{ID: string(rune('a' + i)), Request: r})
		}
		return s
	}
	head := []*compare.Side{side("1", "2", "3")}
	if got := compare.Units(head, []*compare.Side{side("1", "1", "2")}); len(got) != 2 {
		t.Errorf("got %v, want a unit of two cases", got)
	}
	if got := compare.Units(head, []*compare.Side{side("1", "1", "1")}); len(got) != 0 {
		t.Errorf("got %v, want no common unit", got)
	}
}
