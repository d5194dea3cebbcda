package scorers

import (
	"fmt"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/internal/shape"
	"github.com/evalrun/evalrun/internal/textmetric"
)

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
	b := textmetric.BLEU{Tokenize: "13a", Smoothing: "exp", Effective: true, Lowercase: m.Get("lowercase").Bool()}
	if n := m.Get("tokenize"); !n.IsZero() {
		b.Tokenize = n.Word(sacrebleuTokenizers...)
	}
	if n := m.Get("smoothing"); !n.IsZero() {
		b.Smoothing = n.Word(sacrebleuSmoothings...)
	}
	if n := m.Get("effectiveOrder"); !n.IsZero() {
		b.Effective = n.Bool()
	}
	if !ok || !textmetric.IsTokenizer(b.Tokenize) {
		return nil
	}
	return againstAll(r, textmetric.BLEUOrder, b, fmt.Sprintf("BLEU (sacrebleu, tokenize %s, smoothing %s)", b.Tokenize, b.Smoothing))
}

// bleuDefinition is one of the definitions of BLEU: how a text is cut into words, and what those are worth that references share.
type bleuDefinition interface {
	Units(s string) textmetric.Units
	Score(u textmetric.Units, shared []float64, refLen int) float64
}

// againstAll compares with all references together, in runs of up to so many words.
func againstAll(r rule, order int, b bleuDefinition, what string) Scorer {
	type indexed struct {
		refs   []textmetric.Units
		counts *textmetric.Counts
	}
	index := func() indexed {
		refs := mapped(r.refs, b.Units)
		return indexed{refs, textmetric.NewCounts(order, refs...)}
	}
	return compileOverlap(r, index, func(in indexed, got string) Finding {
		u := b.Units(got)
		which := textmetric.Closest(u.Len(), in.refs)
		against := r.against(which)
		if len(r.refs) > 1 {
			against = fmt.Sprintf("to %d references together, in length nearest to %s", len(r.refs), strings.TrimPrefix(against, "to "))
		}
		return r.judge(b.Score(u, in.counts.Shared(u), in.refs[which].Len()), what, against, got)
	})
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
		textmetric.Units
		*textmetric.Counts
	}
	split := func(s string) textmetric.Units { return textmetric.WordUnits(textmetric.Fields(s)) }
	index := func() []indexed {
		return mapped(r.refs, func(s string) indexed { return indexed{split(s), textmetric.NewCounts(order, split(s))} })
	}
	what := fmt.Sprintf("GLEU (nltk, runs of 1 to %d words)", order)
	return compileOverlap(r, index, func(refs []indexed, got string) Finding {
		u := split(got)
		return r.each(got, func(i int) (float64, string) {
			right, mine, theirs := 0.0, 0, 0
			for n, shared := range refs[i].Shared(u) {
				right += shared
				mine += u.Runs(n + 1)
				theirs += refs[i].Runs(n + 1)
			}
			return right / float64(max(mine, theirs)), what
		})
	})
}
