package scorers

import (
	"fmt"
	"strings"

	"github.com/evalrun/evalrun/internal/textmetric"
	"github.com/evalrun/evalrun/internal/yaml"
)

func chrfKind() Kind {
	return Kind{
		Name: "chrf", Summary: "the answer shares runs of characters with a translation (chrF, chrF++)",
		Doc: referencesDoc + "The value is sacreBLEU's sentence chrF divided by 100, in any script, without Unicode normalization: " +
			"`charOrder` (6), `wordOrder` (0; 2 is chrF++), `beta` (2: recall counts twice as much), `lowercase: false`, " +
			"`whitespace: false`, `epsSmoothing: false`.",
		Example: "- chrf: {to: \"Die Katze saß auf der Matte.\", min: 0.5}", takes: chrfKeys().Shape(), compile: compileChrF,
	}
}

func chrfKeys() yaml.Block {
	return overlapKeys(
		yaml.Key{Name: "charOrder", Is: yaml.Int(1, 9), Doc: "The longest run of characters; 6 when not given."},
		yaml.Key{Name: "wordOrder", Is: yaml.Int(0, 4), Doc: "The longest run of words: 0 when not given; 2 is chrF++."},
		yaml.Key{Name: "beta", Is: yaml.Number(0.1, 10), Doc: "How much more recall counts than precision; 2 when not given."},
		yaml.Key{Name: "lowercase", Is: yaml.Bool},
		yaml.Key{Name: "whitespace", Is: yaml.Bool, Doc: "Whether white space counts."},
		yaml.Key{Name: "epsSmoothing", Is: yaml.Bool},
	)
}

func compileChrF(a args) AnswerScorer {
	m := a.Args.Map(chrfKeys().Names()...)
	r, ok := a.overlapRule(m)
	c := textmetric.ChrF{
		Chars: 6, Beta: 2, Lowercase: m.Get("lowercase").Bool(),
		Whitespace: m.Get("whitespace").Bool(), Eps: m.Get("epsSmoothing").Bool(),
	}
	if n := m.Get("charOrder"); !n.IsZero() {
		c.Chars = n.Int(1, 9)
	}
	if n := m.Get("wordOrder"); !n.IsZero() {
		c.Words = n.Int(0, 4)
	}
	if n := m.Get("beta"); !n.IsZero() {
		c.Beta = n.Float(0.1, 10)
	}
	if !ok {
		return nil
	}
	index := func() []textmetric.ChrFText { return mapped(r.refs, c.Reference) }
	name := "chrF"
	if c.Words > 0 {
		name += strings.Repeat("+", c.Words)
	}
	what := fmt.Sprintf("%s (sacrebleu, characters %d, words %d, beta %g)", name, c.Chars, c.Words, c.Beta)
	return compileOverlap(r, index, func(refs []textmetric.ChrFText, got string) Finding {
		t := c.Cut(got)
		return r.each(got, func(i int) (float64, string) { return c.Score(t, refs[i]), what })
	})
}
