package emulator

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
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
}

func (b *batchResult) succeeded() bool { return b.Status == http.StatusOK }

func (b *batch) results() string { return b.ID + ".results" }

// batches are the batches of an emulator.
type batches struct {
	mu    sync.Mutex
	files shelf
	all   []*batch // the oldest first
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

// page returns a page of the batches of a protocol, the newest first: at most n of them, after the one with an id.
func (b *batches) page(protocol, after string, n int) (page []batch, more bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	skip := after != ""
	for _, one := range slices.Backward(b.all) {
		switch {
		case one.Protocol != protocol:
		case skip:
			skip = one.ID != after
		case len(page) == n:
			return page, true
		default:
			page = append(page, *one)
		}
	}
	return page, false
}

// submit keeps a batch. read reads it, and writes the file of its items.
func (e *Emulator) submit(w http.ResponseWriter, in answerWriter, read func() (*batch, *problem), show func(*batch) any) {
	b, p := read()
	if p != nil {
		in.fail(w, p)
		return
	}
	b.Created = time.Now().UTC()
	e.batches.mu.Lock()
	e.batches.all = append(e.batches.all, b)
	body := encoded(show(b))
	e.batches.mu.Unlock()
	e.n[servedBatches].Add(1)
	e.n[servedItems].Add(int64(b.Items))
	w.Header().Set("Content-Type", jsonType)
	_, _ = w.Write(body)
}

// keyed serves a pattern to requests with the key.
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
	page, more := e.batches.page(protocol, query.Get(after), n)
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
	b.Asked++
	if !b.Ended.IsZero() {
		return nil
	}
	if err := e.finish(b); err != nil {
		return internal(err)
	}
	return nil
}

func cancelBatch(b *batch) *problem {
	if !b.Ended.IsZero() {
		return badRequest("a batch that is %s cannot be cancelled", b.End)
	}
	b.Cancelled = time.Now().UTC()
	return nil
}

func internal(err error) *problem {
	return &problem{http.StatusInternalServerError, "INTERNAL", err.Error(), ""}
}

