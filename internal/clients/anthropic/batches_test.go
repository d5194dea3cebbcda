package anthropic

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/internal/testing/replies"
)

func client(baseURL string) *Client { return New(wire.Server{BaseURL: baseURL, Key: canary}) }

func hello() *eval.Call {
	return &eval.Call{Request: eval.Request{
		Model: "m", Stream: true, Contents: []eval.Content{{Role: "user", Parts: []eval.Part{eval.TextPart{Text: "hi"}}}},
	}}
}

func outgoing(text string) *wire.OutgoingBatch {
	return &wire.OutgoingBatch{Key: "k", First: hello(), Size: int64(len(text)), Open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(text)), nil
	}}
}

// made is a batch as the vendor describes it.
func made(status, results string, created time.Time) string {
	return fmt.Sprintf(`{"id":"msgbatch_1","type":"message_batch","processing_status":"%s","request_counts":{"processing":3,"succeeded":4,`+
		`"errored":1,"canceled":1,"expired":1},"ended_at":null,"created_at":"%s","expires_at":"2024-09-25T18:37:24.100435Z",`+
		`"cancel_initiated_at":null,"results_url":%s}`, status, created.Format(time.RFC3339Nano), results)
}

var noon = time.Date(2026, 11, 28, 12, 0, 0, 100, time.UTC)

// A batch is a list of requests, each as a live call, in a body whose length is known.
func TestABatchIsSubmitted(t *testing.T) {
	t.Parallel()
	var body, live string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		if r.URL.Path == "/v1/messages" {
			live = string(data)
			return
		}
		body = string(data)
		expect.Same(t, "the request", []string{
			r.Method, r.URL.Path, r.Header.Get("X-Api-Key"), r.Header.Get("Anthropic-Version"), r.Header.Get("Content-Type"),
			fmt.Sprint(r.ContentLength),
		}, []string{"POST", "/v1/messages/batches", canary, version, "application/json", fmt.Sprint(len(body))})
		_, _ = io.WriteString(w, made("in_progress", "null", noon))
	}))
	defer server.Close()
	c := client(server.URL)
	a, err := c.Item("a", hello())
	expect.OK(t, err)
	state, err := c.Submit(t.Context(), outgoing(string(a)+"\n"+`{"custom_id":"b"}`+"\n"))
	expect.OK(t, err)
	call := hello()
	call.Stream = false
	_, _ = c.Generate(t.Context(), call)
	expect.Same(t, "the body", body, `{"requests":[{"custom_id":"a","params":`+live+`},{"custom_id":"b"} ]}`)
	expect.Same(t, "the state", state, &wire.BatchState{
		ID: "msgbatch_1", Created: noon, Items: 10, Done: 7, Phase: wire.BatchOpen, Status: "in_progress",
	})
	if _, err := New(wire.Server{BaseURL: server.URL, Path: "{model}/invoke"}).Item("a", hello()); err == nil {
		t.Error("a service with a path of its own takes an item")
	}
	for answer, want := range map[string]eval.Error{
		`413 {"type":"error","error":{"type":"request_too_large","message":"too large"}}`: {Kind: eval.KindOverLimit, Status: 413},
		`529 {"type":"error","error":{"type":"overloaded_error","message":"busy"}}`:       {Kind: eval.KindStatus, Status: 529},
		`500 {"type":"error","error":{"type":"api_error","message":"` + canary + `"}}`:    {Kind: eval.KindTransport, Status: 500},
		`<html>`: {Kind: eval.KindTransport},
	} {
		at, asked := replies.Routes(t, canary, map[string]string{"POST /v1/messages/batches": answer})
		_, err := client(at).Submit(t.Context(), outgoing("{}\n"))
		if e := eval.AsError(err); e == nil || e.Kind != want.Kind || e.Status != want.Status || e.Unsent || strings.Contains(e.Message, canary) {
			t.Errorf("%s: got %+v, want %+v", answer, e, want)
		}
		expect.Same(t, "the requests", len(asked()), 1)
	}
}

// A batch that has ended has its results where the vendor says, unless that is somewhere else: there the key does not go.
func TestStatesOfABatch(t *testing.T) {
	t.Parallel()
	routes := map[string]string{}
	at, _ := replies.Routes(t, canary, routes)
	own := at + "/v1/messages/batches/msgbatch_1/results"
	for results, want := range map[string]string{
		`"` + at + `/v2/results/1"`:               at + "/v2/results/1",
		`"https://api.vendor.invalid/v1/results"`: own, `"` + at + `.evil.invalid/x"`: own, "null": own, "{}": own,
	} {
		routes["GET /v1/messages/batches/msgbatch_1"] = made("ended", results, noon)
		got, err := client(at).State(t.Context(), hello(), "msgbatch_1")
		expect.OK(t, err)
		expect.Same(t, results, got, &wire.BatchState{
			ID: "msgbatch_1", Created: noon, Items: 10, Done: 7, Phase: wire.BatchEnded, Status: "ended", Results: []string{want},
		})
	}
	routes["GET /v1/messages/batches/msgbatch_1"] = `{"id":"msgbatch_1","processing_status":"canceling",` +
		`"cancel_initiated_at":"2024-08-20T18:37:24Z"}`
	got, err := client(at).State(t.Context(), hello(), "msgbatch_1")
	expect.OK(t, err)
	want := &wire.BatchState{ID: "msgbatch_1", Phase: wire.BatchOpen, Status: "canceling", Reason: "it was canceled"}
	expect.Same(t, "a canceled one", got, want)
	for _, body := range []string{`{"id":"a"}`, "[]", "<html>", ""} {
		routes["GET /v1/messages/batches/msgbatch_1"] = body
		if _, err := client(at).State(t.Context(), hello(), "msgbatch_1"); err == nil || eval.AsError(err).Kind != eval.KindMalformed {
			t.Errorf("%q: got %v, want an error", body, err)
		}
	}
}

