package scorers

import (
	"cmp"
	"fmt"
	"sync"

	"github.com/evalrun/evalrun/internal/textmetric"
	"github.com/evalrun/evalrun/internal/yaml"
)

func rougeKind() Kind {
	return Kind{
		Name: "rouge", Summary: "the answer shares words with a text (ROUGE)",
		Doc: referencesDoc + "`type` is 1 (words; the default), 2, 3 or 4 (runs of N words), L (longest common subsequence) or Lsum (L " +
			"line by line). `measure` is f (default), precision or recall.\n\n" +
			"`definition: unicode` (default) finds words by the Unicode standard (UAX #29), in any script, case folded; " +
			"Chinese, Japanese and Thai count mostly by character. `definition: rouge-score` does as Python's " +
			"rouge-score: words of a-z and 0-9 only, so a text in another script scores 0; `stem: true` then cuts " +
			"English endings (Porter).",
		Example: "- rouge: {to: \"The old bridge was closed at dawn.\", type: L, min: 0.6}", takes: rougeKeys().Shape(), compile: compileRouge,
	}
}

func rougeTypes() []string { return []string{"1", "2", "3", "4", "L", "Lsum"} }

func rougeMeasures() []string { return []string{"f", "precision", "recall"} }

func rougeDefinitions() []string { return []string{"unicode", "rouge-score"} }

var rougeKeys = sync.OnceValue(func() yaml.Block {
	return overlapKeys(
		yaml.Key{
			Name: "type",
			Is:   yaml.Word(rougeTypes()...),
			Doc: "Runs of N words, L for the longest common subsequence, Lsum for that line by line; 1 when not " +
				"given.",
		},
		yaml.Key{Name: "measure", Is: yaml.Word(rougeMeasures()...), Doc: "f when not given."},
		yaml.Key{
			Name: "definition",
			Is:   yaml.Word(rougeDefinitions()...),
			Doc:  "What a word is: of any script (unicode, the default), or of a-z and 0-9.",
		},
		yaml.Key{Name: "stem", Is: yaml.Bool, Doc: "With `definition: rouge-score`: cuts English endings."},
	)
})

func compileRouge(a args) AnswerScorer {
	m := a.Args.Map(rougeKeys().Names()...)
	r, ok := a.overlapRule(m)
	g := rougeOf(m)
	if !ok || g.Kind == "" || g.Definition == "" {
		return nil
	}
	for _, n := range m.Get("to").Items() {
		checkWords(g, n)
	}
	return compileOverlap(
		r,
		func() []textmetric.RougeText { return mapped(r.refs, g.Reference) },
		func(refs []textmetric.RougeText, got string) Finding {
			text := g.Cut(got)
			if words, long := g.TooLong(text, refs); long {
				return Unscored("%d words are too many for ROUGE-%s against %d", text.Len(), g.Kind, words)
			}
			return r.each(got, func(i int) (float64, string) {
				s := g.Compare(text, refs[i])
				return g.Value(s), fmt.Sprintf("ROUGE-%s %s (%s words; %s)", g.Kind, g.Measure, g.Definition, s)
			})
		},
	)
}

func rougeOf(m yaml.Map) textmetric.Rouge {
	g := textmetric.Rouge{
		Kind:    cmp.Or(m.Get("type").Word(rougeTypes()...), "1"),
		Measure: cmp.Or(m.Get("measure").Word(rougeMeasures()...), "f"), Stem: m.Get("stem").Bool(),
		Definition: cmp.Or(m.Get("definition").Word(rougeDefinitions()...), "unicode"),
	}
	if g.Stem && g.Definition == "unicode" {
		m.Key("stem").Errorf("write `definition: rouge-score` next to it", "`stem` cuts English endings only")
	}
	return g
}

func checkWords(g textmetric.Rouge, n yaml.Node) {
	if len(g.Split(textOf(n))) > 0 {
		return
	}
	if g.Definition == "unicode" {
		n.Errorf("write the words that a good answer has", "there is no word in this text: every answer would score 0")
		return
	}
	n.Warnf("leave `definition` away for texts in every script", "rouge-score finds no word of a-z and 0-9 in this text: every answer "+
		"scores 0")
}
