package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// batchService answers batches in four protocols. It counts what it is paid for, and it knows of a batch what the vendors'
// lists say, and no more.
type batchService struct {
	ledger
	slow time.Duration // a request takes up to that long, before and after its work
	// spoil may change what becomes of the items of a batch, by their place; nil: all are answered.
	spoil func(batch, item int) string
	says  string // instead of an answer
	// ruling is what judges say instead of passing the answer.
	ruling string
	polls  int  // how often a batch is asked for before it has ended, once by default
	loses  bool // the reply to the first submission is lost, after the batch was made

	mu      sync.Mutex
	files   [][]byte
	batches []*servedBatch
}

type servedBatch struct {
	id, key, kind, endpoint string
	created                 time.Time
	items                   []servedItem
	asked                   int // how often for its state
}

type servedItem struct {
	ID    string `json:"custom_id"`
	Body  json.RawMessage
	fault string
	says  string
	// ruling is the answer of a judge.
	ruling string
}

func (s *batchService) pause() {
	if s.slow > 0 {
		time.Sleep(rand.N(s.slow))
	}
}

// ServeHTTP answers a request.
func (s *batchService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // killed
	}
	s.pause()
	s.mu.Lock()
	status, reply := s.answer(r, body)
	s.mu.Unlock()
	s.pause()
	if lost := s.lost(); lost {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(status)
	_, _ = w.Write(reply)
}

func (s *batchService) lost() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	lost := s.loses && len(s.batches) > 0
	s.loses = s.loses && !lost
	return lost
}

func encoded(v any) (int, []byte) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return http.StatusOK, data
}

type object = map[string]any

func (s *batchService) answer(r *http.Request, body []byte) (int, []byte) {
	path := r.URL.Path
	_, id, _ := strings.Cut(path, "batches/")
	id, results := strings.CutSuffix(id, "/results")
	switch {
	case strings.Contains(path, "/models"):
		if strings.HasSuffix(path, ":batchGenerateContent") {
			return s.submitGenerative(path, body)
		}
		return encoded(object{"name": "models/m", "id": "m", "inputTokenLimit": 100000, "outputTokenLimit": 100})
	case path == "/v1/files":
		return s.upload(body)
	case strings.HasSuffix(path, "/content"):
		return s.content(strings.TrimSuffix(strings.TrimPrefix(path, "/v1/files/out-"), "/content"))
	case path == "/v1/batches" && r.Method == http.MethodPost:
		return s.submitOpenAI(body)
	case path == "/v1/messages/batches" && r.Method == http.MethodPost:
		return s.submitAnthropic(body)
	case results:
		return s.content(id)
	case strings.HasSuffix(path, "/batches"):
		return s.list(path, r.URL.Query().Has("pageSize"))
	case id != "":
		return s.state(id)
	}
	s.count("live " + string(body))
	return http.StatusTeapot, []byte(`{"error":{"message":"a call that is in no batch"}}`)
}

func (s *batchService) add(b *servedBatch) *servedBatch {
	b.id, b.created = fmt.Sprintf("b%d", len(s.batches)), time.Now()
	for i := range b.items {
		s.count(string(b.items[i].Body))
		b.items[i].says = cmp.Or(s.says, "an answer")
		b.items[i].ruling = cmp.Or(s.ruling, `{"reason":"fine","score":1}`)
		if s.spoil != nil {
			b.items[i].fault = s.spoil(len(s.batches), i)
		}
	}
	s.batches = append(s.batches, b)
	return b
}

func (s *batchService) upload(form []byte) (int, []byte) {
	from, until := strings.Index(string(form), `{"custom_id"`), strings.LastIndex(string(form), "}")
	s.files = append(s.files, form[from:until+1])
	return encoded(object{"id": fmt.Sprintf("file-%d", len(s.files)-1)})
}

