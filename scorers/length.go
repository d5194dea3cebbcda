package scorers

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/evalrun/evalrun/internal/yaml"
)

func lengthKind() Kind {
	return Kind{
		Name: "length", Summary: "the answer has a number of characters, words or lines",
		Version: 2,
		Doc: "Takes `{min, max}` with `unit: characters | words | lines` (default characters), or several at once, such as `{words: " +
			"{max: 5}, lines: {max: 1}}`. Characters are Unicode code points after NFC, invisible ones too. Words are separated by " +
			"white space. A line break at the very end begins no line.",
		Example: "- length: {words: {max: 1}}", takes: lengthKeys().Shape(), compile: compileLength,
		Options: []string{"trim", "normalize"},
	}
}

func lengthUnits() []string { return []string{"characters", "words", "lines"} }

func compileLength(a args) AnswerScorer {
	spans := a.lengthSpans()
	f := fold{trim: a.option("trim").Bool(), normalize: a.fold().normalize}
	return onText(f, func(_, text string) Finding {
		var counts []string
		passed := true
		for _, unit := range lengthUnits() {
			s, ok := spans[unit]
			if !ok {
				continue
			}
			n := count(unit, text)
			noun := strings.TrimSuffix(unit, "s")
			if n != 1 {
				noun = unit
			}
			if s.holds(float64(n)) {
				counts = append(counts, fmt.Sprintf("%d %s", n, noun))
			} else {
				counts = append(counts, fmt.Sprintf("%d %s, expected %s", n, noun, s))
				passed = false
			}
		}
		if passed {
			return Pass("the answer has %s", strings.Join(counts, "; "))
		}
		return Fail("the answer has %s", strings.Join(counts, "; "))
	})
}

var lengthKeys = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Some: append([]string{"min", "max"}, lengthUnits()...),
		Keys: append([]yaml.Key{
			{Name: "characters", Is: lengthOf()},
			{Name: "words", Is: lengthOf()},
			{Name: "lines", Is: lengthOf()},
			{Name: "unit", Is: yaml.Word(lengthUnits()...), Doc: "What `min` and `max` count; characters when not given."},
		}, slices.Concat(boundsKeys().Keys, textKeys().Only("trim", "normalize").Keys)...),
	}
})

func lengthOf() yaml.Shape { return yaml.Either(naturalNumber(), boundsKeys().Shape()) }

func (a args) lengthSpans() map[string]span {
	keys := lengthKeys().Names()
	m := a.Args.Map(keys...)
	spans := map[string]span{}
	for _, unit := range lengthUnits() {
		if v := m.Get(unit); !v.IsZero() {
			spans[unit] = unitSpan(v, unit)
		}
	}
	if m.Has("min") || m.Has("max") {
		unit := cmp.Or(m.Get("unit").Word(lengthUnits()...), "characters")
		if _, twice := spans[unit]; twice {
			bound := m.Key("min")
			if !m.Has("min") {
				bound = m.Key("max")
			}
			m.Key(unit).Errorf(
				"keep one of them",
				"the bounds of %s are given twice: also `%s` %s", unit, bound.Str(), bound.Pos().SeenFrom(m.Key(unit).Pos()),
			)
		}
		spans[unit] = spanOf(m, natural)
	}
	unknown := slices.ContainsFunc(slices.Collect(m.Entries()), func(e yaml.Entry) bool { return !slices.Contains(keys, e.Name()) })
	if m.IsMapping() && len(spans) == 0 && !unknown {
		a.Args.Errorf("such as {words: {max: 5}}", "`length` needs min, max or both")
	}
	return spans
}

// unitSpan reads the bounds of a unit, or its exact number.
func unitSpan(n yaml.Node, unit string) span {
	if n.IsNumber() {
		exact := float64(n.Int(0, math.MaxInt32))
		return span{&exact, &exact}
	}
	m := n.Map(boundsKeys().Names()...)
	if m.IsMapping() && m.Len() == 0 {
		n.Errorf("such as {max: 5}", "`%s` needs min, max or both", unit)
	}
	return spanOf(m, natural)
}

func count(unit, text string) int {
	switch unit {
	case "words":
		return len(strings.Fields(text))
	case "lines":
		text = strings.ReplaceAll(text, "\r\n", "\n")
		return 1 + strings.Count(strings.TrimSuffix(text, "\n"), "\n")
	}
	return utf8.RuneCountInString(text)
}
