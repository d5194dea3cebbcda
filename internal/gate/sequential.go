package gate

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/runner"
)

// Sequential decides during a run which arms need no more trials. An early stop compares an arm with its baseline, and a
// race compares all arms of a suite with each other. Both follow one scheme:
//
//  1. The units of a suite are shuffled by the seed before the run. That is the schedule.
//  2. A unit is fed to the test once all its results have come, and after all earlier units. So a stop depends only on the
//     schedule and the answers, not on the order in which they come: slow answers would come last and bias the test.
//  3. Each unit is a look. The tests hold their error rate whenever they stop (compare.EarlyStop, compare.Race).
//  4. A stop is recorded and final. Trials of the arm that have not begun are skipped, and answers that came too early are
//     not used.
type Sequential struct {
	seed      uint64
	startedAt string        // when the run began, which decides whether quarantines apply
	mu        sync.Mutex    // guards decided, next and stalled, which the runner reads
	moved     chan struct{} // closed and replaced when a sequence has moved on
	suites    map[string]*watchedSuite
}

// watchedSuite is a suite whose gate stops early or whose arms race.
type watchedSuite struct {
	name     string
	rule     *eval.BaselineRule // of a race only the metric and alpha
	race     bool
	rounds   *rounds                  // nil: a unit is a case with all of its repeats
	min      *float64                 // least pass rate, if the gate has that rule too
	base     map[string]*compare.Side // of the baseline, by arm; nil if the baseline runs in the same run
	oneArm   bool                     // the suite has one arm
	verdicts int                      // of all gates of the run
	matchers map[string]*sideMatcher
	later    map[string]bool              // units that the run adds to the one that it extends; they come last
	lost     map[string][][]float64       // by arm, the worst losses of cases that only the baseline has, by metric
	closed   map[string]bool              // arms whose used trials the journal has
	together map[string]string            // by case, the first case of its unit, if that has several
	partners map[string]map[string]string // for an earlier version, by arm: its cases and the current ones with which they are compared
	arms     map[string]*watchedArm
	order    []*watchedArm // by name
}

type watchedArm struct {
	arm     string
	model   string
	units   []*unit // in the order of the schedule
	by      map[string]*unit
	in      *sequence
	decided bool // it has stopped
}

// sequence has the units of arms that are tested together, in the order of the schedule.
type sequence struct {
	arms    []*watchedArm
	keys    []string // of the units
	next    int      // the first one that was not fed
	stalled bool     // a trial that the test needs was skipped: nothing more can be fed
	// deciding is true while the test looks at a unit: what it may stop does not start.
	deciding bool
	test     sequentialTest
}

// sequentialTest takes units one by one, and says which arms stop.
type sequentialTest interface {
	// needs reports whether the test looks at the results of an arm, by its index in the sequence.
	needs(arm int) bool
	// feed takes the next unit. Each stop has the name of its arm.
	feed(key string) []eval.ArmStop
	// resume takes that an arm stopped in an earlier session, after this number of units.
	resume(arm, units int)
}

// MayStop reports whether a run may stop arms before all of their trials have run.
func MayStop(run *eval.Run) bool {
	return run.Options().Race != "" || slices.ContainsFunc(run.Suites, func(s eval.RunSuite) bool {
		return s.Gate != nil && s.Gate.Baseline != nil && s.Gate.Baseline.StopEarly
	})
}

// NewSequential returns nil if no gate of the run stops early and no arms race. known reports whether the run that this one
// extends has a trial; nil: it extends none.
func NewSequential(run *eval.Run, plan *runner.Plan, known func(*eval.Trial) bool) (*Sequential, error) {
	q := &Sequential{seed: run.RandomSeed, startedAt: run.StartedAt, suites: map[string]*watchedSuite{}, moved: make(chan struct{})}
	for i := range run.Suites {
		name := run.Suites[i].Name
		s := raced(run, plan, &run.Suites[i])
		if s == nil {
			var err error
			if s, err = stopping(run, plan, &run.Suites[i]); err != nil {
				return nil, err
			}
		}
		if s != nil {
			planned, order := plannedSides(plan, name, run.StartedAt)
			s.together = compare.Units(s.sides(planned, order))
			s.lose(planned, run.Options())
			q.suites[name] = s
		}
	}
	if len(q.suites) == 0 {
		return nil, nil
	}
	if known != nil {
		if err := q.divide(plan, known); err != nil {
			return nil, err
		}
	}
	for t := range plan.Trials() {
		q.expect(t)
	}
	for t := range plan.Trials() {
		q.expectBase(t)
	}
	for _, s := range q.suites {
		s.begin()
	}
	return q, nil
}

