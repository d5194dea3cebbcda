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
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/suite"
)

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
		return nil, eval.BadInput("--alpha %g: a race with this error rate is not informative; use %g or less", o.Rule.Alpha, suite.MaxAlpha)
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

func (c *Checks) checkRaces(suites []*suite.Suite) error {
	races, err := c.Races(suites)
	for _, r := range races {
		if r.Cases < r.Least {
			c.Notice(fmt.Sprintf(
				"warning: no arm of %s can leave the race: it takes %d cases at least, and there %s %d", r.Suite, r.Least,
				diag.Verb(r.Cases, "is", "are"), r.Cases,
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
		for _, c := range s.Cases {
			cases[c.Key()] = true
		}
	}
	return len(cases)
}

func unraced(metric string) bool { return eval.IsRatio(metric) || metric == eval.MetricBlocked }

// raced returns the suite for its race, nil if its arms do not race.
func raced(run *eval.Run, plan *runner.Plan, one *eval.RunSuite) *watchedSuite {
	metric, alpha := one.Gate.RaceBy(run.Options())
	if metric == "" || plan.Shard() != nil || armsOf(plan, one.Name) < 2 {
		return nil
	}
	return &watchedSuite{
		name:     one.Name,
		rule:     &eval.BaselineRule{Alpha: alpha, Metrics: []eval.MetricMargin{{Name: metric}}},
		race:     true,
		arms:     map[string]*watchedArm{},
		matchers: map[string]*sideMatcher{},
	}
}

// raceTest compares all arms of a suite with each other. A unit is the scores of the arms on its cases.
type raceTest struct {
	*compare.Race
	rule *eval.BaselineRule
	in   *sequence
	most int // cases of the largest unit
}

func newRaceTest(s *watchedSuite, w *sequence) *raceTest {
	r := &raceTest{Race: compare.NewRace(len(w.arms), s.rule.Alpha), rule: s.rule, in: w}
	for _, a := range w.arms {
		for _, u := range a.units {
			r.most = max(r.most, len(u.cases))
		}
	}
	return r
}

func (r *raceTest) needs(arm int) bool { return r.Feeds(arm) }

func (r *raceTest) resume(arm, units int) { r.Resume(arm, units) }

func (r *raceTest) feed(key string) (stops []eval.ArmStop) {
	cases := map[string]*unitCase{}
	for i, a := range r.in.arms {
		u := a.by[key]
		if u != nil && u.unsent {
			r.Withdraw(i)
		}
		if u != nil && r.Feeds(i) {
			maps.Copy(cases, u.cases)
		}
	}
	scores := make([][]float64, len(r.in.arms))
	for i, a := range r.in.arms {
		for _, name := range slices.Sorted(maps.Keys(cases)) {
			scores[i] = append(scores[i], a.by[key].score(name))
		}
	}
	for _, out := range r.Feed(scores, float64(len(cases))/float64(r.most)) {
		stops = append(stops, &eval.RaceExit{
			StoppedArm: eval.StoppedArm{Arm: r.in.arms[out.Arm].arm},
			Metric:     r.rule.Metrics[0].Name, Behind: r.in.arms[out.Behind].arm, LogE: out.LogE, Alpha: r.rule.Alpha,
		})
	}
	return stops
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
