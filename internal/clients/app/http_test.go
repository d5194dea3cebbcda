package app_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/app"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

const canary = "cAnArY-of-the-app"

type fixed struct{ eval.HTTP }

func (f *fixed) Render(in *eval.Input) (*eval.Rendered, error) {
	own := f.HTTP
	own.Body = fmt.Sprintf("%s %d %s", in.Trial, in.Attempt, in.Prompt())
	return &eval.Rendered{Payload: &own}, nil
}

// called calls an address once, with a deadline that only what hangs meets.
func called(t *testing.T, address string, reading eval.Reading, deadline time.Duration) (*eval.Response, *eval.Call, *eval.Error) {
	t.Helper()
	h := app.NewHTTP(app.HTTPConfig{Name: "shop", Reading: reading, Secrets: []string{canary}, UserAgent: "evalrun/test"})
	defer h.Close()
	to := &fixed{eval.HTTP{
		Method: http.MethodPost, URL: address, Stream: reading.Stream,
		Headers: []eval.Header{{Name: "authorization", Value: "Bearer " + canary, Secret: true}},
	}}
	call := &eval.Call{To: &eval.Called{RequestMaker: to}, TrialName: "5e55", Timing: eval.Timing{Attempts: 1}}
	call.Contents = []eval.Content{{Role: eval.RoleUser, Parts: []eval.Part{eval.TextPart{Text: "hello"}}}}
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	resp, err := h.Generate(ctx, call)
	return resp, call, eval.AsError(err)
}

func serving(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // only then a server notices that a client has gone
		r.Body = io.NopCloser(bytes.NewReader(body))
		handler(w, r)
	}))
	s.Config.ErrorLog = quiet()
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}

func says(mediaType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		_, _ = io.WriteString(w, body)
	}
}

var text = eval.Reading{Answer: ".text"}

// httpFault is what an endpoint does instead of answering, and the error that it is.
type httpFault struct {
	handler  http.HandlerFunc
	reading  eval.Reading
	deadline time.Duration // 0 is a minute
	kind     eval.ErrorKind
	message  string
}

func statusFaults() map[string]httpFault {
	const soon = 300 * time.Millisecond
	return map[string]httpFault{
		"a page of HTML with 500": {
			failing(500, "<html><h1>Oops</h1> "+canary+"</html>"), text, 0, eval.KindStatus,
			`^500: <html><h1>Oops</h1> \[key\]</html>$`,
		},
		"an error object with 500": {
			failing(500, `{"error": {"message": "no luck with `+canary+`"}}`), text, 0,
			eval.KindStatus, `^500: no luck with \[key\]$`,
		},
		"a redirect": {
			func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "https://evil.example/"+canary, http.StatusFound)
			},
			text, 0, eval.KindStatus, "^302: the target `shop` redirects to https://evil.example/\\[key\\]; redirects are not followed",
		},
		"a hang": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, text, soon, eval.KindTimeout, "no complete answer"},
		"a slow drip": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, " ")
				_ = http.NewResponseController(w).Flush()
				time.Sleep(10 * time.Millisecond)
			}
		}, text, soon, eval.KindTimeout, "no complete answer"},
		"an empty answer":      {says("application/json", ""), text, 0, eval.KindMalformed, "^the answer is empty$"},
		"an empty text":        {says("text/plain", " \n"), eval.Reading{}, 0, eval.KindMalformed, "^the answer is empty$"},
		"204":                  {failing(204, ""), eval.Reading{}, 0, eval.KindMalformed, "^the answer is empty$"},
		"JSON that was cut":    {says("application/json", `{"text": "he`), text, 0, eval.KindTruncated, "cut off after 12 bytes"},
		"JSON cut, not read":   {says("application/json", `{"text": "he`), eval.Reading{}, 0, eval.KindTruncated, "cut off"},
		"a body that was cut":  {cut("Content-Length: 100\r\n\r\nhello"), eval.Reading{}, 0, eval.KindTruncated, "cut off"},
		"chunks that were cut": {cut("Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"), eval.Reading{}, 0, eval.KindTruncated, "cut off"},
		"no JSON where jq asks": {
			says("text/html", "<h1>Hello "+canary), text, 0, eval.KindMalformed,
			"^the jq of `answer`, .text, needs JSON, and the answer is text/html: <h1>Hello \\[key\\]$",
		},
		"no JSON, by its type": {
			says("application/problem+json", "Hello"),
			eval.Reading{},
			0, eval.KindMalformed,
			"^the answer is not JSON: Hello$",
		},
		"invalid UTF-8":         {says("text/plain", "a\xff"), eval.Reading{}, 0, eval.KindMalformed, "UTF-8"},
		"invalid UTF-8 in JSON": {says("application/json", "{\"text\": \"a\xff\"}"), text, 0, eval.KindMalformed, "UTF-8"},
	}
}

