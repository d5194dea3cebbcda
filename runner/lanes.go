package runner

import (
	"cmp"
	"context"
	"iter"
	"runtime"
	"sync"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/suite"
)

// lane has the trials of one model, with its own workers. While one model waits, for its limits or for a
// pause of the service, the others continue. The caller bounds the total number of calls in progress.
type lane struct {
	assignments chan assignment
	// workers is how many of its trials are under way at once.
	workers int
	// detached says that the lane is fed by its own walk over the schedule.
	detached bool
}

// laneRoom is how many trials may wait in a lane before it holds up the walk over the plan.
const laneRoom = 256

// feeder hands out the trials of a schedule to the lanes of their models. One walk over the plan serves
// them all, as long as they keep pace with each other. A lane that falls behind gets its own walk, so that
// waiting trials never take more memory than laneRoom.
type feeder struct {
	schedule iter.Seq[*Planned]
	lanes    map[modelKey]*lane
	admit    func(*Planned) (assignment, bool)
	hungry   chan struct{}  // gets a token when a worker finds its lane empty
	own      sync.WaitGroup // separate walks of lanes that fell behind
}

func laneOf(t *Planned) modelKey {
	if t.to != nil {
		return modelKey{app: t.to}
	}
	return modelKey{
		service: t.Request.Service, apiVersion: t.Request.APIVersion, id: t.Request.Model,
		protocol: cmp.Or(t.Request.Protocol, eval.Generative),
	}
}

func (s *Services) workersOf(t *suite.Target) int {
	switch of := t.Of.(type) {
	case *suite.Program:
		return of.Workers(s.Concurrency, runtime.GOMAXPROCS(0))
	case *suite.ConfiguredModel:
		if of.Service != nil {
			return max(1, cmp.Or(s.ByName[of.Service.Name], s.Concurrency))
		}
	case *suite.HTTPTarget, *suite.EchoTarget:
	}
	return max(1, s.Concurrency)
}

func newFeeder(
	plan *Plan, schedule iter.Seq[*Planned], admit func(*Planned) (assignment, bool), workers func(*suite.Target) int,
) *feeder {
	f := &feeder{schedule: schedule, admit: admit, lanes: map[modelKey]*lane{}, hungry: make(chan struct{}, 1)}
	for _, t := range plan.targets() {
		key := plan.key(t)
		if f.lanes[key] == nil {
			f.lanes[key] = &lane{workers: workers(t)}
		}
	}
	for _, l := range f.lanes {
		l.assignments = make(chan assignment, laneRoom)
	}
	return f
}

// run walks over the schedule until its end, or until ctx is done. Every lane is closed when it has all of its trials.
func (f *feeder) run(ctx context.Context) {
	place := 0
	for t := range f.schedule {
		if ctx.Err() != nil {
			break
		}
		place++
		l := f.lanes[laneOf(t)]
		if l.detached {
			continue
		}
		if j, ok := f.admit(t); ok && !f.put(ctx, l, j, place) {
			break
		}
	}
	for _, l := range f.lanes {
		if !l.detached {
			close(l.assignments)
		}
	}
	f.own.Wait()
}

// put hands a trial to its lane. It returns false when ctx is done. If the lane is full and another one is
// empty, the full lane gets its own walk.
func (f *feeder) put(ctx context.Context, l *lane, next assignment, place int) bool {
	for {
		select {
		case l.assignments <- next:
			return true
		default:
		}
		if f.starving() {
			l.detached = true
			f.own.Go(func() { f.walk(ctx, l, next, place) })
			return true
		}
		select {
		case l.assignments <- next:
			return true
		case <-f.hungry:
		case <-ctx.Done():
			return false
		}
	}
}

func (f *feeder) starving() bool {
	for _, l := range f.lanes {
		if !l.detached && len(l.assignments) == 0 {
			return true
		}
	}
	return false
}

// walk feeds one lane: the first assignment, then the lane's trials after place from of the schedule.
func (f *feeder) walk(ctx context.Context, l *lane, first assignment, from int) {
	defer close(l.assignments)
	give := func(next assignment) bool {
		select {
		case l.assignments <- next:
			return true
		case <-ctx.Done():
			return false
		}
	}
	if !give(first) {
		return
	}
	place := 0
	for t := range f.schedule {
		if place++; place <= from || f.lanes[laneOf(t)] != l {
			continue
		}
		if j, ok := f.admit(t); ok && !give(j) {
			return
		}
	}
}

// take returns the next trial of a lane; false when there are no more.
func (f *feeder) take(l *lane) (assignment, bool) {
	select {
	case j, ok := <-l.assignments:
		return j, ok
	default:
	}
	select {
	case f.hungry <- struct{}{}:
	default:
	}
	j, ok := <-l.assignments
	return j, ok
}
