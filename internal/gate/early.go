package gate

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/runner"
)

// Early watches the suites whose gates stop early. It feeds units to each arm's test in the order of the
// schedule, in whatever order answers come. Only the complete units from the beginning on count. Otherwise
// slow answers would come last and bias the test.
type Early struct {
	seed      uint64
	startedAt string        // when the run began, which decides whether quarantines apply
	mu        sync.Mutex    // guards decided and next, which the runner reads
	moved     chan struct{} // closed and replaced when an arm has moved on
	suites    map[string]*watchedSuite
}

type watchedSuite struct {
	rule     *eval.BaselineRule
	race     *race                    // nil if the suite's gate stops early instead
	min      *float64                 // least pass rate, if the gate has that rule too
	base     map[string]*compare.Side // of the baseline, by arm; nil if the baseline runs in the same run
	alone    bool                     // the suite has one arm
	matchers map[string]*sideMatcher
	closed   map[string]bool              // arms whose used trials the journal has
	together map[string]string            // by case, the first case of its unit, if that has several
	partners map[string]map[string]string // for an earlier version, by arm: its cases and the current ones with which they are compared
	arms     map[string]*watchedArm
	order    []*watchedArm // by name
}

// watchedArm is an arm that is compared.
type watchedArm struct {
	suite, arm string
	model      string
	units      []*unit // in the order of the schedule
	by         map[string]*unit
	next       int // the first one that was not fed
	test       *compare.Sequential
	decided    bool // the verdict is known, or the arm has left the race

	cases, lost float64 // cases that count for the pass rate, and how many of them have failed, in parts
}

// unit is a case, or a cluster of cases, until all its results have come.
type unit struct {
	rank    uint64
	key     string
	place   int     // in the schedule
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
	base, head []compare.Sum
	passed     compare.Sum
	results    int // of head, including errors
}

// NewEarly returns nil if no gate of the run stops early and no arms race.
func NewEarly(run *eval.Run, plan *runner.Plan) (*Early, error) {
	q := &Early{seed: run.RandomSeed, startedAt: run.StartedAt, suites: map[string]*watchedSuite{}, moved: make(chan struct{})}
	for i := range run.Suites {
		name := run.Suites[i].Name
		w, err := watching(run, plan, &run.Suites[i])
		if err != nil {
			return nil, err
		}
		if w != nil {
			w.together = compare.Units(w.sides(plannedSides(plan, name, run.StartedAt)))
			q.suites[name] = w
		}
	}
	if len(q.suites) == 0 {
		return nil, nil
	}
	for t := range plan.Trials() {
		q.expect(t)
	}
	for t := range plan.Trials() {
		q.expectBase(t)
	}
	for _, w := range q.suites {
		w.begin()
	}
	return q, nil
}

// watching returns a suite whose arms race or whose gate stops early; nil for other suites.
func watching(run *eval.Run, plan *runner.Plan, one *eval.RunSuite) (*watchedSuite, error) {
	if w := raceOf(run, plan, one); w != nil {
		return w, nil
	}
	return stopping(run, plan, one)
}

// stopping returns a suite whose gate stops early, nil if it does not.
func stopping(run *eval.Run, plan *runner.Plan, one *eval.RunSuite) (*watchedSuite, error) {
	g := one.Gate
	if g == nil || g.Baseline == nil || !g.Baseline.StopEarly || run.Options().NoBaseline() || plan.Shard() != nil {
		return nil, nil
	}
	w := &watchedSuite{
		rule:     g.Baseline,
		min:      g.PassRateMin,
		arms:     map[string]*watchedArm{},
		matchers: map[string]*sideMatcher{},
		closed:   map[string]bool{},
		partners: map[string]map[string]string{},
	}
	w.alone = armsOf(plan, one.Name) == 1
	if other, elsewhere := w.rule.Against.(eval.BaseRun); elsewhere {
		sides, err := baseSides(other.Path, one.Name)
		if err != nil {
			return nil, err
		}
		w.base = sides
	}
	return w, nil
}

// baseOf is the arm of the run with which an arm is compared, "" if the suite races or the baseline is another run.
func (w *watchedSuite) baseOf(arm string) string {
	if w.race != nil {
		return ""
	}
	return w.rule.Against.ArmFor(arm)
}

