package scorers

import (
	"fmt"

	"github.com/evalrun/evalrun/internal/shape"
	"github.com/evalrun/evalrun/internal/textmetric"
)

func nltkSmoothings() []string {
	return []string{"method0", "method1", "method2", "method3", "method4", "method5", "method6", "method7"}
}

func nltkKeys() shape.Block {
	return overlapKeys(
		shape.Key{Name: "definition", Is: shape.Word("nltk")},
		shape.Key{Name: "smoothing", Is: shape.Word(nltkSmoothings()...), Doc: "method0 (no smoothing) when not given."},
		shape.Key{Name: "maxOrder", Is: shape.Int(1, 9), Doc: "The longest run of words; 4 when not given."},
		shape.Key{Name: "lowercase", Is: shape.Bool},
	)
}

func compileNLTKBLEU(a args) Scorer {
	m := a.Args.Map(nltkKeys().Names()...)
	r, ok := a.overlapRule(m)
	b := textmetric.NLTKBLEU{Order: textmetric.BLEUOrder, Smoothing: "method0", Lowercase: m.Get("lowercase").Bool()}
	if n := m.Get("smoothing"); !n.IsZero() {
		b.Smoothing = n.Word(nltkSmoothings()...)
	}
	if n := m.Get("maxOrder"); !n.IsZero() {
		b.Order = n.Int(1, 9)
	}
	if !ok {
		return nil
	}
	return againstAll(r, b.Order+1, b, fmt.Sprintf("BLEU (nltk, runs of 1 to %d words, smoothing %s)", b.Order, b.Smoothing))
}
