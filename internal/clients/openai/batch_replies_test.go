package openai

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/internal/testing/replies"
)

func line(id, response, failure string) string {
	return `{"id": "batch_req_` + id + `", "custom_id": "` + id + `", "response": ` + response + `, "error": ` + failure + "}\n"
}

func answered(id, text string) string {
	return line(id, `{"status_code": 200, "request_id": "r1", "body": {"id": "c1", "object": "chat.completion", "model": "m", `+
		`"choices": [{"index": 0, "message": {"role": "assistant", "content": "`+text+`"}, "finish_reason": "stop"}], `+
		`"usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}}}`, "null")
}

const (
	answersAt = "GET /v1/files/f1/content"
	errorsAt  = "GET /v1/files/f2/content"
)

// The replies are those of both files. One that is an error is the error of a live call, with its words and advice.
func TestRepliesOfABatch(t *testing.T) {
	t.Parallel()
	status := func(id string, code, body string) string {
		return line(id, `{"status_code": `+code+`, "request_id": "r", "body": `+body+`}`, "null")
	}
	at, _ := replies.Routes(t, canary, map[string]string{
		answersAt: answered("a", "hello") + answered("b", canary) + answered("a", "again") + "\n" + strings.TrimSpace(answered("c", "last")),
		errorsAt: line("d", "null", `{"code": "batch_expired", "message": "This request could not be executed before then."}`) +
			line("e", "null", `{"code": "batch_cancelled", "message": "cancelled"}`) +
			line("f", "null", `{"code": "request_timeout", "message": "timed out"}`) +
			status("g", "400", `{"error": {"message": "max_completion_tokens: Extra inputs are not permitted", "type": "invalid_request_error"}}`) +
			status("h", "429", `{"error": {"message": "slow down, `+canary+`", "code": "rate_limit_exceeded"}}`) +
			status("i", "401", `{"error": {"message": "Incorrect API key provided"}}`) +
			status("j", "400", `{"error": {"message": "This model's maximum context length is 8192 tokens", "code": "context_length_exceeded"}}`) +
			status("k", "200", `{"error": {"message": "boom", "code": 503}}`) + status("l", "200", "null") +
			`{"custom_id": "m"}` + "\n" + status("n", "404", `{"detail": "Not Found"}`),
	})
	c := client(at)
	got, err := collect(t, c, "f1", "f2")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	said := map[string]string{}
	for i := range got {
		ids = append(ids, got[i].Item)
		resp, err := c.Read(hello("a"), &got[i])
		if err != nil {
			e := eval.AsError(err)
			said[got[i].Item] = string(e.Kind) + " " + e.Error()
			if e.Retry != 0 && got[i].Item != "l" {
				t.Errorf("%s: no attempt helps against %v", got[i].Item, e)
			}
			continue
		}
		said[got[i].Item] += resp.Text() + " "
		expect.Same(t, "the usage", resp.Usage.TotalTokens, 4)
	}
	expect.Same(t, "the items", strings.Join(ids, ""), "abacdefghijklmn")
	expect.Same(t, "the replies", said, map[string]string{
		"a": "hello again ", "b": "[key] ", "c": "last ",
		"d": "transport the batch expired before this item was answered",
		"e": "transport the batch was cancelled before this item was answered",
		"f": "status 504 request_timeout: timed out",
		"g": "status 400 invalid_request_error: max_completion_tokens: Extra inputs are not permitted; " +
			"set `maxTokensField: max_tokens` at the service",
		"h": "quota 429 rate_limit_exceeded: slow down, [key]",
		"i": "auth 401: Incorrect API key provided",
		"j": "overLimit 400 context_length_exceeded: This model's maximum context length is 8192 tokens",
		"k": "status 503: boom",
		"l": "malformed the answer is not a chat completion: it has no `choices`: null",
		"m": "malformed the item has neither a response nor an error",
		"n": `status 404: {"detail": "Not Found"}; check ` + "`protocol` and `baseUrl`" +
			` of the service: it has nothing at /v1/chat/completions`,
	})
}

// An item fails as a live call does, whatever the service says.
func TestAnItemFailsAsALiveCallDoes(t *testing.T) {
	t.Parallel()
	all := refusals()
	maps.Copy(all, brokenAnswers())
	for name, test := range all {
		if !json.Valid([]byte(test.body)) {
			continue // which cannot be in a line
		}
		live := New(wire.Server{BaseURL: "http://service.invalid", Key: canary, Transport: &replies.Canned{
			Status: test.status, Body: []byte(test.body), Header: test.header,
		}})
		_, want := live.Generate(t.Context(), &eval.Call{Request: eval.Request{Model: "m"}})
		text := line("a", fmt.Sprintf(`{"status_code": %d, "body": %s}`, test.status, test.body), "null")
		batched := New(wire.Server{BaseURL: "http://service.invalid", Key: canary, Transport: &replies.Canned{Body: []byte(text)}})
		got, failure := collect(t, batched, "f1")
		if failure != nil {
			t.Fatal(name, failure)
		}
		_, err := batched.Read(&eval.Call{Request: eval.Request{Model: "m"}}, &got[0])
		expect.Same(t, name, eval.AsError(err), eval.AsError(want), cmpopts.IgnoreFields(eval.Error{}, "RetryAfter")) // which a header has
	}
}

