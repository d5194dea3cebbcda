package emulator

import (
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/evalrun/evalrun/internal/yaml"
)

// fault is an item of a rule's `faults`: what goes wrong, and when.
type fault struct {
	kind    faultKind
	message string   // of an error
	after   int      // chunks of a stream before the fault; -1: half of the stream
	rate    *float64 // nil: always, within first
	first   int64    // 0: no bound
}

// faultKind is what goes wrong: an errorStatus, hanging, a cutOff, an endlessStream or a malformedAnswer.
type faultKind interface {
	// inStream reports whether the fault appears after a stream has begun correctly. Others, such as a page
	// of HTML, replace the reply. after is the number of chunks before the fault.
	inStream(after int) bool
}

type errorStatus struct {
	status     int
	retryAfter time.Duration // 0: the answer has no Retry-After
}

// hanging is an answer that never comes.
type hanging struct{}

// cutOff is a connection that breaks within the answer.
type cutOff struct{}

// endlessStream is a stream that never ends. A request for a whole answer gets an empty one.
type endlessStream struct {
	every time.Duration // between its chunks
}

type malformedAnswer struct {
	how string // one of malformations
}

// batchCourse is what goes wrong with a batch after its submission. One of them is set.
type batchCourse struct {
	Fail       string `json:"fail,omitempty"`       // why it fails as a whole
	Expire     int    `json:"expire,omitempty"`     // it expires before so many items, the last ones, have an answer
	Cancel     int    `json:"cancel,omitempty"`     // somebody cancels it before so many items have an answer
	Repeat     int    `json:"repeat,omitempty"`     // so many results come twice
	Unknown    int    `json:"unknown,omitempty"`    // so many results are of items that nobody sent
	CutResults int    `json:"cutResults,omitempty"` // the first so many readings of the results are cut off
}

func (batchCourse) inStream(int) bool   { return false }
func (errorStatus) inStream(int) bool   { return false }
func (hanging) inStream(int) bool       { return false }
func (cutOff) inStream(int) bool        { return true }
func (endlessStream) inStream(int) bool { return true }

func (m malformedAnswer) inStream(after int) bool {
	return m.how == "json" || m.how == "error" || after > 0
}

// inStream reports whether the fault appears after a stream has begun correctly.
func (f *fault) inStream() bool { return f.kind.inStream(f.after) }

func (f *fault) words() string {
	if f.message != "" {
		return f.message
	}
	return scriptedFault
}

func readFault(n yaml.Node, block yaml.Block) fault {
	m := n.Map(block.Names()...)
	f := fault{message: m.Get("message").Str(), first: int64(m.Get("first").Int(1, math.MaxInt32)), after: -1}
	if v := m.Get("after"); !v.IsZero() {
		f.after = v.Int(0, math.MaxInt32)
	}
	if v := m.Get("rate"); !v.IsZero() {
		f.rate = new(v.Float(0, 1))
	}
	retryAfter := m.Get("retryAfter").Duration()
	kept := ""
	for e := range m.Entries() {
		kind := readFaultKind(e.Name(), e.Value, retryAfter)
		switch {
		case kind == nil:
		case f.kind == nil:
			f.kind, kept = kind, e.Name()
		default:
			e.Key.Errorf("keep one of them, or make two faults of them", "a fault is one thing, found `%s` and `%s`", kept, e.Name())
		}
	}
	if _, ok := f.kind.(errorStatus); f.kind != nil && !ok && m.Has("retryAfter") {
		m.Key("retryAfter").Errorf("leave it out, or give a `status`", "`retryAfter` is a header of answers with a status of errors")
	}
	if m.IsMapping() && f.kind == nil {
		n.Errorf("", "a fault is one of %s", listed(block.Some))
	}
	return f
}

