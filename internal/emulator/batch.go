package emulator

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Names of what Stats counts of batches.
const (
	servedBatches = "batches"
	servedItems   = "batch items"
	servedAnswers = "batch answers"
	servedTwice   = "batch duplicates"
)

// batch is what is kept of a batch, next to a file of its items and one of their results.
type batch struct {
	ID       string          `json:"id"`
	Protocol string          `json:"protocol"`
	Path     string          `json:"path"` // where its items would be sent one by one
	Model    string          `json:"model,omitempty"`
	Name     json.RawMessage `json:"name,omitempty"` // what its owner calls it
	Input    string          `json:"input"`          // the file of its items
	Items    int             `json:"items"`
	Problems []lineProblem   `json:"problems,omitempty"` // why its file is refused
	Created  time.Time       `json:"created"`
	Asked    int             `json:"asked,omitempty"` // questions for its state so far
	Done     int             `json:"done,omitempty"`  // items that were done at the last one
	Course   batchCourse     `json:"course,omitzero"` // what goes wrong with it
	Cuts     int             `json:"cuts,omitempty"`  // readings of its results that were cut off

	Cancelled time.Time `json:"cancelled,omitzero"` // when its owner cancelled it
	Ended     time.Time `json:"ended,omitzero"`
	End       batchEnd  `json:"end,omitempty"`
	Succeeded int       `json:"succeeded,omitempty"`
	Failed    int       `json:"failed,omitempty"`
	Left      int       `json:"left,omitempty"`   // items without an answer
	Reason    string    `json:"reason,omitempty"` // why it failed as a whole
}

type batchEnd string

const (
	endCompleted batchEnd = "completed"
	endFailed    batchEnd = "failed"
	endExpired   batchEnd = "expired"
	endCancelled batchEnd = "cancelled"
)

// lineProblem is why a line of a file is refused.
type lineProblem struct {
	Code    string `json:"code"`
	Line    int    `json:"line"`
	Message string `json:"message"`
}

// batchLine is an item of a batch in its file, in the words of OpenAI, whatever the protocol.
type batchLine struct {
	ID     string          `json:"custom_id"`
	Method string          `json:"method"`
	URL    string          `json:"url"`
	Body   json.RawMessage `json:"body"`
}

// batchResult is what became of an item.
type batchResult struct {
	Item   string          `json:"item"`
	Status int             `json:"status,omitempty"` // 0: it got no answer
	Body   json.RawMessage `json:"body,omitempty"`
	Sum    uint64          `json:"sum,omitempty"`  // of the request, if a model answered it
	Draw   uint64          `json:"draw,omitempty"` // what its draws depend on
}

func (b *batchResult) succeeded() bool { return b.Status == http.StatusOK }

// succeededSoFar is how many items have an answer.
func (b *batch) succeededSoFar() int {
	if b.End == "" {
		return b.Done
	}
	return b.Succeeded
}

func (b *batch) results() string { return b.ID + ".results" }

type batches struct {
	mu          sync.Mutex
	files       shelf
	all         []*batch // the oldest first
	submissions int64    // so far, refused ones too
}

// newID draws an id: batches outlive the emulator that made them.
func newID(prefix string) string { return prefix + strings.ToLower(rand.Text()) }

// find returns a batch; nil if there is none.
func (b *batches) find(protocol, id string) *batch {
	i := slices.IndexFunc(b.all, func(one *batch) bool { return one.Protocol == protocol && one.ID == id })
	if i < 0 {
		return nil
	}
	return b.all[i]
}

// page returns a page of the batches of a protocol, the newest first: at most n of them, after the one with an id. A list is a question
// for the state of each.
func (e *Emulator) page(protocol, after string, n int) (page []batch, more bool, p *problem) {
	e.batches.mu.Lock()
	defer e.batches.mu.Unlock()
	skip := after != ""
	for _, one := range slices.Backward(e.batches.all) {
		switch {
		case one.Protocol != protocol:
		case skip:
			skip = one.ID != after
		case len(page) == n:
			return page, true, nil
		default:
			if p := e.askBatch(one); p != nil {
				return nil, false, p
			}
			page = append(page, *one)
		}
	}
	return page, false, nil
}

// submit keeps a batch. read reads it, and writes the file of its items.
func (e *Emulator) submit(
	w http.ResponseWriter, r *http.Request, in answerWriter, read func() (*batch, *problem), show func(*batch) any,
) {
	f, p := e.submission()
	var b *batch
	if p == nil && f != nil {
		if _, refused := f.kind.(errorStatus); refused {
			_, _ = io.Copy(io.Discard, r.Body) // or the client could not read why
			e.misbehave(w, r, f, in, nil)
			return
		}
	}
	if p == nil {
		b, p = read()
	}
	var body []byte
	if p == nil {
		body, p = e.add(b, f, show)
	}
	switch {
	case p != nil:
		in.fail(w, p)
	case f != nil && b.Course == (batchCourse{}):
		e.misbehave(w, r, f, in, body)
	default:
		w.Header().Set("Content-Type", jsonType)
		_, _ = w.Write(body)
	}
}

