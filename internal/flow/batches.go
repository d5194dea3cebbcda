package flow

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/rates"
	"github.com/evalrun/evalrun/journal"
)

// Batches collect the calls to some services, so that these answer them together, within hours and at a lower price. A call
// without a reply is put into a batch, and its error is of kind waiting. The usual order in a process: Open with what the run
// file has of earlier batches; Settle what is not known of them; Collect replies; the calls of the run; Submit what they have
// put into batches; Finish. A killed process pays nothing twice:
//
//   - An intent with the ids of all items is in the run file before a batch is submitted, and the id of the batch after it.
//   - An item of an intent is not sent again until the batch has ended, or the service is known not to have it.
//   - A batch is collected when all results that use its replies are in the run file. Until then the service keeps them.
type Batches struct {
	cfg     BatchesConfig
	run     string // id
	dir     string
	journal *journal.Writer
	limiter *Limiter

	mu       sync.Mutex
	outgoing []*outgoing
	open     []*incoming
	past     map[string]bool // ids of all batches of the run that are known
	items    map[string]item
	unused   int // replies that no call has got yet
}

// BatchesConfig says who answers in batches.
type BatchesConfig struct {
	Services map[string]*BatchService // by name; "" is the unnamed one
	Retry    RetryPolicy              // of what is no call of a model
	Live     bool                     // calls that are in no batch are sent as others are
	Notice   func(string)
}

// BatchService is a service that answers in batches.
type BatchService struct {
	wire.Batcher
	Peer   string // its name in messages
	Caller string // identifies the caller to the service: the key, or who is logged in
}

// outgoing is a batch that takes calls.
type outgoing struct {
	service  string
	first    *eval.Call
	embeds   bool
	items    []string
	reserved rates.Amount
	lines    *os.File
	buffer   *bufio.Writer
	size     int64
}

// incoming is a batch that was submitted, or may have been.
type incoming struct {
	*journal.OpenBatch
	first *eval.Call
	left  rates.Amount // of what was reserved

	state   *wire.BatchState       // nil until it has ended
	replies *os.File               // each with its length before it
	failed  map[string]*eval.Error // by item
	lost    bool                   // the service does not have it
	said    string                 // of its state, for people
	held    bool                   // a reply is needed again: other texts to embed with it wait
	whole   bool                   // all replies came
	passing int                    // items without an answer for a reason that may pass
	again   time.Time              // no question before, by the service's Retry-After
}

// item is a call in a batch.
type item struct {
	in   *incoming // nil: in an outgoing batch
	at   int64     // of the reply in its file; unanswered where there is none
	used bool
}

const unanswered = -1

// NewBatches returns nil if no service answers in batches.
func NewBatches(cfg BatchesConfig) *Batches {
	if len(cfg.Services) == 0 {
		return nil
	}
	return &Batches{cfg: cfg, past: map[string]bool{}, items: map[string]item{}}
}

// Under has a limiter keep the budgets of the calls.
func (b *Batches) Under(l *Limiter) {
	if b != nil {
		b.limiter = l
	}
}

// Open takes over the batches of a run that are not collected. past are the ids of all.
func (b *Batches) Open(run *eval.Run, dir string, w *journal.Writer, known []*journal.OpenBatch, past []string) {
	b.run, b.dir, b.journal = run.ID, dir, w
	killed, _ := filepath.Glob(filepath.Join(dir, ".batch-*")) // the pattern is valid
	for _, file := range killed {                              // between two lines of nameless
		_ = os.Remove(file)
	}
	for _, id := range past {
		b.past[id] = true
	}
	for _, one := range known {
		in := &incoming{OpenBatch: one, first: firstOf(&one.Intent), left: reservedOf(&one.Intent)}
		b.limiter.Reserved(in.left)
		b.add(in)
	}
}

func firstOf(i *journal.Intent) *eval.Call {
	return &eval.Call{Request: eval.Request{Service: i.Service, Model: i.Model, APIVersion: i.APIVersion}}
}