func bodyFaults() map[string]httpFault {
	return map[string]httpFault{
		"no text": {
			says("application/json", `{"txt": "`+canary+`"}`), text, 0, eval.KindMalformed,
			"^the jq of `answer`, .text, finds nothing in the response: \\{\"txt\": \"\\[key\\]\"\\}$",
		},
		"null": {says("application/json", "null"), text, 0, eval.KindMalformed, "finds nothing in the response: null$"},
		"another shape": {says("application/json", "[1]"), text, 0, eval.KindMalformed, "^the jq of `answer`, " +
			".text, does not fit the response \\(expected an object but got: array \\(\\[1\\]\\)\\): \\[1\\]$"},
		"a number too long": {
			says("application/json", `{"text": 1e999999999}`), text, 0, eval.KindMalformed,
			"the answer holds the number 1e999999999",
		},
		"deep nesting": {
			says("application/json", strings.Repeat("[", 300)+strings.Repeat("]", 300)), text, 0,
			eval.KindMalformed, "deeper than 200",
		},
		"many values": {
			says("application/json", "["+strings.Repeat("1,", 600_000)+"1]"), text, 0,
			eval.KindTooLarge, "more than 500000 values",
		},
		"headers without end": {func(w http.ResponseWriter, _ *http.Request) {
			for i := range 30_000 {
				w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("x", 40))
			}
		}, eval.Reading{}, 0, eval.KindTransport, "no answer from"},
		"another protocol": {
			failing(101, ""), eval.Reading{}, 0, eval.KindMalformed, "the target `shop` answers with a status that is not an answer",
		},
		"garbage": {cut("\x00\x01garbage"), eval.Reading{}, 0, eval.KindTransport, "no answer from|broke"},
	}
}

func readingFaults() map[string]httpFault {
	return map[string]httpFault{
		"its own error": {
			says("application/json", `{"error": {"message": "no stock for `+canary+`"}}`),
			eval.Reading{Answer: ".text", Error: ".error"},
			0, eval.KindApp, `^the application says: no stock for \[key\]$`,
		},
		"no calls": {
			says("application/json", `{"text": "a", "stepz": []}`),
			eval.Reading{Answer: ".text", ToolCalls: ".steps"},
			0, eval.KindMalformed,
			"^the jq of `toolCalls`, .steps, finds nothing",
		},
		"no reason": {
			says("application/json", `{"text": "a"}`),
			eval.Reading{Answer: ".text", FinishReason: ".why"},
			0,
			eval.KindMalformed, "^the jq of `finishReason`, .why, finds nothing",
		},
		"calls of a shape": {
			says("application/json", `{"text": "a", "steps": [{"fn": "x"}]}`),
			eval.Reading{Answer: ".text", ToolCalls: ".steps"},
			0, eval.KindMalformed, "name",
		},
		"a usage of words": {
			says("application/json", `{"text": "a", "usage": "much"}`),
			eval.Reading{Answer: ".text", Usage: ".usage"},
			0, eval.KindMalformed, "usage",
		},
		"a loop": {
			says("application/json", `{"text": "a"}`),
			eval.Reading{Answer: "def f: f; f"},
			0,
			eval.KindMalformed, "takes more than 1000000 steps",
		},
	}
}

