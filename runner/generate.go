package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

func (r *run) newCall(t *Planned) *eval.Call {
	call := &eval.Call{Request: t.Request, TrialID: t.ID, OutputLimit: t.OutputLimit(), Attempts: t.attempts}
	if t.to != nil {
		call.To = &eval.Called{RequestMaker: t.to}
		call.Vars = t.sent
		call.TrialName = TrialName(r.Environment.NameSalt, t.N)
	}
	return call
}

// generate makes a call of a trial. The response has a usage, and timing is filled in whatever happens. The error is
// an *eval.Error.
func (r *run) generate(ctx context.Context, t *Planned, call *eval.Call, timing *eval.Timing) (*eval.Response, error) {
	defer func() { *timing = call.Timing }()
	if err := r.measure(ctx, t, call); err != nil {
		return nil, err
	}
	resp, err := r.Services.Generator.Generate(ctx, call)
	if err == nil && call.Timing.Attempts == 0 { // an earlier answer
		resp, err = r.read(t, resp)
	}
	if err != nil {
		return nil, err
	}
	resp.Usage = wire.Usage(call, resp)
	return t.tidied(resp), nil
}

// tidied is an answer without what the suite strips.
func (t *Planned) tidied(resp *eval.Response) *eval.Response {
	if !t.strips {
		return resp
	}
	return resp.WithoutThoughts()
}

// read reads an earlier answer as the current suite says.
func (r *run) read(t *Planned, resp *eval.Response) (*eval.Response, error) {
	if t.to == nil || r.EarlierRuns.Reader == nil {
		return t.tidied(resp), nil
	}
	again, err := r.EarlierRuns.Reader.ReadAgain(t.to, resp)
	if err != nil {
		return nil, err
	}
	return t.tidied(again), nil
}

// readAgain is read for all earlier answers of a trial.
func (r *run) readAgain(t *Planned, earlier *eval.Result) (*eval.Result, error) {
	out := *earlier
	resp, err := r.read(t, earlier.Response)
	if err != nil {
		return earlier, err
	}
	if out.Response = resp; resp.Usage != nil && resp.Usage.Source != "" {
		out.Usage = resp.Usage
	}
	out.Calls = slices.Clone(earlier.Calls)
	for i := range out.Calls {
		one, err := r.read(t, &out.Calls[i].Response)
		if err != nil {
			return earlier, err
		}
		out.Calls[i].Response = *one
	}
	return &out, nil
}

// trace takes down the trace of a call that was sent to an endpoint.
func (a *scoring) trace(trialName string, timing *eval.Timing) {
	if sent := a.trial.Request.App; sent != nil && isHTTP(sent) && timing.Attempts > 0 {
		a.result.TraceID = eval.TraceID(trialName)
	}
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
	return eval.Errorf(eval.KindNoCandidates, "the answer has no content (%s)", endingOf(&resp.Candidates[0]))
}

func endingOf(c *eval.Candidate) string {
	why := "it has no finish reason"
	if c.FinishReason != "" {
		why = "finish reason " + c.FinishReason
	}
	if c.FinishReason == "OTHER" && c.VendorReason != "" {
		why += fmt.Sprintf(", %q", c.VendorReason)
	}
	var words string
	if json.Unmarshal(c.Extra["finishMessage"], &words) == nil && words != "" {
		why += ": " + words
	}
	return why
}

// TrialName is what an application sees of the n-th trial of a plan. Another process continues a run by another salt.
func TrialName(salt string, n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", salt, n))
	return hex.EncodeToString(sum[:16])
}
