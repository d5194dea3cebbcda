package wire

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"
)

// stalled is how long a request that may take long makes no progress at most.
const stalled = 10 * time.Minute

var errStalled = errors.New("stalled")

// patience ends a request that makes no progress. Requests for batches take as long as their files, so that no deadline would do.
type patience struct {
	timer *time.Timer
	after time.Duration
	stop  context.CancelCauseFunc
}

func (c *Caller) patient(ctx context.Context) (context.Context, *patience) {
	ctx, stop := context.WithCancelCause(ctx)
	after := cmp.Or(c.Server.Patience, stalled)
	return ctx, &patience{time.AfterFunc(after, func() { stop(errStalled) }), after, stop}
}

func (p *patience) end() {
	p.timer.Stop()
	p.stop(nil)
}

// progressing is a body with progress in it.
type progressing struct {
	io.Reader
	patience *patience // nil: it may stall
}

func (p *progressing) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	if n > 0 && p.patience != nil {
		p.patience.timer.Reset(p.patience.after)
	}
	return n, err
}