// Whatever an endpoint does instead of answering is an error of the kind that it is for a service, and repeats no secret.
func TestHTTPFaultsAreErrorsOfTheirKind(t *testing.T) {
	t.Parallel()
	for _, faults := range []map[string]httpFault{statusFaults(), bodyFaults(), readingFaults()} {
		for name, one := range faults {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				resp, _, err := called(t, serving(t, one.handler), one.reading, cmp.Or(one.deadline, time.Minute))
				checkFault(t, resp, err, one.kind, one.message)
			})
		}
	}
}

func checkFault(t *testing.T, resp *eval.Response, err *eval.Error, kind eval.ErrorKind, message string) {
	t.Helper()
	if err == nil {
		t.Fatalf("got the answer %.200q, want an error of kind %s", resp.Text(), kind)
	}
	if err.Kind != kind || !regexp.MustCompile(message).MatchString(err.Error()) {
		t.Errorf("got %s: %s; want %s: %s", err.Kind, err, kind, message)
	}
	if got, want := err.Cause == eval.UnreadByJQ, strings.HasPrefix(err.Message, "the jq of `"); got != want {
		t.Errorf("%s: got the cause %q, want unreadByJQ: %v", err, err.Cause, want)
	}
	if strings.Contains(err.Error(), canary) {
		t.Errorf("got %s, want no secret in it", err)
	}
}

func failing(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func cut(after string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n"+after)
		_ = conn.Close()
	}
}

// A closed port, and a name that does not exist, are errors before anything left.
func TestADeadHTTPEndpointIsAnError(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(t, err)
	address := "http://" + l.Addr().String()
	expect.OK(t, l.Close())
	resp, _, failure := called(t, address+"/"+canary, text, time.Minute)
	checkFault(t, resp, failure, eval.KindTransport, "^no answer from 127.0.0.1:[0-9]+: .*refused")
	expect.Same(t, "unsent", failure.Unsent, true)
}

type echoed struct{}

func (echoed) Render(*eval.Input) (*eval.Rendered, error) {
	return &eval.Rendered{Payload: eval.EchoRun{}}, nil
}

func TestAnEndpointTakesRequestsOfItsKindAlone(t *testing.T) {
	t.Parallel()
	h := app.NewHTTP(app.HTTPConfig{Name: "shop", Reading: text})
	defer h.Close()
	resp, err := h.Generate(t.Context(), &eval.Call{To: &eval.Called{RequestMaker: echoed{}}})
	const want = "the request is eval.EchoRun, and not one for an endpoint"
	if resp != nil || err == nil || err.Error() != want {
		t.Errorf("got %v, %v, want the error %s", resp, err, want)
	}
}

