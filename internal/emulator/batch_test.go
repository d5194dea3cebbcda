package emulator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// tell sends a request to an emulator in process, with the key of each protocol.
func tell(t *testing.T, e *Emulator, method, path, contentType, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequest(method, path, strings.NewReader(body))
	expect.OK(t, err)
	r.Header.Set("Content-Type", contentType)
	if strings.HasPrefix(path, "/v1beta/") {
		r.Header.Set("x-svc-api-key", "k")
	} else {
		r.Header.Set("Authorization", "Bearer k")
	}
	w := &keptReply{header: http.Header{}}
	w.serve(e, r)
	return w.status, w.body.String()
}

// told is tell for a request that succeeds, and reads the reply.
func told(t *testing.T, e *Emulator, method, path, contentType, body string) (out map[string]any) {
	t.Helper()
	status, text := tell(t, e, method, path, contentType, body)
	if status != http.StatusOK || json.Unmarshal([]byte(text), &out) != nil {
		t.Fatalf("%s %s: got %d %s, want a JSON object", method, path, status, text)
	}
	return out
}

func newEmulator(t *testing.T, script string) *Emulator {
	t.Helper()
	var diags diag.List
	s := LoadScript("script.yaml", []byte(script), &diags)
	expect.OK(t, diags.Err())
	return New(Options{Script: s, AnyModel: true})
}

func submitFile(t *testing.T, e *Emulator, base, endpoint string, lines ...string) map[string]any {
	t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	expect.OK(t, w.WriteField("purpose", "batch"))
	part, err := w.CreateFormFile("file", "batch.jsonl")
	expect.OK(t, err)
	_, err = io.WriteString(part, strings.Join(lines, "\n"))
	expect.OK(t, err)
	expect.OK(t, w.Close())
	file := told(t, e, "POST", base+"/files", w.FormDataContentType(), form.String())
	return told(t, e, "POST", base+"/batches", jsonType, fmt.Sprintf(
		`{"input_file_id": %q, "endpoint": %q, "completion_window": "24h", "metadata": {"evalrun": "k1"}}`, file["id"], endpoint))
}

// chatLine is an item that asks for chat completions.
func chatLine(id, text string) string {
	return fmt.Sprintf(`{"custom_id": %q, "method": "POST", "url": "/v1/chat/completions", "body": %s}`, id, chatBody(text))
}

func chatBody(text string) string {
	return fmt.Sprintf(`{"model": "m", "messages": [{"role": "user", "content": %q}]}`, text)
}

func at(v any, names ...string) any {
	for _, name := range names {
		one, _ := v.(map[string]any)
		v = one[name]
	}
	return v
}

// A batch of a file is answered as the same requests are on their own, at both base addresses.
func TestABatchOfAFileIsAnswered(t *testing.T) {
	t.Parallel()
	const script = `
rules:
  - match: {text: busy}
    faults: [{status: 429, message: slow down}]
  - match: {text: never}
    faults: [{hang: true}]
  - match: {text: odd}
    faults: [{malformed: html}]
  - {latency: 1h, replies: [{text: one}, {text: two}, {text: three}, {text: four}]}
`
	for _, base := range []string{"", "/v1"} {
		e, live := newEmulator(t, script), newEmulator(t, strings.ReplaceAll(script, "latency: 1h, ", ""))
		b := submitFile(t, e, base, "/v1/chat/completions", chatLine("a", "hello"), chatLine("b", "busy"), chatLine("c", "never"),
			chatLine("d", "odd"), chatLine("e", "hello"))
		expect.Same(t, "status", b["status"], "validating")
		id := b["id"].(string)
		b = told(t, e, "GET", base+"/batches/"+id, "", "")
		expect.Same(t, "status", b["status"], "expired")
		expect.Same(t, "key", at(b, "metadata", "evalrun"), "k1")
		_, answers := tell(t, e, "GET", base+"/files/"+b["output_file_id"].(string)+"/content", "", "")
		_, failures := tell(t, e, "GET", base+"/files/"+b["error_file_id"].(string)+"/content", "", "")
		lines := strings.Split(answers, "\n")
		expect.Same(t, "lines", len(lines), 4)
		for i, n := range []int{0, 2} {
			_, want := tell(t, live, "POST", base+"/chat/completions", "", chatBody("hello"))
			expect.Contains(t, fmt.Sprintf("answer %d", i), lines[n], strings.TrimSpace(want))
		}
		for _, want := range []string{`"custom_id":"b"`, `"status_code":429`, "slow down", `"custom_id":"c"`, "batch_expired"} {
			expect.Contains(t, "failures", failures, want)
		}
		expect.Contains(t, "answer", lines[1], `"body":"<!DOCTYPE html>`)
		list := told(t, e, "GET", base+"/batches?limit=100", "", "")
		expect.Same(t, "listed", len(list["data"].([]any)), 1)
		expect.Same(t, "chats", e.Stats()[servedChat], int64(0))
		expect.Same(t, "answers", e.Stats()[servedAnswers], int64(3))
	}
}

