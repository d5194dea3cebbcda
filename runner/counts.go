package runner

import (
	"context"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/suite"
)

// measure finds out how long the prompt of a call is, by counting where it matters and by estimate where it does not. A
// prompt over the limit is an error that names both numbers.
func (r *run) measure(ctx context.Context, t *Planned, call *eval.Call) error {
	if t.MustCount(r.Counting) {
		n, err := r.countTokens(ctx, t)
		if limit := t.InputLimit(); err == nil && limit > 0 && n > limit {
			return eval.Errorf(eval.KindOverLimit, "the prompt has %d tokens, and %s takes at most %d", n, t.Request.Model, limit)
		}
		if err == nil || !mayEstimate(eval.AsError(err).Kind) { // countTokens itself is not what is under test
			call.PromptTokens, call.Counted = n, true
			return err
		}
	}
	call.PromptTokens = wire.Request(&t.Request)
	return nil
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

// maxCounts bounds the token counts of recent prompts that are remembered, so that repeats and arms that share a prompt and a
// model are counted once. Repeats follow each other in the plan.
const maxCounts = 8192

// countTokens counts the tokens of a prompt, once for equal prompts.
func (r *run) countTokens(ctx context.Context, t *Planned) (int, error) {
	only := countedPart(&t.Request)
	id := identity(&only)
	key := string(id[:])
	one, first := r.counts.take(key)
	if first {
		var err error
		one.value, err = r.Services.Counter.CountTokens(ctx, &eval.Call{Request: only, TrialID: t.ID})
		one.err = eval.AsError(err)
		r.counts.settle(key, one)
	}
	if err := one.wait(ctx); err != nil {
		return 0, err
	}
	return one.value, nil
}

// countedPart is what is counted: the contents if there is nothing else, and else the whole request.
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
