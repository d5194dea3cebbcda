package emulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"time"
)

const (
	batchesAnthropic = "anthropic"
	maxMessages      = 100_000
	maxMessagesBytes = 256 << 20
)

var customID = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// messageBatches serves Anthropic's batches of messages.
func (e *Emulator) messageBatches() {
	const base = "/v1/messages/batches"
	in := messages{}
	e.keyed("POST "+base, in, func(w http.ResponseWriter, r *http.Request) {
		e.submit(w, r, in, func() (*batch, *problem) { return e.readMessageBatch(r) }, messageBatch(r))
	})
	e.keyed("GET "+base, in, func(w http.ResponseWriter, r *http.Request) {
		e.listBatches(w, r, in, batchesAnthropic, "after_id", 1000, messageBatch(r))
	})
	e.keyed("GET "+base+"/{id}", in, e.withBatch(in, batchesAnthropic, e.askBatch, messageBatch))
	e.keyed("POST "+base+"/{id}/cancel", in, e.withBatch(in, batchesAnthropic, e.cancelBatch, messageBatch))
	e.keyed("GET "+base+"/{id}/results", in, e.messageResults)
}

func (e *Emulator) readMessageBatch(r *http.Request) (*batch, *problem) {
	b := &batch{ID: newID("msgbatch_"), Protocol: batchesAnthropic, Path: "/v1/messages"}
	ids := map[string]bool{}
	p := e.readItems(r, b, maxMessagesBytes, &itemReader{path: []string{"requests"}}, func(one json.RawMessage) (*batchLine, *problem) {
		var item struct {
			ID     string          `json:"custom_id"`
			Params json.RawMessage `json:"params"`
		}
		if p := decode(one, &item); p != nil {
			return nil, p.in("requests", b.Items)
		}
		p := checkMessageItem(b.Items, item.ID, item.Params, ids[item.ID])
		ids[item.ID] = true
		return &batchLine{item.ID, http.MethodPost, b.Path, item.Params}, p
	})
	if p == nil && b.Items == 0 {
		p = badRequest("requests: List should have at least 1 item after validation, not 0")
	}
	return b, p
}

// checkMessageItem checks what the vendor checks at once. The rest is checked when the item is answered.
func checkMessageItem(i int, id string, params json.RawMessage, known bool) *problem {
	at := fmt.Sprintf("requests.%d.custom_id: ", i)
	switch {
	case i >= maxMessages:
		return badRequest("requests: List should have at most %d items after validation", maxMessages)
	case id == "":
		return badRequest("%sField required", at)
	case len(id) > 64:
		return badRequest("%sString should have at most 64 characters", at)
	case !customID.MatchString(id):
		return badRequest("%sString should match pattern '^[a-zA-Z0-9_-]{1,64}$'", at)
	case known:
		return badRequest("%sthe custom_id '%s' is used twice, and must be unique in a batch", at, id)
	case !isObject(params):
		return badRequest("requests.%d.params: Field required", i)
	}
	return nil
}

// messageBatch is a batch in the words of Anthropic. The counts are zero until the batch has ended.
func messageBatch(r *http.Request) func(*batch) any {
	return func(b *batch) any {
		counts := map[string]int{"processing": b.Items, "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0}
		out := map[string]any{
			"id": b.ID, "type": "message_batch", "processing_status": "in_progress", "request_counts": counts,
			"created_at": b.Created, "expires_at": b.Created.Add(24 * time.Hour), "ended_at": nil, "archived_at": nil,
			"cancel_initiated_at": nil, "results_url": nil,
		}
		if !b.Cancelled.IsZero() {
			out["cancel_initiated_at"], out["processing_status"] = b.Cancelled, "canceling"
		}
		if b.End == "" {
			return out
		}
		out["processing_status"], out["ended_at"] = "ended", b.Ended
		out["results_url"] = "http://" + r.Host + "/v1/messages/batches/" + b.ID + "/results"
		counts["processing"], counts["succeeded"], counts["errored"] = 0, b.Succeeded, b.Failed
		counts[b.leftAs()] += b.Left
		return out
	}
}

// leftAs is what Anthropic calls items without an answer.
func (b *batch) leftAs() string {
	switch b.End {
	case endCancelled:
		return "canceled"
	case endFailed:
		return "errored"
	case endExpired, endCompleted:
	}
	return "expired"
}

func (e *Emulator) messageResults(w http.ResponseWriter, r *http.Request) {
	b, p := e.change(batchesAnthropic, r.PathValue("id"), func(*batch) *problem { return nil })
	if p == nil && b.End == "" {
		p = notFound("the batch %s has no results yet", b.ID)
	}
	if p != nil {
		messages{}.fail(w, p)
		return
	}
	w.Header().Set("Content-Type", "application/x-jsonl")
	e.sendResults(w, messages{}, &b, func(one *batchResult) any {
		result := map[string]any{"type": b.leftAs()}
		switch {
		case one.succeeded():
			result = map[string]any{"type": "succeeded", "message": one.Body}
		case one.Status != 0:
			result = map[string]any{"type": "errored", "error": one.Body}
		case b.End == endFailed:
			result["error"] = anthropicError(&problem{Status: http.StatusInternalServerError, Message: b.Reason})
		}
		return map[string]any{"custom_id": one.Item, "result": result}
	})
}
