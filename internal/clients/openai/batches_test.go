package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/replies"
)

func client(baseURL string) *Client {
	return New(wire.Server{BaseURL: baseURL + "/v1", Key: canary})
}

func hello(text string) *eval.Call {
	return &eval.Call{Request: eval.Request{
		Model: "m", Stream: true, Contents: []eval.Content{{Role: "user", Parts: []eval.Part{eval.TextPart{Text: text}}}},
	}}
}

func outgoing(items ...string) *wire.OutgoingBatch {
	text := strings.Join(items, "\n") + "\n"
	return &wire.OutgoingBatch{
		Key: "run-1.1", First: hello("a"), Size: int64(len(text)),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil },
	}
}

// collect reads all replies of a batch. The error is the last thing that comes.
func collect(t *testing.T, b wire.Batcher, results ...string) (got []wire.BatchReply, failure *eval.Error) {
	t.Helper()
	for reply, err := range b.Replies(t.Context(), hello("a"), &wire.BatchState{ID: "batch_1", Results: results}) {
		if failure != nil {
			t.Error("something follows an error")
		}
		if failure = eval.AsError(err); err == nil {
			got = append(got, *reply)
		}
	}
	return got, failure
}

const created = `{"id":"batch_1","object":"batch","endpoint":"/v1/chat/completions","errors":null,"input_file_id":"file-1",` +
	`"completion_window":"24h","status":"validating","output_file_id":null,"error_file_id":null,"created_at":1714508499,` +
	`"in_progress_at":null,"request_counts":{"total":0,"completed":0,"failed":0},"metadata":{"evalrun":"run-1.1"}}`