// Whatever a file of results is, the lines before a broken one count, and the error says which one it is.
func TestBrokenResultsOfABatch(t *testing.T) {
	t.Parallel()
	good := answered("a", "hello")
	for name, test := range map[string]struct {
		body string
		good int
		kind eval.ErrorKind
		text string
	}{
		"cut off":       {good + good[:60], 1, eval.KindTruncated, "line 2 of the results of the batch: the answer was cut off"},
		"not JSON":      {good + "nonsense\n" + good, 1, eval.KindMalformed, "line 2 of the results of the batch: the answer is not JSON"},
		"a page":        {"<html>\n<body>", 0, eval.KindMalformed, "line 1 of the results of the batch: the answer is a page and not JSON"},
		"a list":        {"[1]\n", 0, eval.KindMalformed, "line 1"},
		"no id":         {good + strings.Replace(good, "custom_id", "i", 1), 1, eval.KindMalformed, "line 2 of the results of the batch: it"},
		"an odd id":     {`{"custom_id":{}}`, 0, eval.KindMalformed, "custom_id"},
		"gone":          {`404 {"error":{"message":"No such File: f1 ` + canary + `"}}`, 0, eval.KindStatus, "No such File: f1 [key]"},
		"redirected":    {"302 ", 0, eval.KindStatus, "redirects are not followed"},
		"only one part": {"206 " + good, 0, eval.KindTruncated, "only a part"},
		"empty":         {"", 0, "", ""},
	} {
		at, _ := replies.Routes(t, canary, map[string]string{answersAt: test.body})
		got, err := collect(t, client(at), "f1")
		if len(got) != test.good || (err == nil) != (test.kind == "") ||
			err != nil && (err.Kind != test.kind || !strings.Contains(err.Message, test.text)) {
			t.Errorf("%s: got %d replies and %v, want %d, and %s with %q", name, len(got), err, test.good, test.kind, test.text)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, good+good)
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()
	got, err := collect(t, client(server.URL), "f1")
	if len(got) != 2 || err == nil || err.Kind != eval.KindTruncated {
		t.Errorf("got %d replies and %v from a connection that breaks, want 2 and an error", len(got), err)
	}
}

// An answer that is longer than a live one may be is the error of its item, and does not spoil the others.
func TestALineThatIsTooLongIsTheErrorOfItsItem(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 20<<20)
	at, _ := replies.Routes(t, canary, map[string]string{
		answersAt: answered("a", "hello") + answered("b", long) + answered("c", "bye"), errorsAt: `{"x":"` + long + `"}` + "\n",
	})
	got, err := collect(t, client(at), "f1", "f2")
	if len(got) != 3 || got[1].Item != "b" || got[1].Error == nil || got[1].Error.Kind != eval.KindTooLarge || got[2].Body == nil {
		t.Errorf("got %d replies, want three, with an error in the middle", len(got))
	}
	if err == nil || err.Kind != eval.KindTooLarge || !strings.Contains(err.Message, "line 1 of") {
		t.Errorf("got %v, want an error about the line", err)
	}
}

// The Responses API has its own calls, and otherwise the same batches.
func TestResponsesInABatch(t *testing.T) {
	t.Parallel()
	at, _ := replies.Routes(t, canary, map[string]string{
		answersAt: line("a", `{"status_code": 200, "body": {"object": "response", "status": "completed", "output": [`+message+`]}}`, "null") +
			line("b", `{"status_code": 404, "body": {"error": {"message": "This model is only supported in v1/chat/completions"}}}`, "null"),
	})
	c := NewResponses(wire.Server{BaseURL: at + "/v1", Key: canary})
	got, failure := collect(t, c, "f1")
	if failure != nil {
		t.Fatal(failure)
	}
	resp, err := c.Read(hello("a"), &got[0])
	expect.OK(t, err)
	expect.Same(t, "the answer", resp.Text(), "a")
	_, err = c.Read(hello("a"), &got[1])
	expect.Contains(t, "the error", eval.AsError(err).Message, "set `protocol: openai` at the service")
}

// FuzzBatch reads the results of a batch.
func FuzzBatch(f *testing.F) {
	replies.FuzzBatch(f, func(s wire.Server) wire.Batcher { return New(s) }, wire.BatchState{ID: "b", Results: []string{"f1", "f2"}},
		answered("a", "KEY")+line("b", `{"status_code":400,"body":{"error":{"message":"KEY"}}}`, "null")+
			line("c", "null", `{"code":"batch_expired","message":"KEY"}`),
		append(hostile.Strings(), line("d", `{"status_code":"x"}`, "null"), line("", "null", "{}")))
}
