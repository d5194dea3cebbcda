package scorers

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/evalrun/evalrun/internal/shape"
)

const (
	// maxCommon bounds the longest common subsequence: words of the answer times 64 words of the reference.
	maxCommon = 200_000_000
	// maxTable bounds the tables of Lsum: words of the answer times words of the reference.
	maxTable = 50_000_000
)

// prf is what an overlap tells.
type prf struct{ precision, recall, f float64 }

func overlapOf(shared float64, got, want int) prf {
	if shared == 0 {
		return prf{}
	}
	p, r := shared/float64(got), shared/float64(want)
	return prf{p, r, 2 * p * r / (p + r)}
}

func (s prf) String() string {
	return fmt.Sprintf("precision %.3f, recall %.3f", s.precision, s.recall)
}

// rouge is a measure of the family.
type rouge struct {
	kind, measure, definition string
	stem                      bool
}

// rougeText is a text cut for ROUGE; the lines are for Lsum only.
type rougeText struct {
	words  []string
	lines  [][]string
	counts *counts            // of a reference
	places map[string][]place // of a reference, for L
}

var (
	rougeTypes       = []string{"1", "2", "3", "4", "L", "Lsum"}
	rougeMeasures    = []string{"f", "precision", "recall"}
	rougeDefinitions = []string{"unicode", "rouge-score"}
)

var rougeKeys = overlapKeys(
	shape.Key{Name: "type", Is: shape.Word(rougeTypes...), Doc: "Runs of so many words, L for the longest common subsequence, Lsum for that line by line; 1 when not given."},
	shape.Key{Name: "measure", Is: shape.Word(rougeMeasures...), Doc: "f when not given."},
	shape.Key{Name: "definition", Is: shape.Word(rougeDefinitions...), Doc: "What a word is: of any script (unicode, the default), or of a-z and 0-9."},
	shape.Key{Name: "stem", Is: shape.Bool, Doc: "With `definition: rouge-score`: cuts English endings."},
)

func compileRouge(a args) Scorer {
	m := a.Args.Map(rougeKeys.Names()...)
	r, ok := a.overlapRule(m)
	g := rouge{kind: "1", measure: "f", definition: "unicode", stem: m.Get("stem").Bool()}
	if n := m.Get("type"); !n.IsZero() {
		g.kind = n.Word(rougeTypes...)
	}
	if n := m.Get("measure"); !n.IsZero() {
		g.measure = n.Word(rougeMeasures...)
	}
	if n := m.Get("definition"); !n.IsZero() {
		g.definition = n.Word(rougeDefinitions...)
	}
	if g.stem && g.definition == "unicode" {
		m.Key("stem").Errorf("write `definition: rouge-score` beside it", "`stem` cuts English endings only")
	}
	if !ok || g.kind == "" || g.definition == "" {
		return nil
	}
	for _, n := range m.Get("to").Items() {
		if len(g.split(textOf(n))) > 0 {
			continue
		}
		if g.definition == "unicode" {
			n.Errorf("", "there is no word in this text: every answer would score 0")
		} else {
			n.Warnf("leave `definition` away for texts in every script", "rouge-score finds no word of a-z and 0-9 in this text: every answer scores 0")
		}
	}
	return compileOverlap(r, func() []rougeText { return mapped(r.refs, g.reference) }, func(refs []rougeText, got string) Finding {
		text := g.cut(got)
		if f, long := g.tooLong(text, refs); long {
			return f
		}
		return r.each(got, func(i int) (float64, string) {
			s := g.compare(text, refs[i])
			return g.value(s), fmt.Sprintf("ROUGE-%s %s (%s words; %s)", g.kind, g.measure, g.definition, s)
		})
	})
}

func (g rouge) value(s prf) float64 {
	switch g.measure {
	case "precision":
		return s.precision
	case "recall":
		return s.recall
	}
	return s.f
}

func (g rouge) split(s string) []string {
	if g.definition == "unicode" {
		return unicodeWords(s)
	}
	words := asciiWords(s)
	for i, w := range words {
		if g.stem && len(w) > 3 {
			words[i] = porter(w)
		}
	}
	return words
}

func (g rouge) cut(s string) rougeText {
	if g.kind != "Lsum" {
		return rougeText{words: g.split(s)}
	}
	var t rougeText
	for line := range strings.SplitSeq(s, "\n") {
		words := g.split(line)
		t.words = append(t.words, words...)
		t.lines = append(t.lines, words)
	}
	return t
}

