package journal

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash/maphash"
	"math/bits"
	"slices"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/eval"
)

// index locates the trials of a run in its file and keeps what the summary needs of them. It takes less than a hundred
// bytes per trial, since a run may have a million.
type index struct {
	entries []entry
	names   names   // of cases, metrics and models
	shapes  []shape // few, and each once
	shapeAt map[shape]uint32
	shape   uint32 // of the last trial
	metrics []metric
	more    []more
	judging []JudgeRequests // for trials with questions to judges
	classes classes
	kept    *kept              // nil: facts are read from the file
	odd     map[trialID]string // full ids that are not in evalrun's form
	finding *sync.Mutex
	byID    []uint32 // places of entries in the order of their ids, once one was looked for; guarded by finding
}

type entry struct {
	offset                int64
	id                    trialID
	n, length             uint32
	caseName              uint32 // place in names
	shape                 uint32 // place in shapes
	prompt, output, total uint32 // tokens
	latencyMs             float32
	more                  uint32 // place in more, from 1; 0: there is none
	flags                 flags
}

func newIndex() index { return index{finding: &sync.Mutex{}} }

func (e *entry) place() Place { return Place{e.offset, e.length} }

type shape struct{ suite, arm, outcome, errorKind string }

// more holds values that only some trials have.
type more struct {
	firstMetric, metrics uint32
	judging              uint32 // place in judging, from 1; 0: no questions to judges
	class                uint32 // place in classes, from 1; 0: no classification
	kept                 uint32 // place in kept, from 1; 0: facts are not kept
}

type flags uint16

const (
	isQuarantined flags = 1 << iota
	isBlocked
	isSkippedEarly // not sent, since the verdict was known
	isUnused       // answered, but not used, since the verdict was known
	isPartlyBlocked
	isCut // by the limit of tokens
	isClean
	isOpen
	isTainted
	isLate    // its time was up, and what was there was scored
	isLimited // the same, since it had made its calls
	isPassing // an error that another attempt may not have
)

// count adds 1 to n where one of the flags is set.
func (f flags) count(of flags, n *int) {
	if f&of != 0 {
		*n++
	}
}

// trialID is the id of a trial: sixteen hexadecimal digits, in files that evalrun has written, and a hash of others.
type trialID uint64

func newTrialID(s string) trialID {
	id, ok := hexID(s)
	if !ok {
		sum := sha256.Sum256([]byte(s))
		return trialID(binary.BigEndian.Uint64(sum[:]))
	}
	return id
}

// hexDigits are the values of digits plus one; 0 for other bytes.
var hexDigits = [256]uint8{
	'0': 1, '1': 2, '2': 3, '3': 4, '4': 5, '5': 6, '6': 7, '7': 8, '8': 9, '9': 10, 'a': 11, 'b': 12, 'c': 13, 'd': 14, 'e': 15, 'f': 16,
}

func hexID(s string) (id trialID, ok bool) {
	if len(s) != 16 {
		return 0, false
	}
	for i := range len(s) {
		digit := hexDigits[s[i]]
		if digit == 0 {
			return 0, false
		}
		id = id<<4 | trialID(digit-1)
	}
	return id, true
}

func (x *index) idOf(e *entry) string {
	if s, ok := x.odd[e.id]; ok {
		return s
	}
	var room [16]byte
	return string(hex.AppendEncode(room[:0], binary.BigEndian.AppendUint64(nil, uint64(e.id))))
}

type digest struct {
	suite, caseName, arm string
	outcome              eval.Outcome
	usage                eval.Usage
	latencyMs            float64
	metrics              []metric
	class                *eval.Pair // nil without a classification
	flags                flags
}

type metric struct {
	name  string
	value float64
}

// clip bounds a number to what an entry can hold.
func clip(n int) uint32 { return uint32(max(0, min(n, 1<<32-1))) }

// add adds a trial whose line has length bytes from offset.
func (x *index) add(r *scannedTrial, offset int64, length int, f flags) {
	e := entry{
		offset: offset, length: clip(length), n: clip(r.N), id: r.id,
		caseName: x.names.place(r.Case), shape: x.shapeOf(shape{r.Suite, r.Arm, r.Outcome, r.Error.Kind}),
		prompt: clip(r.Usage.PromptTokens), output: clip(r.Usage.OutputTokens), total: clip(r.Usage.TotalTokens),
		latencyMs: float32(r.Timing.LatencyMs), flags: f | r.flags(), more: x.moreOf(r),
	}
	if _, hex := hexID(r.ID); !hex {
		if x.odd == nil {
			x.odd = map[trialID]string{}
		}
		x.odd[e.id] = strings.Clone(r.ID)
	}
	x.entries = append(x.entries, e)
}

