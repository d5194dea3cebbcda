package scorers

import (
	"encoding/json"
	"math/bits"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/internal/expr"
)

// maxCallSteps bounds the values that are compared for the calls of one answer, so that the most hostile answer
// takes about a second.
const maxCallSteps = 20_000_000

type callMatcher struct {
	args    argMode
	numbers func(a, b json.Number) bool
	left    int // remaining values to compare; below 0, results do not count
}

func (m *callMatcher) same(want, got readCall) bool {
	if m.left--; want.name != got.name {
		return false
	}
	if m.args == argsIgnore {
		return true
	}
	return !got.malformed() && m.sameValue(want.args, got.args, m.args == argsSubset)
}

// sameValue compares JSON values. With subset, the actual mapping may have more keys.
func (m *callMatcher) sameValue(want, got any, subset bool) bool {
	if m.left--; m.left < 0 {
		return false
	}
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		return ok && m.sameMapping(w, g, subset)
	case []any:
		g, ok := got.([]any)
		return ok && slices.EqualFunc(w, g, func(w, g any) bool { return m.sameValue(w, g, false) })
	case json.Number:
		g, ok := got.(json.Number)
		return ok && m.sameNumber(w, g)
	}
	return isScalar(got) && want == got
}

// sameNumber compares numbers by value: 1 equals 1.0.
func (m *callMatcher) sameNumber(a, b json.Number) bool {
	const fraction = ".eE"
	switch {
	case a == b:
		return true
	case len(a)+len(b) > 800: // too slow to compute with
		return false
	case !strings.ContainsAny(string(a), fraction) && !strings.ContainsAny(string(b), fraction):
		return a == "0" && b == "-0" || a == "-0" && b == "0"
	}
	return expr.Unreadable(a) == "" && expr.Unreadable(b) == "" && m.numbers(a, b)
}

func (m *callMatcher) sameMapping(want, got map[string]any, subset bool) bool {
	if len(got) < len(want) || len(got) > len(want) && !subset {
		return false
	}
	for key, item := range want {
		other, ok := got[key]
		if !ok || !m.sameValue(item, other, subset) {
			return false
		}
	}
	return true
}

// isScalar reports values that == can compare.
func isScalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// inOrder reports whether all listed calls occur in order, with any calls between them. Greedy matching is enough:
// taking a later call leaves fewer for the rest.
func (m *callMatcher) inOrder(want, got []readCall) bool {
	for _, g := range got {
		if len(want) > 0 && m.same(want[0], g) {
			want = want[1:]
		}
	}
	return len(want) == 0
}

// callPairs are the calls left over when as many as possible of the listed calls are paired with actual ones.
type callPairs struct{ missing, surplus []readCall }

// maxPairBits bounds the table of fitting calls, in bits.
const maxPairBits = 1 << 26

// pair finds a largest matching. With `args: subset` a call may fit several listed ones, so greedy pairing would
// miss some.
func (m *callMatcher) pair(want, got []readCall) callPairs {
	if len(want)*len(got) > maxPairBits {
		m.left = -1
		return callPairs{}
	}
	p := newCallPairing(len(want), len(got))
	byName := map[string][]int{}
	for j := range got {
		byName[got[j].name] = append(byName[got[j].name], j)
	}
	for i := range want {
		for _, j := range byName[want[i].name] {
			if m.same(want[i], got[j]) {
				p.fits[i].set(j)
			}
		}
	}
	var out callPairs
	for i := range want {
		p.unseen.fill(len(got))
		if !p.place(i) {
			out.missing = append(out.missing, want[i])
		}
	}
	for j, i := range p.takenBy {
		if i < 0 {
			out.surplus = append(out.surplus, got[j])
		}
	}
	return out
}

// callPairing matches rows with columns by augmenting paths (Kuhn's algorithm). Sets of columns are bits, so that
// a search covers 64 columns at a time.
type callPairing struct {
	fits    []bitset // columns that fit, by row
	takenBy []int    // row by column, -1 for none
	free    bitset   // columns without a row
	unseen  bitset   // columns that the current search has not visited
}

func newCallPairing(rows, columns int) *callPairing {
	p := &callPairing{fits: make([]bitset, rows), takenBy: make([]int, columns), free: newBitset(columns), unseen: newBitset(columns)}
	p.free.fill(columns)
	for i := range p.fits {
		p.fits[i] = newBitset(columns)
	}
	for j := range p.takenBy {
		p.takenBy[j] = -1
	}
	return p
}

// place finds a column for a row, moving other rows if necessary.
func (p *callPairing) place(row int) bool {
	fits := p.fits[row]
	if j := fits.next(p.free, 0); j >= 0 {
		p.free.clear(j)
		p.takenBy[j] = row
		return true
	}
	for j := fits.next(p.unseen, 0); j >= 0; j = fits.next(p.unseen, j) {
		p.unseen.clear(j)
		if p.place(p.takenBy[j]) {
			p.takenBy[j] = row
			return true
		}
	}
	return false
}

// bitset is a set of small numbers.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) set(i int) { b[i/64] |= 1 << (i % 64) }

func (b bitset) clear(i int) { b[i/64] &^= 1 << (i % 64) }

func (b bitset) fill(n int) {
	for i := range b {
		b[i] = ^uint64(0)
	}
	if n%64 > 0 {
		b[len(b)-1] = 1<<(n%64) - 1
	}
}

// next is the least number that both sets have, -1 when there is none. The search starts at from, below which they
// share none.
func (b bitset) next(other bitset, from int) int {
	for i := from / 64; i < len(b); i++ {
		if both := b[i] & other[i]; both != 0 {
			return i*64 + bits.TrailingZeros64(both)
		}
	}
	return -1
}
