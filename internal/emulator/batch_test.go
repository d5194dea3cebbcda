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

// submitFile uploads lines and submits them as a batch.
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

// at reads a path of names in a reply.
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
			if got := lines[n]; !strings.Contains(got, strings.TrimSpace(want)) {
				t.Errorf("answer %d: got %s, want %s", i, got, want)
			}
		}
		for _, want := range []string{`"custom_id":"b"`, `"status_code":429`, "slow down", `"custom_id":"c"`, "batch_expired"} {
			if !strings.Contains(failures, want) {
				t.Errorf("failures: got %s, want %q in it", failures, want)
			}
		}
		if want := `"body":"<!DOCTYPE html>`; !strings.Contains(lines[1], want) {
			t.Errorf("got %s, want %q in it", lines[1], want)
		}
		list := told(t, e, "GET", base+"/batches?limit=100", "", "")
		expect.Same(t, "listed", len(list["data"].([]any)), 1)
		expect.Same(t, "chats", e.Stats()[servedChat], int64(0))
		expect.Same(t, "answers", e.Stats()[servedAnswers], int64(3))
	}
}
