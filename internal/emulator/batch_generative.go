package emulator

import (
	"cmp"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

const (
	batchesGenerative = "generative"
	methodBatch       = "batchGenerateContent"
	methodEmbedLater  = "asyncBatchEmbedContent"
	maxInlineBytes    = 20 << 20
)

// contentBatches serves the service's own batches. OpenAI's are at the same path in v1.
func (e *Emulator) contentBatches() {
	e.mux.HandleFunc("GET /{version}/batches", e.authorized(e.listContentBatches))
	e.mux.HandleFunc("GET /{version}/batches/{id}", e.authorized(e.showContentBatch))
	e.mux.HandleFunc("POST /{version}/batches/{call}", e.authorized(func(w http.ResponseWriter, r *http.Request) {
		id, method, _ := strings.Cut(r.PathValue("call"), ":")
		if method != "cancel" {
			fail(w, notFound("the method %q of batches is not emulated", method))
			return
		}
		if _, p := e.change(batchesGenerative, id, e.cancelBatch); p != nil {
			fail(w, p)
			return
		}
		reply(w, struct{}{})
	}))
}

// ownOr serves a path of v1 that the service shares with OpenAI, whose clients need no key.
func (e *Emulator) ownOr(own, other http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.SetPathValue("version", "v1")
		key := cmp.Or(r.Header.Get(e.opts.HeaderPrefix+"-api-key"), r.URL.Query().Get("key"), tokenOf(r))
		if key != "" && e.otherForm(r) == nil {
			e.authorized(own)(w, r)
			return
		}
		other(w, r)
	}
}

// readContentBatch reads the body of batchGenerateContent or asyncBatchEmbedContent, in both spellings. What its requests hold is not
// touched: a live request would have the same bytes.
func (e *Emulator) readContentBatch(r *http.Request, m *eval.Model, method string) (*batch, *problem) {
	live := map[string]string{methodBatch: wire.MethodGenerate, methodEmbedLater: wire.MethodEmbed}[method]
	b := &batch{
		ID: newID(""), Protocol: batchesGenerative, Model: m.ID(),
		Path: "/" + r.PathValue("version") + "/models/" + m.ID() + ":" + live,
	}
	file := false
	in := &itemReader{path: []string{"batch", "inputConfig", "requests", "requests"}, other: func(name string, value json.RawMessage) {
		switch name {
		case "displayName":
			b.Name = value
		case "fileName":
			file = true
		}
	}}
	p := e.readItems(r, b, maxInlineBytes, in, func(one json.RawMessage) (*batchLine, *problem) {
		var item struct {
			Request  json.RawMessage `json:"request"`
			Metadata struct {
				Key string `json:"key"`
			} `json:"metadata"`
		}
		p := decode(one, &item)
		if p == nil {
			p = checkContentItem(item.Request, m)
		}
		if p != nil {
			return nil, p.in("batch.inputConfig.requests.requests", b.Items)
		}
		return &batchLine{item.Metadata.Key, http.MethodPost, b.Path, item.Request}, nil
	})
	switch {
	case p != nil:
	case !isSet(b.Name) || !isText(b.Name) || string(b.Name) == `""`:
		p = badRequest("batch.displayName is required")
	case file:
		p = badRequest("batch.inputConfig.fileName is not emulated: send the requests in batch.inputConfig.requests")
	case b.Items == 0:
		p = badRequest("batch.inputConfig.requests.requests is required")
	}
	return b, p
}

func checkContentItem(request json.RawMessage, m *eval.Model) *problem {
	var of struct {
		Model string `json:"model"`
	}
	if !isObject(request) {
		return badRequest("request is required")
	}
	if p := decode(request, &of); p != nil {
		return p
	}
	if of.Model != "" && strings.TrimPrefix(of.Model, "models/") != m.ID() {
		return badRequest("request.model: %q is not the model of the batch, %s", of.Model, m.Name)
	}
	return nil
}

