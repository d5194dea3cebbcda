package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/estimate"
)

// newCall is the call for the request of a trial, or of one turn of it.
func (r *run) newCall(t *Planned) *eval.Call {
	call := &eval.Call{Request: t.Request, TrialID: t.ID, OutputLimit: t.OutputLimit(), Attempts: t.attempts}
	if t.to != nil {
		call.To, call.Vars, call.Session = t.to, t.vars, TrialSession(r.Session, t.N)
	}
	return call
}

// generate makes a call of a trial. The response has a usage, and timing is filled in whatever happens. The error is an *eval.Error.
func (r *run) generate(ctx context.Context, t *Planned, call *eval.Call, timing *eval.Timing) (*eval.Response, error) {
	defer func() { *timing = call.Timing }()
	var err error
	if call.PromptTokens, err = r.promptTokens(ctx, t); err != nil {
		return nil, err
	}
	resp, err := r.Generator.Generate(ctx, call)
	if err != nil {
		return nil, err
	}
	resp.Usage = estimate.Usage(call, resp)
	return resp, nil
}

// empty is the error of an answer with nothing to judge, nil when there is something.
func empty(resp *eval.Response) error {
	switch {
	case resp.PromptBlock() != "":
		return nil
	case len(resp.Candidates) == 0:
		return eval.Errorf(eval.KindNoCandidates, "the answer has no candidates, and nothing was blocked")
	}
	for i := range resp.Candidates {
		if resp.Candidates[i].Answers() {
			return nil
		}
	}
	first := &resp.Candidates[0]
	why := "it has no finish reason"
	if first.FinishReason != "" {
		why = "finish reason " + first.FinishReason
	}
	var words string
	if json.Unmarshal(first.Extra["finishMessage"], &words) == nil && words != "" {
		why += ": " + words
	}
	return eval.Errorf(eval.KindNoCandidates, "the answer has no content (%s)", why)
}

// TrialSession is the name of a trial for an application, n being its place in the plan. All calls of the trial share it. session is that of
// the Config: a run that continues in another process has other names.
func TrialSession(session string, n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", session, n))
	return hex.EncodeToString(sum[:16])
}
