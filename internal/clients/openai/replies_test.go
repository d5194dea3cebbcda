package openai

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
	c := New(wire.Server{BaseURL: "http://service.invalid/v1", Key: canary, Transport: transport})
	return c.Generate(t.Context(), &eval.Call{Request: eval.Request{Model: "m", Stream: stream}})
}

// Every recorded reply of OpenAI and of eighteen compatible servers is read as its index says.
func TestRecordedRepliesReadAsIndexed(t *testing.T) {
	t.Parallel()
	replies.HoldAll(t, 47, ask, ParseResponse, "openai", "compatible")
}

func TestDamagedStreamsAreErrors(t *testing.T) {
	t.Parallel()
	replies.HoldFaults(t, ask, "openai", "compatible")
}

// FuzzParseResponse checks that whatever comes is an error of some kind, or an answer.
func FuzzParseResponse(f *testing.F) {
	replies.Fuzz(f, ParseResponse, hostile.Strings(), "openai", "compatible")
}

func fetch(t *testing.T, transport *replies.Canned, stream bool) (*eval.Response, error) {
	t.Helper()
	c := NewResponses(wire.Server{BaseURL: "http://service.invalid/v1", Key: canary, Transport: transport})
	return c.Generate(t.Context(), &eval.Call{Request: eval.Request{Model: "m", Stream: stream}})
}

func TestRecordedResponsesReadAsIndexed(t *testing.T) {
	t.Parallel()
	replies.HoldAll(t, 24, fetch, ParseResponses, "responses")
}

func TestDamagedResponsesStreamsAreErrors(t *testing.T) {
	t.Parallel()
	replies.HoldFaults(t, fetch, "responses")
}

// FuzzParseResponses checks that whatever comes is an error of some kind, or an answer.
func FuzzParseResponses(f *testing.F) {
	replies.Fuzz(f, ParseResponses, hostile.Strings(), "responses")
}