// divide finds the units that a run adds to the one that it extends. The others come before them, in the order that they had:
// so the test goes on where it was. Rounds are in order by themselves.
func (q *Sequential) divide(plan *runner.Plan, known func(*eval.Trial) bool) error {
	for t := range plan.Trials() {
		s := q.suites[t.Suite]
		if s == nil || s.rounds != nil {
			continue
		}
		if s.later == nil {
			s.later = map[string]bool{}
		}
		key, later := s.keyOf(&t.Trial), !known(&t.Trial)
		was, seen := s.later[key]
		if _, shared := s.together[s.caseKey(&t.Trial)]; seen && was != later || later && shared {
			return eval.BadInput(
				"--extend: under `stopEarly` a run grows by new cases only, and %s on %s has another number of repeats, or shares a "+
					"cluster or a request with other cases", t.Case, t.Arm,
			)
		}
		s.later[key] = later
	}
	return nil
}

// begin makes the sequences: one of all arms in a race, else one for each arm.
func (s *watchedSuite) begin() {
	for _, name := range slices.Sorted(maps.Keys(s.arms)) {
		s.order = append(s.order, s.arms[name])
	}
	if s.race {
		w := newSequence(s.order...)
		w.test = newRaceTest(s, w)
		return
	}
	for _, a := range s.order {
		w := newSequence(a)
		if s.rounds != nil {
			w.test = &roundsTest{s, a, w}
		} else {
			w.test = newEarlyTest(s, w)
		}
	}
}

// newSequence sorts the units of arms into the schedule.
func newSequence(arms ...*watchedArm) *sequence {
	w := &sequence{arms: arms}
	ranks := map[string]uint64{}
	for _, a := range arms {
		a.in = w
		for _, u := range a.units {
			ranks[u.key] = u.rank
		}
	}
	w.keys = slices.SortedFunc(maps.Keys(ranks), func(a, b string) int {
		return cmp.Or(cmp.Compare(ranks[a], ranks[b]), cmp.Compare(a, b))
	})
	for _, a := range arms {
		a.units = a.units[:0]
		for place, key := range w.keys {
			if u := a.by[key]; u != nil {
				u.place = place
				a.units = append(a.units, u)
			}
		}
	}
	return w
}

// Schedule yields the plan with the units of the watched suites sorted by rank. The arms of a case stay
// together, so that drift of the service affects all of them.
func (q *Sequential) Schedule(plan *runner.Plan) iter.Seq[*runner.Planned] {
	all := slices.Collect(plan.Trials())
	suite := map[string]int{}
	for i, s := range plan.Suites {
		suite[s.Name] = i
	}
	slices.SortStableFunc(all, func(a, b *runner.Planned) int {
		s := q.suites[a.Suite]
		if a.Suite != b.Suite || s == nil {
			return cmp.Compare(suite[a.Suite], suite[b.Suite])
		}
		return cmp.Compare(q.rank(s, &a.Trial), q.rank(s, &b.Trial))
	})
	return slices.Values(all)
}

