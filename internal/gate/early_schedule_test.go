package gate

import (
	"fmt"
	"slices"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/runner"
)

// scheduled are the cases of a watched run in the order in which they are sent, each as often as it is.
func scheduled(w *watched) (out []string) {
	for p := range w.Schedule(w.plan) {
		out = append(out, p.Case)
	}
	return out
}

// The schedule is a shuffle by the seed, in which the trials of a unit come one after the other on all arms.
func TestTheScheduleIsAShuffleOfUnits(t *testing.T) {
	t.Parallel()
	_, plan := load(t, earlySuite(40, "ab", func(n int) string { return fmt.Sprintf("repeats: 2, cluster: k%d, ", n/4) }), runner.Filter{})
	within := func(seed uint64) *watched {
		rule := passRule(0.1)
		rule.Against = eval.BaseArm{Name: "t/a"}
		return watch(t, plan, &eval.GateConfig{Baseline: rule}, seed)
	}
	one := scheduled(within(1))
	expect.Same(t, "trials", len(one), 160)
	expect.Same(t, "the same seed", scheduled(within(1)), one)
	if slices.Equal(scheduled(within(2)), one) {
		t.Error("got the same schedule for another seed, want another one")
	}
	if slices.IsSorted(one) {
		t.Errorf("got the order of the suite, want it shuffled: %v", one)
	}
	for i := 0; i < len(one); i += 16 { // four cases, two arms, two repeats
		var n, first int
		for j, name := range one[i : i+16] {
			fmt.Sscanf(name, "c%d", &n)
			if j == 0 {
				first = n / 4
			}
			expect.Same(t, name+": cluster", n/4, first)
		}
	}
}

// A run without such a gate, without its baseline, or in shards is not watched.
func TestRunsThatDoNotStopEarlyAreNotWatched(t *testing.T) {
	t.Parallel()
	text := earlySuite(8, "p", nil)
	_, plan := load(t, text, runner.Filter{})
	_, shard := load(t, text, runner.Filter{Shard: eval.Shard{Index: 1, Of: 2}})
	rule := passRule(0.1)
	rule.StopEarly = true
	without := eval.Options{GateOptions: eval.GateOptions{Baseline: eval.NoBaseline{}}}
	for name, test := range map[string]struct {
		gate    *eval.GateConfig
		options eval.Options
		plan    *runner.Plan
	}{
		"no gate":         {nil, eval.Options{}, plan},
		"no comparison":   {&eval.GateConfig{}, eval.Options{}, plan},
		"no early stop":   {&eval.GateConfig{Baseline: passRule(0.1)}, eval.Options{}, plan},
		"--no-baseline":   {&eval.GateConfig{Baseline: rule}, without, plan},
		"one of its part": {&eval.GateConfig{Baseline: rule}, eval.Options{}, shard},
	} {
		q, err := NewSequential(&eval.Run{
			Suites: []eval.RunSuite{{Name: "s", Gate: test.gate}}, CommandOptions: &eval.RunOptions{Options: test.options},
		}, test.plan, nil)
		expect.OK(t, err)
		if q != nil {
			t.Errorf("%s: got a rule that watches it, want none", name)
		}
	}
}

