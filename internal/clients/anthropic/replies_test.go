package anthropic

import (
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/internal/testing/replies"
)

const canary = "sk-canary-0123456789"

func ask(t *testing.T, transport *replies.Canned, stream bool) (*eval.Response, error) {
	t.Helper()
	c := New(wire.Server{BaseURL: "http://service.invalid", Key: canary, Transport: transport})
	return c.Generate(t.Context(), &eval.Call{Request: eval.Request{Model: "m", Stream: stream}})
}

func TestRecordedRepliesReadAsIndexed(t *testing.T) {
	t.Parallel()
	replies.HoldAll(t, 19, ask, ParseResponse, "anthropic")
}

func TestDamagedStreamsAreErrors(t *testing.T) {
	t.Parallel()
	replies.HoldFaults(t, ask, "anthropic")
}

// FuzzParseResponse checks that whatever comes is an error of some kind, or an answer.
func FuzzParseResponse(f *testing.F) {
	replies.Fuzz(f, ParseResponse, hostile.Strings(), "anthropic")
}
