package generative

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/internal/testing/replies"
)

func hello() *eval.Call {
	return &eval.Call{Request: eval.Request{
		Model: "svc-pro", Stream: true, Contents: []eval.Content{{Role: "user", Parts: []eval.Part{eval.TextPart{Text: "hi"}}}},
	}}
}

func outgoing(text string) *wire.OutgoingBatch {
	return &wire.OutgoingBatch{Key: `run "1"`, First: hello(), Size: int64(len(text)), Open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(text)), nil
	}}
}

// running is a batch as the vendor describes it: numbers are texts.
func running(state, rest string) string {
	return `{"name":"batches/b1","metadata":{"@type":"x/y.GenerateContentBatch","model":"models/svc-pro","displayName":"k1",` +
		`"createTime":"2026-11-28T12:00:00.000000100Z","updateTime":"2026-11-28T12:00:01Z","batchStats":{"requestCount":"5",` +
		`"successfulRequestCount":"2","failedRequestCount":"1","pendingRequestCount":"2"},` +
		`"state":"` + state + `","name":"batches/b1"}` + rest + "}"
}

func described(more wire.BatchState) *wire.BatchState {
	more.ID, more.Key, more.Created, more.Items, more.Done = "batches/b1", "k1", time.Date(2026, 11, 28, 12, 0, 0, 100, time.UTC), 5, 3
	return &more
}

// A batch is a list of requests inside of one, each as a live call.
func TestABatchIsSubmitted(t *testing.T) {
	t.Parallel()
	var body, live string
	c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		if r.URL.Path == "/v1/models/svc-pro:generateContent" {
			live = string(data)
			return
		}
		body = string(data)
		expect.Same(t, "the request", []string{r.Method, r.URL.Path, r.Header.Get("X-Svc-Api-Key"), fmt.Sprint(r.ContentLength)},
			[]string{"POST", "/v1/models/svc-pro:batchGenerateContent", canary, fmt.Sprint(len(body))})
		_, _ = io.WriteString(w, running("BATCH_STATE_PENDING", ""))
	}, nil)
	item, err := c.Item("a", hello())
	expect.OK(t, err)
	state, err := c.Submit(t.Context(), outgoing(string(item)+"\n{}\n"))
	expect.OK(t, err)
	call := hello()
	call.Stream = false
	_, _ = c.Generate(t.Context(), call)
	expect.Same(t, "the body", body, `{"batch":{"display_name":"run \"1\"","input_config":{"requests":{"requests":[{"request":`+live+
		`,"metadata":{"key":"a"}},{} ]}}}}`)
	expect.Same(t, "the state", state, described(wire.BatchState{Phase: wire.BatchOpen, Status: "BATCH_STATE_PENDING"}))
	c = newClient(t, nil, func(s *wire.Server) { s.Path = "{model}:{method}" })
	if _, err := c.Item("a", hello()); err == nil {
		t.Error("a service with a path of its own takes an item")
	}
	for answer, want := range map[string]eval.Error{
		`400 {"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT"}}`:               {Kind: eval.KindStatus, Status: 400},
		`429 {"error":{"code":429,"message":"` + canary + `","status":"RESOURCE_EXHAUSTED"}}`: {Kind: eval.KindQuota, Status: 429},
		`500 {"error":{"code":500,"message":"no","status":"INTERNAL"}}`:                       {Kind: eval.KindTransport, Status: 500},
		`{}`: {Kind: eval.KindTransport}, `[]`: {Kind: eval.KindTransport}, "<html>": {Kind: eval.KindTransport},
	} {
		at, asked := replies.Routes(t, canary, map[string]string{"POST /v1/models/svc-pro:batchGenerateContent": answer})
		_, err := New(wire.Server{BaseURL: at, Key: canary}).Submit(t.Context(), outgoing("{}\n"))
		if e := eval.AsError(err); e == nil || e.Kind != want.Kind || e.Status != want.Status || e.Unsent || strings.Contains(e.Message, canary) {
			t.Errorf("%s: got %+v, want %+v", answer, e, want)
		}
		expect.Same(t, "the requests", len(asked()), 1)
	}
}

const answerOfA = `{"response":{"candidates":[{"content":{"parts":[{"text":"Hello"}],"role":"model"},"finishReason":"STOP","index":0}],` +
	`"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":1,"totalTokenCount":4}},"metadata":{"key":"a"}}`

