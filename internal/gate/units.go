package gate

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/runner"
)

// unit is a case, or a cluster of cases, until all its results have come.
type unit struct {
	rank    uint64
	key     string
	place   int     // in the sequence
	pending int     // trials without a result, including those of the baseline's arm
	weight  float64 // its number of requests divided by that of the largest unit
	cases   map[string]*unitCase
	unsent  bool     // some trial has no answer, in a race on recorded answers
	trials  []string // ids of head's trials
	base    []string // ids of the baseline's trials, if it is an arm of the run
}

// unitCase sums up a case for each metric, base and head, and how many of its repeats passed.
type unitCase struct {
	request    string // its request, or the pair of both sides: cases with the same one count once
	base, head []eval.Sum
	passed     eval.Sum
	results    int // of head, including errors
}

// baseOf is the arm of the run with which an arm is compared, "" if the suite races or the baseline is another run.
func (s *watchedSuite) baseOf(arm string) string {
	if s.race {
		return ""
	}
	return s.rule.Against.ArmFor(arm)
}

func (s *watchedSuite) isBase(arm string) bool { return !s.race && s.rule.Against.Includes(arm) }

// caseKey names the case of a trial: of an earlier version, that with which it is compared.
func (s *watchedSuite) caseKey(t *eval.Trial) string {
	key := t.CaseID + "\x00" + t.Case
	if partner, ok := s.partners[t.Arm][key]; ok {
		return partner
	}
	return key
}

// keyOf returns the key of a trial's unit: its round, or else its case, or the first case of its cluster.
func (s *watchedSuite) keyOf(t *eval.Trial) string {
	if s.rounds != nil {
		return fmt.Sprintf("round\x00%d", s.rounds.of(t))
	}
	key := s.caseKey(t)
	return "case\x00" + cmp.Or(s.together[key], key)
}

// unitOf is the unit of an arm to which a trial of it, or of the arm that it is compared with, belongs; nil when there is none.
func (s *watchedSuite) unitOf(a *watchedArm, t *eval.Trial) *unit {
	if t.Arm != a.arm && t.Arm != s.baseOf(a.arm) {
		return nil
	}
	if earlier, interleaved := s.rule.Against.(eval.BaseVersion); interleaved && earlier.Includes(t.Arm) {
		if _, compared := s.partners[t.Arm][t.CaseID+"\x00"+t.Case]; !compared {
			return nil
		}
	}
	return a.by[s.keyOf(t)]
}

// rank is the place of a unit in the schedule: its number if it is a round, else random, but fixed by the seed and the same
// for all arms.
func (q *Sequential) rank(s *watchedSuite, t *eval.Trial) uint64 {
	if s.rounds != nil {
		return uint64(s.rounds.of(t)) //nolint:gosec // it counts from 0
	}
	h := fnv.New64a()
	_ = binary.Write(h, binary.LittleEndian, q.seed) // a hash never fails
	_, _ = h.Write([]byte(t.Suite + "\x00" + s.keyOf(t)))
	x := h.Sum64() // the bits of FNV are not mixed well enough for sorting
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	x ^= x >> 33
	switch {
	case s.later == nil:
		return x
	case s.later[s.keyOf(t)]:
		return x>>1 | 1<<63
	}
	return x >> 1
}

// expect adds a trial of the plan that is compared. It ignores cases in quarantine.
func (q *Sequential) expect(t *runner.Planned) {
	s, ok := q.suites[t.Suite]
	if !ok || s.isBase(t.Arm) || t.Quarantine.Holds(q.startedAt) {
		return
	}
	a, ok := s.arms[t.Arm]
	if !ok {
		a = &watchedArm{arm: t.Arm, model: cmp.Or(t.Model, t.Target), by: map[string]*unit{}}
		s.arms[t.Arm] = a
	}
	key := s.keyOf(&t.Trial)
	u, ok := a.by[key]
	if !ok {
		u = &unit{rank: q.rank(s, &t.Trial), key: key, cases: map[string]*unitCase{}}
		a.by[key] = u
		a.units = append(a.units, u)
	}
	u.pending++
	known := len(u.cases)
	c := u.of(s, &t.Trial)
	if len(u.cases) == known || s.rounds != nil {
		return
	}
	c.request = t.CaseID + "\x00" + t.Case
	if m := s.matcher(t.Arm); m != nil {
		at := m.Match(t.CaseID, t.Case)
		if at < 0 {
			return
		}
		if b := m.side.Cases[at]; b.SameAs(t.ScorersHash, t.VarsHash, false) {
			for i, metric := range s.rule.Metrics {
				c.base[i] = b.Of(m.side, metric.Name)
			}
			c.request = cmp.Or(requestsOf(b.Request, t.RequestHash), c.request)
		}
	}
}

// expectBase adds a trial of an arm with which others are compared, once those are known.
func (q *Sequential) expectBase(t *runner.Planned) {
	s, ok := q.suites[t.Suite]
	if !ok || !s.isBase(t.Arm) || t.Quarantine.Holds(q.startedAt) {
		return
	}
	for _, a := range s.arms {
		if u := s.unitOf(a, &t.Trial); u != nil {
			u.pending++
		}
	}
}

// requestsOf identifies the pair of requests of a case, "" where one is unknown. Cases with the same request on only
// one side are different requests that depend on each other. A prompt that drops a variable must not turn a
// hundred cases into one.
func requestsOf(base, head string) string {
	if base == "" || head == "" {
		return ""
	}
	return base + "\x00" + head
}

