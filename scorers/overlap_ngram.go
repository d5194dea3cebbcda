package scorers

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/evalrun/evalrun/internal/shape"
)

// units are the words or characters of a text, which are the pieces of runs (n-grams).
type units struct {
	text     string
	from, to []int32 // where each begins and ends
}

// wordUnits has words that hold no space: a run of them is a piece of the text.
func wordUnits(tokens []string) units {
	u := units{text: strings.Join(tokens, " "), from: make([]int32, len(tokens)), to: make([]int32, len(tokens))}
	at := int32(0)
	for i, t := range tokens {
		u.from[i], u.to[i] = at, at+int32(len(t)) //nolint:gosec // bounded by maxCompared
		at = u.to[i] + 1
	}
	return u
}

func charUnits(s string) units {
	n := utf8.RuneCountInString(s)
	u := units{text: s, from: make([]int32, 0, n), to: make([]int32, 0, n)}
	for i := range s {
		u.from = append(u.from, int32(i)) //nolint:gosec // bounded by maxCompared
		if i > 0 {
			u.to = append(u.to, int32(i)) //nolint:gosec // bounded by maxCompared
		}
	}
	if n > 0 {
		u.to = append(u.to, int32(len(s))) //nolint:gosec // bounded by maxCompared
	}
	return u
}

func (u units) len() int { return len(u.from) }

// runs is the number of runs of n units.
func (u units) runs(n int) int { return max(0, u.len()-n+1) }

func (u units) run(i, n int) string { return u.text[u.from[i]:u.to[i+n-1]] }

// counts says how often each run occurs in a reference, or the most often in any of several. Runs of different
// lengths differ as texts.
type counts struct {
	slots map[string]int32
	most  []int32
	order int
}

func newCounts(order int, refs ...units) *counts {
	c := &counts{slots: map[string]int32{}, order: order}
	for _, u := range refs {
		here := make([]int32, len(c.most))
		for n := 1; n <= order; n++ {
			for i := range u.runs(n) {
				g := u.run(i, n)
				slot, known := c.slots[g]
				if !known {
					slot = int32(len(c.most)) //nolint:gosec // bounded by maxReferences
					c.slots[g] = slot
					c.most, here = append(c.most, 0), append(here, 0)
				}
				here[slot]++
			}
		}
		for slot, n := range here {
			c.most[slot] = max(c.most[slot], n)
		}
	}
	return c
}

// shared is, for runs of 1, 2 and so on, how many of the answer's are in the reference, each at most as often as there.
func (c *counts) shared(u units) []float64 {
	left := append([]int32(nil), c.most...)
	out := make([]float64, c.order)
	for n := 1; n <= c.order; n++ {
		for i := range u.runs(n) {
			if slot, ok := c.slots[u.run(i, n)]; ok && left[slot] > 0 {
				left[slot]--
				out[n-1]++
			}
		}
	}
	return out
}

// compileOverlap makes a scorer of a comparison with indexed references, which are indexed at the first answer.
func compileOverlap[T any](r rule, index func() T, compare func(refs T, got string) Finding) Scorer {
	refs := sync.OnceValue(index)
	return onText(fold{normalize: "none"}, func(got, _ string) Finding {
		if f, long := r.tooLong(got); long {
			return f
		}
		return compare(refs(), got)
	})
}

func mapped[T any](texts []string, f func(string) T) []T {
	out := make([]T, len(texts))
	for i, t := range texts {
		out[i] = f(t)
	}
	return out
}

// bleu is sacreBLEU's sentence score.
type bleu struct {
	tokenize, smoothing  string
	effective, lowercase bool
}

const bleuOrder = 4

var bleuKeys = overlapKeys(
	shape.Key{Name: "definition", Is: shape.Word("sacrebleu")},
	shape.Key{Name: "tokenize", Is: shape.Word(sacrebleuTokenizers...), Doc: "13a when not given."},
	shape.Key{Name: "smoothing", Is: shape.Word(sacrebleuSmoothings...), Doc: "exp when not given."},
	shape.Key{Name: "effectiveOrder", Is: shape.Bool, Doc: "Texts of under four words count the runs they have; true when not given."},
	shape.Key{Name: "lowercase", Is: shape.Bool},
)

var (
	sacrebleuTokenizers = []string{"13a", "intl", "char", "zh", "none"}
	sacrebleuSmoothings = []string{"exp", "floor", "add-k", "none"}
)