func TestHTTPAttemptsCarryTraceAndKeyOfTheirTrial(t *testing.T) {
	t.Parallel()
	var seen []http.Header
	var bodies []string
	address := serving(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen, bodies = append(seen, r.Header.Clone()), append(bodies, string(body))
		_, _ = io.WriteString(w, `{"text": "yes"}`)
	})
	for range 2 {
		_, _, err := called(t, address, text, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, h := range seen {
		traced := regexp.MustCompile(`^00-` + eval.TraceID("5e55") + `-[0-9a-f]{16}-01$`)
		if !traced.MatchString(h.Get("Traceparent")) || h.Get("Idempotency-Key") != "5e55-1" || h.Get("User-Agent") != "evalrun/test" {
			t.Errorf("got %v, want a trace and a key", h)
		}
		expect.Same(t, "body", bodies[i], "5e55 1 hello")
	}
	if seen[0].Get("Traceparent") == seen[1].Get("Traceparent") {
		t.Errorf("got %s twice, want another span", seen[0].Get("Traceparent"))
	}
}

// Keys stay as they come, and so does a body that nothing is taken from.
func TestHTTPAnswersKeepTheirKeys(t *testing.T) {
	t.Parallel()
	all := eval.Reading{Answer: ".reply_text", ToolCalls: ".steps", FinishReason: ".stop_reason", Usage: ".usage", Error: ".error"}
	for body, one := range map[string]struct {
		reading eval.Reading
		want    eval.Candidate
	}{
		`{"reply_text": "a", "steps": [{"name": "f", "args": {"x": 1.50}}], "stop_reason": "max_tokens", "error": null}`: {all, eval.Candidate{
			Text: "a", FinishReason: "MAX_TOKENS", VendorReason: "max_tokens",
			Pieces: []eval.Piece{eval.CallPiece{Call: &eval.FunctionCall{Name: "f", Args: []byte(`{"x":1.50}`)}}, eval.TextPiece{Text: "a"}},
		}},
		`{"reply_text": null, "steps": [{"name": "f"}], "stop_reason": "tool_calls", "error": false}`: {all, eval.Candidate{
			FinishReason: "TOOL_CALLS", VendorReason: "tool_calls", Pieces: []eval.Piece{eval.CallPiece{Call: &eval.FunctionCall{Name: "f"}}},
		}},
		`{"reply_text": "", "steps": [], "stop_reason": "end_turn", "error": ""}`: {
			all,
			eval.Candidate{FinishReason: "STOP", VendorReason: "end_turn"},
		},
		`{"reply_text": {"b": 1, "a": 12345678901234567890}, "steps": [], "stop_reason": "STOP", "error": []}`: {all, eval.Candidate{
			Text: `{"a":12345678901234567890,"b":1}`, FinishReason: "STOP",
		}},
		`{"items": [{"t": "x"}, {"t": "y"}]}`: {eval.Reading{Answer: ".items[].t"}, eval.Candidate{Text: "x\ny", FinishReason: "STOP"}},
		"{\n \"any\": [1, 2]\n}\n":            {eval.Reading{}, eval.Candidate{Text: "{\n \"any\": [1, 2]\n}\n", FinishReason: "STOP"}},
		`{"a": "word", "steps": []}`: {
			eval.Reading{Answer: ".a", ToolCalls: ".steps[]"},
			eval.Candidate{Text: "word", FinishReason: "STOP"},
		},
	} {
		resp, _, err := called(t, serving(t, says("application/json", body)), one.reading, time.Minute)
		if err != nil {
			t.Errorf("%s: %s", body, err)
			continue
		}
		got := resp.Candidates[0]
		if got.Raw == nil {
			t.Errorf("%s: got no response, want it kept", body)
		}
		got.Raw = nil
		expect.Same(t, body, got, one.want)
	}
	resp, call, err := called(t, serving(t, says("text/plain; charset=utf-8", "plain  text\n")), eval.Reading{}, time.Minute)
	if err != nil || resp.Text() != "plain  text\n" || call.Timing.LatencyMs <= 0 {
		t.Errorf("got %+v %+v %v, want the text as it came", resp, call, err)
	}
}

func TestHTTPUsageIsReadInUsualSpellings(t *testing.T) {
	t.Parallel()
	for usage, want := range map[string]eval.Usage{
		`{"inputTokens": 3, "outputTokens": 4, "cachedTokens": 1, "reasoningTokens": 2}`: {
			PromptTokens: 3, OutputTokens: 4,
			TotalTokens: 7, CachedTokens: 1, ReasoningTokens: 2, Source: eval.UsageService,
		},
		`{"prompt_tokens": "3", "completion_tokens": 4, "total_tokens": 9}`: {
			PromptTokens: 3, OutputTokens: 4,
			TotalTokens: 9, Source: eval.UsageService,
		},
		`{"promptTokens": 3}`: {PromptTokens: 3, TotalTokens: 3},
	} {
		reading := eval.Reading{Answer: ".t", Usage: ".u"}
		resp, _, err := called(t, serving(t, says("application/json", `{"t": "a", "u": `+usage+`}`)), reading, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		expect.Same(t, usage, *resp.Usage, want)
	}
}