// The states are the vendor's words. The results of a batch are in it or in a file.
func TestStatesOfABatch(t *testing.T) {
	t.Parallel()
	routes := map[string]string{}
	at, _ := replies.Routes(t, canary, routes)
	c := New(wire.Server{BaseURL: at, Key: canary})
	results := `{"inlinedResponses":{"inlinedResponses":[` + answerOfA + "]}}"
	for body, want := range map[string]wire.BatchState{
		running("BATCH_STATE_RUNNING", ""):               {Phase: wire.BatchOpen, Status: "BATCH_STATE_RUNNING"},
		running("BATCH_STATE_RUNNING", `,"done":false`):  {Phase: wire.BatchOpen, Status: "BATCH_STATE_RUNNING"},
		running("BATCH_STATE_CANCELLED", `,"done":true`): {Phase: wire.BatchEnded, Status: "BATCH_STATE_CANCELLED"},
		running("JOB_STATE_EXPIRED", ""):                 {Phase: wire.BatchEnded, Status: "JOB_STATE_EXPIRED"},
		running("BATCH_STATE_FAILED", `,"done":true,"error":{"code":3,"message":"no such model `+canary+`"}`): {
			Phase: wire.BatchEnded, Status: "BATCH_STATE_FAILED", Reason: "no such model [key]",
		},
		running("BATCH_STATE_SUCCEEDED", `,"done":true,"response":`+results): {
			Phase: wire.BatchEnded, Status: "BATCH_STATE_SUCCEEDED", Results: []string{"batches/b1"},
		},
		running("BATCH_STATE_SUCCEEDED", `,"output":`+results): {
			Phase: wire.BatchEnded, Status: "BATCH_STATE_SUCCEEDED", Results: []string{"batches/b1"},
		},
		running("JOB_STATE_SUCCEEDED", `,"response":{"inlinedResponses":[`+answerOfA+"]}"): {
			Phase: wire.BatchEnded, Status: "JOB_STATE_SUCCEEDED", Results: []string{"batches/b1"},
		},
		running("BATCH_STATE_SUCCEEDED", `,"done":true,"response":{"responsesFile":"files/f1"}`): {
			Phase: wire.BatchEnded, Status: "BATCH_STATE_SUCCEEDED", Results: []string{"files/f1"},
		},
		`{"name":"batches/b1","done":true,"metadata":{"display_name":"k1","create_time":"2026-11-28T12:00:00.0000001Z","batch_stats":` +
			`{"request_count":5,"successful_request_count":3}},"response":{"responses_file":"files/f1"}}`: {
			Phase: wire.BatchEnded, Results: []string{"files/f1"},
		},
	} {
		routes["GET /v1/batches/b1"] = body
		got, err := c.State(t.Context(), hello(), "batches/b1")
		expect.OK(t, err)
		expect.Same(t, body, got, described(want))
	}
	for body, kind := range map[string]eval.ErrorKind{
		"{}": eval.KindMalformed, "[]": eval.KindMalformed, "<html>": eval.KindMalformed, "": eval.KindTruncated,
		running("X", "")[:50]: eval.KindTruncated, `{"name":"batches/b1"}`[:15]: eval.KindTruncated, `{"name":}`: eval.KindMalformed,
		`{"error":{"code":503,"message":"later"}}`: eval.KindStatus, "404 {}": eval.KindStatus, "302 {}": eval.KindStatus,
		strings.Repeat(`{"output":`, 1_000_000):   eval.KindMalformed,
		`{"name":"` + strings.Repeat("x", 17<<20): eval.KindTooLarge,
	} {
		routes["GET /v1/batches/b1"] = body
		got, err := c.State(t.Context(), hello(), "batches/b1")
		if err == nil || eval.AsError(err).Kind != kind {
			t.Errorf("%.50q: got %+v and %v, want an error of kind %s", body, got, err, kind)
		}
	}
}

