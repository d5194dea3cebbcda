package journal

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"slices"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/eval"
)

// index locates the trials of a run in its file and keeps what the summary needs of them, in about a hundred bytes
// a trial: a run may have a million.
type index struct {
	entries []entry
	words   []string // suites, cases, arms, outcomes, kinds of errors: few, and each once
	places  map[string]uint32
	metrics []metric // of all entries
	finding *sync.Mutex
	byID    []uint32  // places of entries in the order of their ids, once one was looked for; guarded by finding
	judging []Judging // of the entries of which judges were asked
}

// entry is one trial.
type entry struct {
	offset                     int64
	id                         trialID
	n, length                  uint32
	suite, caseName, arm       uint32 // places in words
	outcome, errorKind         uint32 // the same
	prompt, output, total      uint32 // tokens
	latencyMs                  float32
	firstMetric, metricsLength uint32
	judging                    uint32 // place in judging, from 1; 0: no judge was asked
	flags                      flags
}

// flags are the yes and no of an entry.
type flags uint8

const (
	isQuarantined flags = 1 << iota
	isBlocked
	isStopped // never asked, since the verdict was known
	isExtra   // answered, and not used, since the verdict was known
	isPartlyBlocked
	isCut // by the limit of tokens
)

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
	suite, caseName, arm string
	outcome              eval.Outcome
	usage                eval.Usage
	latencyMs            float64
	errorKind            eval.ErrorKind
	metrics              []metric
	flags                flags
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
func (x *index) add(r *indexed, offset int64, length int, f flags) {
	e := entry{
		offset: offset, length: clip(length), n: clip(r.n), id: newTrialID(r.id),
		suite: x.word(r.suite), caseName: x.word(r.caseName), arm: x.word(r.arm), outcome: x.word(r.outcome), errorKind: x.word(r.errorKind),
		prompt: clip(r.usage.PromptTokens), output: clip(r.usage.OutputTokens), total: clip(r.usage.TotalTokens),
		latencyMs: float32(r.latencyMs), firstMetric: clip(len(x.metrics)), metricsLength: clip(len(r.metrics)),
	}
	e.flags = f
	if r.blocked {
		e.flags |= isBlocked
	}
	for _, one := range []struct {
		is   bool
		flag flags
	}{{r.stopped, isStopped}, {r.partlyBlocked, isPartlyBlocked}, {r.cut, isCut}} {
		if one.is {
			e.flags |= one.flag
		}
	}
	for _, m := range r.metrics {
		x.metrics = append(x.metrics, metric{x.words[x.word(m.name)], m.value})
	}
	if r.judging != (Judging{}) {
		x.judging = append(x.judging, r.judging)
		e.judging = clip(len(x.judging))
	}
	x.entries = append(x.entries, e)
}

// digest is what is kept of a trial.
func (x *index) digest(e *entry) digest {
	return digest{
		suite: x.words[e.suite], caseName: x.words[e.caseName], arm: x.words[e.arm],
		outcome: eval.Outcome(x.words[e.outcome]), errorKind: eval.ErrorKind(x.words[e.errorKind]),
		usage:     eval.Usage{PromptTokens: int(e.prompt), OutputTokens: int(e.output), TotalTokens: int(e.total)},
		latencyMs: float64(e.latencyMs), metrics: x.metrics[e.firstMetric:][:e.metricsLength], flags: e.flags,
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

// unuse marks trials that a verdict does not use.
func (x *index) unuse(ids []string) {
	if len(ids) == 0 {
		return
	}
	extra := map[trialID]bool{}
	for _, id := range ids {
		extra[newTrialID(id)] = true
	}
	for i := range x.entries {
		if e := &x.entries[i]; extra[e.id] {
			e.flags |= isExtra
		}
	}
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

// find is the place of the entry with an id.
func (x *index) find(id trialID) (place int, ok bool) {
	x.finding.Lock()
	defer x.finding.Unlock()
	if x.byID == nil {
		x.byID = make([]uint32, len(x.entries))
		for i := range x.byID {
			x.byID[i] = clip(i)
		}
		slices.SortFunc(x.byID, func(a, b uint32) int { return bytes.Compare(x.entries[a].id[:], x.entries[b].id[:]) })
	}
	at, ok := slices.BinarySearchFunc(x.byID, id, func(place uint32, id trialID) int {
		return bytes.Compare(x.entries[place].id[:], id[:])
	})
	if !ok {
		return 0, false
	}
	return int(x.byID[at]), true
}
