package wire

import (
	"context"
	"io"
)

// Reading and decoding a large answer takes several times its size in memory. So only largeAtOnce of them
// are read at once. Small answers, which are the rule, need no room.
const (
	smallAnswer = 512 << 10 // bytes up to which an answer needs no room
	largeAtOnce = 2
)

// room is the semaphore for large answers.
type room chan struct{}

// lease is the room of one call, which may have taken none.
type lease struct {
	room room
	held bool
}

type leaseKey struct{}

// leased lets a call take room; release returns what it took.
func (r room) leased(ctx context.Context) (leasing context.Context, release func()) {
	l := &lease{room: r}
	return context.WithValue(ctx, leaseKey{}, l), func() {
		if l.held {
			l.held = false
			<-r
		}
	}
}

// take waits for room, once per call.
func (l *lease) take(ctx context.Context) error {
	if l == nil || l.held {
		return nil
	}
	select {
	case l.room <- struct{}{}:
		l.held = true
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// roomy is a body that takes room before it returns more than a small answer.
type roomy struct {
	io.Reader
	ctx  context.Context //nolint:containedctx // io.Reader has no parameter for it
	read int
}

func (r *roomy) Read(p []byte) (int, error) {
	if r.read >= smallAnswer {
		l, _ := r.ctx.Value(leaseKey{}).(*lease)
		if err := l.take(r.ctx); err != nil {
			return 0, err
		}
	} else if len(p) > smallAnswer-r.read {
		p = p[:smallAnswer-r.read]
	}
	n, err := r.Reader.Read(p)
	r.read += n
	return n, err
}

// Lease lets a call take room for a large answer; release returns it.
func (c *Conn) Lease(ctx context.Context) (leasing context.Context, release func()) {
	return c.room.leased(ctx)
}