// batchFace is how a protocol submits two items, shows a batch, and names what it shows.
type batchFace struct {
	submit       func(t *testing.T, e *Emulator, items ...string) string // returns the path of the batch
	list         string
	cancel       string // what follows the path
	state        func(b map[string]any) any
	open, ended  string
	cancelled    string
	results      func(t *testing.T, e *Emulator, path string) string
	answer, fail string // an item in the results
}

var batchFaces = map[string]batchFace{
	"openai": {
		submit: func(t *testing.T, e *Emulator, items ...string) string {
			var lines []string
			for i, text := range items {
				lines = append(lines, chatLine(fmt.Sprintf("i%d", i), text))
			}
			return "/v1/batches/" + submitFile(t, e, "/v1", "/v1/chat/completions", lines...)["id"].(string)
		},
		list: "/v1/batches", cancel: "/cancel", open: "in_progress", ended: "completed", cancelled: "cancelled",
		state: func(b map[string]any) any { return b["status"] },
		results: func(t *testing.T, e *Emulator, path string) (out string) {
			b := told(t, e, "GET", path, "", "")
			for _, name := range []string{"output_file_id", "error_file_id"} {
				if id, ok := b[name].(string); ok {
					_, text := tell(t, e, "GET", "/v1/files/"+id+"/content", "", "")
					out += text
				}
			}
			return out
		},
		answer: `"custom_id":"i0","error":null,"id":"batch_req_i0","response":{"body":{"choices":[{"finish_reason":"stop"`,
		fail: `"custom_id":"i1","error":null,"id":"batch_req_i1","response":{"body":{"error":{"code":"rate_limit_exceeded",` +
			`"message":"slow down","param":null,"type":"requests"}},"request_id":"req_i1","status_code":429}`,
	},
	"anthropic": {
		submit: func(t *testing.T, e *Emulator, items ...string) string {
			var all []string
			for i, text := range items {
				all = append(all, fmt.Sprintf(
					`{"custom_id": "i%d", "params": {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": %q}]}}`, i, text))
			}
			b := told(t, e, "POST", "/v1/messages/batches", jsonType, `{"other": 1, "requests": [`+strings.Join(all, ",")+`]}`)
			return "/v1/messages/batches/" + b["id"].(string)
		},
		list: "/v1/messages/batches", cancel: "/cancel", open: "in_progress", ended: "ended", cancelled: "ended",
		state: func(b map[string]any) any { return b["processing_status"] },
		results: func(t *testing.T, e *Emulator, path string) string {
			told(t, e, "GET", path, "", "")
			_, text := tell(t, e, "GET", path+"/results", "", "")
			return text
		},
		answer: `{"custom_id":"i0","result":{"message":{"content":[{"text":"fine","type":"text"}]`,
		fail: `{"custom_id":"i1","result":{"error":{"error":{"message":"slow down","type":"rate_limit_error"},"type":"error"},` +
			`"type":"errored"}}`,
	},
	"generative": {
		submit: func(t *testing.T, e *Emulator, items ...string) string {
			var all []string
			for i, one := range items {
				all = append(all, fmt.Sprintf(`{"request": %s, "metadata": {"key": "i%d"}}`, text(one), i))
			}
			b := told(t, e, "POST", "/v1beta/models/m:batchGenerateContent", jsonType,
				`{"batch": {"display_name": "k1", "input_config": {"requests": {"requests": [`+strings.Join(all, ",")+`]}}}}`)
			return "/v1beta/" + b["name"].(string)
		},
		list: "/v1beta/batches", cancel: ":cancel", open: "BATCH_STATE_RUNNING", ended: "BATCH_STATE_SUCCEEDED",
		cancelled: "BATCH_STATE_CANCELLED",
		state:     func(b map[string]any) any { return at(b, "metadata", "state") },
		results: func(t *testing.T, e *Emulator, path string) string {
			_, text := tell(t, e, "GET", path, "", "")
			return text
		},
		answer: `{"metadata":{"key":"i0"},"response":{"candidates":[{"content":{"role":"model","parts":[{"text":"fine"}]}`,
		fail:   `{"error":{"code":8,"message":"slow down"},"metadata":{"key":"i1"}}`,
	},
}

