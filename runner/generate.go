package runner

import (
	"context"

	"github.com/evalrun/evalrun/eval"
)

// generate makes the call for the request of a trial, or of one turn of it. The response has a usage, and timing is filled in whatever
// happens. The error is an *eval.Error.
func (r *run) generate(ctx context.Context, t *Planned, timing *eval.Timing) (*eval.Response, error) {
	call := &eval.Call{Request: t.Request, TrialID: t.ID, OutputLimit: t.OutputLimit()}
	defer func() { *timing = call.Timing }()
	var err error
	if call.PromptTokens, err = r.promptTokens(ctx, t); err != nil {
		return nil, err
	}
	resp, err := r.Generator.Generate(ctx, call)
	if err != nil {
		return nil, err
	}
	resp.Usage = call.Usage(resp)
	return resp, nil
}

// empty is the error of an answer that is none.
func empty(resp *eval.Response) error {
	if len(resp.Candidates) == 0 && resp.PromptBlock() == "" {
		return eval.Errorf(eval.KindNoCandidates, "the answer has no candidates, and nothing was blocked")
	}
	return nil
}
