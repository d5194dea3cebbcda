package flow

import (
	"context"
	"sync"

	"github.com/evalrun/evalrun/eval"
)

// Cache answers a request from an earlier run with the same request, to the letter, and keeps new answers. When
// several workers want one answer at once, it sends one request. Errors are not kept. notice gets a warning when
// answers cannot be kept.
func Cache(cache AnswerCache, next Service, notice func(string)) Service {
	return &caching{Service: next, cache: cache, notice: notice, under: map[string]*underway{}}
}

type caching struct {
	Service
	cache  AnswerCache
	notice func(string)
	warned sync.Once

	mu    sync.Mutex
	under map[string]*underway
}

// underway is a call that others wait for.
type underway struct {
	done chan struct{}
	resp *eval.Response
	err  error
}

func (c *caching) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	if call.TrialID == "" {
		return c.Service.Generate(ctx, call)
	}
	c.mu.Lock()
	if u, ok := c.under[call.TrialID]; ok {
		c.mu.Unlock()
		select {
		case <-u.done:
			return u.resp, u.err
		case <-ctx.Done():
			return nil, eval.Errorf(eval.KindCanceled, "canceled")
		}
	}
	u := &underway{done: make(chan struct{})}
	c.under[call.TrialID] = u
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.under, call.TrialID)
		c.mu.Unlock()
		close(u.done)
	}()
	u.resp, u.err = c.generate(ctx, call)
	return u.resp, u.err
}

func (c *caching) generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	if a := c.cache.Answer(call.TrialID); a != nil && call.Earlier != eval.EarlierRefused {
		return a.Replay(call), nil
	}
	resp, err := c.Service.Generate(ctx, call)
	if err != nil {
		return nil, err
	}
	if err := c.cache.Put(call.TrialID, resp, &call.Timing); err != nil {
		c.warned.Do(func() { c.notice("warning: answers cannot be cached: " + err.Error()) })
	}
	return resp, nil
}