// Skip returns the ending of a trial that need not run, nil when it must. Its arm has stopped then or, for the baseline's
// arm, all others have.
func (q *Sequential) Skip(t *runner.Planned) eval.Ending {
	s, ok := q.suites[t.Suite]
	if !ok {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	var why eval.Ending
	for _, a := range s.order {
		switch {
		case a.arm != t.Arm && s.baseOf(a.arm) != t.Arm:
		case !a.decided:
			return nil
		case s.race:
			why = eval.SkippedRuledOut{}
		default:
			why = eval.SkippedDecided{}
		}
	}
	return why
}

// Hold keeps running trials close to the fed ones. Otherwise, during a slow answer, other workers would run
// far ahead, and their answers would be paid for and not used. No worker waits forever: the missing trial
// started before, and where it was skipped, nothing is held back.
func (q *Sequential) Hold(t *runner.Planned, workers int, stop, done <-chan struct{}) {
	for {
		q.mu.Lock()
		far, moved := q.far(t, workers), q.moved
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

// far reports whether a trial is too many units after the first one that was not fed, in every sequence that needs it. The
// caller holds q.mu.
func (q *Sequential) far(t *runner.Planned, workers int) bool {
	s, ok := q.suites[t.Suite]
	if !ok {
		return false
	}
	far := false
	for _, a := range s.order {
		u := s.unitOf(a, &t.Trial)
		if u == nil || a.decided || a.in.stalled {
			continue
		}
		if !a.in.deciding && u.place-a.in.next < s.ahead(a, workers) {
			return false
		}
		far = true
	}
	return far
}

// ahead is how many units may be under way. Of rounds it is one, so that a repeat of every case runs before the next one.
// In a race it is one more than what keeps the workers busy with the model's arms, since a unit has a trial on each.
func (s *watchedSuite) ahead(a *watchedArm, workers int) int {
	switch {
	case s.rounds != nil:
		return 1
	case !s.race:
		return workers
	}
	arms := 0
	for _, other := range s.order {
		if other.model == a.model && !other.decided {
			arms++
		}
	}
	return (workers+arms-1)/arms + 1
}

// Observe feeds a result, in any order, and records which arms stop now.
func (q *Sequential) Observe(r *eval.Result, out *journal.Writer) error {
	return q.observe(q.ofResult(r), out)
}

func (q *Sequential) observe(r seen, out *journal.Writer) error {
	s, ok := q.suites[r.trial.Suite]
	if !ok || r.isolated {
		return nil
	}
	for _, a := range s.order {
		u := s.unitOf(a, r.trial)
		switch {
		case u == nil:
			continue
		case r.outcome != eval.Skip:
			u.take(s, r, r.trial.Arm == a.arm)
			s.rounds.take(r)
		case !a.decided:
			q.move(func() { a.in.stalled = true })
			continue
		}
		if err := q.advance(s, a.in, out); err != nil {
			return err
		}
	}
	return nil
}

// advance feeds the complete units from the first one on, and records which arms stop.
func (q *Sequential) advance(s *watchedSuite, w *sequence, out *journal.Writer) error {
	for w.complete() {
		key := w.keys[w.next]
		q.move(func() { w.next, w.deciding = w.next+1, true })
		for _, stop := range w.test.feed(key) {
			if err := q.stop(s, stop, out); err != nil {
				return err
			}
		}
		q.move(func() { w.deciding = false }) // workers that held back may continue
	}
	return nil
}

// complete reports whether the next unit has all results that the test needs.
func (w *sequence) complete() bool {
	if w.next == len(w.keys) || !slices.ContainsFunc(w.arms, func(a *watchedArm) bool { return !a.decided }) {
		return false
	}
	for i, a := range w.arms {
		if u := a.by[w.keys[w.next]]; w.test.needs(i) && u != nil && u.pending > 0 && !u.unsent {
			return false
		}
	}
	return true
}

// stop records that an arm stops, unless an earlier session did.
func (q *Sequential) stop(s *watchedSuite, stop eval.ArmStop, out *journal.Writer) error {
	of := stop.Stopped()
	a := s.arms[of.Arm]
	if a.decided {
		return nil
	}
	of.Suite, of.Units, of.Of = s.name, a.in.next, len(a.in.keys)
	for _, u := range a.units {
		if u.place >= a.in.next {
			of.Unused = append(of.Unused, u.trials...)
		}
	}
	if err := out.WriteStop(stop); err != nil {
		return err
	}
	q.move(func() { a.decided = true })
	return s.closeBase(a, out)
}

// move changes what workers that hold back look at, and wakes them.
func (q *Sequential) move(change func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	change()
	close(q.moved)
	q.moved = make(chan struct{})
}

// Left reports whether the arm of a trial has left a race.
func (q *Sequential) Left(t *eval.Trial) bool {
	s := q.suites[t.Suite]
	return s != nil && s.race && s.arms[t.Arm] != nil && s.arms[t.Arm].decided
}

// Unsent records that a trial has no answer because its arm had left the race.
func (q *Sequential) Unsent(t *eval.Trial, out *journal.Writer) error {
	s := q.suites[t.Suite]
	if s == nil || !s.race || s.arms[t.Arm] == nil {
		return nil
	}
	a := s.arms[t.Arm]
	if u := a.by[s.keyOf(t)]; u != nil {
		u.unsent = true
	}
	return q.advance(s, a.in, out)
}

// Replay feeds the results that a resumed run already has. A recorded stop is final.
func (q *Sequential) Replay(d *journal.Document, settled func(journal.IndexedTrial) bool, out *journal.Writer) error {
	for _, stop := range d.Stops {
		of := stop.Stopped()
		s, ok := q.suites[of.Suite]
		if !ok {
			continue
		}
		if s.isBase(of.Arm) {
			s.closed[of.Arm] = true
		}
		if a := s.arms[of.Arm]; a != nil {
			a.decided = true
			a.in.test.resume(slices.Index(a.in.arms, a), of.Units)
		}
	}
	for f, err := range d.Facts() {
		if err != nil {
			return err
		}
		t := journal.IndexedTrial{ID: f.ID, Suite: f.Suite, Arm: f.Arm, Outcome: f.Outcome, MayPass: f.MayPass}
		if f.Outcome == eval.Skip || !settled(t) {
			continue
		}
		if err := q.observe(ofFacts(f), out); err != nil { // its Quarantined is as of the same time
			return err
		}
	}
	for _, s := range q.suites {
		for _, a := range s.order {
			if !a.decided {
				continue
			}
			if err := s.closeBase(a, out); err != nil {
				return err
			}
		}
	}
	return nil
}
