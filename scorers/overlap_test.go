package scorers_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

func quotedList(texts []string) string {
	out := make([]string, len(texts))
	for i, s := range texts {
		out[i] = quoted(s)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

func problemsOf(entry string) string {
	_, diags := loaded(strings.Replace(plainText(entry), "{name: t, model: m}", streamed, 1))
	if err := diags.Err(); err != nil {
		return err.Error()
	}
	return ""
}

// overlap is an answer that a scorer compares with references.
type overlap struct {
	kind, options, answer string
	refs                  []string
}

// agree compares a value with a vector's. A reference without text is refused when it is loaded, an answer without
// text has value 0 and fails.
func (o overlap) agree(t *testing.T, want, tolerance float64) {
	t.Helper()
	entry := fmt.Sprintf("- {%s: {to: %s%s}, threshold: 0}", o.kind, quotedList(o.refs), o.options)
	if slices.Contains(o.refs, "") {
		if want != 0 || !strings.Contains(problemsOf(entry), "an empty text shares nothing") {
			t.Errorf("%s: %s, want 0, and that an empty text shares nothing", entry, problemsOf(entry))
		}
		return
	}
	got := score(t, entry, answer(o.answer))
	if !isScored(got) || math.Abs(valueOf(got)-want) > tolerance || got.Passed() != (o.answer != "") {
		t.Errorf("%s\n%q: %+v, value %v, want %v", entry, o.answer, got.Reason, got.Grade, want)
	}
}

type overlapCase struct {
	ID                    string
	Hypothesis, Reference string
	References            []string
	BLEU, ChrF            map[string]float64
	Metric                string
	Stem                  bool
	Tolerance             float64
}

type nltkCase struct {
	Answer []string           `json:"hypothesis_tokens"`
	Refs   [][]string         `json:"reference_tokens"`
	Expect map[string]float64 `json:"expect"`
}

func (c nltkCase) references() []string {
	var refs []string
	for _, r := range c.Refs {
		refs = append(refs, strings.Join(r, " "))
	}
	return refs
}

// What the reference values leave out: method6, computed by the formula; one word; a case that NLTK fails at.
func TestNLTKBLEUFollowsItsFormulaBeyondVectors(t *testing.T) {
	t.Parallel()
	const trigrams = (1 + 5*(.5*.5/.8)) / (3 + 5) // one of three, and what words and pairs let expect
	for _, c := range []struct {
		options, answer, ref string
		want                 float64
	}{
		{", smoothing: method6", "a b c d e", "a b c x e", math.Pow(4./5*(2./4)*trigrams*(5*trigrams*trigrams/.5/7), .25)},
		{", smoothing: method4", "a", "a b", 0},
		{", smoothing: method5", "a", "a", 0},
		{"", "a b c d", "a b c d", 1},
		{", lowercase: true", "A b c d", "a B c d", 1},
		{", maxOrder: 9", "a b c d e f g h i", "a b c d e f g h i", 1},
	} {
		if c.options == ", smoothing: method5" { // ((2+1+0)/3, (1+0+0)/3, (1/3+0+0)/3, (1/9+0+0)/3)
			c.want = math.Pow(1./3*(1./9)*(1./27), .25)
		}
		overlap{"bleu", ", definition: nltk" + c.options, c.answer, []string{c.ref}}.agree(t, c.want, 1e-12)
	}
}

// eachROUGE calls check for the vectors of ROUGE: vectors that rouge-score made and vectors of its tests.
func eachROUGE(t *testing.T, check func(metric string, stem bool, hypothesis, reference string,
	expect map[string]float64, tolerance float64),
) {
	t.Helper()
	for _, c := range vectors[struct {
		overlapCase
		Expect map[string]map[string]float64
	}](t, "rouge_oracle.json") {
		for setting, want := range c.Expect {
			metric, stem := strings.CutSuffix(setting, "_stem")
			check(metric, stem, c.Hypothesis, c.Reference, want, 1e-12)
		}
	}
	for _, c := range vectors[struct {
		overlapCase
		Expect map[string]float64
	}](t, "rouge_google_groundtruth.json") {
		check(c.Metric, c.Stem, c.Hypothesis, c.Reference, c.Expect, c.Tolerance)
	}
}

func TestOverlapScorersPassAtTheirLeastValue(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ entry, answer, want string }{
		{"- rouge: {to: The cat sat, min: 1}", "the CAT\r\nsat!", "p"},
		{"- rouge: {to: The cat sat, min: 0.7, measure: recall}", "a cat", "f"},
		{"- rouge: {to: The cat sat, min: 1, measure: precision}", "cat", "p"},
		{"- rouge: {to: The cat sat, type: 2, min: 0.1}", "cat", "f"},
		{"- rouge: {to: The cat sat, type: L, min: 0.1}", " \r\n\t", "f"},
		{"- rouge: {to: The cat sat, min: 0}", "", "f"},
		{"- not: {rouge: {to: The cat sat, min: 0.5}}", "", "f"},
		{"- rouge: {to: \"caf\\u00e9\", min: 1}", "CAFE\u0301", "p"},
		{"- rouge: {to: שלום עולם, type: 2, min: 1}", "\u200fשלום, עולם!", "p"},
		{"- rouge: {to: 吾輩は猫である, type: L, min: 0.8}", "吾輩は犬である", "p"},
		{"- rouge: {to: 吾輩は猫である, definition: rouge-score, min: 0.001}", "吾輩は猫である", "f"},
		{"- rouge: {to: the ponies ran, definition: rouge-score, stem: true, min: 1}", "the pony ran", "p"},
		{"- rouge: {to: [x y, the cat], min: 1}", "The cat", "p"},
		{"- rouge: {to: \"one two\\nthree four\", type: Lsum, min: 1}", "three four\r\none two\r\n", "p"},
		{"- rouge: {to: \"one two\\nthree four\", type: L, min: 0.6}", "three four\r\none two\r\n", "f"},
		{"- bleu: {to: The cat sat on the mat., min: 1}", "The cat sat on the mat.", "p"},
		{"- bleu: {to: The cat sat on the mat., min: 1}", "The cat\r\nsat on the mat.\r\n", "p"},
		{"- bleu: {to: The cat sat on the mat., min: 0.01}", " \n", "f"},
		{"- bleu: {to: The cat sat on the mat., min: 0.01}", "", "f"},
		{"- bleu: {to: THE CAT SAT ON THE MAT, lowercase: true, min: 1}", "the cat sat on the mat", "p"},
		{"- bleu: {to: '&amp;lt; a b c', tokenize: 13a, min: 1}", "< a b c", "p"},
		{"- bleu: {to: \"caf\\u00e9 au lait ce matin\", min: 1}", "cafe\u0301 au lait ce matin", "f"},
		{"- bleu: {to: 我们在北京, tokenize: zh, min: 0.7}", "我们在北京。", "p"},
		{"- bleu: {to: א ב ג ד, min: 1}", "א ב ג ד", "p"},
		{"- bleu: {to: a b, effectiveOrder: false, min: 0.1}", "a b", "f"},
		{"- chrf: {to: Reykjavík, min: 0.5}", "Reykjavik", "p"},
		{"- chrf: {to: שלום עולם, wordOrder: 2, min: 1}", "שלום\r\nעולם", "p"},
		{"- chrf: {to: abc, min: 0.1}", "\u00a0\u2003", "f"},
		{"- chrf: {to: abc, min: 0.1}", "", "f"},
		{"- chrf: {to: [abc, xyz], min: 1}", "xyz", "p"},
		{"- gleu: {to: a b c d, min: 1}", "a\tb\r\nc d\n", "p"},
		{"- gleu: {to: a b c d, min: 0.1}", " ", "f"},
		{"- gleu: {to: ש ל, min: 1}", "ש ל", "p"},
		{"- jaroWinkler: {to: MARTHA, min: 0.96}", "MARHTA", "p"},
		{"- jaroWinkler: {to: MARTHA, min: 0.97}", "MARHTA", "f"},
		{"- {jaroWinkler: {to: martha, min: 1}, ignoreCase: true, trim: true}", " MARTHA\r\n", "p"},
		{"- jaroWinkler: {to: \"caf\\u00e9\", min: 1}", "cafe\u0301", "p"},
		{"- jaroWinkler: {to: [x, שלום], min: 1}", "שלום", "p"},
		{"- jaroWinkler: {to: x, min: 0}", "", "f"},
		{"- {jaroWinkler: {to: x, min: 0.1}, trim: true}", " ", "f"},
		{"- tokenF1: {to: the Eiffel Tower, min: 0.8}", "It is the Eiffel tower.", "f"},
		{"- tokenF1: {to: the Eiffel Tower, min: 0.6}", "It is the Eiffel\r\ntower.", "p"},
		{"- tokenF1: {to: שלום עולם, min: 1}", "עולם שלום", "p"},
		{"- tokenF1: {to: x, min: 0.1}", " \n", "f"},
		{"- exactMatch: the Eiffel Tower", " eiffel\r\ntower. ", "p"},
		{"- exactMatch: the Eiffel Tower", "Eiffel Tower in Paris", "f"},
		{"- exactMatch: [x, שלום]", "שלום!", "p"},
		{"- exactMatch: x", " ", "f"},
		{"- not: {exactMatch: x}", "", "f"},
		{"- levenshtein: {to: kitten, ratio: 0.57}", "sitting", "p"},
		{"- levenshtein: {to: kitten, ratio: 0.58}", "sitting", "f"},
		{"- levenshtein: {to: kitten, ratio: 0.61, definition: indel}", "sitting", "p"},
		{"- levenshtein: {to: [Paris, kitten], max: 3}", "sitting", "p"},
		{"- {levenshtein: {to: [kitten, Paris]}, threshold: 1}", "Paris", "p"},
		{"- levenshtein: {to: [a, b], ratio: 0.1}", " \r\n", "f"},
	} {
		if got := score(t, test.entry, answer(test.answer)); letter(got) != test.want {
			t.Errorf("%s on %q: %s, want %s: %s", test.entry, test.answer, letter(got), test.want, got.Reason)
		}
	}
}

// What a reason says: the value, the definition, which reference, the bound.
func TestOverlapReasonsNameValueAndBound(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		"- rouge: {to: The cat sat, min: 0.5}": `ROUGE-1 f 0.667 (unicode words; precision 0.667, recall 0.667) to "The cat sat", ` +
			`at least 0.5 is expected: "a cat sat"`,
		"- rouge: {to: [dog, cat sat], type: L, min: 1}": `ROUGE-L f 0.800 (unicode words; precision 0.667, recall 1.000) to ` +
			`reference 2 of 2, "cat sat", at least 1 is expected: "a cat sat"`,
		"- {rouge: {to: a cat, definition: rouge-score}, threshold: 1}": `ROUGE-1 f 0.800 (rouge-score words; ` +
			`precision 0.667, recall 1.000) to ` +
			`"a cat": "a cat sat"`,
		"- bleu: {to: [a cat sat, dog], min: 1}": `BLEU 1.000 (sacrebleu, tokenize 13a, smoothing exp) to 2 references together, in length ` +
			`nearest to reference 1 of 2, "a cat sat", at least 1 is expected: "a cat sat"`,
		"- chrf: {to: a cat, wordOrder: 2, min: 1}": `chrF++ 0.823 (sacrebleu, characters 6, words 2, beta 2) to "a cat", at least 1 is ` +
			`expected: "a cat sat"`,
		"- gleu: {to: a cat, min: 0.5}": `GLEU 0.500 (nltk, runs of 1 to 4 words) to "a cat", at least 0.5 is expected: "a cat ` +
			`sat"`,
		"- jaroWinkler: {to: a cat, min: 1}": `Jaro-Winkler 0.911 (prefix 4 by 0.1) to "a cat", at least 1 is expected: "a cat ` +
			`sat"`,
		"- tokenF1: {to: cat, min: 0.6667}": `F1 0.6666666666666666 (squad words; precision 0.500, recall 1.000) to "cat", at least ` +
			`0.6667 is expected: "a cat sat"`,
		"- exactMatch: [x, the cat sat]": `the answer is "the cat sat" (squad): "a cat sat"`,
		"- exactMatch: cat":              `expected "cat" (squad), got "a cat sat"`,
		"- levenshtein: {to: a cat, ratio: 0.5}": `ratio 0.556 (1 - distance 4 / longer length) to ` +
			`"a cat", at least 0.5 is expected: "a cat sat"`,
		"- levenshtein: {to: a cat, ratio: 0.5, definition: indel}": `ratio 0.714 (indel: replacing costs 2) to ` +
			`"a cat", at least 0.5 is expected: "a cat sat"`,
		"- levenshtein: {to: [x, a cat], max: 5}": `distance 4 from reference 2 of 2, "a cat", at most 5: "a cat sat"`,
	} {
		expect.Same(t, entry, score(t, entry, answer("a cat sat")).Reason, want)
	}
}

