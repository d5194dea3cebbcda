package emulator

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	Sum    uint64          `json:"sum,omitempty"` // of the request, if a model answered it
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

// batches are the batches of an emulator.
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

// outcome returns how a batch ends, and how many of its items get an answer.
func (b *batch) outcome() (end batchEnd, answers int) {
	end, answers = endCompleted, b.Items
	switch c := b.Course; {
	case len(b.Problems) > 0 || c.Fail != "":
		end, answers = endFailed, 0
	case !b.Cancelled.IsZero():
		end, answers = endCancelled, b.Done
	case c.Cancel > 0:
		end, answers = endCancelled, max(0, b.Items-c.Cancel)
	case c.Expire > 0:
		end, answers = endExpired, max(0, b.Items-c.Expire)
	}
	if b.Protocol == batchesGenerative && end != endCompleted { // whose batches have all results or none
		answers = 0
	}
	return end, answers
}

// finish ends a batch.
func (e *Emulator) finish(b *batch) error {
	end, answers := b.outcome()
	var t tally
	if err := e.batches.files.write(b.results(), func(w io.Writer) (err error) {
		t, err = e.answerItems(b, answers, w)
		return err
	}); err != nil {
		return err
	}
	if t.left > 0 && end == endCompleted {
		end = endExpired
	}
	for _, sum := range t.sums {
		e.n[servedTwice].Add(e.bills.add(sum, true))
	}
	e.n[servedAnswers].Add(int64(t.succeeded))
	b.End, b.Ended, b.Succeeded, b.Failed, b.Left = end, time.Now().UTC(), t.succeeded, t.failed, t.left
	b.Reason = b.Course.Fail
	if end == endCancelled && b.Cancelled.IsZero() {
		b.Cancelled = b.Ended
	}
	return nil
}

// tally counts results.
type tally struct {
	succeeded, failed, left int
	sums                    []uint64
}

func (t *tally) add(r *batchResult) {
	switch {
	case r.succeeded():
		t.succeeded++
	case r.Status == 0:
		t.left++
	default:
		t.failed++
	}
	if r.Sum != 0 {
		t.sums = append(t.sums, r.Sum)
	}
}

// answerItems writes the results of all items. The first ones get answers, as many as are given.
func (e *Emulator) answerItems(b *batch, answers int, w io.Writer) (t tally, err error) {
	input, err := e.batches.files.open(b.Input)
	if err != nil {
		return t, err
	}
	defer input.Close() //nolint:errcheck // it was only read
	items, err := spansOf(input)
	if err != nil {
		return t, err
	}
	if e.opts.Script.batch.shuffle {
		e.rng(0).Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	}
	for i, at := range items {
		line := make([]byte, at.size)
		if _, err := input.ReadAt(line, at.from); err != nil {
			return t, err
		}
		var item batchLine
		if json.Unmarshal(line, &item) != nil { // of a file that is refused
			continue
		}
		result := batchResult{Item: item.ID}
		if i < answers {
			e.answerItem(&item, &result)
		}
		t.add(&result)
		if err := writeLine(w, result); err != nil {
			return t, err
		}
	}
	return t, nil
}

// span is where a line of a file is.
type span struct{ from, size int64 }

