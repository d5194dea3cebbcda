package textmetric

import "strings"

// ChrF is sacreBLEU's sentence score chrF, with n-grams of up to Chars characters and Words words: Popović,
// "chrF: character n-gram F-score for automatic MT evaluation", 2015.
type ChrF struct {
	Chars, Words               int
	Beta                       float64
	Lowercase, Whitespace, Eps bool
}

// ChrFText is a text split for chrF.
type ChrFText struct {
	chars, words           Units
	charCounts, wordCounts *NgramCounts // set for a reference
}

// Cut splits an answer.
func (c ChrF) Cut(s string) ChrFText {
	if c.Lowercase {
		s = lower(s)
	}
	var t ChrFText
	if c.Words > 0 {
		t.words = WordUnits(chrFWords(s))
	}
	if !c.Whitespace {
		s = strings.Join(Fields(s), "")
	}
	t.chars = charUnits(s)
	return t
}

// Reference splits a reference and counts its n-grams.
func (c ChrF) Reference(s string) ChrFText {
	t := c.Cut(s)
	t.charCounts, t.wordCounts = NewNgramCounts(c.Chars, t.chars), NewNgramCounts(c.Words, t.words)
	return t
}

// chrFWords splits at white space. It also splits off one punctuation mark from the end of a word, or else
// from its beginning, as sacreBLEU does.
func chrFWords(s string) []string {
	const signs = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
	var out []string
	for _, w := range Fields(s) {
		last := len(w) - 1
		switch {
		case last > 0 && strings.IndexByte(signs, w[last]) >= 0:
			out = append(out, w[:last], w[last:])
		case last > 0 && strings.IndexByte(signs, w[0]) >= 0:
			out = append(out, w[:1], w[1:])
		default:
			out = append(out, w)
		}
	}
	return out
}

// ratios sums precision and recall over the n-gram orders.
type ratios struct {
	precision, recall, orders, f float64
}

// Score compares an answer with a reference: 0 to 1.
func (c ChrF) Score(got, ref ChrFText) float64 {
	var sum ratios
	c.add(&sum, got.chars, ref.chars, ref.charCounts)
	c.add(&sum, got.words, ref.words, ref.wordCounts)
	if c.Eps {
		return sum.f / float64(c.Chars+c.Words)
	}
	if sum.orders == 0 {
		return 0
	}
	return c.f(sum.precision/sum.orders, sum.recall/sum.orders)
}

func (c ChrF) f(precision, recall float64) float64 {
	if precision+recall == 0 {
		return 0
	}
	factor := c.Beta * c.Beta
	return (1 + factor) * precision * recall / (factor*precision + recall)
}

// add adds the n-grams of one kind of units.
func (c ChrF) add(sum *ratios, got, ref Units, counts *NgramCounts) {
	const eps = 1e-16
	for n, shared := range counts.Shared(got) {
		mine, theirs := float64(got.Runs(n+1)), float64(ref.Runs(n+1))
		if theirs == 0 {
			mine = 0 // the reference is too short for such n-grams
		}
		precision, recall := eps, eps
		if mine > 0 {
			precision = shared / mine
		}
		if theirs > 0 {
			recall = shared / theirs
		}
		sum.f += c.f(precision, recall)
		if mine > 0 && theirs > 0 {
			sum.precision += precision
			sum.recall += recall
			sum.orders++
		}
	}
}