func (b *Batches) add(in *incoming) {
	b.open = append(b.open, in)
	for _, id := range in.Items {
		b.items[id] = item{in, unanswered, false}
	}
}

// Around has the calls to a service go into batches. Whatever is no call of a model passes to next.
func (b *Batches) Around(next Service, name string) Service {
	if b == nil || b.cfg.Services[name] == nil {
		return next
	}
	return batched{next, b}
}

type batched struct {
	Service
	batches *Batches
}

func (s batched) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	b := s.batches
	id := b.id(call)
	switch state := b.stateOf(id); {
	case state == itemWaits:
		return nil, errWaiting()
	case state == itemReplied:
		return b.reply(call, id)
	case b.cfg.Live:
		return s.Service.Generate(ctx, call)
	}
	return nil, b.put(call, id)
}

// Waits reports whether the first call of a trial is in a batch that has no reply to it yet.
func (b *Batches) Waits(trialID, service, model string) bool {
	return b.ofTrial(trialID, service, model) == itemWaits
}

// Has reports whether there is a reply to the first call of a trial that is not used yet.
func (b *Batches) Has(trialID, service, model string) bool {
	return b.ofTrial(trialID, service, model) == itemReplied
}

func (b *Batches) ofTrial(trialID, service, model string) itemState {
	if b == nil {
		return itemUnknown
	}
	return b.stateOf(b.id(&eval.Call{TrialID: trialID, Request: eval.Request{Service: service, Model: model}}))
}

// itemState says what is to do for a call.
type itemState int

const (
	itemUnknown itemState = iota // it is in no batch, or its reply is used
	itemWaits
	itemReplied // or there is no reply, and it is known why
)

func (b *Batches) stateOf(id string) itemState {
	b.mu.Lock()
	defer b.mu.Unlock()
	at, known := b.items[id]
	switch {
	case !known || at.used:
		return itemUnknown
	case at.in == nil || at.at == unanswered && !at.in.whole && at.in.failed[id] == nil:
		return itemWaits
	}
	return itemReplied
}

func errWaiting() *eval.Error { return eval.Errorf(eval.KindWaiting, "the answer comes with a batch") }

// id names a call as an item, the same in every process that continues the run, and in no other run.
func (b *Batches) id(call *eval.Call) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n%s\n%s", b.run, call.Service, call.Model, call.TrialID)
	if call.Earlier == eval.EarlierRefused {
		_, _ = io.WriteString(h, "\nagain")
	}
	return hex.EncodeToString(h.Sum(nil))[:32]
}

// Replied reports whether there are replies that no call has got yet.
func (b *Batches) Replied() bool { return b.unused > 0 }

// put puts a call into an outgoing batch. The error is of kind waiting, unless the call goes into none.
func (b *Batches) put(call *eval.Call, id string) error {
	line, err := b.cfg.Services[call.Service].Item(id, call)
	if err != nil {
		return err
	}
	return b.putLine(outgoingItem{id, call, line, false})
}

type outgoingItem struct {
	id     string
	call   *eval.Call // of embeddings only its model, and how many tokens it has
	line   []byte
	embeds bool
}

func (b *Batches) putLine(one outgoingItem) error {
	service := b.cfg.Services[one.call.Service]
	bounds := service.Bounds()
	one.line = append(one.line, '\n')
	if n := int64(len(one.line)); n > bounds.Bytes {
		return eval.Errorf(eval.KindTooLarge, "the request has %d bytes, and a batch of %s may have %d", n, service.Peer, bounds.Bytes)
	}
	if b.limiter.cfg.Waits.stopped() {
		return errStopped()
	}
	cost, err := b.limiter.Reserve(one.call)
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := eval.AsError(err); e != nil && e.Kind == eval.KindBudget && b.unused > 0 { // which would be lost if the run stopped now
		return errWaiting()
	} else if err != nil {
		return err
	}
	if _, twice := b.items[one.id]; twice {
		b.limiter.Release(cost)
		return errWaiting()
	}
	out, err := b.outgoingFor(&one, bounds)
	if err == nil {
		_, err = out.buffer.Write(one.line)
	}
	if err != nil {
		b.limiter.Release(cost)
		return eval.Errorf(eval.KindCanceled, "the batch could not be written down: %s", err)
	}
	out.size += int64(len(one.line))
	out.items = append(out.items, one.id)
	out.reserved.Add(cost)
	b.items[one.id] = item{}
	return errWaiting()
}

