package emulator

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"
)

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

// itemKey is the key of an item of a batch in the context of its request.
type itemKey struct{}

// itemOf returns the result of a request that is an item of a batch; nil for one that came on its own. The key of an item was checked
// when its batch was submitted, nobody waits for its answer, and it is no call of its method.
func itemOf(r *http.Request) *batchResult {
	result, _ := r.Context().Value(itemKey{}).(*batchResult)
	return result
}

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