// contentBatch is a batch as an operation, without its responses.
func contentBatch(b *batch) map[string]any {
	states := map[batchEnd]string{
		endCompleted: "SUCCEEDED", endFailed: "FAILED", endExpired: "EXPIRED", endCancelled: "CANCELLED", "": "RUNNING",
	}
	state := states[b.End]
	if b.End == "" && b.Asked == 0 {
		state = "PENDING"
	}
	pending := b.Left
	if b.End == "" {
		pending = b.Items - b.Done
	}
	stats := map[string]string{"requestCount": strconv.Itoa(b.Items)}
	for name, n := range map[string]int{
		"pendingRequestCount": pending, "successfulRequestCount": b.succeededSoFar(), "failedRequestCount": b.Failed,
	} {
		if n > 0 { // zeros are left out in this protocol
			stats[name] = strconv.Itoa(n)
		}
	}
	metadata := map[string]any{
		"name": "batches/" + b.ID, "model": "models/" + b.Model, "displayName": b.Name, "createTime": b.Created, "updateTime": b.Created,
		"state": "BATCH_STATE_" + state, "batchStats": stats,
	}
	out := map[string]any{"name": "batches/" + b.ID, "metadata": metadata}
	if b.End != "" {
		out["done"] = true
		metadata["endTime"], metadata["updateTime"] = b.Ended, b.Ended
	}
	switch b.End {
	case endFailed:
		out["error"] = map[string]any{"code": rpcCode(http.StatusInternalServerError), "message": b.Reason}
	case endExpired:
		out["error"] = map[string]any{"code": rpcCode(http.StatusGatewayTimeout), "message": "the batch expired before it was done"}
	case endCancelled:
		out["error"] = map[string]any{"code": 1, "message": "the batch was cancelled"}
	case endCompleted:
	}
	return out
}

func (e *Emulator) showContentBatch(w http.ResponseWriter, r *http.Request) {
	b, p := e.change(batchesGenerative, r.PathValue("id"), e.askBatch)
	cut := false
	if p == nil && b.End == endCompleted {
		cut, p = e.cutsOff(&b)
	}
	if p != nil {
		fail(w, p)
		return
	}
	w.Header().Set("Content-Type", jsonType)
	e.writeContentBatch(w, &b, cut)
}

// writeContentBatch writes a batch, with its responses if it has succeeded.
func (e *Emulator) writeContentBatch(w io.Writer, b *batch, cut bool) {
	text := encoded(contentBatch(b))
	if b.End != endCompleted {
		_, _ = w.Write(text)
		return
	}
	_, _ = io.WriteString(w, string(text[:len(text)-1])+`,"response":{"inlinedResponses":{"inlinedResponses":[`)
	if e.writeResults(w, b, cut, ",", "", contentResult) {
		_, _ = io.WriteString(w, "]}}}")
	}
}

func contentResult(one *batchResult) any {
	out := map[string]any{"metadata": map[string]string{"key": one.Item}}
	if one.succeeded() {
		out["response"] = one.Body
		return out
	}
	var body wireError
	_ = json.Unmarshal(one.Body, &body) // what is no error of the service has no message
	out["error"] = map[string]any{"code": rpcCode(one.Status), "message": cmp.Or(body.Error.Message, string(one.Body))}
	return out
}

// rpcCode is the number of a status in errors of items.
func rpcCode(status int) int {
	codes := map[string]int{
		"INVALID_ARGUMENT": 3, "DEADLINE_EXCEEDED": 4, "NOT_FOUND": 5, "PERMISSION_DENIED": 7, "RESOURCE_EXHAUSTED": 8, "INTERNAL": 13,
		"UNAVAILABLE": 14, "UNAUTHENTICATED": 16,
	}
	return codes[codeOf(status)]
}

func (e *Emulator) listContentBatches(w http.ResponseWriter, r *http.Request) {
	all, _, p := e.page(batchesGenerative, "", math.MaxInt)
	from, to := 0, 0
	if p == nil {
		from, to, p = pageOf(r.URL.Query(), len(all))
	}
	if p != nil {
		fail(w, p)
		return
	}
	w.Header().Set("Content-Type", jsonType)
	if from == to { // an empty list is left out in this protocol
		_, _ = io.WriteString(w, "{}")
		return
	}
	_, _ = io.WriteString(w, `{"operations":[`)
	for i := from; i < to; i++ {
		if i > from {
			_, _ = io.WriteString(w, ",")
		}
		e.writeContentBatch(w, &all[i], false)
	}
	next := "]}"
	if to < len(all) {
		next = `],"nextPageToken":"from-` + strconv.Itoa(to) + `"}`
	}
	_, _ = io.WriteString(w, next)
}
