package scorers

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/evalrun/evalrun/internal/shape"
	"github.com/evalrun/evalrun/internal/yamlnode"
)

const (
	// maxReferences bounds the references of one scorer, in bytes: what is indexed of them stays in memory.
	maxReferences = 256 << 10
	// maxCompared bounds the bytes of an answer times its references.
	maxCompared = 2 << 20
)

const referencesDoc = "Takes `to`, a text or several of which the best counts (the reason says which), and `min`, the least value from 0 to 1; instead of `min` a `threshold` beside the kind may " +
	"say from which value it passes. "

const boundsDoc = "The references may have 256 kB in all; an answer of more than 2 MB, times the number of references, is unscored."

func overlapKinds() []Kind {
	return []Kind{
		{
			Name: "rouge", Summary: "the answer shares words with a text (ROUGE)",
			Doc: referencesDoc + "`type` is 1 (words; the default), 2, 3 or 4 (runs of so many words), L (longest common subsequence) or Lsum (the same, line by line); `measure` is f (default), precision or recall. " +
				"`definition: unicode` (default) finds words by the Unicode standard (UAX #29), in any script, case folded; Chinese, Japanese and Thai count mostly by character. `definition: rouge-score` does " +
				"as Python's rouge-score: words of a-z and 0-9 only, so that a text in another script scores 0; `stem: true` then cuts English endings (Porter). ROUGE sees words, not meaning: " +
				"a wrong number costs one word. " + boundsDoc,
			Example: "- rouge: {to: \"The old bridge was closed at dawn.\", type: L, min: 0.6}", takes: rougeKeys.Shape(), compile: compileRouge,
		},
		{
			Name: "bleu", Summary: "the answer shares runs of words with a translation (BLEU)",
			Doc: "Takes `to`, a text or several that are right (a run of words counts when one of them has it), and `min`, the least value from 0 to 1; instead of `min` a `threshold` beside the kind may say from which " +
				"value it passes. The value is sacreBLEU's sentence score divided by 100: `tokenize: 13a | intl | char | zh | none` (default 13a), `smoothing: exp | floor | add-k | none` (default exp), " +
				"`effectiveOrder: true` (texts of under four words count the runs they have), `lowercase: false`. Nothing is normalized: a letter with a combining mark differs from the same in one " +
				"code point. `definition: nltk` is NLTK's sentence_bleu over words between white space: `smoothing: method0` to `method7` (default method0, none), runs of 1 to `maxOrder` (4) words, all with the same weight, `lowercase`; what NLTK " +
				"gives above 1 (method5 and method7 do) counts as 1, and where it fails for want of a logarithm the value is 0. BLEU is made for whole corpora, and says little about one short sentence. " + boundsDoc,
			Example: "- bleu: {to: [\"The cat sat on the mat.\", \"A cat was sitting on the mat.\"], min: 0.4}", takes: shape.Either(bleuKeys.Shape(), nltkKeys.Shape()), compile: compileBLEU,
		},
		{
			Name: "chrf", Summary: "the answer shares runs of characters with a translation (chrF, chrF++)",
			Doc: referencesDoc + "The value is sacreBLEU's sentence chrF divided by 100: `charOrder` (6), `wordOrder` (0; 2 is chrF++), `beta` (2: recall counts twice as much), `lowercase: false`, `whitespace: false`, " +
				"`epsSmoothing: false`. Works in every script; nothing is normalized. " + boundsDoc,
			Example: "- chrf: {to: \"Die Katze saß auf der Matte.\", min: 0.5}", takes: chrfKeys.Shape(), compile: compileChrF,
		},
		{
			Name: "gleu", Summary: "the answer shares runs of words with a text, in both directions (GLEU)",
			Doc: referencesDoc + "The value is that of NLTK's sentence_gleu over words between white space: shared runs of 1 to `maxOrder` (4) words divided by those of the longer text. Upper and lower case differ and " +
				"punctuation belongs to its word. " + boundsDoc,
			Example: "- gleu: {to: \"The cat sat on the mat.\", min: 0.4}", takes: gleuKeys.Shape(), compile: compileGLEU,
		},
		{
			Name: "jaroWinkler", Summary: "the answer is spelled nearly like a text: for names and short texts", Options: textOptions,
			Doc: referencesDoc + "The value is the Jaro similarity in Unicode code points, raised by 0.1 for each of the first 4 code points that agree, as Winkler's. Texts of more than 20,000 characters are unscored. " +
				textOptionsDoc,
			Example: "- jaroWinkler: {to: Reykjavik, min: 0.9}\n  ignoreCase: true", takes: jaroWinklerKeys.Shape(), compile: compileJaroWinkler,
		},
		{
			Name: "tokenF1", Summary: "the answer shares words with a short right answer (SQuAD F1)",
			Doc: referencesDoc + "Both sides are normalized as SQuAD's official script does: lower case, no ASCII punctuation, no a, an, the, split at white space; the value is F1 over the words, whatever their order. " +
				"It is made for English; a text without spaces is one word. " + boundsDoc,
			Example: "- tokenF1: {to: [Andorra la Vella, the city of Andorra la Vella], min: 0.7}", takes: overlapKeys().Shape(), compile: compileTokenF1,
		},
		{
			Name: "exactMatch", Summary: "the answer is a right answer but for case, punctuation and articles (SQuAD)",
			Doc: "Takes a text or a list of texts. Both sides are normalized as SQuAD's official script does: lower case, no ASCII punctuation, no a, an, the, white space as one space. Passes when the whole answer is " +
				"one of them. Made for English: `Vitamin A` matches `vitamin`.",
			Example: "- exactMatch: [the Eiffel Tower, La tour Eiffel]", takes: texts, compile: compileExactMatch,
		},
	}
}

