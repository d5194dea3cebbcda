package runner

import (
	"context"
	"sync"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/suite"
)

// promptTokens returns how long a prompt is, by counting where it matters and by estimate where it does not. A prompt
// over the limit is an error that names both numbers.
func (r *run) promptTokens(ctx context.Context, t *Planned) (int, error) {
	limit := t.InputLimit()
	if !t.MustCount(r.Counting) {
		return wire.Request(&t.Request), nil
	}
	n, err := r.counts.of(ctx, r.Services.Counter, t)
	if err != nil {
		if mayEstimate(eval.AsError(err).Kind) {
			return wire.Request(&t.Request), nil // countTokens itself is not what is under test
		}
		return 0, err
	}
	if limit > 0 && n > limit {
		return n, eval.Errorf(eval.KindOverLimit, "the prompt has %d tokens, and %s takes at most %d", n, t.Request.Model, limit)
	}
	return n, nil
}

// mayEstimate reports whether an estimate does after an error of countTokens.
func mayEstimate(kind eval.ErrorKind) bool {
	switch kind {
	case eval.KindStatus, eval.KindMalformed, eval.KindTruncated, eval.KindTooLarge:
		return true
	}
	return false
}

// CanCountTokens reports whether the tokens of the prompt can be counted. Applications cannot, nor can some protocols.
func (t *Planned) CanCountTokens() bool { return t.to == nil && !t.guessed }

// MustCount reports whether the prompt has to be counted by the service. A token is at least a byte, so a text of fewer
// bytes than the model's limit fits; of files nothing is known.
func (t *Planned) MustCount(by Counting) bool {
	if !t.CanCountTokens() || t.Metadata != nil && !t.Metadata.Supports(wire.MethodCountTokens) {
		return false
	}
	switch by.Mode {
	case suite.CountAlways:
		return true
	case suite.CountNever:
		return false
	}
	limit := t.InputLimit()
	return by.TokensMatter || limit > 0 && (wire.Files(t.Request.Contents) > 0 || wire.PromptBytes(&t.Request) > limit)
}

// counts remembers the token counts of recent prompts, so that repeats and arms that share a
// prompt and a model are counted once. Repeats follow each other in the plan; older
// counts are forgotten.
type counts struct {
	mu       sync.Mutex
	byPrompt map[string]*count
	order    []string
}

type count struct {
	done chan struct{}
	n    int
	err  error
}

const maxCounts = 8192

func newCounts() *counts { return &counts{byPrompt: map[string]*count{}} }

func (c *counts) of(ctx context.Context, counter TokenCounter, t *Planned) (int, error) {
	only := countedPart(&t.Request)
	id := identity(&only)
	key := string(id[:])
	c.mu.Lock()
	known, ok := c.byPrompt[key]
	if !ok {
		known = &count{done: make(chan struct{})}
		c.remember(key, known)
	}
	c.mu.Unlock()
	if !ok {
		known.n, known.err = counter.CountTokens(ctx, &eval.Call{Request: only, TrialID: t.ID})
		if known.err != nil {
			c.forget(key)
		}
		close(known.done)
	}
	select {
	case <-known.done:
		return known.n, known.err
	case <-ctx.Done():
		return 0, eval.Errorf(eval.KindCanceled, "canceled")
	}
}

// countedPart is the part of a request that is sent to be counted: the contents if there is nothing else, and otherwise
// the whole request with its generation config.
func countedPart(r *eval.Request) eval.Request {
	only := eval.Request{
		Model: r.Model, APIVersion: r.APIVersion, Service: r.Service, Protocol: r.Protocol,
		Contents: r.Contents,
	}
	if !wire.IsPlain(r) {
		only.System = r.System
		only.Tools = r.Tools
		only.ToolChoice = r.ToolChoice
		only.GenerationConfig = r.GenerationConfig
	}
	return only
}

func (c *counts) remember(key string, n *count) {
	c.byPrompt[key] = n
	c.order = append(c.order, key)
	if len(c.order) > maxCounts {
		delete(c.byPrompt, c.order[0])
		c.order = c.order[1:]
	}
}

func (c *counts) forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.byPrompt, key)
}
