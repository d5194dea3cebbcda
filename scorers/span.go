package scorers

import (
	"math"
	"strconv"

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
func spanOf(m yaml.Map) span {
	var s span
	if v := m.Get("min"); !v.IsZero() {
		s.min = new(float64(v.Int(0, math.MaxInt32)))
	}
	if v := m.Get("max"); !v.IsZero() {
		s.max = new(float64(v.Int(0, math.MaxInt32)))
	}
	if s.min != nil && s.max != nil && *s.min > *s.max {
		m.Get("max").Errorf("swap them", "`max` is below `min`: nothing can pass")
	}
	return s
}

// boundsKeys are the keys of an integer range.
func boundsKeys() yaml.Block {
	return yaml.Block{
		Some: []string{"min", "max"},
		Keys: []yaml.Key{
			{Name: "min", Is: naturalNumber(), Doc: "The least number."},
			{Name: "max", Is: naturalNumber(), Doc: "The largest number."},
		},
	}
}

func naturalNumber() yaml.Shape { return yaml.Int(0, math.MaxInt32) }

func countBounds() yaml.Shape { return yaml.Either(naturalNumber(), boundsKeys().Shape()) }

// countOf reads the bounds of a count: a mapping, or just the maximum.
func countOf(a args) span {
	if !a.Args.IsMapping() {
		return span{max: new(float64(a.Args.Int(0, math.MaxInt32)))}
	}
	s := spanOf(a.Args.Map(boundsKeys().Names()...))
	if s.min == nil && s.max == nil {
		a.Args.Errorf("such as {max: 3}", "`%s` needs max or min", a.Kind)
	}
	return s
}