// A list goes on to its end. What the batches hold is not kept.
func TestBatchesAreListed(t *testing.T) {
	t.Parallel()
	routes := map[string]string{}
	at, asked := replies.Routes(t, canary, routes)
	c := New(wire.Server{BaseURL: at, Key: canary})
	list := func(next string, batches ...string) string {
		return `{"operations":[` + strings.Join(batches, ",") + `],"nextPageToken":"` + next + `"}`
	}
	done := running("BATCH_STATE_SUCCEEDED", `,"response":{"inlinedResponses":{"inlinedResponses":[`+answerOfA+"]}}")
	routes["GET /v1beta/batches?pageSize=100"] = list("p 2", done, running("BATCH_STATE_PENDING", ""))
	routes["GET /v1beta/batches?pageSize=100&pageToken=p+2"] = list("", strings.Replace(done, "2026-11-28", "2025-01-01", 1))
	first := hello()
	first.APIVersion = "v1beta"
	var got []string
	for b, err := range c.List(t.Context(), first) {
		expect.OK(t, err)
		got = append(got, fmt.Sprint(b.Key, " ", b.Status, b.Results))
	}
	ended := "k1 BATCH_STATE_SUCCEEDED[batches/b1]"
	expect.Same(t, "the batches", got, []string{ended, "k1 BATCH_STATE_PENDING[]", ended})
	expect.Same(t, "the pages", len(asked()), 2)
	for body, valid := range map[string]bool{
		`{}`: true, `{"operations":[]}`: true, `{"data":[]}`: false,
		`{"error":{"message":"no"}}`: false, "<html>": false, `{"operations":[{}]}`: false,
		`{"operations":[{"name":"batches/b1"`: false,
	} {
		routes["GET /v1beta/batches?pageSize=100"] = body
		var failure error
		for _, err := range c.List(t.Context(), first) {
			failure = err
		}
		if (failure == nil) != valid {
			t.Errorf("%s: got %v", body, failure)
		}
	}
}

// said is replies.Said for results at a place.
func said(t *testing.T, c *Client, place string) (got []string, failure error) {
	t.Helper()
	return replies.Said(t, c, hello(), &wire.BatchState{ID: "batches/b1", Results: []string{place}})
}

// Replies come once, also where the operation has them twice, with the errors that a live call would have.
func TestRepliesOfABatch(t *testing.T) {
	t.Parallel()
	odd := `{"metadata":{"key":"b"},"response":{"candidates":[{"content":{"parts":[{"text":"` + strings.ReplaceAll(canary, "/", `\/`) +
		`"}]},"finish_reason":"STOP"}],"usage_metadata":{"prompt_token_count":3}}}`
	failed := func(key, failure string) string { return `{"metadata":{"key":"` + key + `"},"error":` + failure + "}" }
	items := []string{
		answerOfA, odd, failed("c", `{"code":3,"message":"Request contains an invalid argument."}`),
		failed("d", `{"code":8,"message":"Resource has been exhausted, `+canary+`","details":[]}`), failed("e", `{"code":1,"message":"x"}`),
		failed("f", `{"code":400,"message":"API key not valid","status":"INVALID_ARGUMENT"}`), failed("g", `{"code":13}`),
		failed("h", `"text"`), `{"metadata":{"key":"i"}}`,
		`{"metadata":{"key":"j"},"response":{"promptFeedback":{"blockReason":"SAFETY"}}}`, answerOfA,
	}
	want := []string{
		"a Hello", "b [key]", "c status 400 INVALID_ARGUMENT: Request contains an invalid argument.",
		"d quota 429 RESOURCE_EXHAUSTED: Resource has been exhausted, [key]", "e transport the batch was cancelled before this item was answered",
		"f auth 400 INVALID_ARGUMENT: API key not valid",
		`g status 500 INTERNAL: the answer holds an error: {"error":{"code":500,"status":"INTERNAL"}}`,
		"h status text", "i malformed the item has neither a response nor an error", "j ", "a Hello",
	}
	twice := `"inlinedResponses":{"inlinedResponses":[` + strings.Join(items, ",") + `]}`
	lines := strings.NewReplacer(`"metadata":{"key":"a"}`, `"key":"a"`, `"metadata":{"key":"b"}`, `"key":"b"`)
	routes := map[string]string{
		"GET /v1/batches/b1":                           `{"name":"batches/b1","metadata":{"output":{` + twice + `}},"response":{` + twice + "}}",
		"GET /download/v1/files/f1:download?alt=media": lines.Replace(strings.Join(items, "\n")),
	}
	at, _ := replies.Routes(t, canary, routes)
	c := New(wire.Server{BaseURL: at, Key: canary})
	for _, place := range []string{"batches/b1", "files/f1"} {
		got, err := said(t, c, place)
		expect.OK(t, err)
		expect.Same(t, place, got, want)
	}
	for range c.Replies(t.Context(), hello(), &wire.BatchState{ID: "batches/b1", Results: []string{"batches/b1"}}) {
		break // and nothing is read on
	}
	begin := `{"response":{"inlinedResponses":{"inlinedResponses":[` + answerOfA + ","
	for body, text := range map[string]string{
		begin + answerOfA[:60]:                              "after item 1 of the results of the batch: the answer was cut off",
		begin + "nonsense":                                  "after item 1 of the results of the batch: the answer is not JSON after",
		begin + `{"response":{}}]}}}`:                       "item 2 of the results of the batch: it names no item",
		begin + `[]]}}}`:                                    "item 2 of the results of the batch: the answer has an unexpected shape",
		begin + `{"metadata":[]}]}}}`:                       "item 2 of the results of the batch: `metadata` in the answer",
		begin + `"` + strings.Repeat("x", 20<<20) + `"]}}}`: "after item 1 of the results of the batch: the answer is larger than",
	} {
		routes["GET /v1/batches/b1"] = body
		got, err := said(t, c, "batches/b1")
		if len(got) != 1 || err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%.100s: got %d replies and %v, want one and an error with %q", body, len(got), err, text)
		}
	}
}

