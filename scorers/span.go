package scorers

import (
	"math"
	"strconv"
	"sync"

	"github.com/evalrun/evalrun/internal/yaml"
)

// span is a range of numbers with either end open.
type span struct{ min, max *float64 }

func (s span) holds(v float64) bool {
	return (s.min == nil || v >= *s.min) && (s.max == nil || v <= *s.max)
}

func (s span) String() string {
	show := func(v *float64) string { return strconv.FormatFloat(*v, 'f', -1, 64) }
	switch {
	case s.min == nil && s.max == nil:
		return "any number"
	case s.min == nil:
		return "at most " + show(s.max)
	case s.max == nil:
		return "at least " + show(s.min)
	case *s.min == *s.max:
		return "exactly " + show(s.min)
	}
	return show(s.min) + " to " + show(s.max)
}

// spanOf reads min and max of a mapping.
func spanOf(m yaml.Map, read func(yaml.Node) float64) span {
	var s span
	if v := m.Get("min"); !v.IsZero() {
		s.min = new(read(v))
	}
	if v := m.Get("max"); !v.IsZero() {
		s.max = new(read(v))
	}
	if s.min != nil && s.max != nil && *s.min > *s.max {
		m.Get("max").Errorf("swap them", "`max` is below `min`: nothing can pass")
	}
	return s
}

func natural(n yaml.Node) float64 { return float64(n.Int(0, math.MaxInt32)) }

// bounds reads a span, either as a mapping with these keys or as its largest number. such is an example for a mapping without ends.
func (a args) bounds(keys yaml.Block, such string, read func(yaml.Node) float64) (m yaml.Map, s span) {
	if !a.Args.IsMapping() {
		return m, span{max: new(read(a.Args))}
	}
	m = a.Args.Map(keys.Names()...)
	if s = spanOf(m, read); s.min == nil && s.max == nil {
		a.Args.Errorf("such as "+such, "`%s` needs max or min", a.Kind)
	}
	return m, s
}

var boundsKeys = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Name: "bounds",
		Some: []string{"min", "max"},
		Keys: []yaml.Key{
			{Name: "min", Is: naturalNumber(), Doc: "The least number."},
			{Name: "max", Is: naturalNumber(), Doc: "The largest number."},
		},
	}
})

func naturalNumber() yaml.Shape { return yaml.Int(0, math.MaxInt32) }

func countBounds() yaml.Shape { return yaml.Either(naturalNumber(), boundsKeys().Shape()) }

func countOf(a args) span {
	_, s := a.bounds(boundsKeys(), "{max: 3}", natural)
	return s
}
