package gate

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/suite"
)

// race is the race of the arms of a suite. It feeds a unit, in the order of the schedule, once all arms
// have answered it.
type race struct {
	test   *compare.Race
	places []string // keys of the units, in the order of the schedule
	next   int      // the first one that was not fed
	// stalled says that a trial which the race needs did not run, so that nothing more can be fed.
	stalled bool
	most    int // cases of the largest unit
}

// RaceOutlook is what is known about the race of a suite before it begins.
type RaceOutlook struct {
	Suite  string `json:"suite"`
	Metric string `json:"metric"`
	Arms   int    `json:"arms"`
	Cases  int    `json:"cases"`
	Least  int    `json:"least"` // cases before any arm can leave
}

// Races checks the races of the options before anything is sent, and returns what is known about them.
func (c *Checks) Races(suites []*suite.Suite) (out []RaceOutlook, err error) {
	if c.Options.Race == "" || c.Plan.Size() == 0 {
		return nil, nil
	}
	o := c.Options.Options
	if o.Rule.Alpha = cmp.Or(o.Rule.Alpha, c.Options.Defaults.Rule.Alpha); o.Rule.Alpha > suite.MaxAlpha {
		return nil, eval.BadInput("--alpha %g: a race that is wrong so often says nothing; %g at most", o.Rule.Alpha, suite.MaxAlpha)
	}
	for _, one := range suites {
		metric, alpha := one.Gate.RaceBy(&o)
		if err := racedOn(one, metric); err != nil {
			return nil, err
		}
		if arms := armsOf(c.Plan, one.Name); arms > 1 {
			out = append(out, RaceOutlook{one.Name, metric, arms, c.casesOf(one.Name), compare.RaceReach(arms, alpha)})
		}
	}
	if len(out) == 0 {
		return nil, eval.BadInput("--race needs two arms or more in a suite: add a prompt or a target to race against")
	}
	return out, nil
}

// checkRaces runs the checks of Races at the beginning of a run.
func (c *Checks) checkRaces(suites []*suite.Suite) error {
	races, err := c.Races(suites)
	for _, r := range races {
		if r.Cases < r.Least {
			c.Notice(fmt.Sprintf(
				"warning: no arm of %s can leave the race: it takes %d cases at least, and there are %d", r.Suite, r.Least, r.Cases,
			))
		}
	}
	return err
}

// racedOn returns an error if the arms of a suite cannot race on a metric.
func racedOn(s *suite.Suite, metric string) error {
	known, open := s.Metrics()
	known = slices.DeleteFunc(slices.Clone(known), unraced)
	switch {
	case unraced(metric):
		return eval.BadInput("--race takes a metric between 0 and 1 where more is better, such as pass, and not %s", metric)
	case s.Gate != nil && s.Gate.Best != nil && s.Gate.Best.Metric != metric:
		return eval.BadInput(
			"--race=%s: the gate of %s wants the best by %s; --race alone races on that", metric, s.Name, s.Gate.Best.Metric,
		)
	case !open && !slices.Contains(known, metric):
		return eval.BadInput("--race: %s has no metric %s; %s", s.Name, metric, diag.DidYouMean(metric, known))
	}
	return nil
}

// casesOf counts the cases of a suite in the plan, over all arms.
func (c *Checks) casesOf(name string) int {
	sides, _ := plannedSides(c.Plan, name, "")
	cases := map[string]bool{}
	for _, s := range sides {
		for _, c := range s.Cases.All() {
			cases[c.Key()] = true
		}
	}
	return len(cases)
}

// unraced reports whether a metric is unsuitable for races.
func unraced(metric string) bool { return eval.IsRatio(metric) || metric == eval.MetricBlocked }

// raceOf returns the suite for its race, nil if its arms do not race.
func raceOf(run *eval.Run, plan *runner.Plan, one *eval.RunSuite) *watchedSuite {
	metric, alpha := one.Gate.RaceBy(run.Options())
	if metric == "" || plan.Shard() != nil || armsOf(plan, one.Name) < 2 {
		return nil
	}
	rule := &eval.BaselineRule{Alpha: alpha, Metrics: []eval.MetricMargin{{Name: metric}}}
	return &watchedSuite{rule: rule, race: &race{}, arms: map[string]*watchedArm{}, matchers: map[string]*sideMatcher{}}
}

// lineUp sorts the units of all arms into one schedule.
func (w *watchedSuite) lineUp() {
	ranks, sizes := map[string]uint64{}, map[string]int{}
	for _, a := range w.order {
		for _, u := range a.units {
			ranks[u.key] = u.rank
			sizes[u.key] = max(sizes[u.key], len(u.cases))
		}
	}
	w.race.places = slices.SortedFunc(maps.Keys(ranks), func(a, b string) int {
		return cmp.Or(cmp.Compare(ranks[a], ranks[b]), cmp.Compare(a, b))
	})
	for place, key := range w.race.places {
		w.race.most = max(w.race.most, sizes[key])
		for _, a := range w.order {
			if u := a.by[key]; u != nil {
				u.place = place
			}
		}
	}
	w.race.test = compare.NewRace(len(w.order), w.rule.Alpha)
}

