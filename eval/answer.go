package eval

import "github.com/evalrun/evalrun/tool"

// PaidAnswer is an answer that was paid for before its trial could be settled. It waits for judges or embeddings, or it is
// one call of a trial of several. It has a line of its own in the run file, so that a crash does not lose it.
type PaidAnswer struct {
	ID    string `json:"id"` // of the trial
	N     int    `json:"n"`
	Model string `json:"model"`
	// CallNumber is the number of the call, from 1, of a trial with further calls; 0: the answer is whole.
	CallNumber int       `json:"turn,omitempty"`
	Request    *Request  `json:"request,omitempty"`
	Response   *Response `json:"response"`
	// Results are the suite's results for function calls of the model, as in AnsweredCall. If calls start programs,
	// the answer has one line before they run, and a second one with their results.
	Results []tool.CallResult `json:"results,omitempty"`
	// Calls are the answered calls of a whole answer.
	Calls  []AnsweredCall `json:"turns,omitempty"`
	Usage  *Usage         `json:"usage,omitempty"`
	Timing *Timing        `json:"timing,omitempty"`
	// TraceID is the trace of the trial, as in Result.
	TraceID string `json:"traceId,omitempty"`
}

// Withhold removes prompts and answers from the record, as Result.Withhold does.
func (a *PaidAnswer) Withhold() {
	r := Result{Request: a.Request, Response: a.Response, Calls: a.Calls, Usage: a.Usage}
	r.Withhold()
	a.Request = r.Request
	a.Response = r.Response
	a.Calls = r.Calls
	a.Usage = r.Usage
	a.Results = withheldResults(a.Results)
}
