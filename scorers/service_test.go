package scorers_test

import (
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/scorers"
)

func several(texts ...string) *scorers.Answer {
	r := &eval.Response{}
	for _, text := range texts {
		r.Candidates = append(r.Candidates, eval.Candidate{Text: text})
	}
	return &scorers.Answer{Response: r}
}

// promptRated is an answer to a prompt with ratings such as A=LOW.
func promptRated(block string, ratings ...string) *scorers.Answer {
	a := several("x")
	a.Response.PromptFeedback = &eval.PromptFeedback{BlockReason: block}
	for _, r := range ratings {
		category, probability, _ := strings.Cut(r, "=")
		a.Response.PromptFeedback.SafetyRatings = append(
			a.Response.PromptFeedback.SafetyRatings, eval.SafetyRating{Category: category, Probability: probability},
		)
	}
	return a
}

// costing is an answer of these tokens, by a price list of 10 and 70 per million.
func costing(model string, input, output int) *scorers.Answer {
	a := several("x")
	a.Usage = eval.Usage{PromptTokens: input, OutputTokens: output, Source: eval.UsageService}
	a.Request = &eval.Request{Model: model}
	a.Context = &scorers.Context{Prices: &eval.PriceList{Currency: "EUR", Models: map[string]eval.Price{"m": {Input: 10, Output: 70}}}}
	return a
}

func TestWholeAnswerScorersReadTheWholeAnswer(t *testing.T) {
	t.Parallel()
	mega := strings.Repeat("0123456789abcdef", 1<<16)
	bare := several("x")
	for _, test := range []struct {
		entry  string
		answer *scorers.Answer
		want   string
	}{
		{"- promptFeedback: {max: LOW}", promptRated("", "A=LOW", "B=NEGLIGIBLE"), "p the prompt is rated LOW for a"},
		{"- promptFeedback: {max: LOW}", promptRated("", "A=LOW", "B=HIGH"), "f the prompt is rated HIGH for b, at most LOW is allowed"},
		{"- promptFeedback: {max: LOW}", promptRated(""), "u the prompt has no safety rating for any category"},
		{"- promptFeedback: {max: LOW}", bare, "u the prompt has no safety rating"},
		{"- promptFeedback: {max: LOW, absent: true}", bare, "p the prompt has no rating"},
		{"- promptFeedback: {max: {A: LOW, B: MEDIUM}}", promptRated("", "A=LOW", "B=MEDIUM", "C=HIGH"), "p the prompt is rated LOW for a; " +
			"the prompt is rated MEDIUM for b"},
		{"- promptFeedback: {max: {A: LOW, B: LOW}}", promptRated("", "A=MEDIUM", "B=HIGH"), "f the prompt is rated MEDIUM for a, at most " +
			"LOW is allowed; the prompt is rated HIGH for b, at most LOW is allowed"},
		{"- promptFeedback: {max: {A: LOW, B: LOW}}", promptRated("", "A=LOW"), "u the prompt has no safety rating for b"},
		{"- promptFeedback: {max: {A: HIGH}, min: {A: MEDIUM}}", promptRated("", "A=LOW"), "f the prompt is rated LOW for a, at least MEDIUM " +
			"is expected"},
		{"- promptFeedback: {max: {A: LOW}}", promptRated("", "A=VERY_HIGH"), "u the rating \"VERY_HIGH\" for a is not on the scale"},
		{"- promptFeedback: {blockReason: none}", bare, "p the prompt was not blocked"},
		{"- promptFeedback: {blockReason: none, max: {A: LOW}}", promptRated("SAFETY", "A=LOW"), "f the prompt was blocked (SAFETY)"},
		{"- promptFeedback: {blockReason: SAFETY}", promptRated("SAFETY"), "p the prompt was blocked (SAFETY)"},
		{"- promptFeedback: {blockReason: [SAFETY, OTHER]}", promptRated("BLOCKLIST"), "f the prompt was blocked for BLOCKLIST, expected " +
			"SAFETY or OTHER"},
		{"- promptFeedback: {blockReason: SAFETY}", bare, "f the prompt was not blocked, expected SAFETY"},
		{"- not: {promptFeedback: {max: LOW}}", bare, "u the prompt has no"},

		{"- candidates: 2", several("a", ""), "p 2 candidates"},
		{"- candidates: 2", several("a"), "f 1 candidate, expected exactly 2"},
		{"- candidates: 0", several(), "p 0 candidates"},
		{"- candidates: {min: 2, max: 3}", several("a", "b", "c", "d"), "f 4 candidates, expected 2 to 3"},
		{"- candidates: {agreement: {min: 0.6}}", several("Paris.", " paris", "London"), "p 2 of 3 candidates agree (0.667, at least 0.6 is " +
			"expected): \" paris\""},
		{"- candidates: {agreement: {min: 0.6, by: exact}}", several("Paris.", "Paris", "London"), "f 1 of 3"},
		{"- candidates: {agreement: {min: 1}}", several("a\r\nb", "A  b\n", "\ta b!"), "p 3 of 3"},
		{"- candidates: {agreement: {min: 1}}", several("caf\u00e9", "cafe\u0301"), "p 2 of 2"},
		{"- candidates: {agreement: {min: 1, by: exact}}", several("caf\u00e9", "cafe\u0301"), "f 1 of 2"},
		{"- candidates: {agreement: {min: 1}}", several("שלום.", "שלום"), "p 2 of 2"},
		{"- candidates: {agreement: {min: 1}}", several(mega, mega), "p 2 of 2"},
		{"- {candidates: {agreement: {min: 0.9}}, candidate: all}", several("a", "a", "b"), "f 2 of 3"},
		{"- {candidates: {agreement: {min: 0}}, threshold: 0.6}", several("a", "a", "b"), "p 2 of 3"},
		{"- candidates: {agreement: {min: 0.5}}", several("a", "", "."), "f 1 of 3"},
		{"- candidates: {agreement: {min: 0.5}}", several("", " "), "f none of the 2 candidates has a text"},
		{"- not: {candidates: {agreement: {min: 0.5}}}", several("", ""), "f none of the 2"},
		{"- candidates: {agreement: {min: 0.5}}", several("a"), "u a single candidate agrees with itself"},
		{"- candidates: {agreement: {min: 0.5}}", several(), "f there is no answer"},
		{"- candidates: {min: 3, agreement: {min: 0.5}}", several("a", "a"), "f 2 candidates, expected at least 3"},

		{"- cost: {max: 0.00008}", costing("m", 1, 1), "p 0.00008 EUR for 1 and 1 tokens (service)"},
		{"- cost: 0.002", costing("m", 100, 20), "f 0.0024 EUR for 100 and 20 tokens (service), expected at most 0.002"},
		{"- cost: {min: 0.1}", costing("m", 0, 0), "f 0 EUR"},
		{"- cost: {max: 1}", costing("other", 1, 1), "u the price list has no price for the model"},
		{"- not: {cost: 1}", bare, "u there is no price list"},
	} {
		got := score(t, test.entry, test.answer)
		if shown := letter(got) + " " + got.Reason; !strings.HasPrefix(shown, test.want) {
			t.Errorf("%s:\n got %s\nwant %s", test.entry, shown, test.want)
		}
	}
}

