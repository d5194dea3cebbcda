package scorers

import (
	"cmp"
	"fmt"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/internal/textmetric"
	"github.com/evalrun/evalrun/internal/yaml"
)

func bleuKind() Kind {
	return Kind{
		Name: "bleu", Summary: "the answer shares runs of words with a translation (BLEU)",
		Doc: "Takes `to` (a text or several; a run of words counts when any of them has it) and `min`, the least value from 0 to 1, " +
			"or a `threshold` next to the kind. The value is sacreBLEU's sentence score divided by 100, without Unicode " +
			"normalization: `tokenize: 13a | intl | char | zh | none` (default 13a), `smoothing: exp | floor | add-k | none` " +
			"(default exp), `effectiveOrder: true` (texts of under four words count the runs they have), `lowercase: false`.\n\n" +
			"`definition: nltk` is NLTK's sentence_bleu over words between white space, with `smoothing: method0` to `method7` " +
			"(default method0, none), `maxOrder` (4) and `lowercase`. A value above 1 counts as 1; where NLTK fails for want of a " +
			"logarithm, it is 0. BLEU says little about one short sentence.",
		Example: "- bleu: {to: [\"The cat sat on the mat.\", \"A cat was sitting on the mat.\"], min: 0.4}",
		takes:   yaml.Either(bleuKeys().Shape(), nltkKeys().Shape()), compile: compileBLEU,
	}
}

var bleuKeys = sync.OnceValue(func() yaml.Block {
	return overlapKeys(
		yaml.Key{Name: "definition", Is: yaml.Word("sacrebleu")},
		yaml.Key{Name: "tokenize", Is: yaml.Word(sacrebleuTokenizers()...), Doc: "13a when not given."},
		yaml.Key{Name: "smoothing", Is: yaml.Word(sacrebleuSmoothings()...), Doc: "exp when not given."},
		yaml.Key{Name: "effectiveOrder", Is: yaml.Bool, Doc: "Texts of under four words count the runs they have; true when not given."},
		yaml.Key{Name: "lowercase", Is: yaml.Bool},
	)
})

func sacrebleuTokenizers() []string { return []string{"13a", "intl", "char", "zh", "none"} }

func sacrebleuSmoothings() []string { return []string{"exp", "floor", "add-k", "none"} }

func compileBLEU(a args) AnswerScorer {
	if a.Args.IsMapping() && a.Args.Map().Get("definition").Word("sacrebleu", "nltk") == "nltk" {
		return compileNLTKBLEU(a)
	}
	m := a.Args.Map(bleuKeys().Names()...)
	r, ok := a.overlapRule(m)
	b := textmetric.BLEU{
		Tokenize:  cmp.Or(m.Get("tokenize").Word(sacrebleuTokenizers()...), "13a"),
		Smoothing: cmp.Or(m.Get("smoothing").Word(sacrebleuSmoothings()...), "exp"),
		Effective: !m.Has("effectiveOrder") || m.Get("effectiveOrder").Bool(), Lowercase: m.Get("lowercase").Bool(),
	}
	if !ok {
		return nil
	}
	return againstAll(
		r, textmetric.BLEUOrder, b, fmt.Sprintf("BLEU (sacrebleu, tokenize %s, smoothing %s)", b.Tokenize, b.Smoothing),
	)
}

// bleuDefinition is a definition of BLEU: how it splits a text into words, and how it values shared ones.
type bleuDefinition interface {
	Units(s string) textmetric.Units
	Score(u textmetric.Units, shared []float64, refLen int) float64
}

// againstAll compares with all references together, with n-grams up to order.
func againstAll(r overlapTarget, order int, b bleuDefinition, what string) AnswerScorer {
	type indexed struct {
		refs   []textmetric.Units
		counts *textmetric.NgramCounts
	}
	index := func() indexed {
		refs := mapped(r.refs, b.Units)
		return indexed{refs, textmetric.NewNgramCounts(order, refs...)}
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

func nltkSmoothings() []string {
	return []string{"method0", "method1", "method2", "method3", "method4", "method5", "method6", "method7"}
}

var nltkKeys = sync.OnceValue(func() yaml.Block {
	return overlapKeys(
		yaml.Key{Name: "definition", Is: yaml.Word("nltk")},
		yaml.Key{Name: "smoothing", Is: yaml.Word(nltkSmoothings()...), Doc: "method0 (no smoothing) when not given."},
		yaml.Key{Name: "maxOrder", Is: yaml.Int(1, 9), Doc: "The longest run of words; 4 when not given."},
		yaml.Key{Name: "lowercase", Is: yaml.Bool},
	)
})

func compileNLTKBLEU(a args) AnswerScorer {
	m := a.Args.Map(nltkKeys().Names()...)
	r, ok := a.overlapRule(m)
	b := textmetric.NLTKBLEU{
		Order:     cmp.Or(m.Get("maxOrder").Int(1, 9), textmetric.BLEUOrder),
		Smoothing: cmp.Or(m.Get("smoothing").Word(nltkSmoothings()...), "method0"), Lowercase: m.Get("lowercase").Bool(),
	}
	if !ok {
		return nil
	}
	return againstAll(r, b.Order+1, b, fmt.Sprintf("BLEU (nltk, runs of 1 to %d words, smoothing %s)", b.Order, b.Smoothing))
}
