package gate

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/testrun"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/runner"
)

// earlySuite has n cases on each prompt, each with what of says in addition, such as a cluster.
func earlySuite(cases int, prompts string, of func(n int) string) string {
	var b strings.Builder
	b.WriteString("version: 1\nname: s\ntargets: [{name: t, model: svc-pro}]\nprompts:\n")
	for _, p := range prompts {
		fmt.Fprintf(&b, "  - {name: %c, text: \"%c {{.q}}\"}\n", p, p)
	}
	b.WriteString("cases:\n")
	for n := range cases {
		more := ""
		if of != nil {
			more = of(n)
		}
		if !strings.Contains(more, "vars:") {
			more += fmt.Sprintf("vars: {q: question %d}, ", n)
		}
		fmt.Fprintf(&b, "  - {name: c%03d, %sscorers: [{equals: x}]}\n", n, more)
	}
	return b.String()
}

type watched struct {
	*Sequential
	t    *testing.T
	run  *eval.Run
	plan *runner.Plan
	dir  string
	out  *journal.Writer
}

func watch(t *testing.T, plan *runner.Plan, gate *eval.GateConfig, seed uint64) *watched {
	t.Helper()
	gate.Baseline.StopEarly = true
	run := &eval.Run{
		ID: "head", StartedAt: "2026-01-01T00:00:00Z", RandomSeed: seed, CommandOptions: &eval.RunOptions{},
		Suites: []eval.RunSuite{{Name: "s", Gate: gate}}, Plan: eval.RunPlan{Trials: plan.Size()},
	}
	w := &watched{t: t, run: run, plan: plan, dir: t.TempDir()}
	var err error
	w.Sequential, err = NewSequential(run, plan, nil)
	expect.OK(t, err)
	w.out, err = journal.Create(w.dir, run, nil)
	expect.OK(t, err)
	return w
}

func (w *watched) take(results []*eval.Result) {
	w.t.Helper()
	for _, r := range results {
		expect.OK(w.t, w.out.Append(r), w.Observe(r, w.out))
	}
}

func (w *watched) stops() []eval.ArmStop {
	w.t.Helper()
	expect.OK(w.t, w.out.Finish(completed()))
	d, err := journal.Open(w.dir)
	expect.OK(w.t, err)
	w.t.Cleanup(func() { _ = d.Close() }) // it was only read
	return d.Stops
}

func (w *watched) verdicts() (out []*eval.KnownVerdict) {
	w.t.Helper()
	for _, stop := range w.stops() {
		verdict, ok := stop.(*eval.KnownVerdict)
		if !ok {
			w.t.Fatalf("got a %T, want an early verdict", stop)
		}
		out = append(out, verdict)
	}
	return out
}

// judge gives each trial of a plan, in the order of the schedule, the outcome that judge says.
func (w *watched) judge(outcome func(t *eval.Trial) eval.Outcome) (out []*eval.Result) {
	for p := range w.Schedule(w.plan) {
		r := &eval.Result{Trial: p.Trial, Ending: testrun.Ending(outcome(&p.Trial)), Timing: &eval.Timing{LatencyMs: 1}}
		if r.Outcome() == eval.Err {
			r.Ending = eval.Errored{Error: eval.Errorf(eval.KindStatus, "no")}
		}
		out = append(out, r)
	}
	return out
}

// baselineOf records a run of the plan with these outcomes, and returns a rule that compares with it.
func baselineOf(t *testing.T, plan *runner.Plan, margin float64, outcome func(*eval.Trial) eval.Outcome) *eval.BaselineRule {
	t.Helper()
	var trials []*eval.Result
	for p := range plan.Trials() {
		r := trialOf(p.Case, outcome(&p.Trial))
		r.Trial = p.Trial
		trials = append(trials, r)
	}
	d := runOf(t, "base", nil, trials...)
	rule := passRule(margin)
	rule.Against = eval.BaseRun{Name: "main", Path: d.Path(), ID: d.Run.ID}
	return rule
}