func (s *batchService) submitOpenAI(body []byte) (int, []byte) {
	var in struct {
		File     string `json:"input_file_id"`
		Endpoint string
		Metadata map[string]string
	}
	_ = json.Unmarshal(body, &in)
	b := &servedBatch{kind: "openai", endpoint: in.Endpoint, key: in.Metadata["evalrun"]}
	var n int
	_, _ = fmt.Sscanf(in.File, "file-%d", &n)
	lines := bufio.NewScanner(strings.NewReader(string(s.files[n])))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var one servedItem
		_ = json.Unmarshal(lines.Bytes(), &one)
		b.items = append(b.items, one)
	}
	return encoded(s.show(s.add(b)))
}

func (s *batchService) submitAnthropic(body []byte) (int, []byte) {
	var in struct {
		Requests []struct {
			ID     string `json:"custom_id"`
			Params json.RawMessage
		}
	}
	_ = json.Unmarshal(body, &in)
	b := &servedBatch{kind: "anthropic"}
	for _, one := range in.Requests {
		b.items = append(b.items, servedItem{ID: one.ID, Body: one.Params})
	}
	return encoded(s.show(s.add(b)))
}

func (s *batchService) submitGenerative(_ string, body []byte) (int, []byte) {
	var in struct {
		Batch struct {
			Name  string `json:"display_name"`
			Input struct {
				Requests struct {
					Requests []struct {
						Request  json.RawMessage
						Metadata struct{ Key string }
					}
				}
			} `json:"input_config"`
		}
	}
	_ = json.Unmarshal(body, &in)
	b := &servedBatch{kind: "generative", key: in.Batch.Name}
	for _, one := range in.Batch.Input.Requests.Requests {
		b.items = append(b.items, servedItem{ID: one.Metadata.Key, Body: one.Request})
	}
	return encoded(s.show(s.add(b)))
}

func (s *batchService) find(id string) *servedBatch {
	i := slices.IndexFunc(s.batches, func(b *servedBatch) bool { return b.id == id })
	if i < 0 {
		return nil
	}
	return s.batches[i]
}

func (s *batchService) state(id string) (int, []byte) {
	b := s.find(id)
	if b == nil {
		return http.StatusNotFound, []byte(`{"error":{"message":"no such batch"}}`)
	}
	b.asked++
	return encoded(s.show(b))
}

// list shows all batches. Where none has come, the request alone tells whose list it is.
func (s *batchService) list(path string, generative bool) (int, []byte) {
	var all []object
	for _, b := range slices.Backward(s.batches) {
		if strings.Contains(path, "messages") == (b.kind == "anthropic") {
			all = append(all, s.show(b))
		}
	}
	if generative {
		return encoded(object{"operations": all})
	}
	return encoded(object{"object": "list", "data": all, "has_more": false})
}

