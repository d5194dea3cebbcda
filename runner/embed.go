package runner

import (
	"container/list"
	"context"
	"maps"
	"sync"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

// EmbeddingModel is the model that gives the vectors for the scorers of a suite.
type EmbeddingModel struct {
	Model      string
	APIVersion string
	Service    string // by name; "" for the unnamed one
	Limit      int    // tokens of a text; 0: not known
}

// check says why a text cannot be embedded, nil when it can. Embedding models do not count tokens, so
// that the number of bytes has to tell.
func (m *EmbeddingModel) check(text string) error {
	if n := wire.Tokens(len(text)); m.Limit > 0 && n > m.Limit {
		return eval.Errorf(
			eval.KindOverLimit, "a text of %d bytes, about %d tokens, is too long to be embedded: %s takes at most %d tokens",
			len(text), n, m.Model, m.Limit,
		)
	}
	return nil
}

const (
	// batchDelay is how long a text may wait for others to be embedded with it.
	batchDelay = 20 * time.Millisecond
	// lastDelay is the delay when no more answers are to come: earlier ones may just be on their way.
	lastDelay = 2 * time.Millisecond
	// maxVectors bounds the vectors that are remembered. What many answers are compared with is used
	// all the time and stays.
	maxVectors = 4096
	// maxNumbers bounds the numbers in the vectors, at 8 bytes each: 64 MB.
	maxNumbers = 8 << 20
)

// maxWaiting bounds the answers of a run that wait for vectors, and also the answers that wait for judges. They are in
// the run file by then.
const maxWaiting = 1024

// vectors gets the vectors of texts from the service: in batches over trials, each text once while it
// is remembered. A batch leaves when it is full, after batchDelay, or when nothing more is
// to be expected.
type vectors struct {
	embedder Embedder
	calls    sync.WaitGroup

	mu    sync.Mutex
	byKey map[vectorKey]*list.Element // elements hold a *vector
	order *list.List                  // most recently used first
	open  map[EmbeddingModel]*embedBatch
	idle  bool

	numbers int // how many numbers the known vectors have
}

type vectorKey struct {
	model EmbeddingModel
	text  string
}

// vector is a requested vector. Once done is closed, it is there, or err says why not.
type vector struct {
	vectorKey
	done  chan struct{}
	value []float64
	err   error
}

type embedBatch struct {
	model   EmbeddingModel
	vectors []*vector
	bytes   int
	timer   *time.Timer
}

func newVectors(embedder Embedder) *vectors {
	return &vectors{embedder: embedder, byKey: map[vectorKey]*list.Element{}, order: list.New(), open: map[EmbeddingModel]*embedBatch{}}
}

func (v *vectors) of(ctx context.Context, model EmbeddingModel, texts []string) (map[string][]float64, error) {
	wanted := make([]*vector, len(texts))
	for i, text := range texts {
		if err := model.check(text); err != nil {
			return nil, err
		}
		wanted[i] = v.want(ctx, vectorKey{model, text})
	}
	out := make(map[string][]float64, len(texts))
	for _, w := range wanted {
		<-w.done // the call ends with ctx
		if w.err != nil {
			return nil, w.err
		}
		out[w.text] = w.value
	}
	return out, nil
}

// want finds a vector among those known, or puts its text into the open batch.
func (v *vectors) want(ctx context.Context, key vectorKey) *vector {
	v.mu.Lock()
	defer v.mu.Unlock()
	if e, ok := v.byKey[key]; ok {
		v.order.MoveToFront(e)
		return e.Value.(*vector)
	}
	w := &vector{vectorKey: key, done: make(chan struct{})}
	v.byKey[key] = v.order.PushFront(w)
	if v.order.Len() > maxVectors {
		v.dropLast()
	}
	b := v.open[key.model]
	if b != nil && b.bytes+len(key.text) > wire.MaxEmbedBytes {
		v.leave(ctx, b)
		b = nil
	}
	if b == nil {
		b = v.newBatch(ctx, key.model)
	}
	b.vectors = append(b.vectors, w)
	b.bytes += len(key.text)
	if len(b.vectors) == wire.MaxEmbedTexts {
		v.leave(ctx, b)
	}
	return w
}

// newBatch opens a batch, which leaves when its time has come if it has not left before.
func (v *vectors) newBatch(ctx context.Context, model EmbeddingModel) *embedBatch {
	b := &embedBatch{model: model}
	v.open[model] = b
	v.calls.Add(1) // until the call is over
	delay := batchDelay
	if v.idle {
		delay = lastDelay
	}
	b.timer = time.AfterFunc(delay, func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.open[b.model] == b {
			v.leave(ctx, b)
		}
	})
	return b
}

// leave sends a batch off. The caller holds the lock.
func (v *vectors) leave(ctx context.Context, b *embedBatch) {
	b.timer.Stop()
	delete(v.open, b.model)
	go func() {
		defer v.calls.Done()
		v.call(ctx, b)
	}()
}

func (v *vectors) call(ctx context.Context, b *embedBatch) {
	if dividing(v.ask(ctx, b.model, b.vectors)) {
		v.divide(ctx, b.model, b.vectors)
	}
	v.settle(b)
	for _, w := range b.vectors {
		close(w.done)
	}
}