// isBase reports whether an arm of the run is there to be compared with.
func (w *watchedSuite) isBase(arm string) bool { return w.race == nil && w.rule.Against.Includes(arm) }

// armsOf counts the arms of a suite in the plan.
func armsOf(plan *runner.Plan, suite string) (n int) {
	for _, a := range plan.Arms() {
		if a.Suite == suite {
			n++
		}
	}
	return n
}

// baseSides reads the arms of a suite in a baseline.
func baseSides(path, suite string) (map[string]*compare.Side, error) {
	d, err := journal.Open(path)
	if err != nil {
		return nil, eval.Incomplete("the baseline cannot be read: %w", err)
	}
	defer d.Close() //nolint:errcheck // it was only read
	sides, err := sidesOf(d)
	if err != nil {
		return nil, eval.Incomplete("the baseline cannot be read: %w", err)
	}
	out := map[string]*compare.Side{}
	for _, s := range sides {
		if s.Suite == suite {
			out[s.Arm] = s
		}
	}
	return out, nil
}

// unitKey returns the key of a trial's unit: its case, or the first case of its cluster.
func (q *Early) unitKey(t *eval.Trial) string {
	w, ok := q.suites[t.Suite]
	if !ok {
		return "case\x00" + t.CaseID + "\x00" + t.Case
	}
	return w.keyOf(t)
}

// keyOf is unitKey for a watched suite.
func (w *watchedSuite) keyOf(t *eval.Trial) string {
	key := w.caseKey(t)
	return "case\x00" + cmp.Or(w.together[key], key)
}

