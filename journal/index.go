package journal

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
)

// index locates the trials of a run in its file and keeps what the summary needs of them, in about a hundred bytes
// a trial: a run may have a million.
type index struct {
	entries []entry
	words   []string // suites, cases, arms, outcomes, kinds of errors: few, and each once
	places  map[string]uint32
	metrics []metric // of all entries
}

// entry is one trial.
type entry struct {
	offset                     int64
	id                         trialID
	n, length                  uint32
	suite, kase, arm           uint32 // places in words
	outcome, errorKind         uint32 // the same
	prompt, output, total      uint32 // tokens
	latencyMs                  float32
	firstMetric, metricsLength uint32
}

// trialID is the id of a trial: sixteen hexadecimal digits, in files that evalrun has written.
type trialID [16]byte

func newTrialID(s string) (id trialID) {
	if len(s) > len(id) {
		sum := sha256.Sum256([]byte(s))
		copy(id[:], sum[:])
		return id
	}
	copy(id[:], s)
	return id
}

func (id trialID) String() string { return strings.TrimRight(string(id[:]), "\x00") }

// digest is what a summary needs of a result.
type digest struct {
	suite, kase, arm string
	outcome          eval.Outcome
	usage            eval.Usage
	latencyMs        float64
	errorKind        eval.ErrorKind
	metrics          []metric
}

type metric struct {
	name  string
	value float64
}

// word is the place of a word, which is added when it is new.
func (x *index) word(s string) uint32 {
	if at, ok := x.places[s]; ok {
		return at
	}
	if x.places == nil {
		x.places = map[string]uint32{}
	}
	s = strings.Clone(s)
	at := uint32(len(x.words)) //nolint:gosec // bounded by the lines of a file
	x.words = append(x.words, s)
	x.places[s] = at
	return at
}

// clip bounds a number to what an entry can hold.
func clip(n int) uint32 { return uint32(max(0, min(n, 1<<32-1))) }

// add takes up a trial whose line has length bytes from offset.
func (x *index) add(r *indexed, offset int64, length int) {
	e := entry{
		offset: offset, length: clip(length), n: clip(r.N), id: newTrialID(r.ID),
		suite: x.word(r.Suite), kase: x.word(r.Case), arm: x.word(r.Arm), outcome: x.word(string(r.Outcome)), errorKind: x.word(""),
		firstMetric: clip(len(x.metrics)),
	}
	if r.Usage != nil {
		e.prompt, e.output, e.total = clip(r.Usage.PromptTokens), clip(r.Usage.OutputTokens), clip(r.Usage.TotalTokens)
	}
	if r.Timing != nil {
		e.latencyMs = float32(r.Timing.LatencyMs)
	}
	if r.Error != nil {
		e.errorKind = x.word(string(r.Error.Kind))
	}
	for _, s := range r.Scores {
		if s.Name != "" && s.Value != nil {
			x.metrics = append(x.metrics, metric{x.words[x.word(s.Name)], *s.Value})
			e.metricsLength++
		}
	}
	x.entries = append(x.entries, e)
}

// digest is what is kept of a trial.
func (x *index) digest(e *entry) digest {
	return digest{
		suite: x.words[e.suite], kase: x.words[e.kase], arm: x.words[e.arm],
		outcome: eval.Outcome(x.words[e.outcome]), errorKind: eval.ErrorKind(x.words[e.errorKind]),
		usage:     eval.Usage{PromptTokens: int(e.prompt), OutputTokens: int(e.output), TotalTokens: int(e.total)},
		latencyMs: float64(e.latencyMs), metrics: x.metrics[e.firstMetric:][:e.metricsLength],
	}
}

// drop takes trials out that a resumed run does not have.
func (x *index) drop(ids []string) {
	if len(ids) == 0 {
		return
	}
	gone := map[trialID]bool{}
	for _, id := range ids {
		gone[newTrialID(id)] = true
	}
	x.entries = slices.DeleteFunc(x.entries, func(e entry) bool { return gone[e.id] })
}

// sampled is how many lines tell how long lines are, so that room for all can be made at once.
const sampled = 1000

// reserve makes room for the trials of a file of the given size, once some of it has been read.
func (x *index) reserve(read, size int64) {
	if len(x.entries) == sampled {
		more := float64(size-read) / float64(read) * sampled * 1.02
		x.entries = slices.Grow(x.entries, int(more))
	}
}

// sort puts the trials in the order of the plan; of several lines with one id the last counts.
func (x *index) sort() {
	slices.SortFunc(x.entries, func(a, b entry) int {
		return cmp.Or(bytes.Compare(a.id[:], b.id[:]), cmp.Compare(b.offset, a.offset))
	})
	x.entries = slices.CompactFunc(x.entries, func(a, b entry) bool { return a.id == b.id })
	slices.SortFunc(x.entries, func(a, b entry) int { return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.offset, b.offset)) })
}