var share = shape.Number(0, 1)

// overlapKeys are the keys of every overlap, and more.
func overlapKeys(more ...shape.Key) shape.Block {
	return shape.Block{Need: []string{"to"}, Keys: append([]shape.Key{
		{Name: "to", Is: texts, Doc: "A text to compare with, or several."},
		{Name: "min", Is: share, Doc: "The least value that passes; or write `threshold` beside the kind."},
	}, more...)}
}

// rule is how an overlap is judged: the texts to compare with and the value to reach.
type rule struct {
	refs  []string
	least float64 // -Inf when a threshold beside the kind decides
}

// overlapRule reads `to` and `min`. With mistakes the second is false.
func (a args) overlapRule(m yamlnode.Map) (rule, bool) {
	if !m.IsMapping() {
		return rule{}, false
	}
	r := rule{refs: a.references(m.Need("to")), least: a.least(m, 0)}
	return r, len(r.refs) > 0
}

// references are the texts of a node, none of them blank.
func (a args) references(n yamlnode.Node) []string {
	var out []string
	size := 0
	for _, item := range n.Items() {
		text := textOf(item)
		switch {
		case strings.TrimSpace(text) != "":
			out = append(out, text)
			size += len(text)
		case item.IsScalar() && !item.IsNull():
			item.Errorf("", "an empty text shares nothing with any answer")
		}
	}
	if n.IsSequence() && len(n.Items()) == 0 {
		n.Errorf("", "`%s` needs at least one text", a.Kind)
	}
	if size > maxReferences {
		n.Errorf("", "the references have %d bytes, `%s` takes at most %d", size, a.Kind, maxReferences)
		return nil
	}
	return out
}

// least reads `min`: -Inf when a threshold stands beside the kind instead.
func (a args) least(m yamlnode.Map, lo float64) float64 {
	switch {
	case m.Has("min") && a.Threshold != nil:
		m.Key("min").Errorf("keep one of them", "`min` and `threshold` are two rules for one score")
	case m.Has("min"):
		return m.Get("min").Float(lo, 1)
	case a.nestedIn:
		a.Args.Errorf("such as {to: ..., min: 0.8}", "`%s` needs `min`", a.Kind)
	case a.Threshold == nil:
		a.Args.Errorf("such as {to: ..., min: 0.8}, or `threshold: 0.8` beside it", "`%s` needs `min` or a threshold", a.Kind)
	}
	return math.Inf(-1)
}

// tooLong is the finding for an answer that would take too long to compare.
func (r rule) tooLong(got string) (Finding, bool) {
	if len(got)*len(r.refs) <= maxCompared {
		return Finding{}, false
	}
	return unscored("an answer of %d bytes is too long to compare with %s; at most %d bytes", len(got), plural(len(r.refs), "reference"), maxCompared/len(r.refs)), true
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// each compares the answer with every reference; the best counts.
func (r rule) each(got string, compare func(i int) (value float64, what string)) Finding {
	best, which, told := -1.0, 0, ""
	for i := range r.refs {
		if v, what := compare(i); v > best {
			best, which, told = v, i, what
		}
	}
	return r.judge(best, told, r.against(which), got)
}

func (r rule) against(which int) string {
	if len(r.refs) == 1 {
		return "to " + quote(r.refs[which])
	}
	return fmt.Sprintf("to reference %d of %d, %s", which+1, len(r.refs), quote(r.refs[which]))
}

// judge makes the finding: `what` names the measure and its definition, `against` the reference.
func (r rule) judge(value float64, what, against, got string) Finding {
	value = max(0, min(1, value))
	bound := ""
	if !math.IsInf(r.least, 0) {
		bound = fmt.Sprintf(", at least %g is expected", r.least)
	}
	name, detail, _ := strings.Cut(what, " (")
	if detail != "" {
		detail = " (" + detail
	}
	return graded(value, value >= r.least-1e-12, "%s %s%s %s%s: %s", name, near(value, r.least), detail, against, bound, quote(got))
}

// near shows a value with three decimals, or with as many as tell it from the bound.
func near(value, bound float64) string {
	if short := strconv.FormatFloat(value, 'f', 3, 64); math.Abs(value-bound) >= 5e-4 || value == bound {
		return short
	}
	return strconv.FormatFloat(value, 'g', -1, 64)
}