// run feeds the complete units from the beginning of the schedule on, and records which arms leave.
func (q *Early) run(w *watchedSuite, journal *journal.Writer) error {
	r, from := w.race, w.race.next
	for r.next < len(r.places) && w.complete(r.places[r.next]) {
		w.withdraw(r.places[r.next])
		scores, weight := w.scores(r.places[r.next])
		q.mu.Lock()
		r.next++
		q.mu.Unlock()
		for _, l := range r.test.Feed(scores, weight) {
			if err := q.leave(w, l, journal); err != nil {
				return err
			}
		}
	}
	if r.next > from {
		q.wake()
	}
	return nil
}

// complete reports whether all arms in the race have their results for a unit.
func (w *watchedSuite) complete(key string) bool {
	for i, a := range w.order {
		if u := a.by[key]; w.race.test.Feeds(i) && u != nil && u.pending > 0 && !u.unsent {
			return false
		}
	}
	return true
}

// withdraw removes arms without answers to a unit from the race.
func (w *watchedSuite) withdraw(key string) {
	for i, a := range w.order {
		if u := a.by[key]; u != nil && u.unsent {
			w.race.test.Withdraw(i)
		}
	}
}

// Left reports whether the arm of a trial has left the race.
func (q *Early) Left(t *eval.Trial) bool {
	w := q.suites[t.Suite]
	return w != nil && w.race != nil && w.arms[t.Arm] != nil && w.arms[t.Arm].decided
}

// Unsent records that a trial has no answer because its arm had left the race.
func (q *Early) Unsent(t *eval.Trial, journal *journal.Writer) error {
	w := q.suites[t.Suite]
	if w == nil || w.race == nil || w.arms[t.Arm] == nil {
		return nil
	}
	if u := w.arms[t.Arm].by[w.keyOf(t)]; u != nil {
		u.unsent = true
	}
	return q.run(w, journal)
}

// scores returns the scores of the arms on the cases of a unit, and the weight of the unit.
func (w *watchedSuite) scores(key string) (scores [][]float64, weight float64) {
	names := w.racedCases(key)
	for i, a := range w.order {
		if !w.race.test.Feeds(i) {
			scores = append(scores, nil)
			continue
		}
		var of []float64
		for _, name := range names {
			of = append(of, a.by[key].score(name))
		}
		scores = append(scores, of)
	}
	return scores, float64(len(names)) / float64(w.race.most)
}

// racedCases returns the cases of a unit on the arms that are in the race.
func (w *watchedSuite) racedCases(key string) []string {
	cases := map[string]*unitCase{}
	for i, a := range w.order {
		if u := a.by[key]; w.race.test.Feeds(i) && u != nil {
			maps.Copy(cases, u.cases)
		}
	}
	return slices.Sorted(maps.Keys(cases))
}

// score returns the mean over the repeats of a case, in which an error counts as 0. It is NaN if the arm
// lacks the case, or no scorer gives it a value.
func (u *unit) score(name string) float64 {
	if u == nil || u.cases[name] == nil {
		return math.NaN()
	}
	c := u.cases[name]
	sum := c.head[0]
	sum.N += c.results - c.passed.N // errors count as 0
	if mean, ok := sum.Mean(); ok {
		return mean
	}
	return math.NaN()
}

// leave writes down that an arm leaves the race, unless an earlier session did.
func (q *Early) leave(w *watchedSuite, l compare.Leaving, journal *journal.Writer) error {
	a := w.order[l.Arm]
	if a.decided {
		return nil
	}
	left := &eval.RaceExit{
		StoppedArm: eval.StoppedArm{Suite: a.suite, Arm: a.arm, Units: w.race.next, Of: len(w.race.places)},
		Metric:     w.rule.Metrics[0].Name, Behind: w.order[l.Behind].arm, LogE: l.LogE, Alpha: w.rule.Alpha,
	}
	for _, u := range a.units {
		if u.place >= w.race.next {
			left.Unused = append(left.Unused, u.trials...)
		}
	}
	if err := journal.WriteStop(left); err != nil {
		return err
	}
	q.mu.Lock()
	a.decided = true
	q.mu.Unlock()
	return nil
}

// tooFar reports whether a trial is too far ahead of the fed units. The bound is one unit more than what
// keeps this number of workers busy with the model's arms in the race. The caller holds q.mu.
func (w *watchedSuite) tooFar(t *runner.Planned, workers int) bool {
	a := w.arms[t.Arm]
	if a == nil || a.decided || w.race.stalled {
		return false
	}
	arms := w.undecidedOn(a.model)
	u := a.by[w.keyOf(&t.Trial)]
	return u != nil && u.place-w.race.next > (workers+arms-1)/arms
}

func (w *watchedSuite) undecidedOn(model string) int {
	arms := 0
	for _, a := range w.order {
		if a.model == model && !a.decided {
			arms++
		}
	}
	return arms
}

// stall lets the trials of a race run freely once one that it needs was skipped: it would wait in vain.
func (q *Early) stall(w *watchedSuite, arm string) {
	if a := w.arms[arm]; w.race == nil || a == nil || a.decided {
		return
	}
	q.mu.Lock()
	w.race.stalled = true
	q.mu.Unlock()
	q.wake()
}

// wake lets the workers that hold back look again.
func (q *Early) wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	close(q.moved)
	q.moved = make(chan struct{})
}

// replayRace applies that an arm left in an earlier session.
func (w *watchedSuite) replayRace(stop *eval.StoppedArm) {
	i := slices.IndexFunc(w.order, func(a *watchedArm) bool { return a.arm == stop.Arm })
	if i >= 0 {
		w.order[i].decided = true
		w.race.test.Fix(i, stop.Units)
	}
}