// Embeddings have batches of their own, with a text each.
func TestEmbeddingsInABatch(t *testing.T) {
	t.Parallel()
	var body string
	c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		if body += r.URL.Path + " " + string(data); r.Method == http.MethodPost {
			_, _ = io.WriteString(w, running("BATCH_STATE_PENDING", ""))
			return
		}
		_, _ = io.WriteString(w, `{"name":"batches/b1","response":{"inlinedResponses":{"inlinedResponses":[{"metadata":{"key":"a"},`+
			`"response":{"embedding":{"values":[0.5,-1]}}},{"metadata":{"key":"b"},"error":{"code":3,"message":"no"}}]}}}`)
	}, nil)
	call := &eval.EmbedCall{Model: "embedding-001", Texts: []string{"hi"}}
	item, err := c.ItemEmbed("a", call)
	expect.OK(t, err)
	b := outgoing(string(item) + "\n")
	b.Embeds = true
	_, err = c.Submit(t.Context(), b)
	expect.OK(t, err)
	expect.Same(t, "the request", body, `/v1/models/svc-pro:asyncBatchEmbedContent {"batch":{"display_name":"run \"1\"","input_config":`+
		`{"requests":{"requests":[{"request":{"model":"models/embedding-001","content":{"parts":[{"text":"hi"}]}},"metadata":{"key":"a"}} ]}}}}`)
	var got []string
	for reply, err := range c.Replies(t.Context(), hello(), &wire.BatchState{ID: "batches/b1", Results: []string{"batches/b1"}}) {
		expect.OK(t, err)
		vectors, err := c.ReadEmbed(call, reply)
		got = append(got, fmt.Sprint(reply.Item, vectors, err))
	}
	expect.Same(t, "the replies", got, []string{"a[[0.5 -1]] <nil>", "b[] 400 INVALID_ARGUMENT: no"})
	call.Texts = []string{"a", "b"}
	if _, err := c.ItemEmbed("a", call); err == nil {
		t.Error("two texts are one item")
	}
}

// FuzzBatch reads results inside of an operation, and those of a file.
func FuzzBatch(f *testing.F) {
	good := strings.Replace(answerOfA, "Hello", "KEY", 1)
	replies.FuzzBatch(f, func(s wire.Server) wire.Batcher { return New(s) },
		wire.BatchState{ID: "batches/b1", Results: []string{"batches/b1", "files/f1"}},
		`{"response":{"inlinedResponses":{"inlinedResponses":[`+good+",\n"+good+`]}}}`+"\n"+good+"\n",
		append(hostile.Strings(), `{"key":"a","error":{"code":8,"message":"KEY"}}`, `{"output":{"output":{}}}`))
}