// readFaultKind returns what a key of a fault lets go wrong; nil for false, and for keys that say when.
func readFaultKind(key string, v yaml.Node, retryAfter time.Duration) faultKind {
	switch key {
	case "status":
		return errorStatus{v.Int(400, 599), retryAfter}
	case "endless":
		if !v.IsBool() {
			return endlessStream{v.Duration()}
		} else if v.Bool() {
			return endlessStream{}
		}
	case "malformed":
		if !v.IsBool() {
			return malformedAnswer{v.Word(malformations...)}
		} else if v.Bool() {
			return malformedAnswer{"json"}
		}
	case "fail", "expire", "cancel", "repeat", "unknown", "cutResults":
		return readCourse(key, v)
	case "hang":
		if v.Bool() {
			return hanging{}
		}
	case "cut":
		if v.Bool() {
			return cutOff{}
		}
	}
	return nil
}

func readCourse(key string, v yaml.Node) (c batchCourse) {
	if key == "fail" {
		if c.Fail = v.Str(); c.Fail == "" {
			v.Errorf("say why it fails", "`fail` is the reason that the service gives")
		}
		return c
	}
	*map[string]*int{
		"expire": &c.Expire, "cancel": &c.Cancel, "repeat": &c.Repeat, "unknown": &c.Unknown, "cutResults": &c.CutResults,
	}[key] = v.Int(1, math.MaxInt32)
	return c
}

// fault returns the fault for the n-th match, nil for none.
func (r *rule) fault(rng *rand.Rand, n int64) *fault { return drawFault(r.faults, rng, n) }

// drawFault returns the fault for the n-th request, nil for none. With `first`, a fault applies to the first requests; with `rate`, to
// that share; otherwise to all.
func drawFault(faults []fault, rng *rand.Rand, n int64) *fault {
	for i := range faults {
		f := &faults[i]
		if f.first > 0 && n > f.first || f.rate != nil && rng.Float64() >= *f.rate {
			continue
		}
		return f
	}
	return nil
}

// misbehave carries out a fault instead of answering.
func (e *Emulator) misbehave(w http.ResponseWriter, r *http.Request, f *fault, in answerWriter, body []byte) {
	switch kind := f.kind.(type) {
	case errorStatus:
		if kind.retryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(kind.retryAfter.Seconds()))))
		}
		in.fail(w, &problem{kind.status, codeOf(kind.status), f.words(), ""})
	case hanging:
		select {
		case <-r.Context().Done():
		case <-e.stop:
		}
		panic(http.ErrAbortHandler)
	case cutOff:
		writeHalf(w, body)
		panic(http.ErrAbortHandler)
	case endlessStream:
		w.Header().Set("Content-Type", jsonType)
	case batchCourse: // the submission succeeds
	case malformedAnswer:
		w.Header().Set("Content-Type", jsonType)
		_, _ = w.Write([]byte(in.malformed(kind.how)))
	}
}

// writeHalf sends half of an answer, with the Content-Length of all of it.
func writeHalf(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", jsonType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body[:len(body)/2])
	if flusher, ok := w.(http.Flusher); ok {
		flusher.Flush()
	}
}

// breakStream carries out a fault in a stream. next is the chunk that was due.
func (e *Emulator) breakStream(s *streamWriter, r *http.Request, f *fault, next string) {
	switch kind := f.kind.(type) {
	case endlessStream:
		for e.wait(r, max(kind.every, time.Millisecond)) {
			s.chunk(s.form.endless())
		}
	case malformedAnswer:
		if kind.how == "error" {
			s.chunk(s.form.failure(f.words()))
		} else {
			s.chunk(s.form.raw(s.form.malformed(kind.how)))
		}
		s.end()
	case cutOff:
		lead := s.open
		if s.written > 0 {
			lead = s.between
		}
		s.raw(lead + s.before + next[:len(next)/2])
		panic(http.ErrAbortHandler)
	case errorStatus, hanging, batchCourse: // never in a stream: misbehave carries them out
	}
}