// finish answers the items of a batch.
func (e *Emulator) finish(b *batch) error {
	end, n := endCompleted, b.Items
	switch {
	case len(b.Problems) > 0:
		end, n = endFailed, 0
	case !b.Cancelled.IsZero():
		end, n = endCancelled, 0
	}
	var succeeded, failed, left int
	input, err := e.batches.files.open(b.Input)
	if err != nil {
		return err
	}
	defer input.Close() //nolint:errcheck // it was only read
	err = e.batches.files.write(b.results(), func(w io.Writer) error {
		i := 0
		for line, err := range lines(input) {
			if err != nil {
				return err
			}
			var item batchLine
			if json.Unmarshal(line, &item) != nil { // a line of a file that is refused
				continue
			}
			result := batchResult{Item: item.ID}
			if i++; i <= n {
				result.Status, result.Body = e.answerItem(&item)
			}
			switch {
			case result.succeeded():
				succeeded++
			case result.Status == 0:
				left++
			default:
				failed++
			}
			if err := writeLine(w, result); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if left > 0 && end == endCompleted {
		end = endExpired
	}
	e.n[servedAnswers].Add(int64(succeeded))
	b.End, b.Ended, b.Succeeded, b.Failed, b.Left = end, time.Now().UTC(), succeeded, failed, left
	return nil
}

// eachResult yields the results of a batch that has ended.
func (e *Emulator) eachResult(b *batch, yield func(*batchResult) error) error {
	file, err := e.batches.files.open(b.results())
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	for line, err := range lines(file) {
		var one batchResult
		if err == nil {
			err = json.Unmarshal(line, &one)
		}
		if err == nil {
			err = yield(&one)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func writeLine(w io.Writer, v any) error {
	_, err := w.Write(append(encoded(v), '\n'))
	return err
}

// sendResults sends the results of a batch, a line each; nil leaves one out.
func (e *Emulator) sendResults(w http.ResponseWriter, b *batch, show func(*batchResult) any) {
	_ = e.eachResult(b, func(one *batchResult) error { // the client may have gone
		if line := show(one); line != nil {
			return writeLine(w, line)
		}
		return nil
	})
}

// eachItem yields the items of a list in a JSON object, without reading all of it first.
func eachItem(in io.Reader, list string, yield func(json.RawMessage) error) error {
	dec := json.NewDecoder(in)
	begin := func(delim json.Delim, what string) error {
		if t, err := dec.Token(); err != nil || t != delim {
			return cmp.Or(err, error(badRequest("%s is expected", what)))
		}
		return nil
	}
	if err := begin('{', "a JSON object"); err != nil {
		return err
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		var one json.RawMessage
		if name != list {
			if err := dec.Decode(&one); err != nil {
				return err
			}
			continue
		}
		if err := begin('[', list+": a list"); err != nil {
			return err
		}
		for dec.More() {
			if err := dec.Decode(&one); err != nil {
				return err
			}
			if err := yield(one); err != nil {
				return err
			}
		}
		if err := begin(']', "the end of "+list); err != nil {
			return err
		}
	}
	return begin('}', "the end of the object")
}

// lines yields the lines of a file that are not empty, without their breaks.
func lines(r io.Reader) func(yield func([]byte, error) bool) {
	return func(yield func([]byte, error) bool) {
		in := bufio.NewReaderSize(r, 1<<16)
		for {
			line, err := in.ReadBytes('\n')
			if line = bytes.TrimSpace(line); len(line) > 0 && !yield(line, nil) {
				return
			}
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// inBatch marks the context of a request that is an item of a batch.
type inBatch struct{}

// isItem reports whether a request is an item of a batch. Its key was checked when the batch was submitted, nobody waits for its
// answer, and it is no call of its method.
func isItem(r *http.Request) bool { return r.Context().Value(inBatch{}) != nil }

// itemContext is the context of items. It is cancelled: an answer that never comes need not be awaited.
func itemContext() context.Context {
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), inBatch{}, true))
	cancel()
	return ctx
}

// count counts a call of a method.
func (e *Emulator) count(r *http.Request, method string) {
	if n, ok := e.n[method]; ok && !isItem(r) {
		n.Add(1)
	}
}

// answerItem answers an item as the same request would be answered on its own. An answer that never comes has the status 0. One that
// is no JSON is a JSON text of it.
func (e *Emulator) answerItem(item *batchLine) (status int, body json.RawMessage) {
	r, err := http.NewRequestWithContext(itemContext(), http.MethodPost, item.URL, bytes.NewReader(item.Body))
	if err != nil {
		return http.StatusBadRequest, encoded(err.Error())
	}
	w := &keptReply{header: http.Header{}}
	w.serve(e.mux, r)
	switch {
	case w.status == 0:
		return 0, nil
	case json.Valid(w.body.Bytes()):
		return w.status, json.RawMessage(oneLine(w.body.String()))
	}
	return w.status, encoded(w.body.String())
}

// keptReply is a reply that is kept instead of being sent.
type keptReply struct {
	header http.Header
	status int // 0: nothing was written
	body   bytes.Buffer
}

func (k *keptReply) Header() http.Header { return k.header }

func (k *keptReply) WriteHeader(status int) { k.status = cmp.Or(k.status, status) }

func (k *keptReply) Write(p []byte) (int, error) {
	k.WriteHeader(http.StatusOK)
	return k.body.Write(p)
}

// serve lets a handler reply. A handler may break off.
func (k *keptReply) serve(h http.Handler, r *http.Request) {
	defer func() {
		if cause := recover(); cause != nil && cause != any(http.ErrAbortHandler) {
			panic(cause)
		}
	}()
	h.ServeHTTP(k, r)
	k.WriteHeader(http.StatusOK)
}