// An item is what a live call sends, apart from the stream, on one line.
func TestAnItemIsTheLiveCall(t *testing.T) {
	t.Parallel()
	var live []byte
	seen := func(w http.ResponseWriter, r *http.Request) {
		live, _ = io.ReadAll(r.Body)
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"b"},"finish_reason":"stop"}]}`)
	}
	server := httptest.NewServer(http.HandlerFunc(seen))
	defer server.Close()
	for path, b := range map[string]interface {
		wire.Batcher
		Generate(ctx context.Context, call *eval.Call) (*eval.Response, error)
	}{"/v1/chat/completions": client(server.URL), "/v1/responses": NewResponses(wire.Server{BaseURL: server.URL})} {
		call := hello("two\nlines")
		call.Extra = eval.Extra{"metadata": json.RawMessage("{\n\"a\": 1\n}")}
		item, err := b.Item("run-1_a", call)
		expect.OK(t, err)
		if bytes.ContainsAny(item, "\r\n") {
			t.Errorf("%s has a line break", item)
		}
		call.Stream = false
		_, _ = b.Generate(t.Context(), call)
		var compact bytes.Buffer
		expect.OK(t, json.Compact(&compact, live))
		want := `{"custom_id":"run-1_a","method":"POST","url":"` + path + `","body":` + compact.String() + `}`
		expect.Same(t, path, string(item), want)
	}
	call := hello("a")
	call.GenerationConfig = &eval.GenerationConfig{TopK: new(1)}
	_, err := client(server.URL).Item("a", call)
	if err == nil || !strings.Contains(err.Error(), "topK") {
		t.Errorf("got %v, want an error about topK", err)
	}
	_, err = New(wire.Server{BaseURL: server.URL, Path: "deployments/{model}/chat"}).Item("a", hello("a"))
	if err == nil || !strings.Contains(err.Error(), "the service has a path of its own, and batches have none") {
		t.Errorf("got %v, want an error about the path", err)
	}
}

// A batch goes as a form with its file, whose length is known, and then by the id of the file.
func TestABatchIsSubmitted(t *testing.T) {
	t.Parallel()
	var file, order string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/files":
			if r.ContentLength <= 0 || r.TransferEncoding != nil {
				t.Errorf("the length is %d, want a known one", r.ContentLength)
			}
			part, header, err := r.FormFile("file")
			expect.OK(t, err)
			data, _ := io.ReadAll(part)
			file = r.FormValue("purpose") + " " + header.Filename + " " + string(data)
			_, _ = io.WriteString(w, `{"id":"file-1","object":"file","bytes":5,"purpose":"batch","filename":"evalrun.jsonl","status":"processed"}`)
		case "/v1/batches":
			data, _ := io.ReadAll(r.Body)
			order = string(data)
			_, _ = io.WriteString(w, created)
		}
	}))
	defer server.Close()
	c := New(wire.Server{BaseURL: server.URL + "/v1", Key: canary, Headers: http.Header{"content-type": {"application/json"}}})
	state, err := c.Submit(t.Context(), outgoing(`{"custom_id":"a"}`, `{"custom_id":"b"}`))
	expect.OK(t, err)
	expect.Same(t, "the file", file, "batch evalrun.jsonl {\"custom_id\":\"a\"}\n{\"custom_id\":\"b\"}\n")
	expect.Same(t, "the order", order, `{"input_file_id":"file-1","endpoint":"/v1/chat/completions","completion_window":"24h",`+
		`"metadata":{"evalrun":"run-1.1"}}`)
	expect.Same(t, "the state", state, &wire.BatchState{
		ID: "batch_1", Key: "run-1.1", Created: time.Unix(1714508499, 0), Phase: wire.BatchOpen, Status: "validating",
	})
}

// What failed before the batch was created, or refused it, has cost nothing. Otherwise the outcome is not known.
func TestAFailedSubmitSaysWhetherThereMayBeABatch(t *testing.T) {
	t.Parallel()
	file := `{"id":"file-1"}`
	for name, test := range map[string]struct {
		file, batch string
		kind        eval.ErrorKind
		status      int
		unsent      bool
	}{
		"no upload":         {"500 ", "", eval.KindStatus, 500, true},
		"wrong key":         {`401 {"error":{"message":"Incorrect API key provided: ` + canary + `"}}`, "", eval.KindAuth, 401, true},
		"no file":           {`{}`, "", eval.KindMalformed, 0, true},
		"refused":           {file, `400 {"error":{"message":"Invalid ` + canary + `","code":"invalid"}}`, eval.KindStatus, 400, false},
		"limited":           {file, `429 {"error":{"message":"Enqueued limit","code":"token_limit_exceeded"}}`, eval.KindQuota, 429, false},
		"overloaded":        {file, "503 ", eval.KindStatus, 503, false},
		"redirected":        {file, "302 ", eval.KindStatus, 302, false},
		"an error":          {file, "500 ", eval.KindTransport, 500, false},
		"a slow gateway":    {file, "504 ", eval.KindTransport, 504, false},
		"not a batch":       {file, `{"object":"list"}`, eval.KindTransport, 0, false},
		"a page":            {file, `<html>welcome</html>`, eval.KindTransport, 0, false},
		"an empty answer":   {file, "", eval.KindTransport, 0, false},
		"cut in the answer": {file, `{"id":"batch_1","sta`, eval.KindTransport, 0, false},
	} {
		at, asked := replies.Routes(t, canary, map[string]string{"POST /v1/files": test.file, "POST /v1/batches": test.batch})
		_, err := client(at).Submit(t.Context(), outgoing("{}"))
		e := eval.AsError(err)
		if e == nil || e.Kind != test.kind || e.Status != test.status || e.Unsent != test.unsent || strings.Contains(e.Message, canary) {
			t.Errorf("%s: got %+v, want %+v", name, e, test)
		}
		if want := 2; test.batch == "" && test.unsent && len(asked()) != 1 || len(asked()) > want {
			t.Errorf("%s: %d requests, want one attempt", name, len(asked()))
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/files" {
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(w, file)
			return
		}
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()
	_, err := client(server.URL).Submit(t.Context(), outgoing("{}"))
	if e := eval.AsError(err); e == nil || e.Kind != eval.KindTransport || e.Unsent {
		t.Errorf("got %+v for a connection that breaks while the batch is created, want an open outcome", e)
	}
	server.Close()
	if _, err := client(server.URL).Submit(t.Context(), outgoing("{}")); err == nil || !eval.AsError(err).Unsent {
		t.Errorf("got %+v without a server, want an error that nothing was sent", err)
	}
}

