package fleet

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/evalrun/evalrun/suite"
)

// Bounds of what workers say about themselves, so that one that says too much holds up no other.
const (
	MaxPlaces   = suite.MaxConcurrency // of a worker
	maxWorkers  = 1000
	firstPlaces = 8 // of a worker that has answered no call; each answer adds one
)

// Times that an answer may take in addition to the limit of its attempt.
const (
	answerTime  = 30 * time.Second
	grantedTime = time.Hour // where the worker waits for a grant of its ledger
)

// ticket is the wait of a caller for a place.
type ticket struct {
	got chan *member
	not *member // another worker is preferred
}

// room is the number of places that a worker may have in use.
func (w *member) room() int {
	if !w.heard {
		return 0
	}
	return min(w.places, firstPlaces+w.answered)
}

func (w *member) patience() time.Duration {
	if w.granted {
		return grantedTime
	}
	return answerTime
}

// serve gives free places to waiting callers. The caller holds c.mu.
func (c *Coordinator) serve() {
	for i := 0; i < len(c.waiting); {
		one := c.waiting[i]
		w := c.free(one.not)
		switch {
		case w != nil:
			w.busy++
			one.got <- w // buffered, so it does not block
			c.waiting = slices.Delete(c.waiting, i, i+1)
		case one.not == nil:
			return
		default: // for others there may be a place at the worker that this one avoids
			i++
		}
	}
}

// free returns the worker with the most free places, nil if there is none. It prefers workers whose last call went well.
// If not is the only worker, its places are free as well. The caller holds c.mu.
func (c *Coordinator) free(not *member) *member {
	var best *member
	others := false
	for _, w := range c.workers {
		if w == not || w.room() == 0 {
			continue
		}
		others = true
		if w.busy < w.room() && (best == nil || w.before(best)) {
			best = w
		}
	}
	if !others && not != nil && c.workers[not.id] == not && not.busy < not.room() {
		return not
	}
	return best
}

// before reports whether a call goes to w rather than to another worker.
func (w *member) before(other *member) bool {
	if w.failed != other.failed {
		return other.failed
	}
	return w.room()-w.busy > other.room()-other.busy
}

// acquire waits for a place, in exchange for one at old, if that is not nil. It prefers another worker than old. It returns
// nil when stop or ctx ends the wait.
func (c *Coordinator) acquire(ctx context.Context, stop <-chan struct{}, old *member) *member {
	got := make(chan *member, 1)
	c.mu.Lock()
	if old == nil {
		c.waiting = append(c.waiting, ticket{got: got})
	} else { // its trial began before the waiting ones
		old.busy--
		c.waiting = slices.Insert(c.waiting, 0, ticket{got, old})
	}
	c.serve()
	c.mu.Unlock()
	select {
	case w := <-got:
		return w
	case <-ctx.Done():
	case <-stop:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, one := range c.waiting {
		if one.got == got {
			c.waiting = slices.Delete(c.waiting, i, i+1)
			return nil
		}
	}
	return <-got // assigned meanwhile
}

func (c *Coordinator) release(w *member) {
	if w == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	w.busy--
	c.serve()
}

// seat is the place of a trial or a call.
type seat struct {
	mu     sync.Mutex
	at     *member     // nil: no place became free before the run ended
	failed atomic.Bool // the last call there
}

type roomKey struct{}

// Enter waits for a place. A context that already has one keeps it, unless its worker is gone, about to leave, or has just
// failed; then it gets another place.
func (c *Coordinator) Enter(ctx context.Context, stop <-chan struct{}) (calling context.Context, leave func()) {
	if r, _ := ctx.Value(roomKey{}).(*seat); r != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.failed.Swap(false) || !c.takes(r.at) {
			r.at = c.acquire(ctx, stop, r.at)
		}
		return ctx, func() {}
	}
	r := &seat{at: c.acquire(ctx, stop, nil)}
	return context.WithValue(ctx, roomKey{}, r), func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		c.release(r.at)
		r.at = nil
	}
}

// alive reports whether a place has a worker that is not gone.
func alive(w *member) bool { return w != nil && w.there.Err() == nil }

// takes reports whether a worker is there and accepts calls.
func (c *Coordinator) takes(w *member) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return alive(w) && w.places > 0
}

// worker returns the worker of a place, nil if there is none.
func (r *seat) worker() *member {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.at
}
