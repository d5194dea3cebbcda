package scorers

import (
	"sync"

	"github.com/evalrun/evalrun/internal/textmetric"
	"github.com/evalrun/evalrun/internal/yaml"
)

func jaroWinklerKind() Kind {
	return Kind{
		Name: "jaroWinkler", Summary: "the answer is spelled nearly like a text: for names and short texts", Options: textOptions(),
		Version: 2,
		Doc: referencesDoc + "The value is the Jaro similarity in Unicode code points, raised by 0.1 for each of the first 4 code points " +
			"that agree, as Winkler's. " +
			textOptionsDoc,
		Example: "- jaroWinkler: {to: Reykjavik, min: 0.9}\n  ignoreCase: true", takes: jaroWinklerKeys().Shape(), compile: compileJaroWinkler,
	}
}

var jaroWinklerKeys = sync.OnceValue(func() yaml.Block { return overlapKeys(textKeys().Keys...) })

func compileJaroWinkler(a args) AnswerScorer {
	m := a.Args.Map(jaroWinklerKeys().Names()...)
	r, ok := a.overlapRule(m)
	if !ok {
		return nil
	}
	e := a.edits(r.refs)
	e.least = r.least
	reach := max(r.least, a.entryThreshold())
	mayPass := func(a, b int) bool { return mostJaroWinkler(a, b) >= reach-1e-12 }
	refs := mapped(e.folded, func(s string) []rune { return []rune(s) })
	return onText(e.fold, func(got, text string) Finding {
		if f, long := e.tooLong(text, "a Jaro-Winkler similarity", mayPass); long {
			return f
		}
		runes := []rune(text)
		return e.each(got, func(i int) (float64, string) {
			return textmetric.JaroWinkler(runes, refs[i]), "Jaro-Winkler (prefix 4 by 0.1)"
		})
	})
}

// mostJaroWinkler is the largest similarity of texts with two lengths: the whole shorter text matches, and the
// first four code points agree.
func mostJaroWinkler(a, b int) float64 {
	jaro := (2 + float64(min(a, b))/float64(max(a, b, 1))) / 3
	return jaro + 0.4*(1-jaro)
}