// submission counts a submission, and returns what goes wrong with it; nil for nothing.
func (e *Emulator) submission() (*fault, *problem) {
	e.batches.mu.Lock()
	defer e.batches.mu.Unlock()
	e.batches.submissions++
	n := e.batches.submissions
	f := drawFault(e.opts.Script.batch.faults, e.rng(n), n)
	if f == nil {
		return nil, nil
	}
	return f, e.save()
}

func (e *Emulator) rng(n int64) *mathrand.Rand {
	return mathrand.New(mathrand.NewPCG(e.opts.Seed, uint64(n))) //nolint:gosec // draws must be repeatable
}

// add keeps a batch, and returns how it is shown.
func (e *Emulator) add(b *batch, f *fault, show func(*batch) any) ([]byte, *problem) {
	b.Created = time.Now().UTC()
	if f != nil {
		b.Course, _ = f.kind.(batchCourse)
	}
	e.batches.mu.Lock()
	defer e.batches.mu.Unlock()
	e.batches.all = append(e.batches.all, b)
	e.n[servedBatches].Add(1)
	e.n[servedItems].Add(int64(b.Items))
	return encoded(show(b)), e.save()
}

func (e *Emulator) keyed(pattern string, in answerWriter, next http.HandlerFunc) {
	e.mux.HandleFunc(pattern, e.withKey(in, next))
}

func (e *Emulator) withKey(in answerWriter, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if p := e.checkOtherKey(r); p != nil {
			in.fail(w, p)
			return
		}
		next(w, r)
	}
}

// withBatch serves a batch after do has asked for it or changed it.
func (e *Emulator) withBatch(in answerWriter, protocol string, do func(*batch) *problem, show shown) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		b, p := e.change(protocol, r.PathValue("id"), do)
		if p != nil {
			in.fail(w, p)
			return
		}
		reply(w, show(r)(&b))
	}
}

// shown returns how a protocol shows a batch in the reply to a request.
type shown func(*http.Request) func(*batch) any

// change asks for a batch, or changes it, and returns it as it is then.
func (e *Emulator) change(protocol, id string, do func(b *batch) *problem) (batch, *problem) {
	e.batches.mu.Lock()
	defer e.batches.mu.Unlock()
	b := e.batches.find(protocol, id)
	if b == nil {
		return batch{}, notFound("there is no batch %q", id)
	}
	p := do(b)
	return *b, p
}

// listBatches serves a page of batches, after the one whose id the query has under a name.
func (e *Emulator) listBatches(
	w http.ResponseWriter, r *http.Request, in answerWriter, protocol, after string, most int, show func(*batch) any,
) {
	query := r.URL.Query()
	text := cmp.Or(query.Get("limit"), "20")
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		in.fail(w, badRequest("limit: %q is not a number from 1 to %d", text, most))
		return
	}
	page, more, p := e.page(protocol, query.Get(after), n)
	if p != nil {
		in.fail(w, p)
		return
	}
	out := map[string]any{"data": []any{}, "first_id": nil, "last_id": nil, "has_more": more}
	var data []any
	for i := range page {
		data = append(data, show(&page[i]))
		out["data"], out["first_id"], out["last_id"] = data, page[0].ID, page[i].ID
	}
	if protocol == batchesOpenAI {
		out["object"] = "list"
	}
	reply(w, out)
}

// askBatch is a question for the state of a batch.
func (e *Emulator) askBatch(b *batch) *problem {
	if b.End != "" {
		return nil
	}
	b.Asked++
	cancelled := !b.Cancelled.IsZero()
	if !cancelled {
		b.Done = e.opts.Script.batch.progress(b, time.Now())
	}
	if b.Done == b.Items || len(b.Problems) > 0 || cancelled {
		if err := e.finish(b); err != nil {
			return internal(err)
		}
	}
	return e.save()
}

// cancelBatch cancels a batch. It has the answers that were there when it was last asked for.
func (e *Emulator) cancelBatch(b *batch) *problem {
	if b.End != "" {
		return badRequest("a batch that is %s cannot be cancelled", b.End)
	}
	b.Cancelled = time.Now().UTC()
	return e.save()
}

func internal(err error) *problem {
	return &problem{http.StatusInternalServerError, "INTERNAL", err.Error(), ""}
}