// The states of a batch are the vendor's words, its times and counts, and why it was refused.
func TestStatesOfABatch(t *testing.T) {
	t.Parallel()
	counts := `"request_counts":{"total":4,"completed":2,"failed":1}`
	refused := `"errors":{"object":"list","data":[{"code":"invalid_json_line","message":"This line is not parseable","line":1},` +
		`{"message":"b","line":null},{"message":"` + canary + `","line":3},{"message":"d","line":4}]}`
	for body, want := range map[string]wire.BatchState{
		`"status":"in_progress","created_at":1714508499,` + counts: {
			Created: time.Unix(1714508499, 0), Items: 4, Done: 3, Phase: wire.BatchOpen, Status: "in_progress",
		},
		`"status":"finalizing","output_file_id":"f1"`: {Phase: wire.BatchOpen, Status: "finalizing"},
		`"status":"cancelling"`:                       {Phase: wire.BatchOpen, Status: "cancelling"},
		`"status":"completed","output_file_id":"f1","error_file_id":"f2"`: {
			Phase: wire.BatchEnded, Status: "completed", Results: []string{"f1", "f2"},
		},
		`"status":"expired","output_file_id":null,"error_file_id":"f2"`: {
			Phase: wire.BatchEnded, Status: "expired", Results: []string{"f2"},
		},
		`"status":"cancelled"`: {Phase: wire.BatchEnded, Status: "cancelled"},
		`"status":"failed",` + refused: {
			Phase: wire.BatchEnded, Status: "failed", Reason: "This line is not parseable (line 1); b; [key] (line 3); and 1 more",
		},
		// a server that only resembles the vendor's
		`"status":"COMPLETED","created_at":"2026-11-28T10:00:00Z","metadata":"none","errors":"none","request_counts":{"total":"4"}`: {
			Created: time.Date(2026, 11, 28, 10, 0, 0, 0, time.UTC), Items: 4, Phase: wire.BatchEnded, Status: "COMPLETED",
		},
	} {
		at, _ := replies.Routes(t, canary, map[string]string{"GET /v1/batches/batch%2F1": `{"id":"batch_1","odd":{},` + body + `}`})
		got, err := client(at).State(t.Context(), hello("a"), "batch/1")
		expect.OK(t, err)
		want.ID = "batch_1"
		expect.Same(t, body, got, &want)
	}
	for _, body := range []string{`{}`, `[]`, `{"id":"batch_1"}`, `{"id":[],"status":"completed"}`, `<html>`} {
		at, _ := replies.Routes(t, canary, map[string]string{"GET /v1/batches/batch_1": body})
		_, err := client(at).State(t.Context(), hello("a"), "batch_1")
		if e := eval.AsError(err); e == nil || e.Kind != eval.KindMalformed {
			t.Errorf("%s: got %v, want an error", body, err)
		}
	}
	at, _ := replies.Routes(t, canary, nil)
	if _, err := client(at).State(t.Context(), hello("a"), "batch_1"); err == nil || !eval.AsError(err).NotFound() {
		t.Errorf("got %v, want an error that the batch is not there", err)
	}
}

// A list goes on, page by page, to its end.
func TestBatchesAreListed(t *testing.T) {
	t.Parallel()
	since := time.Unix(1_000_000, 0)
	one := func(id string, age time.Duration) string {
		return fmt.Sprintf(`{"id":"%s","status":"completed","output_file_id":"f","created_at":%d,"metadata":{"evalrun":"k%s"}}`, id,
			since.Add(-age).Unix(), id)
	}
	page := func(more bool, batches ...string) string {
		return fmt.Sprintf(`{"object":"list","data":[%s],"has_more":%v,"last_id":"x"}`, strings.Join(batches, ","), more)
	}
	at, asked := replies.Routes(t, canary, map[string]string{
		"GET /v1/batches?limit=100":         page(true, one("a", 0), one("b", time.Minute)),
		"GET /v1/batches?limit=100&after=b": page(true, one("c", 9*time.Minute), one("d", time.Hour)),
		"GET /v1/batches?limit=100&after=d": page(false, one("e", time.Hour)),
	})
	var keys []string
	for b, err := range client(at).List(t.Context(), hello("a")) {
		expect.OK(t, err)
		keys = append(keys, b.Key+strings.Join(b.Results, ""))
	}
	expect.Same(t, "the keys", strings.Join(keys, " "), "kaf kbf kcf kdf kef")
	expect.Same(t, "the pages", len(asked()), 3)
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, page(true, one(r.URL.Query().Get("after")+"a", 0)))
	}))
	defer endless.Close()
	for _, err := range client(endless.URL).List(t.Context(), hello("a")) {
		if err != nil {
			expect.Contains(t, "the error", err.Error(), "more than 100 pages")
			return
		}
	}
	t.Error("an endless list ends without an error")
}