// Each protocol submits, shows, lists, cancels and answers a batch in its own words.
func TestBatchesOfEachProtocol(t *testing.T) {
	t.Parallel()
	for name, f := range batchFaces {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEmulator(t, "rules: [{match: {text: busy}, faults: [{status: 429, message: slow down}]}, {reply: fine}]")
			show := func(path string) any { return f.state(told(t, e, "GET", path, "", "")) }
			first := f.submit(t, e, "hello", "busy")
			other := f.submit(t, e, "hello")
			told(t, e, "POST", other+f.cancel, jsonType, "")
			list := told(t, e, "GET", f.list, "", "")
			page, _ := list["data"].([]any)
			if name == "generative" {
				page = list["operations"].([]any)
			}
			expect.Same(t, "listed", len(page), 2)
			newest := page[0].(map[string]any)
			expect.Same(t, "cancelled", f.state(newest), any(f.cancelled))
			expect.Same(t, "ended", f.state(page[1].(map[string]any)), any(f.ended))
			expect.Contains(t, "the first one listed", fmt.Sprint(newest["id"], newest["name"]), other[strings.LastIndex(other, "/")+1:])
			expect.Same(t, "cancelled", show(other), any(f.cancelled))
			expect.Same(t, "ended", show(first), any(f.ended))
			got := f.results(t, e, first)
			for _, want := range []string{f.answer, f.fail} {
				expect.Contains(t, "the results", got, want)
			}
			if status, _ := tell(t, e, "POST", first+f.cancel, jsonType, ""); status != http.StatusBadRequest {
				t.Errorf("to cancel a batch that has ended: got %d, want 400", status)
			}
			if status, _ := tell(t, e, "GET", f.list+"/unknown", "", ""); status != http.StatusNotFound {
				t.Errorf("an unknown batch: got %d, want 404", status)
			}
			stats := e.Stats()
			for name, want := range map[string]int64{servedBatches: 2, servedItems: 3, servedAnswers: 1} {
				expect.Same(t, name, stats[name], want)
			}
		})
	}
}

