package app_test

import (
	"io"
	"log"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/app"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

var deltas = eval.Reading{Answer: ".d", Stream: true}

// events is a handler that writes a stream piece by piece, and ends it well.
func events(pieces ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, p := range pieces {
			_, _ = io.WriteString(w, p)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

func then(first http.HandlerFunc, next func(w http.ResponseWriter, r *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		first(w, r)
		next(w, r)
	}
}

func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
func abort(http.ResponseWriter, *http.Request)    { panic(http.ErrAbortHandler) }

// Pieces of a stream are one text, whatever frames them and however it says that it ended.
func TestHTTPStreamsJoinToOneText(t *testing.T) {
	t.Parallel()
	full := eval.Reading{Answer: ".d", FinishReason: ".why", ToolCalls: ".calls[]?", Usage: ".usage", Stream: true}
	for name, one := range map[string]struct {
		handler http.HandlerFunc
		reading eval.Reading
		want    string
	}{
		"ended by the response": {events("data: {\"d\":\"He\"}\n\n", ": ping\n\nevent: x\ndata: {\"d\":\"llo\"}\n\n",
			"data: {\"other\":1}\n\n"), deltas, "Hello"},
		"ended by a mark": {then(events("data: {\"d\":\"Hello\"}\n\ndata: [DONE]\n\n"), hang), deltas, "Hello"},
		"ended by its reason": {then(events("data: {\"d\":\"Hello\"}\n\ndata: "+
			"{\"why\":\"stop\",\"usage\":{\"inputTokens\":1,\"outputTokens\":2}}\n\n"), hang), full, "Hello"},
		"in split pieces": {events("da", "ta: {\"d\":", "\"Hel\"}\r", "\n\r\ndata: {\"d\":\"lo\"}\n\n"), deltas, "Hello"},
		"texts": {
			events("data: Hel\n\n", "data:  \n\n", "data: lo\ndata: there\n\n"),
			eval.Reading{Stream: true},
			"Hel lo\nthere",
		},
		"texts in quotes":     {events("data: \"a\"\n\n", "data: {\"b\":1}\n\n"), eval.Reading{Stream: true}, `"a"{"b":1}`},
		"a line of JSON each": {says("application/x-ndjson", "{\"d\":\"Hel\"}\n{\"d\":\"lo\"}\n"), deltas, "Hello"},
		"texts of JSON, a line each": {
			says("application/x-ndjson", "\"Hel\"\n\"lo\"\n"), eval.Reading{Answer: ".", Stream: true}, "Hello",
		},
		"events by their names": {
			events("event: think\ndata: {\"d\":\"Hm\"}\n\n", "event: say\ndata: {\"d\":\"Hel\"}\n\n",
				"data: {\"d\":\"?\"}\n\n", "event: say\ndata: {\"d\":\"lo\"}\n\n", "event: end\ndata: {}\n\n"),
			eval.Reading{Answer: `select($event == "say") | .d`, FinishReason: `if $event == "end" then "stop" else null end`, Stream: true},
			"Hello",
		},
		"news of its progress": {
			events(
				"data: {\"message\":\"searching\"}\n\n", "data: {\"d\":\"Hello\"}\n\n",
				"data: {\"status\":200,\"message\":\"fine\"}\n\n",
				"data: {\"event\":512,\"message\":\"searching\"}\n\n", "data: {\"done\":true,\"error\":\"\"}\n\n",
			),
			deltas,
			"Hello",
		},
		"news of its progress, by name": {
			events("event: step\ndata: {\"message\":\"searching\"}\n\n", "event: say\ndata: {\"d\":\"Hello\"}\n\n"),
			eval.Reading{Answer: `select($event == "say") | .d`, Stream: true},
			"Hello",
		},
		"the text so far": {
			events("data: {\"d\":\"He\"}\n\n", "data: {\"d\":\"Hello\"}\n\n", "data: {\"d\":\"Hello\",\"why\":\"stop\"}\n\n"),
			eval.Reading{Answer: ".d", FinishReason: ".why", Stream: true, Repeats: true},
			"Hello",
		},
		"one piece":              {says("application/json", `{"d":"Hello"}`), deltas, "Hello"},
		"an empty text, said so": {events("data: {\"d\":\"\"}\n\n"), deltas, ""},
		"without a media type": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w,
				"data: {\"d\":\"Hello\"}\n\n")
		}, deltas, "Hello"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp, call, err := called(t, serving(t, one.handler), one.reading, time.Minute)
			if err != nil {
				t.Fatalf("got %s, want %q", err, one.want)
			}
			expect.Same(t, "text", resp.Text(), one.want)
			if timed := call.Timing.Chunks > 0 && (call.Timing.FirstTokenMs > 0) == (one.want != ""); !timed {
				t.Errorf("got %+v, want the time of the first text", call.Timing)
			}
			second, again2 := reread(t, one.reading, resp)
			expect.Same(t, "read again", second, resp.Text())
			expect.Same(t, "read again with another jq", again2, true)
		})
	}
}

