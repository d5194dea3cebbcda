package scorers

import (
	"cmp"
	"fmt"
	"strings"
	"sync"

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

var chrfKeys = sync.OnceValue(func() yaml.Block {
	return overlapKeys(
		yaml.Key{Name: "charOrder", Is: yaml.Int(1, 9), Doc: "The longest run of characters; 6 when not given."},
		yaml.Key{Name: "wordOrder", Is: yaml.Int(0, 4), Doc: "The longest run of words: 0 when not given; 2 is chrF++."},
		yaml.Key{Name: "beta", Is: yaml.Number(0.1, 10), Doc: "How much more recall counts than precision; 2 when not given."},
		yaml.Key{Name: "lowercase", Is: yaml.Bool},
		yaml.Key{Name: "whitespace", Is: yaml.Bool, Doc: "Whether white space counts."},
		yaml.Key{Name: "epsSmoothing", Is: yaml.Bool},
	)
})

func compileChrF(a args) AnswerScorer {
	m := a.Args.Map(chrfKeys().Names()...)
	r, ok := a.overlapRule(m)
	c := textmetric.ChrF{
		Chars: cmp.Or(m.Get("charOrder").Int(1, 9), 6), Words: m.Get("wordOrder").Int(0, 4), Beta: cmp.Or(m.Get("beta").Float(0.1, 10), 2),
		Lowercase: m.Get("lowercase").Bool(), Whitespace: m.Get("whitespace").Bool(), Eps: m.Get("epsSmoothing").Bool(),
	}
	if !ok {
		return nil
	}
	index := func() []textmetric.ChrFText { return mapped(r.refs, c.Reference) }
	what := fmt.Sprintf("chrF%s (sacrebleu, characters %d, words %d, beta %g)", strings.Repeat("+", c.Words), c.Chars, c.Words, c.Beta)
	return compileOverlap(r, index, func(refs []textmetric.ChrFText, got string) Finding {
		t := c.Cut(got)
		return r.each(got, func(i int) (float64, string) { return c.Score(t, refs[i]), what })
	})
}