// What a vendor refuses at once is refused, in its words.
func TestBadBatchesAreRefused(t *testing.T) {
	t.Parallel()
	e := New(Options{})
	item := func(id string) string { return `{"custom_id": "` + id + `", "params": {}}` }
	inline := func(request string) string {
		return `{"batch": {"displayName": "k", "inputConfig": {"requests": {"requests": [` + request + `]}}}}`
	}
	var many strings.Builder
	for i := range 100_000 {
		many.WriteString(item(fmt.Sprint(i)) + ",")
	}
	const messages, content, file = "/v1/messages/batches", "/v1beta/models/svc-pro:batchGenerateContent", "/v1/batches"
	for _, test := range []struct{ path, body, want string }{
		{messages, `{"requests": []}`, "at least 1 item"},
		{messages, `{"requests": {}}`, "requests: a list is expected"},
		{messages, `{"requests": [` + many.String() + item("a") + `]}`, "List should have at most 100000 items"},
		{messages, `[]`, "a JSON object is expected"},
		{messages, `{"requests": [`, "the JSON that is expected"},
		{messages, `{"requests": [` + item("a") + `, ` + item("a") + `]}`, "requests.1.custom_id: the custom_id 'a' is used twice"},
		{messages, `{"requests": [` + item("") + `]}`, "requests.0.custom_id: Field required"},
		{messages, `{"requests": [` + item("a b") + `]}`, "String should match pattern"},
		{messages, `{"requests": [` + item(strings.Repeat("a", 65)) + `]}`, "requests.0.custom_id: String should have at most 64 characters"},
		{messages, `{"requests": [{"custom_id": "a"}]}`, "requests.0.params: Field required"},
		{messages, `{"requests": [` + item("a") + `}`, "the JSON that is expected"},
		{content, inline(""), "requests.requests is required"},
		{content, inline(`{}`), "requests.requests[0]: request is required"},
		{content, inline(`{"request": {"model": "models/svc-lite"}}`), `models/svc-lite\" is not the model of the batch`},
		{content, `{"batch": {"inputConfig": {}}}`, "displayName is required"},
		{content, `{"batch": {"displayName": "k", "inputConfig": {"fileName": "files/a"}}}`, "fileName is not emulated"},
		{content, inline(`"` + strings.Repeat("a", 20<<20) + `"`), "is larger than 20971520 bytes"},
		{"/v1beta/models/nothere:batchGenerateContent", inline("{}"), "models/nothere is not found"},
		{file, `{}`, "Missing required parameter: 'input_file_id'."},
		{file, `{"input_file_id": "f", "endpoint": "/v1/images"}`, "Invalid value: '/v1/images'"},
		{file, `{"input_file_id": "f", "endpoint": "/v1/responses", "completion_window": "1h"}`, "Invalid value: '1h'"},
		{file, `{"input_file_id": "file-f", "endpoint": "/v1/responses", "completion_window": "24h"}`, "No such File object: file-f"},
		{file, `{"input_file_id": "../f", "endpoint": "/v1/responses", "completion_window": "24h"}`, "No such File object: ../f"},
	} {
		status, got := tell(t, e, "POST", test.path, jsonType, test.body)
		if status < 400 || status > 413 || !strings.Contains(got, test.want) {
			t.Errorf("%s %.80s: got %d %s, want %q", test.path, test.body, status, got, test.want)
		}
	}
	expect.Same(t, "batches", e.Stats()[servedBatches], int64(0))
}

// A model that is not known is an error of the items of messages, which the vendor checks later than the rest.
func TestUnknownModelsOfMessages(t *testing.T) {
	t.Parallel()
	f := batchFaces["anthropic"]
	e := New(Options{})
	got := f.results(t, e, f.submit(t, e, "a"))
	want := `{"custom_id":"i0","result":{"error":{"error":{"message":"the model \"m\" does not exist, or does not support this protocol",` +
		`"type":"not_found_error"},"type":"error"},"type":"errored"}}`
	expect.Same(t, "results", strings.TrimSpace(got), want)
}