// An arm that is decided is not sent any more; the arm that it was compared with is, until all others are decided.
func TestTrialsAreSkippedOnceTheirVerdictIsKnown(t *testing.T) {
	t.Parallel()
	_, plan := load(t, earlySuite(150, "abc", nil), runner.Filter{})
	rule := passRule(0.1)
	rule.Against = eval.BaseArm{Name: "t/a"}
	w := watch(t, plan, &eval.GateConfig{Baseline: rule}, 5)
	skips := func() map[string]eval.Ending {
		out := map[string]eval.Ending{}
		for p := range plan.Trials() {
			out[p.Arm] = w.Skip(p)
		}
		return out
	}
	expect.Same(t, "before", skips(), map[string]eval.Ending{"t/a": nil, "t/b": nil, "t/c": nil})
	lost := failing(0.7)
	results := w.judge(func(t *eval.Trial) eval.Outcome {
		if t.Arm == "t/b" {
			return lost(t)
		}
		return eval.Pass
	})
	sent := 0
	for _, r := range results { // until the first arm is decided
		if w.suites["s"].arms["t/b"].decided {
			break
		}
		w.take([]*eval.Result{r})
		sent++
	}
	expect.Same(t, "when one is decided", skips(), map[string]eval.Ending{"t/a": nil, "t/b": eval.SkippedDecided{}, "t/c": nil})
	w.take(results[sent:])
	all := map[string]eval.Ending{"t/a": eval.SkippedDecided{}, "t/b": eval.SkippedDecided{}, "t/c": eval.SkippedDecided{}}
	expect.Same(t, "when all are", skips(), all)
	var got []string
	units := map[string]int{}
	extra := map[string]int{}
	for _, s := range w.stops() {
		verdict := "the base"
		if known, ok := s.(*eval.KnownVerdict); ok {
			verdict = string(known.Verdict)
		}
		of := s.Stopped()
		got = append(got, fmt.Sprintf("%s: %s", of.Arm, verdict))
		units[of.Arm], extra[of.Arm] = of.Units, len(of.Unused)
	}
	expect.Same(t, "stops", got, []string{"t/b: regressed", "t/c: not_worse", "t/a: the base"})
	expect.Same(t, "units of the baseline's arm", units["t/a"], max(units["t/b"], units["t/c"]))
	expect.Same(t, "its trials that were sent and are not used", extra["t/a"], 0)
}

// Sending runs no further ahead of what is complete than it may.
func TestHoldKeepsSendingCloseToWhatIsComplete(t *testing.T) {
	t.Parallel()
	_, plan := load(t, earlySuite(50, "p", nil), runner.Filter{})
	w := watch(t, plan, &eval.GateConfig{Baseline: baselineOf(t, plan, 0.1, passing)}, 5)
	order := slices.Collect(w.Schedule(plan))
	results := w.judge(passing)
	far := func() (first int) {
		return slices.IndexFunc(order, func(p *runner.Planned) bool { return w.far(p, 10) })
	}
	expect.Same(t, "the first that waits", far(), 10)
	w.take(results[1:9])
	expect.Same(t, "while the first is missing", far(), 10)
	moved := w.moved
	w.take(results[:1])
	expect.Same(t, "once it is there", far(), 19)
	select {
	case <-moved:
	default:
		t.Error("trials that wait are not woken, want them woken")
	}
	stop := make(chan struct{})
	close(stop)
	w.Hold(order[49], 10, stop, nil) // returns, since the run stops
	w.Hold(order[18], 10, nil, nil)  // returns, since it is near
}

// A trial that was skipped, since its model cannot be reached, holds nothing back: its result will not come.
func TestASkippedTrialHoldsNothingBack(t *testing.T) {
	t.Parallel()
	_, plan := load(t, earlySuite(50, "p", nil), runner.Filter{})
	w := watch(t, plan, &eval.GateConfig{Baseline: baselineOf(t, plan, 0.1, passing)}, 5)
	results := w.judge(passing)
	results[0].Ending = eval.Skipped{Reason: "the model cannot be reached"}
	w.take(results[:1])
	w.Hold(slices.Collect(w.Schedule(plan))[49], 10, nil, nil) // returns
}

