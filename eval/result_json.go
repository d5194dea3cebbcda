package eval

import (
	"github.com/evalrun/evalrun/internal/wirejson"
)

// writtenResult is a result in files. It holds the scores in their written form too: an encoder copies what a method
// returns, and a decoder scans a value twice if it has the method.
type writtenResult struct {
	Trial
	Vars       map[string]string  `json:"vars,omitempty"`
	Outcome    Outcome            `json:"outcome"`
	Scores     []writtenScore     `json:"scores"`
	Request    *Request           `json:"request,omitempty"`
	Response   *Response          `json:"response,omitempty"`
	Calls      []AnsweredCall     `json:"turns,omitempty"`
	Usage      *Usage             `json:"usage,omitempty"`
	Timing     *Timing            `json:"timing,omitempty"`
	Integrity  Integrity          `json:"integrity,omitempty"` // as in Timing
	Limit      string             `json:"limit,omitempty"`     // as in Timing
	Error      *Error             `json:"error,omitempty"`
	SkipReason string             `json:"skipReason,omitempty"`
	TraceID    string             `json:"traceId,omitempty"`
	Workspace  string             `json:"workspace,omitempty"`
	Changes    string             `json:"changes,omitempty"`
	Judgements []Judgement        `json:"judgements,omitempty"`
	Metrics    map[string]float64 `json:"metrics,omitempty"`
}

// AppendJSON appends the result in the form of files.
func (r *Result) AppendJSON(dst []byte) ([]byte, error) { return wirejson.Append(dst, r.written()) }

// MarshalJSON writes what AppendJSON appends.
func (r Result) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil) }

func (r *Result) written() *writtenResult {
	e := r.writtenEnding()
	w := &writtenResult{
		Trial: r.Trial, Vars: r.Vars, Outcome: e.outcome, Request: r.Request, Response: r.Response, Calls: r.Calls, Usage: r.Usage,
		Timing: r.Timing, Error: e.err, SkipReason: e.skipReason, TraceID: r.TraceID, Workspace: r.Workspace, Changes: r.Changes,
		Judgements: r.Judgements, Metrics: r.Metrics,
	}
	if r.Timing != nil {
		w.Integrity, w.Limit = r.Timing.Integrity, r.Timing.Limit
	}
	if r.Scores != nil {
		w.Scores = make([]writtenScore, len(r.Scores))
		values := make([]float64, len(r.Scores))
		for i := range r.Scores {
			w.Scores[i] = r.Scores[i].written(&values[i])
		}
	}
	return w
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (r *Result) UnmarshalJSON(data []byte) error {
	var w writtenResult
	err := wirejson.DecodeAnyCase(data, &w)
	*r = w.result()
	return err
}

func (w *writtenResult) result() Result {
	r := Result{
		Trial: w.Trial, Vars: w.Vars, Ending: w.Outcome.Ending(w.Error, w.SkipReason),
		Request: w.Request, Response: w.Response, Calls: w.Calls, Usage: w.Usage, Timing: w.Timing,
		TraceID: w.TraceID, Workspace: w.Workspace, Changes: w.Changes, Judgements: w.Judgements, Metrics: w.Metrics,
	}
	if w.Scores != nil {
		r.Scores = make([]Score, len(w.Scores))
		for i := range w.Scores {
			r.Scores[i] = w.Scores[i].score()
		}
	}
	return r
}
