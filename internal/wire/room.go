package wire

import (
	"context"
	"io"
)

// Answers may be large, and reading and decoding one takes several times its bytes. So only a few large ones are in
// work at once; small ones, which nearly all are, need no room.
const (
	smallAnswer = 512 << 10 // bytes up to which an answer needs no room
	largeAtOnce = 2
)

// room is what large answers wait for.
type room chan struct{}

// lease is the room that one call has taken, if any.
type lease struct {
	room room
	held bool
}

type leaseKey struct{}

// leased gives a call the right to room; release gives back what it took.
func (r room) leased(ctx context.Context) (leasing context.Context, release func()) {
	l := &lease{room: r}
	return context.WithValue(ctx, leaseKey{}, l), func() {
		if l.held {
			l.held = false
			<-r
		}
	}
}

// take waits for room, once in a call.
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

// roomy is a body that takes room before it gives more than a small answer.
type roomy struct {
	io.Reader
	ctx  context.Context //nolint:containedctx // a reader has no other way to hear of the end of a call
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

// Lease gives a call the right to room for a large answer; release gives back what it took.
func (c *Conn) Lease(ctx context.Context) (leasing context.Context, release func()) {
	return c.room.leased(ctx)
}
