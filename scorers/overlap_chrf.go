package scorers

import (
	"fmt"
	"strings"

	"github.com/evalrun/evalrun/internal/shape"
)

// chrF is sacreBLEU's sentence score.
type chrF struct {
	chars, words               int
	beta                       float64
	lowercase, whitespace, eps bool
}

// chrFText is a text cut for chrF.
type chrFText struct {
	chars, words           units
	charCounts, wordCounts *counts // of a reference
}

var chrfKeys = overlapKeys(
	shape.Key{Name: "charOrder", Is: shape.Int(1, 9), Doc: "The longest run of characters; 6 when not given."},
	shape.Key{Name: "wordOrder", Is: shape.Int(0, 4), Doc: "The longest run of words: 0 when not given; 2 is chrF++."},
	shape.Key{Name: "beta", Is: shape.Number(0.1, 10), Doc: "How much more recall counts than precision; 2 when not given."},
	shape.Key{Name: "lowercase", Is: shape.Bool},
	shape.Key{Name: "whitespace", Is: shape.Bool, Doc: "Whether white space counts."},
	shape.Key{Name: "epsSmoothing", Is: shape.Bool},
)

func compileChrF(a args) Scorer {
	m := a.Args.Map(chrfKeys.Names()...)
	r, ok := a.overlapRule(m)
	c := chrF{chars: 6, beta: 2, lowercase: m.Get("lowercase").Bool(), whitespace: m.Get("whitespace").Bool(), eps: m.Get("epsSmoothing").Bool()}
	if n := m.Get("charOrder"); !n.IsZero() {
		c.chars = n.Int(1, 9)
	}
	if n := m.Get("wordOrder"); !n.IsZero() {
		c.words = n.Int(0, 4)
	}
	if n := m.Get("beta"); !n.IsZero() {
		c.beta = n.Float(0.1, 10)
	}
	if !ok {
		return nil
	}
	index := func() []chrFText {
		return mapped(r.refs, func(s string) chrFText {
			t := c.cut(s)
			t.charCounts, t.wordCounts = newCounts(c.chars, t.chars), newCounts(c.words, t.words)
			return t
		})
	}
	name := "chrF"
	if c.words > 0 {
		name += strings.Repeat("+", c.words)
	}
	what := fmt.Sprintf("%s (sacrebleu, characters %d, words %d, beta %g)", name, c.chars, c.words, c.beta)
	return compileOverlap(r, index, func(refs []chrFText, got string) Finding {
		t := c.cut(got)
		return r.each(got, func(i int) (float64, string) { return c.score(t, refs[i]), what })
	})
}

func (c chrF) cut(s string) chrFText {
	if c.lowercase {
		s = lower(s)
	}
	var t chrFText
	if c.words > 0 {
		t.words = wordUnits(chrFWords(s))
	}
	if !c.whitespace {
		s = strings.Join(fields(s), "")
	}
	t.chars = charUnits(s)
	return t
}

// chrFWords splits at white space, and one sign of punctuation from the end or else the beginning of a word.
func chrFWords(s string) []string {
	const signs = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
	var out []string
	for _, w := range fields(s) {
		last := len(w) - 1
		switch {
		case last > 0 && strings.IndexByte(signs, w[last]) >= 0:
			out = append(out, w[:last], w[last:])
		case last > 0 && strings.IndexByte(signs, w[0]) >= 0:
			out = append(out, w[:1], w[1:])
		default:
			out = append(out, w)
		}
	}
	return out
}

// ratios adds up precision and recall over the orders of runs.
type ratios struct {
	precision, recall, orders, f float64
}

func (c chrF) score(got, ref chrFText) float64 {
	var sum ratios
	c.add(&sum, got.chars, ref.chars, ref.charCounts)
	c.add(&sum, got.words, ref.words, ref.wordCounts)
	if c.eps {
		return sum.f / float64(c.chars+c.words)
	}
	if sum.orders == 0 {
		return 0
	}
	return c.f(sum.precision/sum.orders, sum.recall/sum.orders)
}

func (c chrF) f(precision, recall float64) float64 {
	if precision+recall == 0 {
		return 0
	}
	factor := c.beta * c.beta
	return (1 + factor) * precision * recall / (factor*precision + recall)
}

// add takes in the runs of one kind of units.
func (c chrF) add(sum *ratios, got, ref units, counts *counts) {
	const eps = 1e-16
	for n, shared := range counts.shared(got) {
		mine, theirs := float64(got.runs(n+1)), float64(ref.runs(n+1))
		if theirs == 0 {
			mine = 0 // what the reference cannot have does not count against the answer
		}
		precision, recall := eps, eps
		if mine > 0 {
			precision = shared / mine
		}
		if theirs > 0 {
			recall = shared / theirs
		}
		sum.f += c.f(precision, recall)
		if mine > 0 && theirs > 0 {
			sum.precision += precision
			sum.recall += recall
			sum.orders++
		}
	}
}