func TestWholeAnswerProblemsAreReported(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		"- promptFeedback: LOW":                               "expected a mapping",
		"- promptFeedback: {absent: true}":                    "`promptFeedback` needs max, min or blockReason",
		"- promptFeedback: {max: MIDDLE}":                     "`MIDDLE`",
		"- promptFeedback: {max: {A: MIDDLE}}":                "`MIDDLE`",
		"- promptFeedback: {max: {}}":                         "`max` names no category",
		"- promptFeedback: {max: {A: LOW}, min: {A: MEDIUM}}": "`max` is below `min`",
		"- promptFeedback: {blockReason: safety}":             "expected a reason for a block",
		"- promptFeedback: {max: LOW, blocked: true}":         "unknown key `blocked`",
		"- candidates: {}":                                    "`candidates` needs min, max or agreement",
		"- candidates: many":                                  "many",
		"- candidates: {min: 3, max: 2}":                      "`max` is below `min`",
		"- candidates: {agreement: {by: exact}}":              "the key `min` is missing",
		"- candidates: {agreement: {min: 2}}":                 "between 0 and 1",
		"- candidates: {agreement: {min: 1, by: meaning}}":    "`meaning`",
		"- cost: {}":                 "`cost` needs max or min",
		"- cost: cheap":              "cheap",
		"- cost: {min: 2, max: 0.5}": "`max` is below `min`",
		"- cost: -1":                 "-1",
		"- bleu: {to: x, min: 1, definition: moses}":                "`moses`",
		"- bleu: {to: x, min: 1, definition: nltk, smoothing: exp}": "`exp`",
		"- bleu: {to: x, min: 1, definition: nltk, tokenize: 13a}":  "unknown key `tokenize`",
		"- bleu: {to: x, min: 1, smoothing: method1}":               "`method1`",
		"- bleu: {to: x, min: 1, definition: nltk, maxOrder: 10}":   "between 1 and 9",
	} {
		expect.Contains(t, entry, problemsOf(entry), want)
	}
}

func TestNLTKReasonNamesItsSettings(t *testing.T) {
	t.Parallel()
	got := score(t, "- bleu: {to: a cat sat, min: 1, definition: nltk, smoothing: method3, maxOrder: 3}", answer("a cat sat"))
	const want = `BLEU 1.000 (nltk, runs of 1 to 3 words, smoothing method3) to "a cat sat", at least 1 is expected: "a cat sat"`
	expect.Same(t, "reason", got.Reason, want)
}
