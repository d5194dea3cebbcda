package responses

import (
	"testing"

	"github.com/evalrun/evalrun/clients/account"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/hostile"
	"github.com/evalrun/evalrun/internal/replies"
)

const canary = "sk-canary-0123456789"

func ask(t *testing.T, transport *replies.Canned, stream bool) (*eval.Response, error) {
	t.Helper()
	c := New(account.Account{BaseURL: "http://service.invalid/v1", Key: canary, Transport: transport})
	return c.Generate(t.Context(), &eval.Call{Request: eval.Request{Model: "m", Stream: stream}})
}

// Every recorded reply of Responses is read as its index says.
func TestRecordedRepliesReadAsIndexed(t *testing.T) {
	t.Parallel()
	replies.HoldAll(t, 24, ask, ParseResponse, "responses")
}

// A stream that is damaged is an error, and never another answer.
func TestDamagedStreamsAreErrors(t *testing.T) {
	t.Parallel()
	replies.HoldFaults(t, ask, "responses")
}

// FuzzParseResponse checks that whatever comes is an error of some kind, or an answer.
func FuzzParseResponse(f *testing.F) {
	replies.Fuzz(f, ParseResponse, hostile.Strings(), "responses")
}
