package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

var _ wire.Batcher = (*Client)(nil)

// batches is where batches are, below the base address.
const batches = path + "/batches"

// KeepsKeys reports whether the vendor keeps the keys of batches.
func (c *Client) KeepsKeys() bool { return false }

// Bounds are what one batch may hold: a little less than the 256 MB of the vendor.
func (c *Client) Bounds() wire.BatchBounds {
	return wire.BatchBounds{Items: 100_000, Bytes: 240_000_000}
}

// Item is a call as one of the requests of a batch.
func (c *Client) Item(id string, call *eval.Call) ([]byte, error) {
	if c.Server.Path != path {
		return nil, c.NoBatches()
	}
	body, err := c.ItemBody(call, wire.Anthropic())
	if err != nil {
		return nil, err
	}
	return wire.Object("custom_id", wire.Quoted(id), "params", json.RawMessage(body)), nil
}

// Submit sends a batch once. The vendor keeps no name for it.
func (c *Client) Submit(ctx context.Context, b *wire.OutgoingBatch) (*wire.BatchState, error) {
	return c.Create(ctx, wire.Question{URL: c.URL(batches, ""), Items: &wire.Upload{
		Batch: b, ContentType: "application/json", Before: `{"requests":[`, After: "]}", Array: true,
	}}, c.batch)
}

// State asks for a batch.
func (c *Client) State(ctx context.Context, _ *eval.Call, id string) (*wire.BatchState, error) {
	return c.AskBatch(ctx, wire.Question{URL: c.batchURL(id)}, c.batch)
}

func (c *Client) batchURL(id string) string { return c.URL(batches, "") + "/" + url.PathEscape(id) }

// List yields the batches of the workspace.
func (c *Client) List(ctx context.Context, _ *eval.Call) iter.Seq2[*wire.BatchState, error] {
	return c.ListedBelow(ctx, batches, "after_id", c.batch)
}

// Replies yields the replies of a batch.
func (c *Client) Replies(ctx context.Context, _ *eval.Call, state *wire.BatchState) iter.Seq2[*wire.BatchReply, error] {
	return state.Replies(func(at string) iter.Seq2[*wire.BatchReply, error] { return c.RepliesAt(ctx, at, itemReply) })
}

// Read reads the reply to a call.
func (c *Client) Read(call *eval.Call, reply *wire.BatchReply) (*eval.Response, error) {
	return c.ReadReply(reply, c.URL(c.Server.Path, call.Model), format)
}

// batch reads a batch. Members of a type that the vendor does not have are missing then, except its id and status.
func (c *Client) batch(raw json.RawMessage) (*wire.BatchState, error) {
	var f, counts wire.Fields
	var id, status, results wire.Word
	if wire.Read(raw, &f) != nil || f.Take("id", &id) != nil || f.Take("processing_status", &status) != nil || id == "" || status == "" {
		return nil, wire.NotABatch(raw)
	}
	_ = cmp.Or(f.Take("request_counts", &counts), f.Take("results_url", &results))
	var open, total wire.LenientInt
	counts.TakeCount(&open, "processing")
	for _, name := range []string{"succeeded", "errored", "canceled", "expired"} {
		var n wire.LenientInt
		counts.TakeCount(&n, name)
		total += n
	}
	state := &wire.BatchState{
		ID: string(id), Created: wire.TimeIn(f["created_at"]), Items: int(open + total), Done: int(total), Phase: wire.BatchOpen,
		Status: string(status),
	}
	if !wire.IsEmpty(f["cancel_initiated_at"]) {
		state.Reason = "it was canceled"
	}
	if status == "ended" {
		state.Phase, state.Results = wire.BatchEnded, []string{c.resultsAt(string(id), string(results))}
	}
	return state, nil
}

// resultsAt is where the results of a batch are: where the vendor says, if that is below the base address. The key goes nowhere
// else, and a proxy's address is not in what the vendor says.
func (c *Client) resultsAt(id, said string) string {
	if strings.HasPrefix(said, c.Server.BaseURL+"/") {
		return said
	}
	return c.batchURL(id) + "/results"
}

func itemReply(f wire.Fields) (*wire.BatchReply, error) {
	var id, kind wire.Word
	var result wire.Fields
	if err := cmp.Or(f.Take("custom_id", &id), f.Take("result", &result), result.Take("type", &kind)); err != nil {
		return nil, eval.Errorf(eval.KindMalformed, "%s", err)
	}
	out := &wire.BatchReply{Item: string(id)}
	switch kind {
	case "succeeded":
		out.Body = result["message"]
	case "errored":
		out.Error = wire.ErrorIn(result["error"])
	case "expired":
		out.Error = wire.ItemExpired()
	case "canceled":
		out.Error = wire.ItemCanceled()
	default:
		out.Error = eval.Errorf(eval.KindMalformed, "the item has a result of an unknown type: %q", kind)
	}
	return out, nil
}
