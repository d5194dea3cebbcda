// Package app calls applications under test: HTTP endpoints, programs, and an echo of the prompt. One call
// is one attempt: retries, limits and deadlines are decorators in internal/flow.
//
// It bounds what it reads, follows no redirect, and masks secrets in every error. All failures are of type
// *eval.Error.
package app

import (
	"context"

	"github.com/evalrun/evalrun/eval"
)

// Echo answers with the prompt, for suites that test their templates without a model.
type Echo struct{}

// Generate returns the text of the last turn.
func (Echo) Generate(_ context.Context, call *eval.Call) (*eval.Response, error) {
	text := ""
	if n := len(call.Contents); n > 0 {
		for _, p := range call.Contents[n-1].Parts {
			text += eval.TextOf(p)
		}
	}
	return &eval.Response{Candidates: []eval.Candidate{{Text: text, FinishReason: "STOP"}}}, nil
}
