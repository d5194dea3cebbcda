package fleet

import (
	"context"
	"sync"
)

// serve gives free places to waiting callers. The caller holds c.mu.
func (c *Coordinator) serve() {
	for len(c.waiting) > 0 {
		w := c.free()
		if w == nil {
			return
		}
		w.busy++
		c.waiting[0] <- w // buffered, so it does not block
		c.waiting = c.waiting[1:]
	}
}

// free returns the worker with the most free places, nil if there is none. The caller holds c.mu.
func (c *Coordinator) free() *member {
	var best *member
	for _, w := range c.workers {
		if w.busy < w.places && (best == nil || w.places-w.busy > best.places-best.busy) {
			best = w
		}
	}
	return best
}

// acquire waits for a place. It returns nil when stop or ctx ends the wait.
func (c *Coordinator) acquire(ctx context.Context, stop <-chan struct{}) *member {
	ticket := make(chan *member, 1)
	c.mu.Lock()
	c.waiting = append(c.waiting, ticket)
	c.serve()
	c.mu.Unlock()
	select {
	case w := <-ticket:
		return w
	case <-ctx.Done():
	case <-stop:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, one := range c.waiting {
		if one == ticket {
			c.waiting = append(c.waiting[:i], c.waiting[i+1:]...)
			return nil
		}
	}
	return <-ticket // assigned meanwhile
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
	mu sync.Mutex
	at *member // nil: no place became free before the run ended
}

type roomKey struct{}

// Enter waits for a place. A context that already has one keeps it, unless its worker is gone or about to
// leave; then it gets another place.
func (c *Coordinator) Enter(ctx context.Context, stop <-chan struct{}) (calling context.Context, leave func()) {
	if r, _ := ctx.Value(roomKey{}).(*seat); r != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !c.takes(r.at) {
			c.release(r.at)
			r.at = c.acquire(ctx, stop)
		}
		return ctx, func() {}
	}
	r := &seat{at: c.acquire(ctx, stop)}
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