// outgoingFor finds the batch for a call, or begins one. A batch is for one model, and for answers or embeddings.
func (b *Batches) outgoingFor(next *outgoingItem, bounds wire.BatchBounds) (*outgoing, error) {
	call := next.call
	for _, one := range b.outgoing {
		if one.service == call.Service && one.first.Model == call.Model && one.first.APIVersion == call.APIVersion &&
			one.embeds == next.embeds && len(one.items) < bounds.Items && one.size+int64(len(next.line)) <= bounds.Bytes {
			return one, nil
		}
	}
	file, err := nameless(b.dir)
	if err != nil {
		return nil, err
	}
	first := &eval.Call{Request: eval.Request{
		Service: call.Service, Protocol: call.Protocol, Model: call.Model, APIVersion: call.APIVersion,
	}}
	one := &outgoing{service: call.Service, first: first, embeds: next.embeds, lines: file, buffer: bufio.NewWriter(file)}
	b.outgoing = append(b.outgoing, one)
	return one, nil
}

// nameless makes a file in a folder that is gone when it is closed, however the process ends. Windows removes it only at Close.
func nameless(dir string) (*os.File, error) {
	file, err := os.CreateTemp(dir, ".batch-*")
	if err == nil {
		_ = os.Remove(file.Name()) // as above
	}
	return file, err
}

func discard(file *os.File) {
	if file != nil {
		_ = file.Close()           // it is not needed any more
		_ = os.Remove(file.Name()) // as above
	}
}

func (b *Batches) reply(call *eval.Call, id string) (*eval.Response, error) {
	c := b.came(call, id)
	resp, err := b.cfg.Services[call.Service].Read(call, c.reply) // which may explain an error, or take it for an answer
	if err != nil {
		return nil, b.settle(c, nil, err)
	}
	resp.Usage = wire.Usage(call, resp).OfCall(true)
	return resp, b.settle(c, resp.Usage, nil)
}

// cameCall is a call whose reply came with a batch, and is in the books until it is settled.
type cameCall struct {
	*eval.Call
	in       *incoming
	reserved rates.Amount
	reply    *wire.BatchReply
}

// came gets the reply to a call, which no other call gets.
func (b *Batches) came(call *eval.Call, id string) *cameCall {
	b.mu.Lock()
	at := b.items[id]
	c := &cameCall{Call: call, in: at.in, reserved: b.share(at.in, call)}
	at.used = true
	b.items[id] = at
	b.unused--
	b.mu.Unlock()
	began, _ := time.Parse(time.RFC3339Nano, c.in.At) // as it was written
	call.Timing = eval.Timing{StartedAt: began, Attempts: 1, Answer: id, Batch: c.in.ID}
	c.reply = b.read(c.in, id, at.at)
	return c
}

// settle books what a call cost. err says why it has no answer, and is returned.
func (b *Batches) settle(c *cameCall, usage *eval.Usage, err error) error {
	if err != nil && isFree(c.reply.Error) {
		b.limiter.Release(c.reserved)
	} else {
		b.limiter.Came(c.Call, c.reserved, usage)
	}
	if err != nil {
		b.fails(c.in, err)
	}
	return err
}

