package scorers

import (
	"fmt"
	"math"
	"sync"

	"github.com/evalrun/evalrun/internal/textmetric"
	"github.com/evalrun/evalrun/internal/yaml"
)

func levenshteinKind() Kind {
	return Kind{
		Name: "levenshtein", Summary: "the answer is within an edit distance of a text", Options: textOptions(),
		Version: 2,
		Doc: "Takes `to` (a text or several; the nearest counts) and `max`, the largest edit distance in Unicode code " +
			"points (after NFC). Instead of `max`, `ratio: 0.9` or a `threshold` next to the kind bounds the value: 1 - " +
			"distance / length of the longer text. `definition: indel` makes the value python-Levenshtein's `ratio`, in " +
			"which replacing a character costs 2 (default `length`). " +
			textOptionsDoc,
		Example: "- levenshtein: {to: Andorra la Vella, max: 2}", takes: levenshteinKeys().Shape(),
		compile: compileLevenshtein,
	}
}

var levenshteinKeys = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Need: []string{"to"},
		Keys: append([]yaml.Key{
			{Name: "to", Is: texts(), Doc: "A text to compare with, or several."},
			{Name: "max", Is: yaml.Int(0, maxEdit), Doc: "The largest distance that passes."},
			{Name: "ratio", Is: share(), Doc: "Instead of `max`: the least value that passes."},
			{Name: "definition", Is: yaml.Word("length", "indel"), Doc: "Of the ratio; length when not given."},
		}, textKeys().Keys...),
	}
})

func compileLevenshtein(a args) AnswerScorer {
	m := a.Args.Map(levenshteinKeys().Names()...)
	refs := a.references(m.Need("to"))
	rule := a.editRule(m)
	if len(refs) == 0 {
		return nil
	}
	e := a.edits(refs)
	e.least = rule.least
	return onText(e.fold, func(got, text string) Finding {
		if f, long := e.tooLong(text, "an edit distance", rule.mayPass); long {
			return f
		}
		switch {
		case rule.limit == nil && rule.indel:
			return e.each(got, func(i int) (float64, string) {
				return textmetric.IndelRatio(text, e.folded[i]), "ratio (indel: replacing costs 2)"
			})
		case rule.limit == nil && m.Has("ratio"):
			return e.each(got, func(i int) (float64, string) {
				d, v := textmetric.Distance(text, e.folded[i])
				return v, fmt.Sprintf("ratio (1 - distance %d / longer length)", d)
			})
		}
		return e.nearest(got, text, refs, rule.limit)
	})
}

// nearest compares with the reference at the least edit distance or, without a limit, the most similar one.
func (e *edits) nearest(got, text string, refs []string, limit *int) Finding {
	best := math.MaxInt
	value := 0.0
	which := 0
	for i, want := range e.folded {
		if d, v := textmetric.Distance(text, want); limit != nil && d < best || limit == nil && (i == 0 || v > value) {
			best, value, which = d, v, i
		}
	}
	of := quote(refs[which])
	if len(refs) > 1 {
		of = fmt.Sprintf("reference %d of %d, %s", which+1, len(refs), of)
	}
	if limit == nil {
		return Graded(value, true, "distance %d (similarity %.3f) from %s: %s", best, value, of, quote(got))
	}
	return Graded(value, best <= *limit, "distance %d from %s, at most %d: %s", best, of, *limit, quote(got))
}

// editRule reads the largest distance and the least ratio.
func (a args) editRule(m yaml.Map) editRule {
	r := editRule{least: math.Inf(-1), reach: a.entryThreshold()}
	if m.Has("max") {
		r.limit = new(m.Get("max").Int(0, maxEdit))
	}
	if m.Has("ratio") {
		r.least = m.Get("ratio").Float(0, 1)
		r.reach = r.least
	}
	if n := m.Get("definition"); !n.IsZero() {
		r.indel = n.Word("length", "indel") == "indel"
		if m.Has("max") {
			m.Key("definition").Errorf("keep one of them", "`definition` is of the ratio; `max` bounds the distance")
		}
	}
	a.checkEditRule(m)
	return r
}

// editRule says when texts are similar enough.
type editRule struct {
	limit *int    // largest distance; nil for none
	least float64 // least ratio
	reach float64 // least, or the threshold next to the kind
	indel bool
}

// mayPass reports whether texts of two lengths can be similar enough: the difference in length needs as many
// insertions.
func (r editRule) mayPass(a, b int) bool {
	longer := max(a, b)
	apart := longer - min(a, b)
	both := a + b
	switch {
	case r.limit != nil:
		return apart <= *r.limit
	case r.indel:
		return float64(both-apart) >= (r.reach-1e-12)*float64(both)
	}
	return float64(longer-apart) >= (r.reach-1e-12)*float64(longer)
}

// checkEditRule reports a scorer that has neither max nor ratio nor a threshold.
func (a args) checkEditRule(m yaml.Map) {
	given := ""
	for _, key := range []string{"ratio", "max"} {
		if m.Has(key) {
			given = key
		}
	}
	switch {
	case m.Has("max") && m.Has("ratio"):
		m.Key("ratio").Errorf("keep one of them", "`max` and `ratio` are two rules for one score")
	case given != "" && a.Threshold != nil:
		m.Key(given).Errorf("keep one of them", "`%s` and `threshold` are two rules for one score", given)
	case given == "" && m.IsMapping():
		a.needsEditRule()
	}
}

// needsEditRule reports a missing rule: a nested scorer has no threshold.
func (a args) needsEditRule() {
	switch {
	case a.nestedIn:
		a.Args.Errorf("such as {to: Paris, max: 2}", "`levenshtein` needs `max` or `ratio`")
	case a.Threshold == nil:
		a.Args.Errorf(
			"such as {to: Paris, max: 2}, {to: Paris, ratio: 0.9}, or `threshold: 0.9` next to it",
			"`levenshtein` needs `max`, `ratio` or a threshold",
		)
	}
}
