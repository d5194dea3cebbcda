package generative

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/wirejson"
)

var _ wire.EmbedBatcher = (*Client)(nil)

// KeepsKeys reports whether the vendor keeps the keys of batches.
func (c *Client) KeepsKeys() bool { return true }

// Bounds are what one batch may hold. The vendor takes 20 MB inside a request.
func (c *Client) Bounds() wire.BatchBounds { return wire.BatchBounds{Items: 10_000, Bytes: 19_000_000} }

// Item is a call as one of the requests of a batch.
func (c *Client) Item(id string, call *eval.Call) ([]byte, error) {
	return c.item(id, wire.OnOneLine(requestBody(&call.Request)))
}

// ItemEmbed is a call for the embedding of one text as one of the requests of a batch.
func (c *Client) ItemEmbed(id string, call *eval.EmbedCall) ([]byte, error) {
	if len(call.Texts) != 1 {
		return nil, c.Unsendable(fmt.Errorf("an item of a batch embeds one text, and not %d", len(call.Texts)))
	}
	return c.item(id, appendEmbedRequest(nil, call.Model, call.Texts[0]))
}

func (c *Client) item(id string, body []byte) ([]byte, error) {
	if c.Server.Path != "" {
		return nil, c.NoBatches()
	}
	return wire.Object("request", json.RawMessage(body), "metadata", wire.Object("key", wire.Quoted(id))), nil
}

// Submit sends a batch once.
func (c *Client) Submit(ctx context.Context, b *wire.OutgoingBatch) (*wire.BatchState, error) {
	method := "batchGenerateContent"
	if b.Embeds {
		method = "asyncBatchEmbedContent"
	}
	return c.Create(ctx, wire.Question{URL: c.method(b.First.APIVersion, b.First.Model, method), Items: &wire.Upload{
		Batch: b, ContentType: "application/json", Array: true,
		Before: `{"batch":{"display_name":` + string(wire.Quoted(b.Key)) + `,"input_config":{"requests":{"requests":[`, After: "]}}}}",
	}}, func(raw json.RawMessage) (*wire.BatchState, error) {
		op := operation{decoder: json.NewDecoder(bytes.NewReader(raw))}
		if err := op.read(); err != nil {
			return nil, wire.NotABatch(raw)
		}
		return c.batch(&op)
	})
}

// State asks for a batch. The answer of one that has ended may have the results in it, which it skips.
func (c *Client) State(ctx context.Context, first *eval.Call, id string) (*wire.BatchState, error) {
	op, err := c.operation(ctx, c.below(first.APIVersion, escaped(id)), nil)
	if err != nil {
		return nil, err
	}
	return c.batch(op)
}

// escaped is the name of a resource, such as batches/1, in an address.
func escaped(name string) string {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}

// List yields the batches of the project.
func (c *Client) List(ctx context.Context, first *eval.Call) iter.Seq2[*wire.BatchState, error] {
	return wire.Listed(func(after string) (found []*wire.BatchState, next string, err error) {
		at := c.below(first.APIVersion, "batches") + "?pageSize=100"
		if after != "" {
			at += "&pageToken=" + url.QueryEscape(after)
		}
		list, err := c.operation(ctx, at, nil)
		if err != nil {
			return nil, "", err
		}
		if list.list == nil && (list.odd || wire.HasError(list.failure)) { // an empty list is an empty object
			return nil, "", c.notABatch(list)
		}
		for i := range list.list {
			b, err := c.batch(&list.list[i])
			if err != nil {
				return nil, "", err
			}
			found = append(found, b)
		}
		return found, list.next, nil
	})
}

// Replies yields the replies of a batch: those in the answer to State, or those of the file that it names.
func (c *Client) Replies(ctx context.Context, first *eval.Call, state *wire.BatchState) iter.Seq2[*wire.BatchReply, error] {
	version := cmp.Or(first.APIVersion, c.Server.APIVersion)
	return state.Replies(func(place string) iter.Seq2[*wire.BatchReply, error] {
		if place == state.ID {
			return c.inlined(ctx, c.below(version, escaped(place)))
		}
		at := c.Server.BaseURL + "/download/" + url.PathEscape(version) + "/" + escaped(place) + ":download?alt=media"
		return c.RepliesAt(ctx, at, itemReply)
	})
}

// Read reads the reply to a call.
func (c *Client) Read(call *eval.Call, reply *wire.BatchReply) (*eval.Response, error) {
	return c.ReadReply(reply, c.method(call.APIVersion, call.Model, wire.MethodGenerate), format)
}

// ReadEmbed reads the reply to a call for embeddings.
func (c *Client) ReadEmbed(call *eval.EmbedCall, reply *wire.BatchReply) ([][]float64, error) {
	var answer embeddings
	if err := reply.Decode(&answer); err != nil {
		return nil, err
	}
	return answer.vectors(reply.Body, len(call.Texts))
}

