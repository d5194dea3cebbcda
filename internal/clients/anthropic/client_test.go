package anthropic

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/internal/testing/replies"
)

type outcome struct {
	Kind      eval.ErrorKind
	Status    int
	Code      string
	Permanent bool
}

// Errors have the kind that decides about retries, whether they come alone or inside of a stream.
func TestErrorsHaveTheirKind(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status  int
		kind    string
		message string
		want    outcome
	}{
		{401, "authentication_error", "invalid x-api-key", outcome{Kind: eval.KindAuth, Status: 401, Code: "authentication_error"}},
		{403, "permission_error", "no", outcome{Kind: eval.KindAuth, Status: 403, Code: "permission_error"}},
		{404, "not_found_error", "model: x", outcome{Kind: eval.KindStatus, Status: 404, Code: "not_found_error"}},
		{413, "request_too_large", "no", outcome{Kind: eval.KindOverLimit, Status: 413, Code: "request_too_large"}},
		{429, "rate_limit_error", "slow down", outcome{Kind: eval.KindQuota, Status: 429, Code: "rate_limit_error"}},
		{500, "api_error", "Internal server error", outcome{Kind: eval.KindStatus, Status: 500, Code: "api_error"}},
		{529, "overloaded_error", "Overloaded", outcome{Kind: eval.KindStatus, Status: 529, Code: "overloaded_error"}},
		{
			400, "invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum",
			outcome{Kind: eval.KindOverLimit, Status: 400, Code: "invalid_request_error"},
		},
		{
			400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 199000 + 4096 > 200000",
			outcome{Kind: eval.KindOverLimit, Status: 400, Code: "invalid_request_error"},
		},
		{
			400, "invalid_request_error", "Your credit balance is too low to access the API.",
			outcome{Kind: eval.KindQuota, Status: 400, Code: "invalid_request_error", Permanent: true},
		},
	} {
		body, err := json.Marshal(map[string]any{"type": "error", "error": map[string]string{"type": test.kind, "message": test.message}})
		expect.OK(t, err)
		for what, canned := range map[string]*replies.Canned{
			"alone": {Status: test.status, Body: body}, "in a stream": {Body: []byte("event: error\ndata: " + string(body) + "\n\n")},
			"in a stream without names": {Body: []byte("data: " + string(body) + "\n\n")},
		} {
			_, err := ask(t, canned, true)
			e := eval.AsError(err)
			if e == nil {
				t.Fatalf("%s %s: got an answer, want an error", test.message, what)
			}
			expect.Same(t, test.message+" "+what, outcome{e.Kind, e.Status, e.Code, e.Retry == eval.RetryNever}, test.want)
		}
	}
}

