package wire

import (
	"context"
	"io"
	"iter"
	"time"

	"github.com/evalrun/evalrun/eval"
)

// OutgoingBatch is a batch to submit: calls of one model that the service answers within hours, at a lower price.
type OutgoingBatch struct {
	// Key names the batch before the vendor gives it an id. It is sent where the vendor keeps such a name.
	Key string
	// First is a call of the batch. It says which model the batch is for, and in which version of the API.
	First *eval.Call
	// Embeds: the items are those of EmbedBatcher.
	Embeds bool
	// Open opens the items from their beginning: a line each, as Item wrote it. Size is their length in bytes.
	Open func() (io.ReadCloser, error)
	Size int64
}

// BatchState is what a vendor says of a batch.
type BatchState struct {
	ID      string
	Key     string    // as submitted; "" where the vendor keeps none
	Created time.Time // zero where the vendor does not say
	Items   int       // 0 where the vendor does not say
	Done    int       // items that are answered or have failed so far
	Phase   batchPhase
	Status  string // the vendor's own word
	Reason  string // why it was refused or ended early; "" for most
	// Results is where the answers are, in the client's own terms.
	Results []string
}

// batchPhase says what can be done with a batch.
type batchPhase int

// The phases of a batch.
const (
	BatchOpen  batchPhase = iota + 1 // it has no results yet
	BatchEnded                       // its results can be read, and no more will come: items without a result have none
)

// BatchReply is what became of an item of a batch.
type BatchReply struct {
	Item  string      // its id
	Body  []byte      // the reply to the call; nil if there is an error
	Error *eval.Error // why there is none
}

// BatchBounds are the most that a vendor takes in one batch.
type BatchBounds struct {
	Items int
	Bytes int64
}

// Batcher answers calls in batches. Its errors are *eval.Error; for a Submit whose outcome is not known, Unsent is false and the
// Kind is of the connection, not of a refusal.
type Batcher interface {
	// Bounds are what one batch may hold.
	Bounds() BatchBounds
	// KeepsKeys reports whether the vendor keeps the keys of batches.
	KeepsKeys() bool
	// Item is a call as a line of a batch, without a line break. id has at most 64 letters, digits, - and _.
	Item(id string, call *eval.Call) ([]byte, error)
	// Submit sends a batch, once.
	Submit(ctx context.Context, b *OutgoingBatch) (*BatchState, error)
	// State asks for a batch. first is a call of it, as in OutgoingBatch.
	State(ctx context.Context, first *eval.Call, id string) (*BatchState, error)
	// List yields the batches of the account. Replies takes those that have ended.
	List(ctx context.Context, first *eval.Call) iter.Seq2[*BatchState, error]
	// Replies yields the replies of a batch that has ended, in any order. After an error no more come.
	Replies(ctx context.Context, first *eval.Call, state *BatchState) iter.Seq2[*BatchReply, error]
	// Read reads the reply to a call.
	Read(call *eval.Call, reply *BatchReply) (*eval.Response, error)
}

// EmbedBatcher embeds texts in batches too.
type EmbedBatcher interface {
	Batcher
	// ItemEmbed is a call for embeddings as a line of a batch, as in Item. The call has one text: items of some vendors have no more.
	ItemEmbed(id string, call *eval.EmbedCall) ([]byte, error)
	// ReadEmbed reads the reply to a call for embeddings.
	ReadEmbed(call *eval.EmbedCall, reply *BatchReply) ([][]float64, error)
}