func passing(*eval.Trial) eval.Outcome { return eval.Pass }

func failing(share float64) func(*eval.Trial) eval.Outcome {
	return func(t *eval.Trial) eval.Outcome {
		n := 0
		fmt.Sscanf(t.Case, "c%d", &n)
		if rand.New(rand.NewPCG(uint64(n), 1)).Float64() < share {
			return eval.Fail
		}
		return eval.Pass
	}
}

// directly is the stop by its definition: units in the order of the schedule, each a mean of requests, each of them a mean of trials.
func directly(
	head []*eval.Result,
	base func(*eval.Trial) eval.Outcome,
	unitOf func(*eval.Trial) string,
	rule *eval.BaselineRule,
) *eval.KnownVerdict {
	type request struct{ base, head, worst eval.Sum }
	units := map[string]map[string]*request{}
	var order []string
	score := func(o eval.Outcome) float64 {
		if o == eval.Pass {
			return 1
		}
		return 0
	}
	largest := 0
	for _, r := range head {
		key := unitOf(&r.Trial)
		if units[key] == nil {
			units[key] = map[string]*request{}
			order = append(order, key)
		}
		q := units[key][r.RequestHash]
		if q == nil {
			q = &request{}
			units[key][r.RequestHash] = q
		}
		largest = max(largest, len(units[key]))
		q.base.Add(score(base(&r.Trial)))
		q.worst.Add(score(r.Outcome())) // an error is the worst of a pass rate
		if r.Outcome() != eval.Err {
			q.head.Add(score(r.Outcome()))
		}
	}
	test := compare.NewEarlyStop(rule.Metrics, rule.Alpha, 1)
	for _, key := range order {
		var all, worst eval.Sum
		for _, name := range slices.Sorted(maps.Keys(units[key])) {
			b, _ := units[key][name].base.Mean()
			if h, ok := units[key][name].head.Mean(); ok {
				all.Add(h - b)
			}
			w, _ := units[key][name].worst.Mean()
			worst.Add(w - b)
		}
		d, ok := all.Mean()
		if !ok {
			d = math.NaN()
		}
		least, _ := worst.Mean()
		weight := float64(len(units[key])) / float64(largest)
		if stop := test.Feed(compare.Unit{Differences: []float64{d}, Worst: []float64{least}, Weight: weight}); stop != nil {
			return stop
		}
	}
	return nil
}

