package openai

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"mime/multipart"
	"net/url"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

var (
	_ wire.EmbedBatcher = (*Client)(nil)
	_ wire.Batcher      = (*ResponsesClient)(nil)
)

// KeepsKeys reports whether the vendor keeps the keys of batches.
func (c common) KeepsKeys() bool { return true }

// Bounds are what one batch may hold: a little less than the 200 MB of the vendor.
func (c common) Bounds() wire.BatchBounds { return wire.BatchBounds{Items: 50_000, Bytes: 190_000_000} }

// Item is a call as a line of the file with a batch.
func (c common) Item(id string, call *eval.Call) ([]byte, error) {
	body, err := c.ItemBody(call, c.protocol)
	if err != nil {
		return nil, err
	}
	return c.item(id, c.path, body)
}

// ItemEmbed is a call for embeddings as a line of the file with a batch.
func (c *Client) ItemEmbed(id string, call *eval.EmbedCall) ([]byte, error) {
	return c.item(id, embeddingsPath, wire.EmbedBody(call))
}

const embeddingsPath = "embeddings"

func (c common) item(id, path string, body []byte) ([]byte, error) {
	if c.Server.Path != c.path {
		return nil, c.NoBatches()
	}
	return wire.Object(
		"custom_id", wire.Quoted(id), "method", wire.Quoted("POST"), "url", endpoint(path), "body", json.RawMessage(body),
	), nil
}

// endpoint is the path of the calls in a batch. The vendor has it below its own address, whatever the base address is.
func endpoint(path string) json.RawMessage { return wire.Quoted("/v1/" + path) }

// ReadEmbed reads the reply to a call for embeddings.
func (c *Client) ReadEmbed(call *eval.EmbedCall, reply *wire.BatchReply) ([][]float64, error) {
	var answer embeddings
	if err := reply.Decode(&answer); err != nil {
		return nil, err
	}
	return answer.vectors(len(call.Texts))
}

// Submit sends a batch once: a file with its items, and then what to do with it. A file without a batch costs nothing.
func (c common) Submit(ctx context.Context, b *wire.OutgoingBatch) (*wire.BatchState, error) {
	file, err := c.upload(ctx, b)
	if err != nil {
		return nil, wire.NotCreated(err)
	}
	path := c.path
	if b.Embeds {
		path = embeddingsPath
	}
	body := wire.Object(
		"input_file_id", wire.Quoted(file), "endpoint", endpoint(path), "completion_window", wire.Quoted("24h"),
		"metadata", wire.Object("evalrun", wire.Quoted(b.Key)),
	)
	return c.Create(ctx, wire.Question{URL: c.URL("batches", ""), Body: body}, c.batch)
}

func (c common) upload(ctx context.Context, b *wire.OutgoingBatch) (id string, err error) {
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	err = w.WriteField("purpose", "batch")
	_, inFile := w.CreateFormFile("file", "evalrun.jsonl")
	before := form.Len()
	if err := errors.Join(err, inFile, w.Close()); err != nil { // never, in memory
		return "", c.Unsendable(err)
	}
	var file struct {
		ID wire.Word `json:"id"`
	}
	data, err := c.AskPatiently(ctx, wire.Question{URL: c.URL("files", ""), Items: &wire.Upload{
		Batch: b, ContentType: w.FormDataContentType(), Before: form.String()[:before], After: form.String()[before:],
	}}, &file)
	if err == nil && file.ID == "" {
		err = eval.Errorf(eval.KindMalformed, "the answer to an upload names no file: %s", wire.Excerpt(data))
	}
	return string(file.ID), err
}

// State asks for a batch.
func (c common) State(ctx context.Context, _ *eval.Call, id string) (*wire.BatchState, error) {
	return c.AskBatch(ctx, wire.Question{URL: c.URL("batches", "") + "/" + url.PathEscape(id)}, c.batch)
}

// List yields the batches of the account.
func (c common) List(ctx context.Context, _ *eval.Call) iter.Seq2[*wire.BatchState, error] {
	return c.ListedBelow(ctx, "batches", "after", c.batch)
}

// Replies yields the replies of a batch: those in the file of answers, and those in the file of errors.
func (c common) Replies(ctx context.Context, _ *eval.Call, state *wire.BatchState) iter.Seq2[*wire.BatchReply, error] {
	return state.Replies(func(file string) iter.Seq2[*wire.BatchReply, error] {
		return c.RepliesAt(ctx, c.URL("files", "")+"/"+url.PathEscape(file)+"/content", itemReply)
	})
}

// batch reads a batch. Members that some servers write in another way are missing then, except its id and status.
func (c common) batch(raw json.RawMessage) (*wire.BatchState, error) {
	var f, metadata, counts wire.Fields
	var id, key, status wire.Word
	if err := wire.Read(raw, &f); err != nil || f.Take("id", &id) != nil || f.Take("status", &status) != nil || id == "" || status == "" {
		return nil, wire.NotABatch(raw)
	}
	_ = cmp.Or(f.Take("metadata", &metadata), metadata.Take("evalrun", &key))
	_ = f.Take("request_counts", &counts)
	var total, completed, failed wire.LenientInt
	counts.TakeCount(&total, "total")
	counts.TakeCount(&completed, "completed")
	counts.TakeCount(&failed, "failed")
	state := &wire.BatchState{
		ID: string(id), Key: string(key), Created: wire.TimeIn(f["created_at"]), Items: int(total), Done: int(completed + failed),
		Phase: wire.BatchOpen, Status: string(status), Reason: c.Reason(mistakes(f["errors"])),
	}
	switch strings.ToLower(state.Status) {
	case "failed", "completed", "expired", "cancelled":
		state.Phase = wire.BatchEnded
	}
	for _, name := range []string{"output_file_id", "error_file_id"} {
		var file wire.Word
		if _ = f.Take(name, &file); file != "" && state.Phase == wire.BatchEnded {
			state.Results = append(state.Results, string(file))
		}
	}
	return state, nil
}

// mistakes are the messages about a file that was refused.
func mistakes(raw json.RawMessage) []string {
	var list struct {
		Data []struct {
			Message string          `json:"message"`
			Line    wire.LenientInt `json:"line"`
		} `json:"data"`
	}
	_ = json.Unmarshal(raw, &list) // no reason is better than no state
	var out []string
	for _, m := range list.Data {
		if m.Line > 0 {
			m.Message += fmt.Sprintf(" (line %d)", m.Line)
		}
		out = append(out, m.Message)
	}
	return out
}

func itemReply(f wire.Fields) (*wire.BatchReply, error) {
	var id wire.Word
	var response wire.Fields
	status := wire.LenientInt(200)
	if err := cmp.Or(f.Take("custom_id", &id), f.Take("response", &response), response.Take("status_code", &status)); err != nil {
		return nil, eval.Errorf(eval.KindMalformed, "%s", err)
	}
	out := &wire.BatchReply{Item: string(id)}
	body := response["body"]
	switch failure := f["error"]; {
	case wire.HasError(failure):
		out.Error = itemError(failure)
	case response == nil:
		out.Error = eval.Errorf(eval.KindMalformed, "the item has neither a response nor an error")
	case status < 200 || status > 299:
		out.Error = wire.StatusOfItem(int(status), body)
	default:
		out.Body = body
	}
	return out, nil
}

// itemError is the error of an item that was not answered.
func itemError(raw json.RawMessage) *eval.Error {
	e := wire.ErrorIn(wire.Object("error", raw))
	switch e.Code {
	case "batch_expired":
		return wire.ItemExpired()
	case "batch_cancelled", "batch_canceled":
		return wire.ItemCanceled()
	}
	return e
}
