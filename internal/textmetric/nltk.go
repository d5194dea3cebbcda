package textmetric

import (
	"cmp"
	"math"
	"slices"
)

// NLTKBLEU is NLTK's sentence_bleu (nltk.translate.bleu_score, version 3.8) with its smoothing methods, after Chen and Cherry, "A
// Systematic Comparison of Smoothing Techniques for Sentence-Level BLEU", 2014.
type NLTKBLEU struct {
	Order     int
	Smoothing string
	Lowercase bool
}

// Units splits a text into words.
func (b NLTKBLEU) Units(s string) Units {
	if b.Lowercase {
		s = lower(s)
	}
	return WordUnits(Fields(s))
}

// Score returns the geometric mean of the smoothed precisions times the brevity penalty. shared has one
// more order, which method5 uses.
func (b NLTKBLEU) Score(u Units, shared []float64, refLen int) float64 {
	if shared[0] == 0 { // also an answer without words
		return 0
	}
	p := make([]precision, len(shared))
	for i, right := range shared {
		p[i] = precision{right, float64(max(1, u.Runs(i+1)))}
	}
	sum := 0.0
	for _, v := range b.smooth(p, u) {
		sum += math.Log(v) / float64(b.Order)
	}
	return min(1, math.Exp(1-float64(refLen)/float64(u.Len()))) * math.Exp(sum)
}

// precision is the share of right n-grams of one length.
type precision struct{ right, all float64 }

func (p precision) value() float64 { return p.right / p.all }

// smallest is Python's sys.float_info.min, which method0 uses instead of zero.
const smallest = 0x1p-1022

// smooth returns the precisions of the orders 1 to b.Order; p has one more.
func (b NLTKBLEU) smooth(p []precision, u Units) []float64 {
	plain := mapPrecisions(p[:b.Order], precision.value)
	switch b.Smoothing {
	case "method1":
		return mapPrecisions(p[:b.Order], func(p precision) float64 {
			p.right = cmp.Or(p.right, 0.1)
			return p.value()
		})
	case "method2":
		rest := mapPrecisions(p[1:b.Order], func(p precision) float64 { return (p.right + 1) / (p.all + 1) })
		return append(plain[:1], rest...)
	case "method3":
		halved := 1.0
		return mapPrecisions(p[:b.Order], func(p precision) float64 {
			if p.right == 0 {
				halved *= 2
				p.right = 1 / halved
			}
			return p.value()
		})
	case "method4":
		return b.shortened(p, u)
	case "method5":
		return neighboured(plain, p[b.Order].value())
	case "method6":
		return interpolated(p[:b.Order], u)
	case "method7":
		return neighboured(b.shortened(p, u), p[b.Order].value())
	}
	return mapPrecisions(p[:b.Order], func(p precision) float64 { return max(p.value(), smallest) })
}

func mapPrecisions(p []precision, f func(precision) float64) []float64 {
	out := make([]float64, len(p))
	for i := range p {
		out[i] = f(p[i])
	}
	return out
}

// shortened is method4: method3 with a lower replacement for short answers. K is 5.
func (b NLTKBLEU) shortened(p []precision, u Units) []float64 {
	halved := 1.0
	return mapPrecisions(p[:b.Order], func(p precision) float64 {
		if p.right == 0 && u.Len() > 1 {
			halved *= 2
			p.right = 1 / (halved * 5 / math.Log(float64(u.Len())))
		}
		return p.value()
	})
}

// neighboured is method5: each precision becomes the mean of itself, the next order's, and the smoothed one
// of the order before.
func neighboured(p []float64, next float64) []float64 {
	p = append(slices.Clone(p), next)
	before := p[0] + 1
	for i := range len(p) - 1 {
		p[i] = (before + p[i] + p[i+1]) / 3
		before = p[i]
	}
	return p[:len(p)-1]
}

// interpolated is method6: from the third order on, it mixes in what the two orders before predict. alpha
// is 5.
func interpolated(p []precision, u Units) []float64 {
	out := mapPrecisions(p, precision.value)
	for i := 2; i < len(out); i++ {
		expected := 0.0
		if out[i-2] != 0 {
			expected = out[i-1] * out[i-1] / out[i-2]
		}
		out[i] = (p[i].right + 5*expected) / (float64(u.Runs(i+1)) + 5)
	}
	return out
}