func (g rouge) reference(s string) rougeText {
	t := g.cut(s)
	switch g.kind {
	case "L":
		t.places = places(t.words)
	case "Lsum":
		t.counts = newCounts(1, wordUnits(t.words))
	default:
		t.counts = newCounts(int(g.kind[0]-'0'), wordUnits(t.words))
	}
	return t
}

func (g rouge) tooLong(got rougeText, refs []rougeText) (Finding, bool) {
	total := 0
	for _, ref := range refs {
		total += len(ref.words) + 64
	}
	if g.kind == "L" && len(got.words)*(total/64) > maxCommon || g.kind == "Lsum" && len(got.words)*total > maxTable {
		return unscored("%d words are too many for ROUGE-%s against %d", len(got.words), g.kind, total-64*len(refs)), true
	}
	return Finding{}, false
}

func (g rouge) compare(got, ref rougeText) prf {
	switch g.kind {
	case "L":
		return overlapOf(float64(commonLength(ref.places, len(ref.words), got.words)), len(got.words), len(ref.words))
	case "Lsum":
		return overlapOf(float64(unionHits(got, ref)), len(got.words), len(ref.words))
	}
	n := int(g.kind[0] - '0')
	u := wordUnits(got.words)
	return overlapOf(ref.counts.shared(u)[n-1], u.runs(n), len(ref.words)-n+1)
}

// place says in which of 64 units, the row's at that index, some unit stands.
type place struct {
	at   int
	bits uint64
}

// places says where each unit stands.
func places[T comparable](in []T) map[T][]place {
	out := map[T][]place{}
	for i, x := range in {
		p := out[x]
		if n := len(p); n == 0 || p[n-1].at != i/64 {
			p = append(p, place{at: i / 64})
		}
		p[len(p)-1].bits |= 1 << (i % 64)
		out[x] = p
	}
	return out
}

// commonLength is the length of the longest common subsequence of the n units in places and of got, 64 at a time
// (Crochemore and others, 2001).
func commonLength[T comparable](places map[T][]place, n int, got []T) int {
	row := make([]uint64, (n+63)/64)
	for i := range row {
		row[i] = ^uint64(0)
	}
	for _, x := range got {
		next := places[x]
		carry := uint64(0)
		for w := 0; w < len(row); w++ {
			if carry == 0 { // nothing changes before the next place
				if len(next) == 0 {
					break
				}
				w = next[0].at
			}
			v, mask := row[w], uint64(0)
			if len(next) > 0 && next[0].at == w {
				mask, next = next[0].bits, next[1:]
			}
			var sum uint64
			sum, carry = bits.Add64(v, v&mask, carry)
			row[w] = sum | v&^mask
		}
	}
	out := n
	for i := range n {
		out -= int(row[i/64] >> (i % 64) & 1)
	}
	return out
}

// unionHits is rouge-score's count for Lsum: of each line of the reference, the words in its longest common subsequence
// with any line of the answer, each word counted at most as often as the answer and the reference have it.
func unionHits(got, ref rougeText) int {
	left := func(words []string) map[string]int {
		out := map[string]int{}
		for _, w := range words {
			out[w]++
		}
		return out
	}
	mine, theirs := left(got.words), left(ref.words)
	hits := 0
	for _, line := range ref.lines {
		in := make([]bool, len(line))
		for _, other := range got.lines {
			markCommon(in, line, other)
		}
		for i, w := range line {
			if in[i] && mine[w] > 0 && theirs[w] > 0 {
				mine[w]--
				theirs[w]--
				hits++
			}
		}
	}
	return hits
}

// markCommon marks the words of ref in a longest common subsequence, the one that rouge-score finds.
func markCommon(in []bool, ref, got []string) {
	const up, left, both = 0, 1, 2
	width := len(got)
	step := make([]byte, len(ref)*width)
	above, row := make([]int32, width+1), make([]int32, width+1)
	for i, w := range ref {
		for j, x := range got {
			switch {
			case w == x:
				row[j+1], step[i*width+j] = above[j]+1, both
			case row[j] > above[j+1]:
				row[j+1], step[i*width+j] = row[j], left
			default:
				row[j+1] = above[j+1]
			}
		}
		above, row = row, above
	}
	for i, j := len(ref)-1, width-1; i >= 0 && j >= 0; {
		switch step[i*width+j] {
		case both:
			in[i] = true
			i--
			j--
		case left:
			j--
		default:
			i--
		}
	}
}