func (v *vectors) ask(ctx context.Context, model EmbeddingModel, wanted []*vector) error {
	call := &eval.EmbedCall{Model: model.Model, APIVersion: model.APIVersion, Service: model.Service}
	for _, w := range wanted {
		call.Texts = append(call.Texts, w.text)
	}
	values, err := v.embedder.Embed(ctx, call)
	for i, w := range wanted {
		if w.err = err; err == nil {
			w.value = values[i]
		}
	}
	return err
}

// smallBatch is the size up to which a batch is divided although both of its halves are refused.
const smallBatch = 8

// divide requests the halves of a refused batch, so that one bad text costs the others nothing but a few more calls.
// When both halves of a large batch are refused, the texts are not the cause.
func (v *vectors) divide(ctx context.Context, model EmbeddingModel, refused []*vector) {
	if len(refused) == 1 {
		return
	}
	first, second := refused[:len(refused)/2], refused[len(refused)/2:]
	firstDivides, secondDivides := dividing(v.ask(ctx, model, first)), dividing(v.ask(ctx, model, second))
	if firstDivides && secondDivides && len(refused) > smallBatch {
		return
	}
	if firstDivides {
		v.divide(ctx, model, first)
	}
	if secondDivides {
		v.divide(ctx, model, second)
	}
}

// dividing reports whether an error may be that of one text among others.
func dividing(err error) bool {
	e := eval.AsError(err)
	return e != nil &&
		(e.Kind == eval.KindStatus && e.Status >= 400 && e.Status < 500 || e.Kind == eval.KindMalformed || e.Kind == eval.KindTooLarge)
}

// settle records the vectors of a batch. Texts that failed may be requested again, and the oldest vectors are dropped
// when there are too many numbers.
func (v *vectors) settle(b *embedBatch) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, w := range b.vectors {
		e, ok := v.byKey[w.vectorKey]
		if !ok || e.Value != any(w) {
			continue
		}
		if w.err != nil {
			v.order.Remove(e)
			delete(v.byKey, w.vectorKey)
			continue
		}
		v.numbers += len(w.value)
	}
	for v.numbers > maxNumbers && v.order.Len() > 1 {
		v.dropLast()
	}
}

// dropLast forgets the vector that was not used for the longest time.
func (v *vectors) dropLast() {
	w := v.order.Remove(v.order.Back()).(*vector)
	delete(v.byKey, w.vectorKey)
	select {
	case <-w.done:
		v.numbers -= len(w.value)
	default: // it is not there yet
	}
}

// hurry lets batches leave soon from here on: no more answers are to come.
func (v *vectors) hurry(ctx context.Context) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.idle = true
	for _, b := range v.open {
		v.leave(ctx, b)
	}
}

// compare scores an answer whose scorers want judges or vectors. Scorers without them leave the score open; the others
// keep their scores.
func (r *run) compare(ctx context.Context, a *scoring) eval.Result {
	var lost *eval.Error // why vectors are missing
	for range maxRounds {
		_ = r.consult(ctx, a) // what has no reply is noted with the answer
		if err := r.embed(ctx, a); err != nil {
			lost = err
		}
		if _, waits := a.halt.(Waits); waits {
			return a.result
		}
		scored := a.score()
		if scored && r.EarlierRuns.RepeatUseless && r.doubt(a) {
			scored = a.score()
		}
		switch {
		case !scored:
		case a.denied != nil: // other scores are not final: judges may get further questions
			return a.unjudged(a.denied)
		case lost != nil:
			return a.failed(lost)
		default:
			return a.result
		}
	}
	return a.failed(eval.Errorf(eval.KindScorer, "the scorers never stop requesting judges or embeddings"))
}

// embed gets the vectors that scorers want of an answer. The error is why some are missing, and is noted with the answer.
func (r *run) embed(ctx context.Context, a *scoring) (lost *eval.Error) {
	v := &a.answer.Context.Vectors
	known, err := r.vectors.of(ctx, *a.trial.Embedding, v.Wanted)
	if err != nil {
		e := eval.AsError(err)
		lost = unembedded(e)
		v.Unavailable = lost.Message
		switch e.Kind {
		case eval.KindBudget:
			a.halt = SpentBudget{e.Message}
		case eval.KindWaiting:
			a.halt = Waits{}
		}
	}
	if v.Known == nil {
		v.Known = map[string][]float64{}
	}
	maps.Copy(v.Known, known)
	return lost
}

// maxRounds bounds how often an answer is scored; before each round, missing replies and vectors are requested. A judge
// gets a question at most twice, and both requests are made once more when its earlier replies do not count.
const maxRounds = 6

// unembedded returns the error for an answer that could not be judged without vectors.
func unembedded(e *eval.Error) *eval.Error {
	why := *e
	why.Message = "the answer could not be embedded: " + e.Message
	switch e.Kind {
	case eval.KindBudget:
		why.Kind = eval.KindUnscored
	case eval.KindCanceled:
		why.Kind, why.Message = eval.KindUnscored, "the run was stopped before the answer could be embedded"
	}
	return &why
}