// inlined yields the replies inside of an operation.
func (c *Client) inlined(ctx context.Context, at string) iter.Seq2[*wire.BatchReply, error] {
	return func(yield func(*wire.BatchReply, error) bool) {
		n := 0
		_, err := c.operation(ctx, at, func(raw json.RawMessage) error {
			n++
			reply, err := c.Reply(raw, itemReply)
			if err != nil {
				return wire.InResults("item", n, err)
			}
			if !yield(reply, nil) {
				return errStopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

// errStopped ends the reading of an operation whose further results nobody wants.
var errStopped = errors.New("stopped")

// batch returns the state of a batch, an error for an operation that is none.
func (c *Client) batch(op *operation) (*wire.BatchState, error) {
	if op.id == "" {
		return nil, c.notABatch(op)
	}
	out := &wire.BatchState{
		ID: op.id, Key: op.key, Created: wire.TimeIn(op.created), Status: c.Secrets().OutOf(op.state), Phase: wire.BatchOpen,
	}
	var total, good, bad wire.LenientInt
	op.counts.TakeCount(&total, "requestCount", "request_count")
	op.counts.TakeCount(&good, "successfulRequestCount", "successful_request_count")
	op.counts.TakeCount(&bad, "failedRequestCount", "failed_request_count")
	out.Items, out.Done = int(total), int(good+bad)
	if wire.HasError(op.failure) {
		out.Reason = c.Reason([]string{wire.ErrorIn(wire.Object("error", op.failure)).Message})
	}
	switch _, state, _ := strings.Cut(op.state, "_STATE_"); state {
	case "SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED", "PARTIALLY_SUCCEEDED":
		op.done = true
	}
	if !op.done {
		return out, nil
	}
	out.Phase = wire.BatchEnded
	if op.items > 0 {
		out.Results = append(out.Results, op.id)
	} else if op.file != "" {
		out.Results = append(out.Results, op.file)
	}
	return out, nil
}

func (c *Client) notABatch(op *operation) error {
	if wire.HasError(op.failure) {
		e := wire.ErrorIn(wire.Object("error", op.failure))
		e.Message, e.Code = c.Secrets().OutOf(e.Message), c.Secrets().OutOf(e.Code)
		return e
	}
	return eval.Errorf(eval.KindMalformed, "the answer is neither a batch nor a list of batches")
}

func itemReply(f wire.Fields) (*wire.BatchReply, error) {
	var metadata wire.Fields
	var key wire.Word
	if err := cmp.Or(f.Take("metadata", &metadata), metadata.Take("key", &key), f.Take("key", &key)); err != nil {
		return nil, eval.Errorf(eval.KindMalformed, "%s", err)
	}
	out := &wire.BatchReply{Item: string(key)}
	switch {
	case wire.HasError(f["error"]):
		out.Error = itemError(f["error"])
	case wire.HasError(f["response"]):
		out.Body = wirejson.CamelKeys(f["response"]) // which are left alone in a whole result
	default:
		out.Error = eval.Errorf(eval.KindMalformed, "the item has neither a response nor an error")
	}
	return out, nil
}

// itemError is the error of an item. Its code is one of gRPC, and that of a live call its HTTP status.
func itemError(raw json.RawMessage) *eval.Error {
	var f wire.Fields
	var code wire.LenientInt
	if wire.Read(raw, &f) != nil || wire.Read(f["code"], &code) != nil || code < 1 || int(code) > len(codes) {
		return wire.ErrorIn(wire.Object("error", raw))
	}
	c := codes[code-1]
	if c.word == "CANCELLED" {
		return wire.ItemCanceled()
	}
	f["code"] = wire.Encode(c.status)
	if wire.IsEmpty(f["status"]) {
		f["status"] = wire.Quoted(c.word)
	}
	return wire.ErrorIn(wire.Object("error", wire.Encode(f)))
}

// codes are the codes of gRPC from 1, as the service maps them in live answers.
var codes = []struct {
	status int
	word   string
}{
	{499, "CANCELLED"},
	{http.StatusInternalServerError, "UNKNOWN"},
	{http.StatusBadRequest, "INVALID_ARGUMENT"},
	{http.StatusGatewayTimeout, "DEADLINE_EXCEEDED"},
	{http.StatusNotFound, "NOT_FOUND"},
	{http.StatusConflict, "ALREADY_EXISTS"},
	{http.StatusForbidden, "PERMISSION_DENIED"},
	{http.StatusTooManyRequests, "RESOURCE_EXHAUSTED"},
	{http.StatusBadRequest, "FAILED_PRECONDITION"},
	{http.StatusConflict, "ABORTED"},
	{http.StatusBadRequest, "OUT_OF_RANGE"},
	{http.StatusNotImplemented, "UNIMPLEMENTED"},
	{http.StatusInternalServerError, "INTERNAL"},
	{http.StatusServiceUnavailable, "UNAVAILABLE"},
	{http.StatusInternalServerError, "DATA_LOSS"},
	{http.StatusUnauthorized, "UNAUTHENTICATED"},
}

// operation asks for an operation, or a list of them. Each gets its results one by one; nil: they are counted.
func (c *Client) operation(ctx context.Context, at string, each func(json.RawMessage) error) (*operation, error) {
	answer, err := c.Long(ctx, at)
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	op := &operation{decoder: json.NewDecoder(answer), piece: answer.Next, each: each}
	err = op.read()
	var known *eval.Error
	var syntax *json.SyntaxError
	switch {
	case err == nil, errors.Is(err, errStopped), errors.As(err, &known):
		return op, err
	case errors.As(err, &syntax):
		err = eval.Errorf(eval.KindMalformed, "the answer is not JSON after %d bytes: %s", op.decoder.InputOffset(), err)
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	if op.items > 0 {
		return nil, wire.InResults("after item", op.items, answer.Error(err))
	}
	return nil, answer.Error(err)
}