// The list has no names of batches: it is the ids, times and counts that are there.
func TestBatchesAreListedSinceATime(t *testing.T) {
	t.Parallel()
	page := func(more string, batches ...string) string {
		return `{"data":[` + strings.Join(batches, ",") + `],"has_more":` + more + `,"first_id":"x","last_id":"msgbatch_1"}`
	}
	at, asked := replies.Routes(t, canary, map[string]string{
		"GET /v1/messages/batches?limit=100": page("true", made("ended", "null", noon), made("in_progress", "null", noon)),
		"GET /v1/messages/batches?limit=100&after_id=msgbatch_1": page(
			"false", made("canceling", "null", noon.Add(-9*time.Minute)), made("ended", "null", noon.Add(-time.Hour)),
		),
	})
	var got []string
	for b, err := range client(at).List(t.Context(), hello()) {
		expect.OK(t, err)
		got = append(got, fmt.Sprint(b.Key, b.Status, b.Items, len(b.Results)))
	}
	expect.Same(t, "the batches", got, []string{"ended10 1", "in_progress10 0", "canceling10 0", "ended10 1"})
	expect.Same(t, "the pages", len(asked()), 2)
}

// Each way in which an item ends is a reply, as a live call would have it.
func TestRepliesOfABatch(t *testing.T) {
	t.Parallel()
	line := func(id, result string) string { return `{"custom_id":"` + id + `","result":` + result + "}\n" }
	failed := func(kind, message string) string {
		return `{"type":"errored","error":{"type":"error","error":{"type":"` + kind + `","message":"` + message + `"},"request_id":null}}`
	}
	at, _ := replies.Routes(t, canary, map[string]string{
		"GET /r": line("a", `{"type":"succeeded","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":`+
			`[{"type":"text","text":"Hello `+canary+`"}],"stop_reason":"end_turn","usage":{"input_tokens":11,"output_tokens":36}}}`) +
			line("b", failed("invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum")) +
			line("c", failed("not_found_error", "model: x")) + line("d", failed("overloaded_error", "Overloaded "+canary)) +
			line("e", `{"type":"expired"}`) + line("f", `{"type":"canceled"}`) + line("g", `{"type":"odd"}`) +
			line("h", `{"type":"errored","error":{"type":"invalid_request","message":"no"}}`) + line("i", `{"type":"succeeded","message":null}`) +
			line("a", `{"type":"expired"}`) + `{"custom_id":"z","result`,
	})
	got, last := replies.Said(t, client(at), hello(), &wire.BatchState{Results: []string{at + "/r"}})
	expect.Same(t, "the replies", got, []string{
		"a Hello [key]",
		"b overLimit 400 invalid_request_error: prompt is too long: 208310 tokens > 200000 maximum",
		"c status 404 not_found_error: the service has no model x",
		"d status 529 overloaded_error: Overloaded [key]",
		"e transport the batch expired before this item was answered",
		"f transport the batch was cancelled before this item was answered",
		`g malformed the item has a result of an unknown type: "odd"`,
		"h status no",
		"i malformed the answer is not a message: it has no `content`: null",
		"a transport the batch expired before this item was answered",
	})
	if last == nil || eval.AsError(last).Kind != eval.KindTruncated {
		t.Errorf("got %v at the end, want an error", last)
	}
}

// FuzzBatch reads the results of a batch.
func FuzzBatch(f *testing.F) {
	replies.FuzzBatch(f, func(s wire.Server) wire.Batcher { return New(s) },
		wire.BatchState{ID: "b", Results: []string{"http://service.invalid/r"}},
		`{"custom_id":"a","result":{"type":"succeeded","message":{"content":[{"type":"text","text":"KEY"}],"stop_reason":"end_turn"}}}`+"\n"+
			`{"custom_id":"b","result":{"type":"errored","error":{"type":"error","error":{"type":"api_error","message":"KEY"}}}}`+"\n",
		append(hostile.Strings(), `{"custom_id":"c","result":{"type":"expired"}}`, `{"custom_id":"d","result":{}}`))
}
