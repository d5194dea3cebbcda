package generative

import (
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

// streamFaults are streams that give no answer, by what is wrong with them.
type streamFaults map[string]struct {
	pieces []string
	kind   eval.ErrorKind
	text   string
}

// run wants each of the streams to be an error, and never a shorter answer.
func (all streamFaults) run(t *testing.T) {
	t.Helper()
	for name, test := range all {
		t.Run(name, func(t *testing.T) {
			got, e, _ := askStream(t, "", test.pieces...)
			if e == nil {
				t.Fatalf("got %.200v, want an error", got)
			}
			if e.Kind != test.kind || !strings.Contains(e.Error(), test.text) {
				t.Errorf("%s: %s; want %s: %s", e.Kind, e, test.kind, test.text)
			}
		})
	}
}

func TestStreamsCutOrMalformedAreErrors(t *testing.T) {
	t.Parallel()
	a, b, c := chunk("one ", ""), chunk("two ", ""), chunk("three", stop)
	streamFaults{
		"empty":               {nil, eval.KindTruncated, "cut after 0 chunks"},
		"bracket only":        {[]string{"["}, eval.KindTruncated, "cut after 0 chunks"},
		"no bracket":          {[]string{"[" + a + "," + b + "," + c}, eval.KindTruncated, "cut after 3 chunks"},
		"no bracket, reset":   {[]string{"[" + a + "," + b + "," + c, "RESET"}, eval.KindTruncated, "cut after 3 chunks"},
		"after a comma":       {[]string{"[" + a + ",\n"}, eval.KindTruncated, "cut after 1 chunk"},
		"in an object":        {[]string{"[" + a + "," + b[:30]}, eval.KindTruncated, "cut after 1 chunk"},
		"in an object, reset": {[]string{"[" + a + "," + b[:30], "RESET"}, eval.KindTruncated, "cut after 1 chunk"},
		"events between":      {[]string{"data: " + a + "\n\ndata: " + b + "\n\n"}, eval.KindTruncated, "cut after 2 chunks"},
		"events inside":       {[]string{"data: " + a + "\n\ndata: " + b[:40]}, eval.KindTruncated, "cut after 1 chunk"},
		"events, reset":       {[]string{"data: " + a + "\n\ndata: " + b + "\n\n", "RESET"}, eval.KindTruncated, "cut after 2 chunks"},
		"events, unspecified": {
			[]string{"data: " + chunk("x", `,"finishReason":"FINISH_REASON_UNSPECIFIED"`) + "\n\n"},
			eval.KindTruncated, "cut after 1 chunk",
		},
		"one of two unfinished": {
			[]string{
				"data: " + `{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"},` +
					`{"content":{"parts":[{"text":"b"}]}}]}` + "\n\n",
			},
			eval.KindTruncated, "cut after 1 chunk",
		},
		"not JSON":                  {[]string{"[" + a + ", oops]"}, eval.KindMalformed, "not JSON after 1 chunk"},
		"no comma":                  {[]string{"[" + a + b + "]"}, eval.KindMalformed, "not JSON after 1 chunk"},
		"an event that is not JSON": {[]string{"data: oops\n\n"}, eval.KindMalformed, "not JSON: oops"},
		"html":                      {[]string{"<html>Bad gateway"}, eval.KindMalformed, "neither JSON nor a stream of events: <html>"},
		"wrong type": {[]string{"[" + a + `,{"candidates":"none"}]`}, eval.KindMalformed, "in chunk 2 of the stream: " +
			"`candidates`"},
		"a number": {[]string{"[5]"}, eval.KindMalformed, ""},
	}.run(t)
}

// An error of the service counts wherever it comes in a stream, and so does text that is no part of an answer.
func TestErrorsInStreamsEndTheAnswer(t *testing.T) {
	t.Parallel()
	a, c := chunk("one ", ""), chunk("three", stop)
	streamFaults{
		"error object": {
			[]string{`{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}`},
			eval.KindStatus,
			"503 UNAVAILABLE: busy",
		},
		"error in the array": {
			[]string{`[{"error":{"code":429,"message":"slow","status":"RESOURCE_EXHAUSTED"}}]`},
			eval.KindQuota,
			"slow",
		},
		"error after chunks": {
			[]string{"[" + a + `,{"error":{"code":500,"message":"boom"}}]`},
			eval.KindStatus,
			"in chunk 2 of the stream: boom",
		},
		"bare error in an array": {[]string{"data: " + c + "\n\n[{\"error\":{\"code\":503,\"message\":\"busy\"}}]"}, eval.KindStatus, "busy"},
		"unwrapped error": {
			[]string{"data: " + a + "\n\ndata: {\"code\":503,\"message\":\"busy\",\"status\":\"UNAVAILABLE\"}\n\n"},
			eval.KindStatus, "503 UNAVAILABLE: in chunk 2 of the stream: busy",
		},
		"error event without data": {[]string{"data: " + c + "\n\nevent: error\n\n"}, eval.KindStatus, "the answer holds an error"},
		"error event as text": {
			[]string{"data: " + c + "\n\nevent: error\ndata: upstream is gone\n\n"},
			eval.KindStatus,
			"upstream is gone",
		},
		"error field":           {[]string{"data: " + c + "\n\nerror: upstream is gone\n\n"}, eval.KindMalformed, "upstream is gone"},
		"error after the array": {[]string{"[" + c + "]\n{\"error\":{\"code\":499,\"message\":\"canceled\"}}"}, eval.KindStatus, "499: "},
		"text like an event":    {[]string{"internal error: the database is down"}, eval.KindMalformed, "internal error: the database"},
	}.run(t)
}

// A second reply in a stream is an error, also where each piece has a finish reason.
func TestSecondRepliesAreErrors(t *testing.T) {
	t.Parallel()
	a, b, c := chunk("one ", stop), chunk("two ", stop), chunk("three", stop)
	call := `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"a":1}}}]},"finishReason":"STOP"}]}`
	id := func(chunk, id string) string { return strings.TrimSuffix(chunk, "}") + `,"responseId":"` + id + `"}` }
	const second = "the stream has more text after the end of its answer: a second reply, or the same again"
	streamFaults{
		"one piece twice":       {[]string{"[" + c + "," + c + "]"}, eval.KindMalformed, second},
		"some pieces twice":     {[]string{"[" + a + "," + b + "," + a + "," + b + "]"}, eval.KindMalformed, second},
		"one piece three times": {[]string{"data: " + c + "\n\ndata: " + c + "\n\ndata: " + c + "\n\n"}, eval.KindMalformed, second},
		"a call twice":          {[]string{"[" + call + "," + call + "]"}, eval.KindMalformed, second},
		"text after a reason":   {[]string{"[" + chunk("one ", "") + "," + b + "," + c + "]"}, eval.KindMalformed, second},
		"text without a reason": {[]string{"[" + b + "," + chunk("three", "") + "]"}, eval.KindMalformed, second},
		"another response":      {[]string{"[" + id(b, "x") + "," + id(c, "y") + "]"}, eval.KindMalformed, second},
		"another, no reason":    {[]string{"[" + id(chunk("one ", ""), "x") + "," + id(c, "y") + "]"}, eval.KindMalformed, second},
		"another after DONE":    {[]string{"data: " + b + "\n\ndata: [DONE]\n\ndata: " + c + "\n\n"}, eval.KindMalformed, second},
	}.run(t)
}

func TestStreamsOverLimitsAreErrors(t *testing.T) {
	t.Parallel()
	a, c := chunk("one ", ""), chunk("three", stop)
	streamFaults{
		"one index twice": {
			[]string{`[{"candidates":[{"index":0,"content":{"parts":[{"text":"a"}]}},{"index":0,"content":{"parts":[{"text":"b"}]}}]}]`},
			eval.KindMalformed, "two candidates have the index 0",
		},
		"many ratings": {
			[]string{`[{"candidates":[{"safetyRatings":[` + strings.Repeat(`{"category":"c"},`, 2000) + `{}]}]}]`},
			eval.KindMalformed, "safetyRatings",
		},
		"many candidates": {
			[]string{`[{"candidates":[` + strings.Repeat(`{"a":1},`, 2000) + `{"a":1}]}]`},
			eval.KindMalformed,
			"candidates",
		},
		"many parts": {
			[]string{`[{"candidates":[{"content":{"parts":[` + strings.Repeat(`{},`, 200_000) + `{}]}}]}]`},
			eval.KindTooLarge, "values",
		},
		"not UTF-8": {[]string{"[" + strings.Replace(a, "one", "\xff", 1) + "]"}, eval.KindMalformed, "UTF-8"},
		"deep": {
			[]string{`[{"a":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "}]"},
			eval.KindMalformed,
			"deeper",
		},
		"one chunk too large": {
			[]string{"[" + chunk(strings.Repeat("x", wire.MaxResponseBytes), stop) + "]"},
			eval.KindTooLarge,
			"larger than",
		},
		"one event too large": {
			[]string{"data: " + chunk(strings.Repeat("x", wire.MaxResponseBytes), stop) + "\n\n"},
			eval.KindTooLarge,
			"larger than",
		},
		"an answer too large": {
			[]string{"[" + strings.Repeat(chunk(strings.Repeat("x", 1<<20), "")+",", 17) + c + "]"},
			eval.KindTooLarge, "larger than",
		},
	}.run(t)
}
