package flow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/rates"
	"github.com/evalrun/evalrun/journal"
)

// Submit submits the batches. An error is why one was refused; its calls were not sent then.
func (b *Batches) Submit(ctx context.Context) error {
	if b == nil {
		return nil
	}
	for len(b.outgoing) > 0 {
		out := b.outgoing[0]
		if err := b.submit(ctx, out); err != nil {
			return err
		}
		discard(out.lines)
		b.outgoing = b.outgoing[1:]
	}
	return nil
}

// submit submits a batch, again if the service turns out not to have it.
func (b *Batches) submit(ctx context.Context, out *outgoing) error {
	if err := out.buffer.Flush(); err != nil {
		return fmt.Errorf("a batch cannot be written down: %w", err)
	}
	for n := 1; ; n++ {
		in, why, err := b.attempt(ctx, out)
		if err != nil {
			return err
		}
		lost, err := b.find(ctx, in)
		switch {
		case err != nil || !lost:
			return err
		case n == max(1, b.cfg.Retry.Attempts):
			return why
		}
		b.limiter.Reserved(out.reserved)
	}
}

// attempt submits a batch once, or several times as long as the service says that it does not take it. An error is the last
// refusal. If the outcome is not known, the batch has no id, and why says so.
func (b *Batches) attempt(ctx context.Context, out *outgoing) (in *incoming, why, err error) {
	service := b.cfg.Services[out.service]
	in = &incoming{first: out.first, left: out.reserved, OpenBatch: &journal.OpenBatch{Intent: journal.Intent{
		Key: newKey(), At: time.Now().UTC().Format(time.RFC3339Nano), Service: out.service, Model: out.first.Model,
		APIVersion: out.first.APIVersion, Caller: b.caller(service), Items: out.items,
		Reserved: eval.Spent{Attempts: out.reserved.Calls, Tokens: out.reserved.Tokens, Money: out.reserved.Money},
	}}}
	if err := b.journal.WriteIntent(&in.Intent); err != nil {
		return nil, nil, err
	}
	batch := &wire.OutgoingBatch{
		Key: in.Key, First: out.first, Embeds: out.embeds, Size: out.size,
		Open: func() (io.ReadCloser, error) { return io.NopCloser(io.NewSectionReader(out.lines, 0, out.size)), nil },
	}
	unclear := false
	why = repeat(ctx, b.cfg.Retry, func(ctx context.Context) error {
		state, err := service.Submit(ctx, batch)
		if err == nil {
			in.ID = state.ID
			return nil
		}
		e := *eval.AsError(err)
		if unclear = isUnclear(&e); unclear {
			e.Retry = eval.RetryNever // the service may have it
		}
		return &e
	})
	switch {
	case why != nil && !unclear:
		b.limiter.Release(out.reserved)
		return nil, nil, errors.Join(why, b.journal.WriteBatch(&journal.Batch{Key: in.Key}))
	case why != nil:
		b.cfg.Notice(fmt.Sprintf("it is not known whether %s has the batch: %s", service.Peer, why))
	default:
		b.past[in.ID] = true
		b.cfg.Notice(fmt.Sprintf("submitted the batch %s with %s to %s", in.ID, diag.Count(len(in.Items), "call"), service.Peer))
		err = b.journal.WriteBatch(&journal.Batch{Key: in.Key, ID: in.ID})
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(in)
	return in, why, err
}

// caller identifies who submits a batch without revealing the key.
func (b *Batches) caller(service *BatchService) string {
	if service.Caller == "" {
		return ""
	}
	return wire.Fingerprint(b.run + service.Caller)[:8]
}

// isUnclear reports whether a service may have taken a request although it failed.
func isUnclear(e *eval.Error) bool {
	if e.Unsent {
		return false
	}
	switch e.Kind {
	case eval.KindTransport, eval.KindTimeout, eval.KindTruncated, eval.KindMalformed, eval.KindTooLarge, eval.KindCanceled:
		return true
	case eval.KindStatus:
		return e.Status >= 500 // a gateway may say it of what the service goes on with
	}
	return false
}

// delay is how long a request that was on its way when its process died may take to arrive.
const delay = 10 * time.Second

// Settle finds out which batches the services have whose submission did not end. unclear is how many remain unknown.
func (b *Batches) Settle(ctx context.Context) (unclear int, err error) {
	if b == nil {
		return 0, nil
	}
	for _, in := range append([]*incoming(nil), b.open...) {
		if _, err := b.find(ctx, in); err != nil {
			return 0, err
		}
	}
	for _, in := range b.open {
		if in.ID == "" {
			unclear++
		}
	}
	return unclear, nil
}

// find looks for a batch whose submission did not end. lost: the service does not have it, and its items are free.
func (b *Batches) find(ctx context.Context, in *incoming) (lost bool, err error) {
	if in.ID != "" {
		return false, nil
	}
	service := b.cfg.Services[in.Service]
	switch {
	case service == nil:
		return false, fmt.Errorf("a batch of the service `%s` is open, and the run does not send batches there any more", in.Service)
	case in.Caller != b.caller(service):
		return false, fmt.Errorf("%s may have a batch that was submitted with another key: use the same key to look for it", service.Peer)
	}
	for again := range 2 {
		if again > 0 && !b.limiter.cfg.Waits.wait(ctx, "a batch that may be on its way", delay, nil) {
			return false, nil
		}
		id, candidates, err := b.look(ctx, service, in)
		switch {
		case err != nil:
			in.again = time.Now().Add(eval.AsError(err).RetryAfter)
			b.cfg.Notice(fmt.Sprintf("%s does not list its batches: %s", service.Peer, err))
			return false, nil
		case id != "":
			in.ID, b.past[id] = id, true
			b.cfg.Notice(fmt.Sprintf("found the batch %s at %s", id, service.Peer))
			return false, b.journal.WriteBatch(&journal.Batch{Key: in.Key, ID: id})
		case candidates > 0:
			b.cfg.Notice(fmt.Sprintf(
				"%s has %s that may be of this run: which one will be known when it has ended", service.Peer,
				diag.Count(candidates, "batch"),
			))
			return false, nil
		}
	}
	return true, b.lose(in)
}

// lose frees the items of a batch that the service does not have.
func (b *Batches) lose(in *incoming) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	in.lost = true
	for i, one := range b.open {
		if one == in {
			b.open = append(b.open[:i], b.open[i+1:]...)
			break
		}
	}
	for _, id := range in.Items {
		delete(b.items, id)
	}
	b.limiter.Release(in.left)
	return b.journal.WriteBatch(&journal.Batch{Key: in.Key})
}

