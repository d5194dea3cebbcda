package flow

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/journal"
)

// Batches are polled after leastPoll at first, and then less and less often.
const (
	leastPoll = time.Second
	mostPoll  = time.Minute
)

// Collect gets the replies of the batches that have ended. It waits up to a time for those that have not; open is how many are left.
func (b *Batches) Collect(ctx context.Context, wait time.Duration) (open int, err error) {
	until := time.Now().Add(wait)
	for pause := leastPoll; ; pause = min(mostPoll, pause*3/2) {
		if open, err = b.poll(ctx); err != nil || open == 0 {
			return open, err
		}
		if pause = min(pause, time.Until(until)); pause <= 0 || !b.limiter.cfg.Waits.wait(ctx, "batches", pause, nil) {
			return open, nil
		}
	}
}

// poll asks for each batch, and gets the replies of those that have ended. open is how many have not.
func (b *Batches) poll(ctx context.Context) (open int, err error) {
	for _, in := range append([]*incoming(nil), b.open...) {
		if in.whole {
			continue
		}
		if time.Now().Before(in.again) {
			open++
			continue
		}
		switch lost, err := b.find(ctx, in); {
		case err != nil:
			return 0, err
		case lost:
			continue
		case in.ID == "":
			open++
			continue
		}
		if err := b.ask(ctx, in); err != nil {
			return 0, err
		}
		if !in.whole && !in.lost {
			open++
		}
	}
	return open, nil
}

func (b *Batches) ask(ctx context.Context, in *incoming) error {
	service := b.cfg.Services[in.Service]
	if service == nil {
		return fmt.Errorf("the batch %s of the service `%s` is open, and the run does not send batches there any more", in.ID, in.Service)
	}
	var state *wire.BatchState
	err := repeat(ctx, b.cfg.Retry, func(ctx context.Context) (err error) {
		state, err = service.State(ctx, in.first, in.ID)
		return err
	})
	switch e := eval.AsError(err); {
	case e == nil:
	case e.Status == notFound:
		return b.gone(service, in, "the batch "+in.ID)
	case e.Kind == eval.KindAuth:
		return refused(e, in)
	default:
		in.again = time.Now().Add(e.RetryAfter)
		b.cfg.Notice(fmt.Sprintf("%s does not say how far the batch %s is: %s", service.Peer, in.ID, e))
		return nil
	}
	if state.Phase != wire.BatchEnded {
		said := fmt.Sprintf("the batch %s is not over (%s): %d of %s done", in.ID, state.Status, state.Done,
			diag.Count(len(in.Items), "call"))
		if said != in.said {
			b.cfg.Notice(said)
		}
		in.said = said
		return nil
	}
	in.state = state
	return b.fetch(ctx, service, in)
}

// refused is the error by which a service refuses the caller.
func refused(e *eval.Error, in *incoming) error {
	own := *e
	own.Service, own.Model = in.Service, in.Model
	return &own
}

// gone gives up what a service does not have any more if the user says so: its calls are paid again.
func (b *Batches) gone(service *BatchService, in *incoming, what string) error {
	switch {
	case in.Caller != b.caller(service):
		return eval.Incomplete("%s does not know %s: it was submitted with another key: use the same key", service.Peer, what)
	case b.cfg.Live:
		b.cfg.Notice(fmt.Sprintf("%s does not have %s any more; its calls are sent again", service.Peer, what))
		return b.lose(in)
	}
	return eval.Incomplete(
		"%s does not know %s: it was deleted, or belongs to another project; `evalrun resume --live` pays for its calls again",
		service.Peer, what,
	)
}

// fetch reads the replies of a batch that has ended into a file.
func (b *Batches) fetch(ctx context.Context, service *BatchService, in *incoming) (err error) {
	discard(in.replies)
	if in.replies, err = nameless(b.dir); err != nil {
		return fmt.Errorf("the replies of the batch %s cannot be kept: %w", in.ID, err)
	}
	in.failed = map[string]*eval.Error{}
	for _, id := range in.Items {
		if at := b.items[id]; at.in == in && !at.used {
			b.items[id] = item{in, unanswered, false}
		}
	}
	r := fetching{in: in}
	in.whole = true
	for reply, err := range service.Replies(ctx, in.first, in.state) {
		if err != nil {
			in.whole = false
			if err := b.cut(service, in, eval.AsError(err)); err != nil || in.lost {
				return err
			}
			break
		}
		if err := b.take(&r, reply); err != nil {
			return fmt.Errorf("the replies of the batch %s cannot be kept: %w", in.ID, err)
		}
	}
	if !in.Fetched {
		if err := b.journal.WriteBatch(&journal.Batch{Key: in.Key, ID: in.ID, Fetched: true}); err != nil {
			return err
		}
	}
	b.unused = b.countUnused()
	b.odd(in, r.strange, "that the run did not send; they are not used")
	b.odd(in, r.twice, "that it had answered already; the first answers count")
	return nil
}

// cut says that results ended with an error. It returns one where the others will not come.
func (b *Batches) cut(service *BatchService, in *incoming, e *eval.Error) error {
	switch {
	case e.Status == notFound:
		return b.gone(service, in, "the results of the batch "+in.ID)
	case e.Kind == eval.KindAuth:
		return refused(e, in)
	}
	in.again = time.Now().Add(e.RetryAfter)
	b.cfg.Notice(fmt.Sprintf("the results of the batch %s are not complete: %s", in.ID, e))
	return nil
}

type fetching struct {
	in             *incoming
	size           int64 // of the file so far
	strange, twice int   // replies to items of nobody, and further ones to the same item
}

func (b *Batches) take(r *fetching, reply *wire.BatchReply) error {
	at, known := b.items[reply.Item]
	switch {
	case !known || at.in != r.in:
		r.strange++
		return nil
	case at.used:
		return nil
	case at.at != unanswered || r.in.failed[reply.Item] != nil:
		r.twice++
		return nil
	case reply.Error != nil:
		r.in.failed[reply.Item] = reply.Error
		return nil
	}
	n, err := writeRecord(r.in.replies, reply.Body)
	at.at = r.size
	r.size += n
	b.items[reply.Item] = at
	return err
}

// countUnused counts the calls that can be answered, or be told why they have no answer.
func (b *Batches) countUnused() (n int) {
	for id, at := range b.items {
		if at.in != nil && !at.used && (at.in.whole || at.at != unanswered || at.in.failed[id] != nil) {
			n++
		}
	}
	return n
}

func (b *Batches) odd(in *incoming, n int, what string) {
	if n > 0 {
		b.cfg.Notice(fmt.Sprintf("warning: the batch %s answers %s %s", in.ID, diag.Count(n, "call"), what))
	}
}

// A record is a text with its length before it.
func writeRecord(file *os.File, text []byte) (n int64, err error) {
	record := binary.AppendUvarint(make([]byte, 0, len(text)+binary.MaxVarintLen64), uint64(len(text)))
	k, err := file.Write(append(record, text...))
	return int64(k), err
}

func readRecord(file *os.File, at int64) ([]byte, error) {
	var head [binary.MaxVarintLen64]byte
	k, err := file.ReadAt(head[:], at)
	if err != nil && err != io.EOF {
		return nil, err
	}
	size, n := binary.Uvarint(head[:k])
	if n <= 0 || size > wire.MaxResponseBytes {
		return nil, io.ErrUnexpectedEOF
	}
	text := make([]byte, size)
	_, err = file.ReadAt(text, at+int64(n))
	return text, err
}