func spansOf(r io.Reader) (out []span, err error) {
	in, at := bufio.NewReaderSize(r, 1<<16), int64(0)
	for {
		n, text := int64(0), false
		for more := true; more; {
			var part []byte
			part, err = in.ReadSlice('\n')
			n, text, more = n+int64(len(part)), text || len(bytes.TrimSpace(part)) > 0, errors.Is(err, bufio.ErrBufferFull)
		}
		if text {
			out = append(out, span{at, n})
		}
		at += n
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// eachResult yields the results of a batch that has ended, with those that come twice, and those of items that nobody sent.
func (e *Emulator) eachResult(b *batch, yield func(*batchResult) error) error {
	file, err := e.batches.files.open(b.results())
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	var first []batchResult
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
		if len(first) < max(b.Course.Repeat, b.Course.Unknown) {
			first = append(first, one)
		}
	}
	for i := range first {
		if i < b.Course.Repeat {
			err = yield(&first[i])
		}
		if i < b.Course.Unknown && err == nil {
			first[i].Item = "unknown-" + strconv.Itoa(i+1)
			err = yield(&first[i])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// cutsOff reports whether this reading of the results is cut off.
func (e *Emulator) cutsOff(b *batch) (cut bool, p *problem) {
	if b.Course.CutResults == 0 {
		return false, nil
	}
	_, p = e.change(b.Protocol, b.ID, func(b *batch) *problem {
		if cut = b.Cuts < b.Course.CutResults; !cut {
			return nil
		}
		b.Cuts++
		return e.save()
	})
	return cut, p
}

func writeLine(w io.Writer, v any) error {
	_, err := w.Write(append(encoded(v), '\n'))
	return err
}

// sendResults sends the results of a batch, a line each. show returns nil for one that is left out.
func (e *Emulator) sendResults(w http.ResponseWriter, in answerWriter, b *batch, show func(*batchResult) any) {
	cut, p := e.cutsOff(b)
	if p != nil {
		in.fail(w, p)
		return
	}
	e.writeResults(w, b, cut, "", "\n", show)
}

// writeResults writes the results of a batch, with a text between and after them. Cut off, they end in the middle of one.
func (e *Emulator) writeResults(w io.Writer, b *batch, cut bool, between, after string, show func(*batchResult) any) (whole bool) {
	n, end := 0, -1
	each := func(do func(line []byte) error) {
		err := e.eachResult(b, func(one *batchResult) error {
			if line := show(one); line != nil {
				return do(encoded(line))
			}
			return nil
		})
		if err != nil && end < 0 { // of the disk, or the client has gone
			panic(http.ErrAbortHandler)
		}
	}
	if cut {
		each(func([]byte) error { n++; return nil })
		n, end = 0, n/2
	}
	each(func(line []byte) error {
		if n > 0 {
			line = append([]byte(between), line...)
		}
		if n == end {
			_, _ = w.Write(line[:len(line)/2])
			return io.EOF
		}
		n++
		_, err := w.Write(append(line, after...))
		return err
	})
	return !cut
}

// itemReader reads the items of a batch from a JSON object without keeping all of it.
type itemReader struct {
	*json.Decoder
	path  []string // the names of the members that lead to the list of items
	item  func(json.RawMessage) error
	other func(name string, value json.RawMessage) // gets the other members on the way; nil: they are ignored
}

// object reads an object. depth is how many names of the path lead to it.
func (d *itemReader) object(depth int) error {
	return d.within('{', '}', "a JSON object", func() error {
		token, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		if camel(name) != d.path[depth] {
			var value json.RawMessage
			if err := d.Decode(&value); err != nil || d.other == nil {
				return err
			}
			d.other(camel(name), value)
			return nil
		}
		if depth+1 < len(d.path) {
			return d.object(depth + 1)
		}
		return d.within('[', ']', name+": a list", func() error {
			var one json.RawMessage
			if err := d.Decode(&one); err != nil {
				return err
			}
			return d.item(one)
		})
	})
}

// camel is a name in the spelling of the service's own protocol.
func camel(name string) string {
	words := strings.Split(name, "_")
	for i, word := range words[1:] {
		if word != "" {
			words[i+1] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return strings.Join(words, "")
}

// within reads what is between two delimiters.
func (d *itemReader) within(open, end json.Delim, what string, next func() error) error {
	token, err := d.Token()
	for ; err == nil && token == open && d.More(); err = next() {
		continue
	}
	if err != nil {
		return err
	}
	if token != open {
		return badRequest("%s is expected", what)
	}
	token, err = d.Token()
	if err == nil && token != end {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// readItems writes the file of a batch's items, which are in the body of its submission. read makes a line of one.
func (e *Emulator) readItems(
	r *http.Request, b *batch, limit int64, d *itemReader, read func(json.RawMessage) (*batchLine, *problem),
) *problem {
	body, p := bodyOf(r)
	if p != nil {
		return p
	}
	b.Input = b.ID + ".items"
	d.Decoder = json.NewDecoder(http.MaxBytesReader(nil, body, limit))
	err := e.batches.files.write(b.Input, func(w io.Writer) error {
		d.item = func(raw json.RawMessage) error {
			line, p := read(raw)
			if p != nil {
				return p
			}
			b.Items++
			return writeLine(w, line)
		}
		return d.object(0)
	})
	var large *http.MaxBytesError
	var disk *fs.PathError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &large):
		return &problem{http.StatusRequestEntityTooLarge, "INVALID_ARGUMENT", fmt.Sprintf("the request is larger than %d bytes", limit), ""}
	case errors.As(err, &disk):
		return internal(err)
	case err != nil:
		return badRequest("the body is not the JSON that is expected: %s", err)
	}
	return nil
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

// itemKey is the key of an item of a batch in the context of its request.
type itemKey struct{}

// itemOf returns the result of a request that is an item of a batch; nil for one that came on its own. The key of an item was checked
// when its batch was submitted, nobody waits for its answer, and it is no call of its method.
func itemOf(r *http.Request) *batchResult {
	result, _ := r.Context().Value(itemKey{}).(*batchResult)
	return result
}

// count counts a call of a method.
func (e *Emulator) count(r *http.Request, method string) {
	if n, ok := e.n[method]; ok && itemOf(r) == nil {
		n.Add(1)
	}
}

// answerItem answers an item as the same request would be answered on its own. An answer that never comes has the status 0. One that
// is no JSON is a JSON text of it.
func (e *Emulator) answerItem(item *batchLine, result *batchResult) {
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), itemKey{}, result))
	cancel() // an answer that never comes need not be awaited
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, item.URL, bytes.NewReader(item.Body))
	if err != nil {
		result.Status, result.Body = http.StatusBadRequest, encoded(err.Error())
		return
	}
	w := &keptReply{header: http.Header{}}
	w.serve(e.mux, r)
	result.Status = w.status
	switch {
	case w.status == 0:
	case json.Valid(w.body.Bytes()):
		result.Body = json.RawMessage(oneLine(w.body.String()))
	default:
		result.Body = encoded(w.body.String())
	}
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
