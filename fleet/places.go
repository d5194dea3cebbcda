package fleet

import (
	"context"
	"sync"
)

// serve gives free places to those who wait. c.mu is held.
func (c *Coordinator) serve() {
	for len(c.waiting) > 0 {
		w := c.free()
		if w == nil {
			return
		}
		w.busy++
		c.waiting[0] <- w // it has room for one
		c.waiting = c.waiting[1:]
	}
}

// free is the worker with the most free places, nil if there is none. c.mu is held.
func (c *Coordinator) free() *member {
	var best *member
	for _, w := range c.workers {
		if w.busy < w.places && (best == nil || w.places-w.busy > best.places-best.busy) {
			best = w
		}
	}
	return best
}

// acquire waits for a place; nil when stop or ctx ends the waiting.
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
	return <-ticket // it came meanwhile
}

// release gives a place back.
func (c *Coordinator) release(w *member) {
	if w == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	w.busy--
	c.serve()
}

// room is a place that a trial or a call has.
type room struct {
	mu sync.Mutex
	at *member // nil: none was free before the run ended
}

type roomKey struct{}

// Enter waits for a place at a worker. A context that has one keeps it, unless the worker is gone or about to go:
// then it gets another.
func (c *Coordinator) Enter(ctx context.Context, stop <-chan struct{}) (calling context.Context, leave func()) {
	if r, _ := ctx.Value(roomKey{}).(*room); r != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !c.takes(r.at) {
			c.release(r.at)
			r.at = c.acquire(ctx, stop)
		}
		return ctx, func() {}
	}
	r := &room{at: c.acquire(ctx, stop)}
	return context.WithValue(ctx, roomKey{}, r), func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		c.release(r.at)
		r.at = nil
	}
}

// alive reports whether a place is at a worker that is there.
func alive(w *member) bool { return w != nil && w.there.Err() == nil }

// takes reports whether a worker is there and makes more calls.
func (c *Coordinator) takes(w *member) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return alive(w) && w.places > 0
}

// worker is the one at which a place is, nil for none.
func (r *room) worker() *member {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.at
}