// The stop is that of a direct computation: with clusters, cases with the same request, repeats and errors.
func TestTheEarlyStopIsThatOfItsDefinition(t *testing.T) {
	t.Parallel()
	alone := func(t *eval.Trial) string { return t.Case }
	cluster := func(t *eval.Trial) string { return t.Cluster }
	request := func(t *eval.Trial) string { return t.RequestHash }
	errors := func(then func(*eval.Trial) eval.Outcome) func(*eval.Trial) eval.Outcome {
		return func(t *eval.Trial) eval.Outcome {
			if strings.HasSuffix(t.Case, "3") {
				return eval.Err
			}
			return then(t)
		}
	}
	for name, test := range map[string]struct {
		cases   int
		of      func(n int) string
		unit    func(*eval.Trial) string
		head    func(*eval.Trial) eval.Outcome
		verdict eval.Verdict // "" for no stop
	}{
		"nothing changed":                      {cases: 200, unit: alone, head: passing, verdict: eval.NotWorse},
		"half is lost":                         {cases: 200, unit: alone, head: failing(0.5), verdict: eval.Regressed},
		"with errors that could all be losses": {cases: 200, unit: alone, head: errors(passing)},
		"too few to say":                       {cases: 30, unit: alone, head: passing},
		"repeats that differ": {
			cases:   200,
			of:      func(int) string { return "repeats: 3, " },
			unit:    alone,
			head:    shaky,
			verdict: eval.Regressed,
		},
		"clusters": {
			cases: 300, of: func(n int) string { return fmt.Sprintf("cluster: k%d, ", n/3) }, unit: cluster, head: passing,
			verdict: eval.NotWorse,
		},
		"clusters of other sizes, with losses and errors": {
			cases: 300, of: func(n int) string { return fmt.Sprintf("cluster: k%d, ", n*2/5) }, unit: cluster,
			head: errors(failing(0.5)), verdict: eval.Regressed,
		},
		"cases that ask the same": {
			cases: 300, of: func(n int) string { return fmt.Sprintf("vars: {q: question %d, note: %d}, ", n/3, n) }, unit: request,
			head: errors(failing(0.4)), verdict: eval.Regressed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, plan := load(t, earlySuite(test.cases, "p", test.of), runner.Filter{})
			rule := baselineOf(t, plan, 0.1, passing)
			w := watch(t, plan, &eval.GateConfig{Baseline: rule}, 3)
			head := w.judge(test.head)
			w.take(head)
			stops := w.verdicts()
			want := directly(head, passing, test.unit, rule)
			if want == nil {
				expect.Same(t, "stops", len(stops), 0)
				expect.Same(t, "the verdict", test.verdict, "")
				return
			}
			if len(stops) != 1 {
				t.Fatalf("got %d stops, want one", len(stops))
			}
			got := stops[0]
			expect.Same(t, "verdict", got.Verdict, test.verdict)
			expect.Same(t, "verdict and units", [2]any{got.Verdict, got.Units}, [2]any{want.Verdict, want.Units})
			if d := math.Abs(got.LogE["pass"] - want.LogE["pass"]); d > 1e-9 {
				t.Errorf("got the e-value %v, want %v", got.LogE, want.LogE)
			}
		})
	}
}

func shaky(t *eval.Trial) eval.Outcome {
	if failing(0.8)(t) == eval.Fail && t.Repeat != 2 {
		return eval.Fail
	}
	return eval.Pass
}

// Results in any order lead to the same stop, and a result that is missing at the beginning holds everything back.
func TestTheStopDoesNotDependOnTheOrderOfAnswers(t *testing.T) {
	t.Parallel()
	_, plan := load(t, earlySuite(150, "p", nil), runner.Filter{})
	rule := baselineOf(t, plan, 0.1, passing)
	var first []*eval.KnownVerdict
	for seed := range uint64(4) {
		w := watch(t, plan, &eval.GateConfig{Baseline: rule}, 3)
		head := w.judge(failing(0.45))
		late := head[0]
		rest := head[1:]
		rand.New(rand.NewPCG(seed, 2)).Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
		w.take(rest)
		expect.Same(t, "decided before the first unit is there", w.suites["s"].order[0].decided, false)
		w.take([]*eval.Result{late})
		stops := w.verdicts()
		for i := range stops {
			expect.Same(t, "the trials that the stop uses or leaves out", len(stops[i].Unused)+stops[i].Units, 150)
			stops[i].Unused = nil
		}
		if first == nil {
			first = stops
		}
		expect.Same(t, "stops", stops, first)
	}
	expect.Same(t, "number of stops", len(first), 1)
}

// Cases in quarantine are neither waited for nor counted.
func TestQuarantinedCasesAreNoPartOfTheSchedule(t *testing.T) {
	t.Parallel()
	_, plan := load(t, earlySuite(120, "p", func(n int) string {
		if n%4 == 0 {
			return "quarantine: {reason: x, owner: y, until: 2026-02-01}, "
		}
		return ""
	}), runner.Filter{})
	w := watch(t, plan, &eval.GateConfig{Baseline: baselineOf(t, plan, 0.1, passing)}, 3)
	w.take(slices.DeleteFunc(w.judge(passing), func(r *eval.Result) bool { return r.Quarantine != nil }))
	stops := w.verdicts()
	if len(stops) != 1 || stops[0].Of != 90 {
		t.Errorf("got the stops %+v, want one of 90 units", stops)
	}
}