// reread reads an answer again in the same way, and reports whether a jq that finds nothing is an error then.
func reread(t *testing.T, reading eval.Reading, resp *eval.Response) (text string, fails bool) {
	t.Helper()
	second, err := app.NewReader(reading).Reread(resp)
	expect.OK(t, err)
	reading.Answer = ".nothing_of_the_kind?"
	_, err = app.NewReader(reading).Reread(resp)
	return second.Text(), err != nil
}

// A stream that breaks is an error, and never the part of the text that came.
func TestBrokenHTTPStreamsAreErrors(t *testing.T) {
	t.Parallel()
	const soon = 500 * time.Millisecond
	hello := events("data: {\"d\":\"Hello " + canary + "\"}\n\n")
	for name, one := range map[string]struct {
		handler  http.HandlerFunc
		reading  eval.Reading
		deadline time.Duration
		kind     eval.ErrorKind
		message  string
	}{
		"cut between events": {then(hello, abort), deltas, 0, eval.KindTruncated, "cut after 1 chunk"},
		"cut in an event":    {then(events("data: {\"d\":\"Hello\"}\n\ndata: {\"d\":\"th"), abort), deltas, 0, eval.KindTruncated, "cut"},
		"ended in an event":  {events("data: {\"d\":\"Hello\"}\n\ndata: {\"d\":\"th"), deltas, 0, eval.KindTruncated, "cut"},
		"closed without end": {cut("Content-Type: text/event-stream\r\n\r\ndata: {\"d\":\"Hello\"}\n\n"), deltas, 0, eval.KindTruncated, "cut"},
		"a hang in between":  {then(hello, hang), deltas, soon, eval.KindTimeout, "no complete answer"},
		"no events":          {events(": nothing\n\n"), deltas, 0, eval.KindMalformed, "the stream has no events"},
		"nothing at all":     {events(), deltas, 0, eval.KindTruncated, "cut after 0 chunks"},
		"a page of HTML": {
			says("text/html", "<h1>Hello "+canary+"</h1>"), deltas, 0, eval.KindMalformed,
			"neither JSON nor a stream of events: <h1>Hello \\[key\\]</h1>",
		},
		"an error event": {events("data: {\"d\":\"Hello\"}\n\n",
			"event: error\ndata: {\"message\":\"down "+canary+"\"}\n\n"), deltas, 0, eval.KindApp, `down \[key\]`},
		"an error status": {
			events("event: error\ndata: {\"error\":{\"code\":503,\"message\":\"busy\"}}\n\n"), deltas, 0,
			eval.KindStatus, "^503: busy$",
		},
		"an error as data, beside names": {
			events("event: say\ndata: {\"d\":\"Hello\"}\n\n", "data: {\"error\":{\"message\":\"down\"}}\n\n"),
			eval.Reading{Answer: `select($event == "say") | .d`, Stream: true},
			0, eval.KindApp, "holds an error: .*down",
		},
		"an error as data by its type": {
			events("data: {\"d\":\"Hello\"}\n\n", "data: {\"type\":\"error\",\"message\":\"down\"}\n\n"), deltas, 0, eval.KindApp, "down",
		},
		"an error as data by its status": {
			events("data: {\"d\":\"Hello\"}\n\n", "data: {\"status\":\"Failed\",\"message\":\"down\"}\n\n"), deltas, 0, eval.KindApp, "down",
		},
		"an error as data by a number": {
			events("data: {\"d\":\"Hello\"}\n\n", "data: {\"status\":500,\"message\":\"down\"}\n\n"), deltas, 0, eval.KindApp, "down",
		},
		"an error as data with a code": {
			events("data: {\"d\":\"Hello\"}\n\n", "data: {\"code\":\"quota\",\"message\":\"down\"}\n\n"), deltas, 0, eval.KindApp, "down",
		},
		"an error as data": {events("data: {\"d\":\"Hello\"}\n\n",
			"data: {\"error\":{\"message\":\"down "+canary+"\"}}\n\n"), deltas, 0, eval.KindApp, `down \[key\]`},
		"an error by jq": {
			events("data: {\"d\":\"Hello\"}\n\n", "data: {\"oops\":\"down\"}\n\n"),
			eval.Reading{Answer: ".d", Error: ".oops", Stream: true},
			0, eval.KindApp, "says: down$",
		},
		"no JSON": {
			events("data: {\"d\":\"Hello\"}\n\n", "data: <h1>"+canary+"\n\n"), deltas, 0,
			eval.KindMalformed, `needs JSON in every event .*<h1>\[key\]`,
		},
		"garbage in between": {
			events("data: {\"d\":\"Hello\"}\n\n", "Fatal error: out of memory\n"), deltas, 0,
			eval.KindMalformed, "Fatal error",
		},
		"invalid UTF-8": {events("data: {\"d\":\"a\xff\"}\n\n"), deltas, 0, eval.KindMalformed, "UTF-8"},
		"no text in any": {
			events("data: {\"x\":\"a\"}\n\n", "data: {\"x\":\"b\"}\n\n"), deltas, 0, eval.KindMalformed,
			"finds nothing in the 2 events of the stream, such as \\{\"x\":\"a\"\\}$",
		},
		"no reason in any": {
			events("data: {\"d\":\"a\"}\n\n"),
			eval.Reading{Answer: ".d", FinishReason: ".why", Stream: true},
			0, eval.KindMalformed,
			"`finishReason`, .why, finds nothing in the 1 events",
		},
		"no calls in any": {
			events("data: {\"d\":\"a\"}\n\n"),
			eval.Reading{Answer: ".d", ToolCalls: ".steps", Stream: true},
			0, eval.KindMalformed,
			"`toolCalls`, .steps, finds nothing",
		},
		"an event too large":  {events("data: {\"d\":\"" + strings.Repeat("x", 17<<20) + "\"}\n\n"), deltas, 0, eval.KindTooLarge, "larger than"},
		"events without end":  {endless("data: {\"d\":\"" + strings.Repeat("x", 1<<20) + "\"}\n\n"), deltas, 0, eval.KindTooLarge, "larger than"},
		"500 before it began": {failing(500, "<h1>Oops</h1>"), deltas, 0, eval.KindStatus, "^500: <h1>Oops</h1>$"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			deadline := one.deadline
			if deadline == 0 {
				deadline = time.Minute
			}
			resp, _, err := called(t, serving(t, one.handler), one.reading, deadline)
			checkFault(t, resp, err, one.kind, one.message)
		})
	}
}