// look looks for a batch by its key. Where the service keeps no keys, the ids in the results tell; candidates is how many may be
// the one and have not ended.
func (b *Batches) look(ctx context.Context, service *BatchService, in *incoming) (id string, candidates int, err error) {
	began, _ := time.Parse(time.RFC3339Nano, in.At) // as it was written
	err = repeat(ctx, b.cfg.Retry, func(ctx context.Context) error {
		id, candidates = "", 0
		for state, err := range service.List(ctx, in.first) { // neither its order nor its clock is relied on
			switch {
			case err != nil:
				return err
			case service.KeepsKeys() && state.Key == in.Key:
				id = state.ID
				return nil
			case service.KeepsKeys() || !b.mayBe(in, state, began):
				continue
			}
			switch ours, err := b.isOurs(ctx, service, in, state.ID); {
			case err != nil:
				return err
			case ours == yes:
				id = state.ID
				return nil
			case ours == unknown:
				candidates++
			}
		}
		return nil
	})
	return id, candidates, err
}

// clocksDiffer is how far a service's clock may be behind this machine's.
const clocksDiffer = time.Hour

// mayBe reports whether a batch may be the one of an intent, by what a list says of it.
func (b *Batches) mayBe(in *incoming, state *wire.BatchState, began time.Time) bool {
	switch {
	case state.Items != 0 && state.Items != len(in.Items), b.past[state.ID]:
		return false
	}
	return state.Created.IsZero() || state.Created.After(began.Add(-clocksDiffer))
}

type answer int

const (
	unknown answer = iota
	yes
	no
)

// isOurs reports whether the results of a batch are for the items of an intent. It is not known before the batch has ended and has
// results.
func (b *Batches) isOurs(ctx context.Context, service *BatchService, in *incoming, id string) (answer, error) {
	state, err := service.State(ctx, in.first, id)
	if err != nil || state.Phase != wire.BatchEnded {
		return unknown, notGone(err)
	}
	found := unknown
	for reply, err := range service.Replies(ctx, in.first, state) {
		if err != nil {
			return found, notGone(err)
		}
		if at, known := b.items[reply.Item]; known && at.in == in {
			return yes, nil
		}
		found = no
	}
	return found, nil
}

const notFound = 404 // the HTTP status of what is not there any more

// notGone is an error unless it says that something is not there any more.
func notGone(err error) error {
	if e := eval.AsError(err); e != nil && e.Status == notFound {
		return nil
	}
	return err
}

func reservedOf(i *journal.Intent) rates.Amount {
	return rates.Amount{Calls: i.Reserved.Attempts, Tokens: i.Reserved.Tokens, Money: i.Reserved.Money}
}