// share is what was reserved for a call of a batch. The caller holds the lock.
func (b *Batches) share(in *incoming, call *eval.Call) rates.Amount {
	most := b.limiter.most(call, true)
	out := rates.Amount{
		Calls: min(1, in.left.Calls), Tokens: min(most.Tokens, in.left.Tokens), Money: min(most.Money, in.left.Money),
	}
	in.left.Sub(out)
	return out
}

// isFree reports whether an item cost nothing. Vendors charge for those that they answered, also where the answer cannot be read.
func isFree(e *eval.Error) bool {
	return e != nil && e.Kind != eval.KindMalformed && e.Kind != eval.KindTooLarge
}

func (b *Batches) read(in *incoming, id string, at int64) *wire.BatchReply {
	reply := &wire.BatchReply{Item: id}
	if e := in.failed[id]; e != nil {
		own := *e
		reply.Error = &own
		return reply
	}
	if at == unanswered {
		reply.Error = eval.Errorf(eval.KindTransport, "the service has no result for this item of the batch %s", in.ID)
		if in.state.Reason != "" {
			reply.Error.Message += ": " + in.state.Reason
		}
		return reply
	}
	var err error
	if reply.Body, err = readRecord(in.replies, at); err != nil {
		reply.Error = eval.Errorf(eval.KindTransport, "a reply of the batch %s cannot be read any more: %s", in.ID, err)
	}
	return reply
}

// fails counts an item without an answer if the next attempt may go better.
func (b *Batches) fails(in *incoming, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := eval.AsError(err); e.MayPass() && e.Kind != eval.KindMalformed { // which is paid, and would most likely come again
		in.passing++
	}
}

// batchesLeft is what the batches of a run still need.
type batchesLeft struct {
	Calls, Batches int       // that have no reply yet
	Unanswered     int       // calls of batches that are over, without an answer for a reason that may pass
	Due            time.Time // when the last of the batches is over at the latest
}

// completion is how long vendors take for a batch at most. What is not answered then expires.
const completion = 24 * time.Hour

// Finish ends the work of a process. If it is whole, all results that use replies are in the run file, and Finish notes which
// batches are collected.
func (b *Batches) Finish(whole bool) (left batchesLeft, err error) {
	for _, in := range b.open {
		left.Unanswered += in.passing
		if !in.whole {
			left.Calls, left.Batches = left.Calls+len(in.Items), left.Batches+1
			if at, err := time.Parse(time.RFC3339Nano, in.At); err == nil && at.Add(completion).After(left.Due) {
				left.Due = at.Add(completion)
			}
		} else if whole && !in.held {
			note := &journal.Batch{Key: in.Key, ID: in.ID, Collected: true, Unanswered: in.passing, Unused: b.notUsed(in)}
			err = errors.Join(err, b.journal.WriteBatch(note))
		}
	}
	return left, err
}

// notUsed is the usage of replies that no trial wants any more, nil if there are none. An earlier process that fetched them may
// have used them.
func (b *Batches) notUsed(in *incoming) *eval.Usage {
	if in.Fetched {
		return nil
	}
	var sum *eval.Usage
	left := 0
	for _, id := range in.Items {
		at := b.items[id]
		if at.in != in || at.used || at.at == unanswered {
			continue
		}
		left++
		call := *in.first
		if resp, err := b.reply(&call, id); err == nil && resp.Usage != nil {
			if sum == nil {
				sum = &eval.Usage{}
			}
			sum.Add(resp.Usage)
		}
	}
	if left > 0 {
		b.cfg.Notice(fmt.Sprintf(
			"%s of the batch %s are not used, since the plan does not have their calls any more; they are paid", diag.Count(left, "answer"), in.ID,
		))
	}
	return sum
}

// Close drops what was not submitted, and the replies that were fetched.
func (b *Batches) Close() {
	if b == nil {
		return
	}
	for _, out := range b.outgoing {
		discard(out.lines)
	}
	for _, in := range b.open {
		discard(in.replies)
	}
	b.outgoing = nil
}

func newKey() string { return strings.ToLower(rand.Text()) }
