package emulator

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/evalrun/evalrun/internal/clients/wire"
)

const (
	batchesOpenAI = "openai"
	maxFileItems  = 50_000
	maxFileBytes  = 200 << 20
	maxProblems   = 50
)

var fileEndpoints = []string{"/v1/chat/completions", "/v1/responses", "/v1/embeddings"}

// fileBatches serves OpenAI's batches of files.
func (e *Emulator) fileBatches() {
	in, show := completions{}, func(*http.Request) func(*batch) any { return fileBatch }
	e.keyed("POST /v1/files", in, e.uploadFile)
	e.keyed("GET /v1/files/{id}/content", in, e.fileContent)
	e.keyed("POST /v1/batches", in, func(w http.ResponseWriter, r *http.Request) {
		e.submit(w, r, in, func() (*batch, *problem) { return e.readFileBatch(r) }, fileBatch)
	})
	list := e.withKey(in, func(w http.ResponseWriter, r *http.Request) {
		e.listBatches(w, r, in, batchesOpenAI, "after", 100, fileBatch)
	})
	one := e.withKey(in, e.withBatch(in, batchesOpenAI, e.askBatch, show))
	e.mux.HandleFunc("GET /v1/batches", e.ownOr(e.listContentBatches, list))
	e.mux.HandleFunc("GET /v1/batches/{id}", e.ownOr(e.showContentBatch, one))
	e.keyed("POST /v1/batches/{id}/cancel", in, e.withBatch(in, batchesOpenAI, e.cancelBatch, show))
}

func (e *Emulator) uploadFile(w http.ResponseWriter, r *http.Request) {
	parts, err := r.MultipartReader()
	if err != nil {
		completions{}.fail(w, badRequest("the body is not multipart/form-data: %s", err))
		return
	}
	id, name, purpose, size := newID("file-"), "", "", int64(0)
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			switch part.FormName() {
			case "purpose":
				var text []byte
				text, err = io.ReadAll(io.LimitReader(part, 100))
				purpose = string(text)
			case "file":
				name = part.FileName()
				err = e.batches.files.write(id, func(w io.Writer) (err error) {
					size, err = io.Copy(w, io.LimitReader(part, 2*maxFileBytes))
					return err
				})
			}
		}
		if err != nil {
			completions{}.fail(w, badRequest("the body cannot be read: %s", err))
			return
		}
	}
	switch {
	case purpose != "batch":
		completions{}.fail(w, badRequest("purpose must be batch, not %q: no other purpose is emulated", purpose))
	case name == "":
		completions{}.fail(w, badRequest("file is required"))
	default:
		reply(w, map[string]any{
			"id": id, "object": "file", "bytes": size, "created_at": time.Now().Unix(), "filename": name, "purpose": purpose,
			"status": "processed",
		})
	}
}

func (e *Emulator) readFileBatch(r *http.Request) (*batch, *problem) {
	var in struct {
		Input    string            `json:"input_file_id"`
		Endpoint string            `json:"endpoint"`
		Window   string            `json:"completion_window"`
		Metadata map[string]string `json:"metadata"`
	}
	body, p := readBody(r)
	if p == nil {
		p = decode(body, &in)
	}
	switch {
	case p != nil:
		return nil, p
	case in.Input == "":
		return nil, badRequest("Missing required parameter: 'input_file_id'.")
	case !slices.Contains(fileEndpoints, in.Endpoint):
		return nil, badRequest("Invalid value: '%s'. Supported values are: '%s'.", in.Endpoint, strings.Join(fileEndpoints, "', '"))
	case in.Window != "24h":
		return nil, badRequest("Invalid value: '%s'. Supported values are: '24h'.", in.Window)
	}
	b := &batch{ID: newID("batch_"), Protocol: batchesOpenAI, Path: in.Endpoint, Input: in.Input, Name: encoded(in.Metadata)}
	return b, e.checkLines(b)
}

// checkLines counts and checks the items of a batch. What is wrong with them makes the batch fail later.
func (e *Emulator) checkLines(b *batch) *problem {
	file, p := e.uploaded(b.Input)
	if p != nil {
		p.Status = http.StatusBadRequest
		return p
	}
	defer file.Close() //nolint:errcheck // it was only read
	check := lineChecks{e: e, b: b, ids: map[string]bool{}}
	for line, err := range lines(file) {
		if err != nil {
			return internal(err)
		}
		b.Items++
		if problem := check.line(line); problem.Code != "" && len(b.Problems) < maxProblems {
			problem.Line = b.Items
			b.Problems = append(b.Problems, problem)
		}
	}
	size, err := file.Seek(0, io.SeekEnd)
	whole := func(code, format string, args ...any) {
		b.Problems = []lineProblem{{Code: code, Message: fmt.Sprintf(format, args...)}}
	}
	switch {
	case err != nil:
		return internal(err)
	case b.Items == 0:
		whole("empty_file", "The input file is empty.")
	case b.Items > maxFileItems:
		whole("too_many_tasks", "The batch input file contains %d requests, more than the limit of %d.", b.Items, maxFileItems)
	case size > maxFileBytes:
		whole("file_too_large", "The batch input file has %d bytes, more than the limit of %d.", size, maxFileBytes)
	}
	return nil
}

type lineChecks struct {
	e   *Emulator
	b   *batch
	ids map[string]bool
}

