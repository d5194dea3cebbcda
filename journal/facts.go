package journal

import (
	"errors"
	"io"
	"iter"
	"math"
	"slices"

	"github.com/evalrun/evalrun/eval"
)

// Facts are the parts of a trial that comparing and counting need: everything but the prompt and the answers. Scores
// are valid until the next trial is read; all else stays valid.
type Facts struct {
	N, Repeat                               int
	At                                      int64 // where its line is in the file, for TrialAt
	ID, CaseID, ScorersHash                 string
	Answer                                  uint64 // identifies the answer in all runs that this process reads; 0 if not known
	VarsHash, RequestHash, FoldedHash       string
	Suite, Case, Arm, Cluster, ModelVersion string
	Tags                                    []string
	Outcome                                 eval.Outcome
	Quarantined, SkippedEarly, Unused       bool           // out of the gate; not sent, or not used, since the verdict was known
	Blocked                                 string         // the reason of the first block, "" when nothing was
	ErrorKind                               eval.ErrorKind // "" without an error
	MayPass                                 bool           // another attempt may not have the error
	Attempts                                int            // to send for the answer; 0 for one from a cache
	Tokens                                  int
	LatencyMs                               float64
	Ratings                                 []eval.SafetyRating // of the answer, or of a blocked prompt
	Scores                                  []NamedScore        // the scores with names and values
	// Class is the expected and the actual class, nil without a classification.
	Class *eval.Pair
}

// NamedScore is the value of a named scorer.
type NamedScore struct {
	Name  string
	Value float64
}

// Facts yields the trials in the order of the plan. The same Facts are filled in again for each. Unless the document was opened
// with KeepFacts, it reads the file again.
func (d *Document) Facts() iter.Seq2[*Facts, error] {
	return func(yield func(*Facts, error) bool) {
		var f Facts
		r := factsReader{doc: d, window: window{file: &d.file}}
		for i := range d.index.entries {
			e := &d.index.entries[i]
			if err := r.read(e, &f); err != nil {
				if !yield(nil, err) {
					return
				}
				continue
			}
			s := &d.index.shapes[e.shape]
			f.N, f.ID, f.Suite, f.Case, f.Arm = int(e.n), d.index.idOf(e), s.suite, d.index.caseOf(e), s.arm
			f.Outcome, f.ErrorKind = eval.Outcome(s.outcome), eval.ErrorKind(s.errorKind)
			f.Tokens, f.LatencyMs = int(e.total), float64(e.latencyMs)
			f.Quarantined, f.SkippedEarly = e.flags&isQuarantined != 0, e.flags&isSkippedEarly != 0
			f.MayPass = e.flags&isPassing != 0
			f.Unused, f.At = e.flags&isUnused != 0, e.offset
			f.Scores = f.Scores[:0]
			for _, m := range d.index.metricsOf(e) {
				f.Scores = append(f.Scores, NamedScore{m.name, m.value})
			}
			f.Class = d.index.classOf(e)
			if !yield(&f, nil) {
				return
			}
		}
	}
}

// LatencyQuantile is the q-quantile, by nearest rank, of service times in milliseconds; false when there are none. It
// is over the trials of an arm that were scored and are not in quarantine.
func (d *Document) LatencyQuantile(suite, arm string, q float64) (float64, bool) {
	var all []float32
	for i := range d.index.entries {
		e := &d.index.entries[i]
		if s := &d.index.shapes[e.shape]; s.suite == suite && s.arm == arm && d.index.isTimed(e) {
			all = append(all, e.latencyMs)
		}
	}
	if len(all) == 0 {
		return 0, false
	}
	slices.Sort(all)
	rank := int(math.Ceil(q * float64(len(all))))
	return float64(all[max(0, rank-1)]), true
}

// isTimed reports whether the service time of a trial counts for its arm.
func (x *index) isTimed(e *entry) bool {
	if e.flags&(isQuarantined|isUnused) != 0 || e.latencyMs <= 0 {
		return false
	}
	outcome := x.outcomeOf(e)
	return outcome == eval.Pass || outcome == eval.Fail
}

// windowSize is how much of a file is read at once: some hundreds of trials, as many as a run sends at the same time.
// What is before a line is read with it, since trials are not written in the order of the plan.
const (
	windowSize  = int64(1 << 19)
	windowStart = windowSize / 4
)

// window reads lines that mostly follow each other with few calls of the operating system.
type window struct {
	file *runFile
	buf  []byte
	from int64 // where buf begins in the file
}

// line is a trial's line, good until the next one is read.
func (w *window) line(e *entry) ([]byte, error) {
	length := int64(e.length)
	if at := e.offset - w.from; w.buf != nil && at >= 0 && at+length <= int64(len(w.buf)) {
		return w.buf[at:][:length], nil
	}
	w.from = max(0, e.offset-windowStart)
	at := e.offset - w.from
	size := int(max(min(windowSize, w.file.size-w.from), at+length))
	if cap(w.buf) < size {
		w.buf = make([]byte, size)
	}
	n, err := w.file.ReadAt(w.buf[:size], w.from)
	w.buf = w.buf[:n]
	if int64(n) < at+length {
		return nil, errors.Join(err, io.ErrUnexpectedEOF)
	}
	return w.buf[at:][:length], nil
}