func TestAPassRateOutOfReachEndsTheArm(t *testing.T) {
	t.Parallel()
	_, plan := load(t, earlySuite(40, "p", nil), runner.Filter{})
	for name, test := range map[string]struct {
		min  float64
		fail int // the first ones fail, up to this number
		want []string
	}{
		"just within reach": {0.9, 4, nil},
		"out of reach":      {0.9, 5, []string{"inconclusive passRate after 5"}},
		"all must pass":     {1, 1, []string{"inconclusive passRate after 1"}},
	} {
		rule := baselineOf(t, plan, 0.1, passing)
		w := watch(t, plan, &eval.GateConfig{Baseline: rule, PassRateMin: new(test.min)}, 5)
		results := w.judge(passing)
		for _, r := range results[:test.fail] {
			r.Ending = eval.Failed{}
		}
		w.take(results[:10])
		var got []string
		for _, s := range w.verdicts() {
			got = append(got, fmt.Sprintf("%s %s after %d", s.Verdict, s.Metric, s.Units))
		}
		expect.Same(t, name, got, test.want)
	}
}

// A resumed run comes to the stop of one that was not interrupted; a recorded stop is final.
func TestAResumedRunComesToTheSameStop(t *testing.T) {
	t.Parallel()
	_, plan := load(t, earlySuite(150, "p", nil), runner.Filter{})
	rule := baselineOf(t, plan, 0.1, passing)
	settled := func(k journal.IndexedTrial) bool { return k.Outcome == eval.Pass || k.Outcome == eval.Fail }
	whole := watch(t, plan, &eval.GateConfig{Baseline: rule}, 8)
	results := whole.judge(passing)
	whole.take(results)
	want := whole.verdicts()
	expect.Same(t, "stops", len(want), 1)
	for _, at := range []int{1, 20, want[0].Units - 1, want[0].Units, len(results)} {
		before := watch(t, plan, &eval.GateConfig{Baseline: rule}, 8)
		before.take(results[:at])
		known := before.verdicts()
		d, err := journal.Open(before.dir)
		expect.OK(t, err)
		t.Cleanup(func() { _ = d.Close() }) // it was only read
		after := watch(t, plan, &eval.GateConfig{Baseline: rule}, 8)
		expect.OK(t, after.Replay(d, settled, after.out))
		after.take(results[at:])
		got := slices.Concat(known, after.verdicts())
		if len(got) != 1 {
			t.Fatalf("resumed after %d trials: got %d stops, want one", at, len(got))
		}
		expect.Same(t, fmt.Sprint("units, resumed after ", at), got[0].Units, want[0].Units)
		expect.Same(t, "verdict", got[0].Verdict, want[0].Verdict)
	}
}

// The comparison takes the recorded verdict for the one that it was about, and no other comparison can use the arm.
func TestAnEarlyStopAnswersItsOwnComparisonOnly(t *testing.T) {
	t.Parallel()
	_, plan := load(t, earlySuite(150, "p", nil), runner.Filter{})
	rule := baselineOf(t, plan, 0.1, passing)
	w := watch(t, plan, &eval.GateConfig{Baseline: rule}, 8)
	w.take(w.judge(passing))
	w.stops()
	open := func(path string) *journal.Document {
		d, err := journal.Open(path)
		expect.OK(t, err)
		t.Cleanup(func() { _ = d.Close() }) // it was only read
		return d
	}
	head, base := open(w.dir), open(rule.Against.(eval.BaseRun).Path)
	own := onlyArm(t, compared(t, base, head, byRule(rule)))
	expect.Same(t, "verdict", own.Verdict, eval.NotWorse)
	if own.EarlyVerdict == nil || own.Why != "" {
		t.Errorf("got %+v, want the stop that was recorded", own)
	}
	other := passRule(0.05) // another margin
	got := onlyArm(t, compared(t, base, head, byRule(other)))
	expect.Same(t, "by another margin", got.Verdict, eval.Invalid)
	expect.Same(
		t,
		"why",
		got.Why,
		"the run stopped early, once its verdict against base was known, and did not run all of its cases: "+
			"another comparison cannot use it",
	)
	got = onlyArm(t, compared(t, head, base, byRule(rule)))
	expect.Same(t, "as a baseline", got.Why, "the baseline stopped early, once its own verdict was known: it did not run all of its cases")
}