// A service that does not go on is given up, and one that goes on slowly is not.
func TestAStalledBatchIsGivenUp(t *testing.T) {
	t.Parallel()
	const patience = time.Second
	hang, slow := make(chan struct{}), patience/4
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch {
		case r.URL.Path == "/v1/files":
			_, _ = io.WriteString(w, `{"id":"file-1"}`)
		case strings.HasPrefix(r.URL.Path, "/v1/files/"):
			for range 5 {
				_, _ = io.WriteString(w, answered("a", "hello"))
				_ = http.NewResponseController(w).Flush()
				time.Sleep(slow)
			}
			if r.URL.Path == "/v1/files/f2/content" {
				<-hang
			}
		default:
			<-hang
		}
	}))
	defer server.Close()
	defer close(hang)
	c := New(wire.Server{BaseURL: server.URL + "/v1", Key: canary, Patience: patience})
	if got, err := collect(t, c, "f1"); err != nil || len(got) != 5 {
		t.Errorf("got %d replies and %v from a slow service", len(got), err)
	}
	got, stalled := collect(t, c, "f2")
	_, state := c.State(t.Context(), hello("a"), "b")
	_, submit := c.Submit(t.Context(), outgoing("{}"))
	if len(got) != 5 {
		t.Errorf("got %d replies, want those before the end", len(got))
	}
	for what, err := range map[string]error{"results": stalled, "state": state, "submit": submit} {
		if e := eval.AsError(err); e == nil || e.Kind != eval.KindTimeout || e.Unsent {
			t.Errorf("%s: got %+v, want the end of patience", what, e)
		}
	}
}

// Embeddings have batches of their own, whose items and replies are those of a live call.
func TestEmbeddingsInABatch(t *testing.T) {
	t.Parallel()
	good := `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.5,-1]}],"model":"m","usage":{"prompt_tokens":1}}`
	at, asked := replies.Routes(t, canary, map[string]string{
		"POST /v1/files": `{"id":"file-1"}`, "POST /v1/batches": created, "POST /v1/embeddings": good,
		answersAt: line("a", `{"status_code":200,"body":`+good+"}", "null") + line("b", "null", `{"code":"batch_expired"}`) +
			line("c", `{"status_code":200,"body":{"data":[{"embedding":null}]}}`, "null"),
	})
	c := client(at)
	call := &eval.EmbedCall{Model: "m", Texts: []string{"hi"}}
	item, err := c.ItemEmbed("a", call)
	expect.OK(t, err)
	want := `{"custom_id":"a","method":"POST","url":"/v1/embeddings","body":` + string(wire.EmbedBody(call)) + "}"
	expect.Same(t, "the item", string(item), want)
	b := outgoing(string(item))
	b.Embeds = true
	_, err = c.Submit(t.Context(), b)
	expect.OK(t, err)
	live, err := c.Embed(t.Context(), call)
	expect.OK(t, err)
	got, failure := collect(t, c, "f1")
	if failure != nil || len(got) != 3 || len(asked()) != 4 {
		t.Fatal(got, failure, asked())
	}
	vectors, err := c.ReadEmbed(call, &got[0])
	expect.OK(t, err)
	expect.Same(t, "the vectors", vectors, live)
	for i, kind := range map[int]eval.ErrorKind{1: eval.KindTransport, 2: eval.KindMalformed} {
		if _, err := c.ReadEmbed(call, &got[i]); err == nil || eval.AsError(err).Kind != kind {
			t.Errorf("%s: got %v, want an error of kind %s", got[i].Item, err, kind)
		}
	}
}

// endless is a line of items again and again.
type endless struct{ line string }

func (e endless) Read(p []byte) (int, error) {
	for n := 0; n < len(p); n += len(e.line) {
		copy(p[n:], e.line)
	}
	return len(p), nil
}

// What a batch holds passes through, and is never in memory as a whole.
func TestABatchIsNotKeptInMemory(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	const size = 64 << 20
	opened := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n, _ := io.Copy(io.Discard, r.Body); r.URL.Path == "/v1/files" && n < size {
			t.Errorf("%d bytes came", n)
		}
		_, _ = io.WriteString(w, created)
	}))
	defer server.Close()
	b := outgoing("{}")
	b.Size, b.Open = size, func() (io.ReadCloser, error) {
		opened++
		return io.NopCloser(io.LimitReader(endless{`{"custom_id":"a"}` + "\n"}, size)), nil
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := client(server.URL).Submit(t.Context(), b)
	expect.OK(t, err)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 4<<20 || opened != 1 {
		t.Errorf("a batch of %d bytes took %d, and was opened %d times", size, took, opened)
	}
	b.Open = func() (io.ReadCloser, error) { return nil, os.ErrNotExist }
	if _, err := client(server.URL).Submit(t.Context(), b); err == nil || !eval.AsError(err).Unsent {
		t.Errorf("got %v for items that are not there, want an error that nothing was sent", err)
	}
}