func compileBLEU(a args) Scorer {
	if a.Args.IsMapping() && a.Args.Map().Get("definition").Word("sacrebleu", "nltk") == "nltk" {
		return compileNLTKBLEU(a)
	}
	m := a.Args.Map(bleuKeys.Names()...)
	r, ok := a.overlapRule(m)
	b := bleu{tokenize: "13a", smoothing: "exp", effective: true, lowercase: m.Get("lowercase").Bool()}
	if n := m.Get("tokenize"); !n.IsZero() {
		b.tokenize = n.Word(sacrebleuTokenizers...)
	}
	if n := m.Get("smoothing"); !n.IsZero() {
		b.smoothing = n.Word(sacrebleuSmoothings...)
	}
	if n := m.Get("effectiveOrder"); !n.IsZero() {
		b.effective = n.Bool()
	}
	if !ok || bleuTokenizers[b.tokenize] == nil {
		return nil
	}
	return againstAll(r, bleuOrder, b, fmt.Sprintf("BLEU (sacrebleu, tokenize %s, smoothing %s)", b.tokenize, b.smoothing))
}

// bleuDefinition is one of the definitions of BLEU: how a text is cut into words, and what those are worth that references share.
type bleuDefinition interface {
	units(s string) units
	score(u units, shared []float64, refLen int) float64
}

// againstAll compares with all references together, in runs of up to so many words.
func againstAll(r rule, order int, b bleuDefinition, what string) Scorer {
	type indexed struct {
		refs   []units
		counts *counts
	}
	index := func() indexed {
		refs := mapped(r.refs, b.units)
		return indexed{refs, newCounts(order, refs...)}
	}
	return compileOverlap(r, index, func(in indexed, got string) Finding {
		u := b.units(got)
		which := closest(u.len(), in.refs)
		against := r.against(which)
		if len(r.refs) > 1 {
			against = fmt.Sprintf("to %d references together, in length nearest to %s", len(r.refs), strings.TrimPrefix(against, "to "))
		}
		return r.judge(b.score(u, in.counts.shared(u), in.refs[which].len()), what, against, got)
	})
}

func (b bleu) units(s string) units {
	if b.lowercase {
		s = lower(s)
	}
	return wordUnits(bleuTokenizers[b.tokenize](strings.TrimRightFunc(s, space)))
}

// closest is the reference whose length is nearest, the shorter of two.
func closest(n int, refs []units) int {
	best, away := 0, math.MaxInt
	for i, u := range refs {
		d := max(u.len()-n, n-u.len())
		if d < away || d == away && u.len() < refs[best].len() {
			best, away = i, d
		}
	}
	return best
}

func (b bleu) score(u units, shared []float64, refLen int) float64 {
	any := 0.0
	for _, n := range shared {
		any += n
	}
	if any == 0 {
		return 0
	}
	sum, halved, order := 0.0, 1.0, bleuOrder
	for n := 1; n <= bleuOrder; n++ {
		right, all := shared[n-1], float64(u.runs(n))
		if b.smoothing == "add-k" && n > 1 {
			right, all = right+1, all+1
		}
		if all == 0 {
			if !b.effective {
				return 0
			}
			break
		}
		if b.effective {
			order = n
		}
		switch {
		case right > 0:
		case b.smoothing == "exp":
			halved *= 2
			right = 1 / halved
		case b.smoothing == "floor":
			right = 0.1
		default:
			return 0
		}
		sum += math.Log(right / all)
	}
	brevity := min(1, math.Exp(1-float64(refLen)/float64(u.len())))
	return brevity * math.Exp(sum/float64(order))
}

var gleuKeys = overlapKeys(shape.Key{Name: "maxOrder", Is: shape.Int(1, 9), Doc: "The longest run of words; 4 when not given."})

func compileGLEU(a args) Scorer {
	m := a.Args.Map(gleuKeys.Names()...)
	r, ok := a.overlapRule(m)
	order := 4
	if n := m.Get("maxOrder"); !n.IsZero() {
		order = n.Int(1, 9)
	}
	if !ok {
		return nil
	}
	type indexed struct {
		units
		*counts
	}
	split := func(s string) units { return wordUnits(fields(s)) }
	index := func() []indexed {
		return mapped(r.refs, func(s string) indexed { return indexed{split(s), newCounts(order, split(s))} })
	}
	what := fmt.Sprintf("GLEU (nltk, runs of 1 to %d words)", order)
	return compileOverlap(r, index, func(refs []indexed, got string) Finding {
		u := split(got)
		return r.each(got, func(i int) (float64, string) {
			right, mine, theirs := 0.0, 0, 0
			for n, shared := range refs[i].shared(u) {
				right += shared
				mine += u.runs(n + 1)
				theirs += refs[i].runs(n + 1)
			}
			return right / float64(max(mine, theirs)), what
		})
	})
}