func (u *unit) requests() int {
	different := map[string]bool{}
	for _, c := range u.cases {
		different[c.request] = true
	}
	return len(different)
}

func (u *unit) of(s *watchedSuite, t *eval.Trial) *unitCase {
	key := s.caseKey(t)
	c, ok := u.cases[key]
	if !ok {
		n := len(s.rule.Metrics)
		c = &unitCase{base: make([]eval.Sum, n), head: make([]eval.Sum, n)}
		u.cases[key] = c
	}
	return c
}

// sideMatcher finds the cases of an arm of the baseline.
type sideMatcher struct {
	*compare.Matcher
	side *compare.Side
}

// matcher finds the cases with which an arm's cases are compared; nil if there are none.
func (s *watchedSuite) matcher(arm string) *sideMatcher {
	if m, ok := s.matchers[arm]; ok {
		return m
	}
	base := s.base[arm]
	if base == nil && len(s.base) == 1 && s.oneArm {
		for base = range maps.Values(s.base) {
		}
	}
	var m *sideMatcher
	if base != nil {
		m = &sideMatcher{compare.NewMatcher(base), base}
	}
	s.matchers[arm] = m
	return m
}

// sides divides the planned arms of a suite into those of today and those of a baseline. An earlier version has its own
// cases. Those that are compared with a current case belong to its unit, and get its name here; the others run, and no test
// looks at them.
func (s *watchedSuite) sides(planned map[string]*compare.Side, order []string) (heads, bases []*compare.Side) {
	for _, arm := range slices.Sorted(maps.Keys(s.base)) {
		bases = append(bases, s.base[arm])
	}
	earlier, interleaved := s.rule.Against.(eval.BaseVersion)
	for _, arm := range order {
		if !interleaved || !earlier.Includes(arm) {
			heads = append(heads, planned[arm])
			continue
		}
		head := planned[earlier.Current(arm)]
		if head == nil { // then there is nothing to compare
			head = &compare.Side{}
		}
		same := partners(planned[arm], head)
		renamed := &compare.Side{}
		s.partners[arm] = map[string]string{}
		for i, c := range planned[arm].Cases {
			at, found := same[i]
			if !found {
				continue
			}
			h, own := head.Cases[at], *c
			s.partners[arm][c.Key()] = h.Key()
			own.ID, own.Name = h.ID, h.Name
			renamed.Cases = append(renamed.Cases, &own)
		}
		bases = append(bases, renamed)
	}
	return heads, bases
}

// partners maps the place of each case of base to the place of the case of head that it is compared with.
func partners(base, head *compare.Side) map[int]int {
	pairs := map[int]int{}
	m := compare.NewMatcher(base)
	for i, h := range head.Cases {
		b := m.Match(h.ID, h.Name)
		if b < 0 {
			continue
		}
		if c := base.Cases[b]; c.SameAs(h.Scorers, h.Vars, h.Quarantined) {
			pairs[b] = i
		}
	}
	return pairs
}

type seen struct {
	trial    *eval.Trial
	outcome  eval.Outcome
	isolated bool // in quarantine
	blocked  bool
	scores   func(metric string) (float64, bool)
}

func (q *Sequential) ofResult(r *eval.Result) seen {
	return seen{
		trial:    &r.Trial,
		outcome:  r.Outcome(),
		isolated: r.Quarantine.Holds(q.startedAt),
		blocked:  r.Response != nil && r.Response.Blocked() != "",
		scores: func(metric string) (float64, bool) {
			for _, s := range r.Scores {
				if value, ok := s.Value(); ok && s.Name == metric {
					return value, true
				}
			}
			value, ok := r.Metrics[metric]
			return value, ok
		},
	}
}

func ofFacts(f *journal.Facts) seen {
	t := &eval.Trial{ID: f.ID, CaseID: f.CaseID, Suite: f.Suite, Case: f.Case, Arm: f.Arm, Cluster: f.Cluster, Repeat: f.Repeat}
	scores := func(metric string) (float64, bool) {
		for _, s := range f.Scores {
			if s.Name == metric {
				return s.Value, true
			}
		}
		return 0, false
	}
	return seen{trial: t, outcome: f.Outcome, isolated: f.Quarantined, blocked: f.Blocked != "", scores: scores}
}

func (r *seen) value(metric string) (float64, bool) {
	yes := false
	switch metric {
	case eval.MetricPass:
		yes = r.outcome == eval.Pass
	case eval.MetricBlocked:
		yes = r.blocked
	default:
		return r.scores(metric)
	}
	if yes {
		return 1, true
	}
	return 0, true
}

func (u *unit) take(s *watchedSuite, r seen, head bool) {
	c := u.of(s, r.trial)
	u.pending--
	side, ids := c.base, &u.base
	if head {
		side, ids = c.head, &u.trials
		c.results++
	}
	*ids = append(*ids, strings.Clone(r.trial.ID)) // a recorded id is a part of a longer line
	if r.outcome == eval.Err {
		return
	}
	if passed, _ := r.value(eval.MetricPass); head {
		c.passed.Add(passed)
	}
	for i, m := range s.rule.Metrics {
		if v, ok := r.value(m.Name); ok {
			side[i].Add(v)
		}
	}
}
