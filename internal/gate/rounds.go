package gate

import (
	"cmp"
	"maps"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/runner"
)

// rounds divides the trials of a suite into rounds. Each has the same share of the repeats of every case, on all arms: one
// repeat if all cases have the same number. The e-values of compare hold at the end of a round and not inside of one.
type rounds struct {
	n       int
	shard   bool // the plan has some of the repeats
	stops   bool // the verdict may end the run
	options compare.Options
	run     *eval.Options
	sides   map[string]*compare.Side                  // of the plan, by arm
	cases   map[string]map[string]*compare.CaseTotals // by arm and key; Ran is the number of planned repeats
}

func newRounds(run *eval.Run, plan *runner.Plan, one *eval.RunSuite, stops bool) *rounds {
	rule := one.Gate.Baseline
	r := &rounds{
		shard:   plan.Shard() != nil,
		stops:   stops,
		options: compare.Options{Alpha: finalAlpha(rule), Margins: rule.Metrics, Estimand: rule.Estimand, Accepted: rule.Accepted},
		run:     run.Options(),
		cases:   map[string]map[string]*compare.CaseTotals{},
	}
	r.sides, _ = plannedSides(plan, one.Name, run.StartedAt)
	for arm, s := range r.sides {
		r.cases[arm] = map[string]*compare.CaseTotals{}
		for _, m := range rule.Metrics {
			s.Metrics = append(s.Metrics, m.Name)
		}
		for _, c := range s.Cases {
			c.Repeats = make([][]float64, c.Ran)
			r.n = divisor(r.n, c.Ran)
			r.cases[arm][c.Key()] = c
		}
	}
	return r
}

// divisor is the greatest common divisor.
func divisor(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// of is the round of a trial, from 0.
func (r *rounds) of(t *eval.Trial) int {
	c := r.caseOf(t)
	if c == nil || r.shard {
		return t.Repeat - 1
	}
	return (t.Repeat - 1) * r.n / c.Ran
}

// caseOf is the planned case of a trial, nil for a trial that the plan does not have.
func (r *rounds) caseOf(t *eval.Trial) *compare.CaseTotals {
	return r.cases[t.Arm][(&compare.CaseTotals{ID: t.CaseID, Name: t.Case}).Key()]
}

// take records the values of a result.
func (r *rounds) take(s seen) {
	if r == nil || !r.stops {
		return
	}
	c := r.caseOf(s.trial)
	if c == nil || s.trial.Repeat > len(c.Repeats) || s.outcome == eval.Err {
		return
	}
	metrics := r.sides[s.trial.Arm].Metrics
	values := repeatOf(s.outcome == eval.Pass, s.blocked, metrics, nil)
	for i, name := range metrics {
		if v, ok := s.scores(name); ok {
			values[len(values)-len(metrics)+i] = v
		}
	}
	c.Repeats[s.trial.Repeat-1] = values
}

// after is an arm with the repeats of its first rounds.
func (r *rounds) after(arm string, rounds int) *compare.Side {
	side := *r.sides[arm]
	side.Cases = nil
	for _, c := range r.sides[arm].Cases {
		one := *c
		one.Repeats = c.Repeats[:rounds*c.Ran/r.n]
		side.Cases = append(side.Cases, &one)
	}
	return &side
}

// roundsTest compares an arm with its baseline after each round.
type roundsTest struct {
	suite *watchedSuite
	arm   *watchedArm
	in    *sequence
}

func (e *roundsTest) needs(int) bool { return true }

func (e *roundsTest) resume(_, units int) { e.in.next = min(units, len(e.in.keys)) }

func (e *roundsTest) feed(string) []eval.ArmStop {
	s, r := e.suite, e.suite.rounds
	if !r.stops {
		return nil
	}
	base, o := s.base[e.arm.arm], r.options
	if name := s.baseOf(e.arm.arm); name != "" && r.sides[name] != nil {
		base = r.after(name, e.in.next)
	} else if o.Selected = selectedBy(r.run, r.sides[e.arm.arm], r.sides[e.arm.arm].NotRun); base == nil && len(s.base) == 1 && s.oneArm {
		for base = range maps.Values(s.base) {
		}
	}
	if base == nil {
		return nil
	}
	stop := compare.KnownOfSuite(base, r.after(e.arm.arm, e.in.next), o, s.verdicts)
	if stop == nil {
		return nil
	}
	stop.Arm, stop.Metrics = e.arm.arm, s.rule.Metrics
	stop.Base = cmp.Or(s.baseOf(e.arm.arm), s.rule.RunID())
	return []eval.ArmStop{stop}
}