// rank is the place of a unit in the schedule: random, but fixed by the seed and the same for all arms.
func (q *Early) rank(t *eval.Trial) uint64 {
	h := fnv.New64a()
	_ = binary.Write(h, binary.LittleEndian, q.seed) // a hash never fails
	_, _ = h.Write([]byte(t.Suite + "\x00" + q.unitKey(t)))
	x := h.Sum64() // the bits of FNV are not mixed well enough for sorting
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// expect adds a trial of the plan that is compared. It ignores cases in quarantine.
func (q *Early) expect(t *runner.Planned) {
	w, ok := q.suites[t.Suite]
	if !ok || w.isBase(t.Arm) || t.Quarantine.Holds(q.startedAt) {
		return
	}
	a, ok := w.arms[t.Arm]
	if !ok {
		a = &watchedArm{suite: t.Suite, arm: t.Arm, model: cmp.Or(t.Model, t.Target), by: map[string]*unit{}}
		w.arms[t.Arm] = a
	}
	key := q.unitKey(&t.Trial)
	u, ok := a.by[key]
	if !ok {
		u = &unit{rank: q.rank(&t.Trial), key: key, cases: map[string]*unitCase{}}
		a.by[key] = u
		a.units = append(a.units, u)
	}
	u.pending++
	known := len(u.cases)
	c := u.of(w, &t.Trial)
	if len(u.cases) == known {
		return
	}
	a.cases++
	c.request = t.CaseID + "\x00" + t.Case
	if m := w.matcher(t.Arm); m != nil {
		at := m.Match(t.CaseID, t.Case)
		if at < 0 {
			return
		}
		if b := m.side.Cases.At(at); b.SameAs(t.ScorersHash, t.VarsHash, false) {
			for i, metric := range w.rule.Metrics {
				c.base[i] = b.Of(m.side, metric.Name)
			}
			c.request = cmp.Or(requestsOf(b.Request, t.RequestHash), c.request)
		}
	}
}

// expectBase adds a trial of an arm with which others are compared, once those are known.
func (q *Early) expectBase(t *runner.Planned) {
	w, ok := q.suites[t.Suite]
	if !ok || !w.isBase(t.Arm) || t.Quarantine.Holds(q.startedAt) {
		return
	}
	for _, a := range w.arms {
		if u := q.unitOf(w, a, &t.Trial); u != nil {
			u.pending++
		}
	}
}

// requests counts the different requests of a unit.
func (u *unit) requests() int {
	different := map[string]bool{}
	for _, c := range u.cases {
		different[c.request] = true
	}
	return len(different)
}

func (u *unit) of(w *watchedSuite, t *eval.Trial) *unitCase {
	key := w.caseKey(t)
	c, ok := u.cases[key]
	if !ok {
		n := len(w.rule.Metrics)
		c = &unitCase{base: make([]compare.Sum, n), head: make([]compare.Sum, n)}
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
func (w *watchedSuite) matcher(arm string) *sideMatcher {
	if m, ok := w.matchers[arm]; ok {
		return m
	}
	var m *sideMatcher
	if s, ok := w.base[arm]; ok {
		m = &sideMatcher{compare.NewMatcher(s), s}
	} else if len(w.base) == 1 && w.alone {
		for s := range maps.Values(w.base) {
			m = &sideMatcher{compare.NewMatcher(s), s}
		}
	}
	w.matchers[arm] = m
	return m
}

// begin sorts the units into the schedule.
func (w *watchedSuite) begin() {
	for _, arm := range slices.Sorted(maps.Keys(w.arms)) {
		a := w.arms[arm]
		w.order = append(w.order, a)
		slices.SortStableFunc(a.units, func(x, y *unit) int { return cmp.Compare(x.rank, y.rank) })
		largest := 0
		for place, u := range a.units {
			u.place = place
			largest = max(largest, u.requests())
		}
		for _, u := range a.units {
			u.weight = float64(u.requests()) / float64(largest)
		}
		a.test = compare.NewSequential(w.rule.Metrics, w.rule.Alpha, len(w.arms)*len(w.rule.Metrics))
	}
	if w.race != nil {
		w.lineUp()
	}
}

// Schedule yields the plan with the units of the watched suites sorted by rank. The arms of a case stay
// together, so that drift of the service affects all of them.
func (q *Early) Schedule(plan *runner.Plan) iter.Seq[*runner.Planned] {
	var all []*runner.Planned
	for t := range plan.Trials() {
		all = append(all, t)
	}
	suite := map[string]int{}
	for i, s := range plan.Suites {
		suite[s.Name] = i
	}
	slices.SortStableFunc(all, func(a, b *runner.Planned) int {
		if a.Suite != b.Suite || q.suites[a.Suite] == nil {
			return cmp.Compare(suite[a.Suite], suite[b.Suite])
		}
		return cmp.Compare(q.rank(&a.Trial), q.rank(&b.Trial))
	})
	return slices.Values(all)
}

// Skip returns the ending of a trial that need not run, nil when it must. The verdict on its arm is known then or, for
// the baseline's arm, the verdicts on all others.
func (q *Early) Skip(t *runner.Planned) eval.Ending {
	w, ok := q.suites[t.Suite]
	if !ok {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.race != nil {
		if a := w.arms[t.Arm]; a == nil || !a.decided {
			return nil
		}
		return eval.SkippedRuledOut{}
	}
	for arm, a := range w.arms {
		if (arm == t.Arm || t.Arm == w.baseOf(arm)) && !a.decided {
			return nil
		}
	}
	return eval.SkippedDecided{}
}

// Hold keeps running trials close to the fed ones. Otherwise, during a slow answer, other workers would run
// far ahead, and their answers would be paid for and not used. No worker waits forever, because the missing
// trial started before.
func (q *Early) Hold(t *runner.Planned, ahead int, stop, done <-chan struct{}) {
	for {
		q.mu.Lock()
		far, moved := q.far(t, ahead), q.moved
		q.mu.Unlock()
		if !far {
			return
		}
		select {
		case <-moved:
		case <-stop:
			return
		case <-done:
			return
		}
	}
}

// far reports whether a trial is more than `ahead` units after the first incomplete one, on every arm that
// needs it.
func (q *Early) far(t *runner.Planned, ahead int) bool {
	w, ok := q.suites[t.Suite]
	if !ok {
		return false
	}
	if w.race != nil {
		return w.tooFar(t, ahead)
	}
	far := false
	for _, a := range w.order {
		if u := q.unitOf(w, a, &t.Trial); u != nil && !a.decided {
			if u.place-a.next < ahead {
				return false
			}
			far = true
		}
	}
	return far
}