// shapeOf returns the index of a shape, which is usually that of the previous trial.
func (x *index) shapeOf(s shape) uint32 {
	if len(x.shapes) > 0 && x.shapes[x.shape] == s {
		return x.shape
	}
	at, ok := x.shapeAt[s]
	if !ok {
		if x.shapeAt == nil {
			x.shapeAt = map[shape]uint32{}
		}
		s = shape{strings.Clone(s.suite), strings.Clone(s.arm), strings.Clone(s.outcome), strings.Clone(s.errorKind)}
		at = clip(len(x.shapes))
		x.shapes = append(x.shapes, s)
		x.shapeAt[s] = at
	}
	x.shape = at
	return at
}

// moreOf keeps the metrics of a trial and the counts of its judges, and returns their place.
func (x *index) moreOf(r *scannedTrial) uint32 {
	m := more{firstMetric: clip(len(x.metrics)), class: x.classes.place(r.class())}
	for name, value := range r.metrics {
		x.metrics = append(x.metrics, metric{x.names.at(x.names.place(name)), value})
		m.metrics++
	}
	if judging := r.judging(); judging != (JudgeRequests{}) {
		x.judging = append(x.judging, judging)
		m.judging = clip(len(x.judging))
	}
	if x.kept != nil {
		m.kept = x.kept.add(r, &x.names)
	}
	if m == (more{firstMetric: m.firstMetric}) {
		return 0
	}
	x.more = append(x.more, m)
	return clip(len(x.more))
}

func (x *index) metricsOf(e *entry) []metric {
	if e.more == 0 {
		return nil
	}
	m := &x.more[e.more-1]
	return x.metrics[m.firstMetric:][:m.metrics]
}

// judgingOf counts the questions to judges about a trial, nil for none.
func (x *index) judgingOf(e *entry) *JudgeRequests {
	if e.more == 0 || x.more[e.more-1].judging == 0 {
		return nil
	}
	return &x.judging[x.more[e.more-1].judging-1]
}

func (x *index) outcomeOf(e *entry) eval.Outcome { return eval.Outcome(x.shapes[e.shape].outcome) }

func (x *index) caseOf(e *entry) string { return x.names.at(e.caseName) }

// digest puts together what the index keeps of a trial.
func (x *index) digest(e *entry) digest {
	s := &x.shapes[e.shape]
	return digest{
		suite:     s.suite,
		caseName:  x.caseOf(e),
		arm:       s.arm,
		outcome:   eval.Outcome(s.outcome),
		usage:     eval.Usage{PromptTokens: int(e.prompt), OutputTokens: int(e.output), TotalTokens: int(e.total)},
		latencyMs: float64(e.latencyMs), metrics: x.metricsOf(e), class: x.classOf(e), flags: e.flags,
	}
}

// drop removes trials that a resumed run no longer has.
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
	unused := map[trialID]bool{}
	for _, id := range ids {
		unused[newTrialID(id)] = true
	}
	for i := range x.entries {
		if e := &x.entries[i]; unused[e.id] {
			e.flags |= isUnused
		}
	}
}

// sampled is how many lines are read before the size of the index is estimated from their average length.
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
	if x.repeats() {
		slices.SortFunc(x.entries, func(a, b entry) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(b.offset, a.offset)) })
		x.entries = slices.CompactFunc(x.entries, func(a, b entry) bool { return a.id == b.id })
	}
	slices.SortFunc(x.entries, func(a, b entry) int { return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.offset, b.offset)) })
}

// repeats reports whether some id comes twice.
func (x *index) repeats() bool {
	size := 1 << bits.Len(uint(2*len(x.entries)))
	seen, seed := make([]uint32, size), maphash.MakeSeed() // places from 1, by ids
	for i := range x.entries {
		id := x.entries[i].id
		at := int(maphash.Comparable(seed, id)>>1) & (size - 1) // not negative
		for ; seen[at] != 0; at = (at + 1) & (size - 1) {
			if x.entries[seen[at]-1].id == id {
				return true
			}
		}
		seen[at] = clip(i + 1)
	}
	return false
}

func (x *index) find(id trialID) (place int, ok bool) {
	x.finding.Lock()
	defer x.finding.Unlock()
	if x.byID == nil {
		x.byID = make([]uint32, len(x.entries))
		for i := range x.byID {
			x.byID[i] = clip(i)
		}
		slices.SortFunc(x.byID, func(a, b uint32) int { return cmp.Compare(x.entries[a].id, x.entries[b].id) })
	}
	at, ok := slices.BinarySearchFunc(x.byID, id, func(place uint32, id trialID) int {
		return cmp.Compare(x.entries[place].id, id)
	})
	if !ok {
		return 0, false
	}
	return int(x.byID[at]), true
}