// A file of items with mistakes makes a batch that fails, with the line of each.
func TestABatchOfABadFileFails(t *testing.T) {
	t.Parallel()
	e := New(Options{Alias: map[string]string{"m": "svc-pro"}})
	other := strings.Replace(chatLine("d", "x"), "chat/completions", "responses", 1)
	for _, test := range []struct{ lines, want string }{
		{
			chatLine("a", "x") + "\n{\n" + chatLine("a", "x") + "\n" + other,
			"2 invalid_json_line, 3 duplicate_custom_id, 4 url_mismatch",
		},
		{strings.ReplaceAll(chatLine("a", "x"), `"m"`, `"nothere"`), "1 model_not_found"},
		{chatLine("a", "x") + "\n" + strings.ReplaceAll(chatLine("b", "x"), `"m"`, `"svc-pro"`), "2 model_mismatch"},
		{strings.ReplaceAll(chatLine("a", "x"), `POST`, `GET`), "1 invalid_method"},
		{`{"method": "POST"}`, "1 missing_required_parameter"},
		{"", "<nil> empty_file"},
		{strings.Repeat("{}\n", 50_001), "<nil> too_many_tasks"},
	} {
		path := "/v1/batches/" + submitFile(t, e, "/v1", "/v1/chat/completions", test.lines)["id"].(string)
		b := told(t, e, "GET", path, "", "")
		expect.Same(t, test.want, b["status"], any("failed"))
		var all []string
		for _, one := range at(b, "errors", "data").([]any) {
			all = append(all, fmt.Sprintf("%v %v", at(one, "line"), at(one, "code")))
		}
		expect.Same(t, "errors", strings.Join(all, ", "), test.want)
		expect.Same(t, "output", b["output_file_id"], any(nil))
		expect.Same(t, "failures", b["error_file_id"], any(nil))
	}
}

// Batches of the other endpoints are answered by these.
func TestBatchesOfOtherEndpoints(t *testing.T) {
	t.Parallel()
	e := New(Options{})
	for endpoint, test := range map[string]struct{ body, want string }{
		"/v1/responses":  {`{"model": "svc-pro", "input": "hello"}`, `"text":"hello"`},
		"/v1/embeddings": {`{"model": "embedding-001", "input": ["a", "b"]}`, `"object":"embedding"`},
	} {
		line := fmt.Sprintf(`{"custom_id": "a", "method": "POST", "url": %q, "body": %s}`, endpoint, test.body)
		b := submitFile(t, e, "/v1", endpoint, line, strings.Replace(line, `"a"`, `"b"`, 1))
		b = told(t, e, "GET", "/v1/batches/"+b["id"].(string), "", "")
		_, results := tell(t, e, "GET", "/v1/files/"+b["output_file_id"].(string)+"/content", "", "")
		if strings.Count(results, "\n") != 2 || !strings.Contains(results, test.want) {
			t.Errorf("%s: got %s, want %s in it", endpoint, results, test.want)
		}
		status, input := tell(t, e, "GET", "/v1/files/"+b["input_file_id"].(string)+"/content", "", "")
		if status != http.StatusOK || !strings.HasPrefix(input, line) {
			t.Errorf("got %d %s, want the file that was uploaded", status, input)
		}
	}
	stats := e.Stats()
	for name, want := range map[string]int64{servedAnswers: 4, servedTwice: 2, servedEmbeddings: 0, servedResponses: 0} {
		expect.Same(t, name, stats[name], want)
	}
}

// A page of a list goes on after the last batch of the page before.
func TestListsOfBatchesHavePages(t *testing.T) {
	t.Parallel()
	for name, page := range map[string]struct{ size, after, rest string }{
		"openai": {"?limit=2", "&after=", "last_id"}, "anthropic": {"?limit=2", "&after_id=", "last_id"},
		"generative": {"?pageSize=2", "&pageToken=", "nextPageToken"},
	} {
		e, f := New(Options{AnyModel: true}), batchFaces[name]
		for range 3 {
			told(t, e, "GET", f.submit(t, e, "a"), "", "")
		}
		first := told(t, e, "GET", f.list+page.size, "", "")
		second := told(t, e, "GET", f.list+page.size+page.after+first[page.rest].(string), "", "")
		list := "data"
		if name == "generative" {
			list = "operations"
		}
		expect.Same(t, name, []int{len(first[list].([]any)), len(second[list].([]any))}, []int{2, 1})
		if status, _ := tell(t, e, "GET", f.list+strings.Replace(page.size, "2", "x", 1), "", ""); status != http.StatusBadRequest {
			t.Errorf("%s: got %d for a page of x batches, want 400", name, status)
		}
	}
}