// A gateway that counts the prompt once, at the beginning or the end, has zeros at the other.
func TestZerosReplaceNoTokens(t *testing.T) {
	t.Parallel()
	for _, counts := range [][2]string{{"14", "0"}, {"0", "14"}, {"15", "14"}} {
		got, err := ask(t, &replies.Canned{Body: []byte(`data: {"type":"message_start","message":{"content":[],"usage":{"input_tokens":` +
			counts[0] + `,"output_tokens":0}}}` + "\n\n" + `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{` +
			`"input_tokens":` + counts[1] + `,"output_tokens":2}}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n")}, true)
		expect.OK(t, err)
		expect.Same(t, "tokens of "+strings.Join(counts[:], ", "), []int{got.Usage.PromptTokens, got.Usage.OutputTokens}, []int{14, 2})
	}
}

// The cryptic message about a model says what is wrong.
func TestAnUnknownModelIsNamed(t *testing.T) {
	t.Parallel()
	_, err := ask(
		t,
		&replies.Canned{Status: 404, Body: []byte(`{"type":"error","error":{"type":"not_found_error","message":"model: x"}}`)},
		false,
	)
	if err == nil || !strings.Contains(err.Error(), "the service has no model x") {
		t.Errorf("got %v, want the model in words", err)
	}
}

func TestThoughtsTextAndCallsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	content := `[{"type":"thinking","thinking":"so","signature":"s"},{"type":"redacted_thinking","data":"x"},{"type":"text","text":"a"},` +
		`{"type":"text","text":"b"},{"type":"tool_use","id":"1","name":"f","input":{"n":1.0,"m":9007199254740993}}]`
	body := `{"type":"message","role":"assistant","model":"m","content":` + content + `,"stop_reason":"tool_use",` +
		`"usage":{"input_tokens":5,"cache_creation_input_tokens":2,"cache_read_input_tokens":3,"output_tokens":4,` +
		`"cache_creation":{"ephemeral_1h_input_tokens":1}}}`
	for _, stream := range []bool{false, true} { // a server may send the answer in one piece although the request is for a stream
		got, err := ask(t, &replies.Canned{Body: []byte(body)}, stream)
		expect.OK(t, err)
		c := got.Candidates[0]
		expect.Same(t, "the parts", c.Pieces, []eval.Piece{
			eval.ReasoningPiece{Reasoning: "so"},
			eval.TextPiece{Text: "ab"},
			eval.CallPiece{Call: &eval.FunctionCall{ID: "1", Name: "f", Args: json.RawMessage(`{"n":1.0,"m":9007199254740993}`)}},
		})
		expect.Same(t, "the end", []string{c.Text, c.FinishReason, c.VendorReason}, []string{"ab", "TOOL_CALLS", "tool_use"})
		u := got.Usage
		expect.Same(t, "the tokens", []int{u.PromptTokens, u.CachedTokens, u.OutputTokens, u.TotalTokens}, []int{10, 3, 4, 14})
		expect.Same(t, "what was put into a cache", []int{u.WrittenTokens, u.HourTokens}, []int{2, 1})
		turn := eval.AnsweredCall{Response: *got, Results: []eval.CallResult{{ID: "1", Name: "f", Text: "ok"}}}
		next := (&eval.Request{Model: "m"}).After([]eval.AnsweredCall{turn})
		var sent string
		canned := &replies.Canned{Body: []byte(body), Seen: func(_ *http.Request, b []byte) { sent = string(b) }}
		_, err = New(wire.Server{BaseURL: "http://service.invalid", Transport: canned}).Generate(t.Context(), &eval.Call{Request: next})
		expect.OK(t, err)
		if !strings.Contains(same(t, sent), same(t, content)) {
			t.Errorf("got %s, want %s in it", sent, content)
		}
	}
}

func same(t *testing.T, text string) string {
	t.Helper()
	var v any
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	expect.OK(t, dec.Decode(&v))
	out, err := json.Marshal(v)
	expect.OK(t, err)
	return string(out)
}

func TestEndingsAreBlocksOrCutAnswers(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"end_turn": "STOP", "stop_sequence": "STOP", "max_tokens": "MAX_TOKENS", "model_context_window_exceeded": "MAX_TOKENS",
		"refusal": "SAFETY", "one_not_known_yet": "OTHER",
	} {
		got, err := ask(t, &replies.Canned{Body: []byte(`{"content":[{"type":"text","text":"a"}],"stop_reason":"` + word + `"}`)}, false)
		expect.OK(t, err)
		c := got.Candidates[0]
		expect.Same(t, word, []string{c.Text, c.FinishReason, c.VendorReason}, []string{"a", want, word})
	}
}

// The request has the version of the protocol, and the key in its own header; a suite may name another version.
func TestRequestsAreSent(t *testing.T) {
	t.Parallel()
	var seen *http.Request
	var sent string
	canned := &replies.Canned{
		Body: []byte(`{"content":[],"input_tokens":7}`),
		Seen: func(r *http.Request, b []byte) { seen, sent = r, string(b) },
	}
	call := &eval.Call{Request: eval.Request{Model: "m", System: "s"}, TrialID: "t1"}
	c := New(wire.Server{BaseURL: "https://service.invalid/", Key: canary, ToEmulator: true, Transport: canned})
	_, err := c.Generate(t.Context(), call)
	expect.OK(t, err)
	header := func(name string) string { return seen.Header.Get(name) }
	expect.Same(t, "the request", []string{
		seen.URL.String(), header("X-Api-Key"), header("Anthropic-Version"), header("Authorization"), header("X-Evalrun-Trial"),
	}, []string{"https://service.invalid/v1/messages", canary, version, "", "t1"})
	n, err := c.CountTokens(t.Context(), call)
	expect.OK(t, err)
	expect.Same(t, "the tokens", n, 7)
	expect.Same(t, "what is counted", seen.URL.Path+sent, `/v1/messages/count_tokens{"model":"m","system":"s","messages":[]}`)
	c = New(wire.Server{BaseURL: "http://service.invalid", Headers: http.Header{"anthropic-version": {"2099-01-01"}}, Transport: canned})
	_, err = c.Generate(t.Context(), call)
	expect.OK(t, err)
	expect.Same(t, "another version", header("Anthropic-Version"), "2099-01-01")
	expect.Same(t, "no key", seen.Header.Values("X-Api-Key"), nil)
}

func TestModelsAreListedPageByPage(t *testing.T) {
	t.Parallel()
	canned := &replies.Canned{Body: []byte(`{"data":[{"id":"a","display_name":"A"}],"has_more":true,"last_id":"a"}`)}
	canned.Seen = func(r *http.Request, _ []byte) {
		if r.URL.RawQuery == "after_id=a" {
			canned.Body = []byte(`{"data":[{"id":"b","max_input_tokens":200000,"max_tokens":8192}],"has_more":false,"last_id":"b"}`)
		}
	}
	got, err := New(wire.Server{BaseURL: "http://service.invalid", Transport: canned}).Models(t.Context(), "")
	expect.OK(t, err)
	expect.Same(
		t,
		"the models",
		got,
		[]eval.Model{{Name: "a", DisplayName: "A"}, {Name: "b", InputTokenLimit: 200000, OutputTokenLimit: 8192}},
	)
	endless := &replies.Canned{Body: []byte(`{"data":[],"has_more":true,"last_id":"a"}`)}
	if _, err := New(wire.Server{BaseURL: "http://service.invalid", Transport: endless}).Models(t.Context(), ""); err == nil {
		t.Error("a list without end is no error, want one")
	}
}

// An event that differs from the one before by its text alone is read like any other: one with padding in it never is alike.
func TestEventsThatAreAlikeReadLikeOthers(t *testing.T) {
	t.Parallel()
	const begin = "event: x\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"role\":\"assistant\",\"content\":[]}}\n\n"
	const end = "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n"
	stop := `{PAD"type":"content_block_stop","index":0}`
	for _, delta := range []string{
		`"delta":{"type":"text_delta","text":"TEXT"}`, `"delta":{"text":"TEXT","type":"text_delta","own":1}`,
		`"delta":{"type":"text_delta","text":"TEXT","text":"TEXT"}`, `"delta":{"type":"text_delta","text":"TEXT","thinking":"t"}`,
	} {
		for _, last := range []string{"", stop} { // nothing may come after a block is closed
			var plain, padded strings.Builder
			for i, text := range []string{`Hello`, ` wor`, `ld\n`, `\u00e4 \"quoted\"`, ``, `ü`, `delta`, `\\`, `LAST`, `end`} {
				said := `{PAD"type":"content_block_delta","index":0,` + strings.ReplaceAll(delta, "TEXT", text) + `}`
				if text == "LAST" && last != "" {
					said = last
				}
				fmt.Fprintf(&plain, "data: %s\n\n", strings.Replace(said, "PAD", "", 1))
				fmt.Fprintf(&padded, "data: %s\n\n", strings.Replace(said, "PAD", fmt.Sprintf(`"p":%d,`, i), 1))
			}
			got, err := ParseResponse([]byte(begin + plain.String() + end))
			want, wantErr := ParseResponse([]byte(begin + padded.String() + end))
			expect.Same(t, delta+last+": the error", fmt.Sprint(err), fmt.Sprint(wantErr))
			expect.Same(t, delta+last, got, want)
		}
	}
}

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