// A text where an expression needs JSON is kept, and read when the suite is mended.
func TestUnreadTextsAreKept(t *testing.T) {
	t.Parallel()
	_, _, err := called(t, serving(t, says("text/plain", "hello "+canary)), eval.Reading{Answer: ".d"}, time.Minute)
	if err == nil || err.Cause != eval.UnreadByJQ || err.Answer == nil {
		t.Fatalf("got %+v, want an unread answer that is kept", err)
	}
	resp, again := app.NewReader(eval.Reading{}).Reread(err.Answer)
	expect.OK(t, again)
	expect.Same(t, "read again", resp.Text(), "hello [key]")
}

// endless is a handler that repeats an event until its reader goes away.
func endless(event string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, event); err != nil {
				return
			}
		}
	}
}

func TestHTTPSecretSpreadOverPiecesIsHidden(t *testing.T) {
	t.Parallel()
	pieces := []string{}
	for i := 0; i < len(canary); i += 3 {
		pieces = append(pieces, "data: {\"d\":\""+canary[i:min(len(canary), i+3)]+"\"}\n\n")
	}
	resp, _, err := called(t, serving(t, events(pieces...)), deltas, time.Minute)
	if err != nil || resp.Text() != "[key]" {
		t.Errorf("got %q, %v; want the secret to be hidden", resp.Text(), err)
	}
}