func TestOverlapProblemsAreReported(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		"- rouge: x":                                                 "expected a mapping",
		"- rouge: {min: 1}":                                          "the key `to` is missing",
		"- rouge: {to: x}":                                           "`rouge` needs `min` or a threshold",
		"- any: [{rouge: {to: x}}]":                                  "`rouge` needs `min`",
		"- {rouge: {to: x, min: 1}, threshold: 1}":                   "two rules for one score",
		"- rouge: {to: [], min: 1}":                                  "`rouge` needs at least one text",
		"- rouge: {to: [x, ' '], min: 1}":                            "an empty text shares nothing",
		"- rouge: {to: [x, [y]], min: 1}":                            "expected a text, found a list",
		"- rouge: {to: '...', min: 1}":                               "there is no word in this text",
		"- rouge: {to: x, min: 1.5}":                                 "between 0 and 1",
		"- rouge: {to: x, min: 1, type: 5}":                          "`5`",
		"- rouge: {to: x, min: 1, measure: f2}":                      "`f2`",
		"- rouge: {to: x, min: 1, stem: true}":                       "`stem` cuts English endings only",
		"- bleu: {to: x, min: 1, tokenize: 14a}":                     "`14a`",
		"- bleu: {to: x, min: 1, tokenise: 13a}":                     "unknown key `tokenise`",
		"- bleu: {to: " + strings.Repeat("x", 300<<10) + ", min: 1}": "takes at most 262144",
		"- chrf: {to: x, min: 1, beta: 0}":                           "between 0.1 and 10",
		"- gleu: {to: x, min: 1, maxOrder: 0}":                       "between 1 and 9",
		"- jaroWinkler: x":                                           "expected a mapping",
		"- exactMatch: {to: x}":                                      "takes a text or a list of texts",
		"- exactMatch: ''":                                           "an empty text",
		"- exactMatch: []":                                           "at least one text",
		"- levenshtein: {to: x}":                                     "`levenshtein` needs `max`, `ratio` or a threshold",
		"- levenshtein: {to: x, max: 1, ratio: 1}":                   "two rules for one score",
		"- {levenshtein: {to: x, ratio: 1}, threshold: 1}":           "two rules for one score",
		"- levenshtein: {to: x, max: 1, definition: indel}":          "`definition` is of the ratio",
	} {
		expect.Contains(t, fmt.Sprintf("%.60s", entry), problemsOf(entry), want)
	}
}