func (s *batchService) show(b *servedBatch) object {
	over := b.asked > max(1, s.polls)
	switch b.kind {
	case "anthropic":
		out := object{"id": b.id, "type": "message_batch", "created_at": b.created.UTC().Format(time.RFC3339), "processing_status": "in_progress"}
		out["request_counts"] = object{"processing": len(b.items), "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0}
		if over {
			out["processing_status"] = "ended"
			out["request_counts"] = object{"processing": 0, "succeeded": len(b.items), "errored": 0, "canceled": 0, "expired": 0}
		}
		return out
	case "generative":
		state, done := "BATCH_STATE_RUNNING", over
		out := object{"name": "batches/" + b.id, "done": done}
		if over {
			state = "BATCH_STATE_SUCCEEDED"
			var all []object
			for i := range b.items {
				if one := b.items[i].generative(); one != nil {
					all = append(all, one)
				}
			}
			out["response"] = object{"inlinedResponses": object{"inlinedResponses": all}}
		}
		out["metadata"] = object{"state": state, "displayName": b.key, "createTime": b.created.UTC().Format(time.RFC3339Nano)}
		return out
	}
	out := object{
		"id": b.id, "object": "batch", "status": "in_progress", "endpoint": b.endpoint, "created_at": b.created.Unix(),
		"metadata": object{"evalrun": b.key}, "request_counts": object{"total": len(b.items), "completed": 0, "failed": 0},
	}
	if over {
		out["status"], out["output_file_id"] = "completed", "out-"+b.id
		out["request_counts"] = object{"total": len(b.items), "completed": len(b.items), "failed": 0}
	}
	return out
}

// content is the results of a batch, in another order than the items.
func (s *batchService) content(id string) (int, []byte) {
	b := s.find(id)
	if b == nil {
		return http.StatusNotFound, []byte(`{"error":{"message":"no such file"}}`)
	}
	var out []byte
	for i := range slices.Backward(b.items) {
		one := b.items[i].openAI(b.endpoint)
		if b.kind == "anthropic" {
			one = b.items[i].anthropic()
		}
		if one == nil {
			continue
		}
		_, line := encoded(one)
		out = append(append(out, line...), '\n')
		if b.items[i].fault == "twice" {
			out = append(append(out, line...), '\n')
		}
		if b.items[i].fault == "cut" {
			return http.StatusOK, out[:len(out)-10]
		}
	}
	return http.StatusOK, out
}

func (i *servedItem) text() string {
	if strings.Contains(string(i.Body), "You are") {
		return i.ruling
	}
	return i.says
}

func (i *servedItem) openAI(endpoint string) object {
	body := object{
		"model": "m", "choices": []object{{"index": 0, "finish_reason": "stop", "message": object{"role": "assistant", "content": i.text()}}},
		"usage": object{"prompt_tokens": 10, "completion_tokens": 100, "total_tokens": 110},
	}
	if endpoint == "/v1/responses" {
		body = object{
			"model": "m", "status": "completed", "usage": object{"input_tokens": 10, "output_tokens": 100, "total_tokens": 110},
			"output": []object{{"type": "message", "role": "assistant", "content": []object{{"type": "output_text", "text": i.text()}}}},
		}
	}
	out := object{"custom_id": i.ID, "response": object{"status_code": 200, "body": body}, "error": nil}
	switch i.fault {
	case "expired":
		out["response"], out["error"] = nil, object{"code": "batch_expired", "message": "this request could not be executed in time"}
	case "refused":
		out["response"] = object{"status_code": 400, "body": object{"error": object{"message": "this prompt is not allowed here"}}}
	case "unknown":
		out["custom_id"] = "somebody-elses"
	case "missing":
		return nil
	}
	return out
}

func (i *servedItem) anthropic() object {
	result := object{"type": "succeeded", "message": object{
		"type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn", "content": []object{{"type": "text", "text": i.text()}},
		"usage": object{"input_tokens": 10, "output_tokens": 100},
	}}
	id := i.ID
	switch i.fault {
	case "expired", "canceled":
		result = object{"type": i.fault}
	case "refused":
		why := object{"type": "invalid_request_error", "message": "not allowed"}
		result = object{"type": "errored", "error": object{"type": "error", "error": why}}
	case "unknown":
		id = "somebody-elses"
	case "missing":
		return nil
	}
	return object{"custom_id": id, "result": result}
}

func (i *servedItem) generative() object {
	out := object{"metadata": object{"key": i.ID}, "response": object{
		"candidates":    []object{{"content": object{"parts": []object{{"text": i.text()}}}, "finishReason": "STOP"}},
		"usageMetadata": object{"promptTokenCount": 10, "candidatesTokenCount": 100, "totalTokenCount": 110},
	}}
	switch i.fault {
	case "expired":
		delete(out, "response")
		out["error"] = object{"code": 4, "message": "the deadline of the batch has passed"}
	case "refused":
		delete(out, "response")
		out["error"] = object{"code": 3, "message": "not allowed"}
	case "unknown":
		out["metadata"] = object{"key": "somebody-elses"}
	case "missing":
		return nil
	}
	return out
}