func (c *lineChecks) line(line []byte) lineProblem {
	var one batchLine
	var body struct {
		Model string `json:"model"`
	}
	if json.Unmarshal(line, &one) != nil {
		return lineProblem{Code: "invalid_json_line", Message: "This line is not parseable as valid JSON."}
	}
	_ = json.Unmarshal(one.Body, &body) // without a model it is refused below
	if c.b.Model == "" {
		c.b.Model = body.Model
	}
	known := c.ids[one.ID]
	c.ids[one.ID] = true
	missing := func(name string) lineProblem {
		return lineProblem{Code: "missing_required_parameter", Message: "Missing required parameter: '" + name + "'."}
	}
	switch {
	case one.ID == "":
		return missing("custom_id")
	case known:
		return lineProblem{Code: "duplicate_custom_id", Message: "The custom_id '" + one.ID + "' for this request is a duplicate of " +
			"another request. The custom_id parameter must be unique for each request in a batch."}
	case one.Method != http.MethodPost:
		return lineProblem{Code: "invalid_method", Message: "The method of a request must be POST."}
	case one.URL != c.b.Path:
		return lineProblem{Code: "url_mismatch", Message: "The URL provided for this request does not match the batch endpoint."}
	case !isObject(one.Body):
		return missing("body")
	case body.Model == "":
		return missing("body.model")
	case body.Model != c.b.Model:
		return lineProblem{Code: "model_mismatch", Message: "The model '" + body.Model + "' of this request is not '" + c.b.Model +
			"': a batch is for one model."}
	}
	method := wire.MethodGenerate
	if one.URL == "/v1/embeddings" {
		method = wire.MethodEmbed
	}
	if m := c.e.model(body.Model); m == nil || !supports(m, method) {
		return lineProblem{Code: "model_not_found", Message: "The provided model '" + body.Model + "' is not supported by the Batch API."}
	}
	return lineProblem{}
}

// outputs returns the ids of the files of results; "" for one that is not there.
func (b *batch) outputs() (answers, failures string) {
	name := "file-" + strings.TrimPrefix(b.ID, "batch_")
	if b.Succeeded > 0 {
		answers = name + "-output"
	}
	if b.End != endFailed && b.Failed+b.Left > 0 {
		failures = name + "-error"
	}
	return answers, failures
}

func fileBatch(b *batch) any {
	status := string(b.End)
	switch {
	case status != "":
	case !b.Cancelled.IsZero():
		status = "cancelling"
	case b.Asked == 0:
		status = "validating"
	default:
		status = "in_progress"
	}
	out := map[string]any{
		"id": b.ID, "object": "batch", "endpoint": b.Path, "model": b.Model, "errors": nil, "input_file_id": b.Input,
		"completion_window": "24h", "status": status, "created_at": b.Created.Unix(), "expires_at": b.Created.Add(24 * time.Hour).Unix(),
		"request_counts": map[string]int{"total": b.Items, "completed": b.succeededSoFar(), "failed": b.Failed}, "metadata": b.Name,
	}
	answers, failures := b.outputs()
	for name, id := range map[string]string{"output_file_id": answers, "error_file_id": failures} {
		out[name] = nil
		if id != "" {
			out[name] = id
		}
	}
	for name, at := range map[string]time.Time{"in_progress_at": b.Created, "finalizing_at": b.Ended, "cancelling_at": b.Cancelled} {
		out[name] = seconds(at)
	}
	for _, end := range []batchEnd{endCompleted, endFailed, endExpired, endCancelled} {
		out[string(end)+"_at"] = nil
		if b.End == end {
			out[string(end)+"_at"] = seconds(b.Ended)
		}
	}
	if b.End == endFailed {
		all := []any{}
		if b.Reason != "" {
			all = append(all, map[string]any{"code": "batch_failed", "message": b.Reason, "param": nil, "line": nil})
		}
		for _, p := range b.Problems {
			one := map[string]any{"code": p.Code, "message": p.Message, "param": nil, "line": nil}
			if p.Line > 0 {
				one["line"] = p.Line
			}
			all = append(all, one)
		}
		out["errors"] = map[string]any{"object": "list", "data": all}
		out["request_counts"] = map[string]int{"total": 0, "completed": 0, "failed": 0} // it was not begun
	}
	return out
}

func seconds(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.Unix()
}

// fileContent sends a file: one that was uploaded, or the answers or failures of a batch.
func (e *Emulator) fileContent(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	e.batches.mu.Lock()
	var of batch
	var failures bool
	for _, b := range e.batches.all {
		if answers, failed := b.outputs(); id == answers || id == failed {
			of, failures = *b, id == failed
		}
	}
	e.batches.mu.Unlock()
	w.Header().Set("Content-Type", "application/octet-stream")
	if of.ID != "" {
		e.sendResults(w, completions{}, &of, func(one *batchResult) any {
			if one.succeeded() == failures {
				return nil
			}
			return fileResult(&of, one)
		})
		return
	}
	file, p := e.uploaded(id)
	if p != nil {
		completions{}.fail(w, p)
		return
	}
	defer file.Close() //nolint:errcheck // it was only read
	_, _ = io.Copy(w, file)
}

// uploaded opens a file that was uploaded, and no other one that is kept.
func (e *Emulator) uploaded(id string) (shelved, *problem) {
	if strings.HasPrefix(id, "file-") {
		if file, err := e.batches.files.open(id); err == nil {
			return file, nil
		}
	}
	return nil, notFound("No such File object: %s", id)
}

func fileResult(b *batch, one *batchResult) any {
	out := map[string]any{"id": "batch_req_" + one.Item, "custom_id": one.Item, "response": nil, "error": nil}
	switch {
	case one.Status != 0:
		out["response"] = map[string]any{"status_code": one.Status, "request_id": "req_" + one.Item, "body": one.Body}
	case b.End == endCancelled:
		out["error"] = map[string]string{"code": "batch_cancelled", "message": "This request was not executed: the batch was cancelled."}
	default:
		out["error"] = map[string]string{
			"code": "batch_expired", "message": "This request could not be executed before the completion window expired.",
		}
	}
	return out
}
