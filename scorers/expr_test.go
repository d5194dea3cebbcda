package scorers_test

import (
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// exprAnswer is an answer with everything that an expression can name.
func exprAnswer() *scorers.Answer {
	a := answer("Paris, שלום e\u0301\r\n")
	a.Response.Candidates[0].SafetyRatings = []eval.SafetyRating{{Category: "HARM_CATEGORY_HARASSMENT", Probability: "LOW"}}
	a.Response.Candidates = append(a.Response.Candidates, eval.Candidate{Text: "Rome", FinishReason: "MAX_TOKENS"})
	a.Usage = eval.Usage{PromptTokens: 10, OutputTokens: 3, TotalTokens: 13}
	a.Timing = eval.Timing{LatencyMs: 250, QueuedMs: 5, Attempts: 2}
	a.Vars = eval.Dict{
		"country": "France",
		"n":       "3",
		"list":    eval.Array{"Paris", "Rome"},
		"deep":    eval.Dict{"capital": "Paris"},
		"quote":   `say "no"`,
	}
	return a
}

func TestExpressionsPassOrFailAndShowTheirValues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ entry, want, reason string }{
		{`answer contains "Paris"`, "p", `answer contains "Paris" is true (answer: "Paris, `},
		{`answer contains "Rome"`, "f", `answer contains "Rome" is false`},
		{`any(vars.list, answer contains #)`, "p", `vars.list: ["Paris","Rome"]`},
		{`answer startsWith vars.deep.capital`, "p", `vars.deep.capital: "Paris"`},
		{`"x" in vars.list`, "f", "is false"},
		{`usage.outputTokens == int(vars.n) && usage.totalTokens - usage.promptTokens == 3`, "p", "usage.outputTokens: 3, vars.n: \"3\""},
		{`timing.latencyMs < 300 and timing.attempts <= 2 and timing.queuedMs == 5`, "p", "timing.latencyMs: 250"},
		{`safety.HARM_CATEGORY_HARASSMENT in ["NEGLIGIBLE", "LOW"]`, "p", "LOW"},
		{`safety.HARM_CATEGORY_DANGEROUS == "LOW"`, "u", `the answer has no rating for "HARM_CATEGORY_DANGEROUS"`},
		{`(safety.HARM_CATEGORY_DANGEROUS ?? "") != "HIGH"`, "p", "is true"},
		{`finishReason == "STOP" and not blocked`, "p", "blocked: false"},
		{`count(candidates, .finishReason == "STOP") / len(candidates)`, "f", "is 0.5"},
		{`candidates[0].safetyRatings[0].category startsWith "HARM"`, "p", "is true"},
		{`1.0`, "p", "1.0 is 1"},
		{`0.999`, "f", "0.999 is 0.999"},
		{`1.5`, "u", "it gives 1.5, which is not between 0 and 1"},
		{`usage.outputTokens`, "u", "it gives 3, which is not between 0 and 1"},
		{`-0.1`, "u", "not between 0 and 1"},
		{`(usage.outputTokens - 3) / (usage.outputTokens - 3)`, "u", "divided by zero"},
		{`int(answer) > 3`, "u", "Paris"},
		{`vars.list`, "u", "it gives a list"},
		{`answer contains vars.missing`, "u", `the case has no variable "missing"`},
		{`(vars.missing ?? "x") == "x"`, "p", "is true"},
		{`all(1..100000, all(1..100000, true))`, "u", "works on too much"},
		{"let a = len(answer);\na > 3", "p", "let a = len(answer); a > 3 is true"},
	} {
		s, err := compileExpr(t, c.entry).Score(exprAnswer())
		if err != nil || letter(s) != c.want || !strings.Contains(s.Reason, c.reason) {
			t.Errorf("%s: %s %q (%v), want %s %q", c.entry, letter(s), s.Reason, err, c.want, c.reason)
		}
	}
}

// compileExpr compiles an expression as though the case had all variables.
func compileExpr(t *testing.T, text string) *scorers.Compiled {
	t.Helper()
	entry := "- expr: |-\n    " + strings.ReplaceAll(text, "\n", "\n    ")
	vars := "    vars: {country: '', n: '', list: [], deep: {}, quote: '', missing: ''}\n"
	s, diags := loaded(strings.Replace(plainText(entry), "    scorers:", vars+"    scorers:", 1))
	return onlyOf(t, text, s, diags)
}

// Where there is no text, an expression over the answer fails like other text scorers, denied too; others are
// evaluated.
func TestExprOverTheAnswerFailsWithoutText(t *testing.T) {
	t.Parallel()
	blocked := &scorers.Answer{Response: &eval.Response{PromptFeedback: &eval.PromptFeedback{BlockReason: "SAFETY"}}}
	empty := answer("")
	for _, c := range []struct {
		entry string
		a     *scorers.Answer
		want  string
	}{
		{`- expr: answer == ""`, blocked, "f"},
		{`- expr: answer == ""`, empty, "f"},
		{`- not: {expr: answer contains "x"}`, blocked, "f"},
		{`- not: {expr: answer contains "x"}`, answer("y"), "p"},
		{`- not: {expr: finishReason == "STOP"}`, blocked, "f"},
		{`- expr: finishReason == "STOP"`, empty, "p"},
		{`- expr: all(candidates, .text == "x")`, blocked, "f"},
		{`- expr: blocked`, blocked, "p"},
		{`- expr: len(safety) == 0`, empty, "u"},
		{`- {expr: 'answer == "b"', candidate: 1}`, answer("b"), "f"},
		{`- {expr: len(answer) / 10, threshold: 0.3}`, answer("abc"), "p"},
		{`- {expr: len(answer) / 10, threshold: 0.4}`, answer("abc"), "f"},
		{`- expr: len(answer) / 3`, answer("abc"), "p"},
		{`- expr: timing.firstTokenMs < 9`, answer("abc"), "u"},
	} {
		if s := score(t, c.entry, c.a); letter(s) != c.want {
			t.Errorf("%s: %s (%s), want %s", c.entry, letter(s), s.Reason, c.want)
		}
	}
}

func TestExprOfAMegabyteIsEvaluated(t *testing.T) {
	t.Parallel()
	big := answer(strings.Repeat("a\u0301b ", 1<<18))
	if s := score(t, `- expr: lower(answer) contains "b" and not (answer matches "c$")`, big); letter(s) != "p" || len(s.Reason) > 600 {
		t.Errorf("%s: %s, want p with a short reason", letter(s), s.Reason)
	}
}

func TestExprReadsToolCalls(t *testing.T) {
	t.Parallel()
	a := looping("It is shipped.", []string{`get_order {"id": 7, "deep": {"l": [1, 2]}}`, "close null"}, []string{"search []"})
	last := &a.Calls[2].Candidates[0]
	last.Pieces = []eval.Piece{
		eval.ReasoningPiece{Reasoning: "hm"},
		eval.TextPiece{Text: "It is "},
		eval.TextPiece{Text: "shipped."},
		eval.OtherPiece{Other: []byte(`{"inlineData":{"mimeType":"image/png"}}`)},
	}
	a.Usage = eval.Usage{
		PromptTokens: 10, OutputTokens: 5, TotalTokens: 15, CachedTokens: 3, ReasoningTokens: 2, ToolUseTokens: 1, Source: eval.UsageService,
	}
	for entry, want := range map[string]string{
		`len(calls) == 3 and steps == 3`:                                                      "p",
		`calls[0].name == "get_order" and calls[0].args.id == 7`:                              "p",
		`calls[0].args.deep.l[1] == 2 and calls[0].args["id"] > 6`:                            "p",
		`map(calls, .name) == ["get_order", "close", "search"]`:                               "p",
		`count(calls, .name == "get_order" and .args.id == 8) == 0`:                           "p",
		`calls[1].args == {} and len(calls[1].args) == 0`:                                     "p",
		`calls[2].args == nil`:                                                                "p", // no JSON object
		`calls[0].args.nothing == nil`:                                                        "p",
		`any(calls, .name in ["delete", "drop"])`:                                             "f",
		`calls[9].name == "x"`:                                                                "u",
		`len(parts) == 4 and parts[0].reasoning == "hm" and parts[0].text == ""`:              "p",
		`join(map(parts, .text)) == answer`:                                                   "p",
		`parts[3].other.inlineData.mimeType startsWith "image/"`:                              "p",
		`all(parts, .call == nil)`:                                                            "p",
		`usage.cachedTokens == 3 and usage.reasoningTokens == 2 and usage.toolUseTokens == 1`: "p",
		`usage.source == "service"`:                                                           "p",
		`let calls = split(answer, " "); len(calls) == 3`:                                     "p", // as before there were such names
		`let steps = 7; let parts = "x"; steps == 7 and parts == "x" and len(calls) == 3`:     "p",
		`toJSON(calls[0].args.deep) contains "1"`:                                             "p",
	} {
		s, err := compileExpr(t, entry).Score(a)
		if err != nil || letter(s) != want {
			t.Errorf("%s: %s %q (%v), want %s", entry, letter(s), s.Reason, err, want)
		}
	}
	checkCalls(t, []callsTest{
		{`- expr: parts[0].call.name == "get_order" and parts[0].call.args.id == 7`, calling(`get_order {"id": 7}`), "p"},
		{`- expr: parts[0].call.args.id == 7`, calling(`get_order []`), "f"},
		{`- expr: parts[0].text == "x" and len(parts) == 1`, answer("x"), "p"},
		{`- expr: len(calls) == 0`, answer("x"), "p"},
		{`- expr: steps == 1`, answer("x"), "p"},
		{`- {expr: len(calls) == 1, turn: 1}`, looping("x", []string{"a"}), "p"},
		{`- expr: len(parts) == 0`, answer(""), "p"},
	})
}

// Where it is not known what else would have been called, an expression over calls fails, denied too.
func TestExprOfToolCallsFailsOnABlock(t *testing.T) {
	t.Parallel()
	safety := answer("")
	safety.Response.Candidates[0].FinishReason = "SAFETY"
	prompt := &scorers.Answer{Response: &eval.Response{PromptFeedback: &eval.PromptFeedback{BlockReason: "SAFETY"}}}
	for _, a := range []*scorers.Answer{safety, prompt} {
		checkCalls(t, []callsTest{
			{`- expr: len(calls) == 0`, a, "f"},
			{`- expr: len(parts) == 0`, a, "f"},
			{`- not: {expr: 'any(calls, .name == "delete")'}`, a, "f"},
			{`- expr: steps == 1 and blocked`, a, "p"},
		})
	}
}

func TestExprReportsTypos(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		"- expr: len(call) == 0":         "9:19: in the expression: there is no `call` here",
		"- expr: calls[0].nam == 'x'":    "there is no `nam` in it",
		"- expr: usage.cachedToken == 0": "there is no `cachedToken` in it",
		"- expr: parts[0].txt == 'x'":    "there is no `txt` in it",
		"- expr: steps contains 'x'":     "invalid operation: contains (mismatched types int and string)",
	} {
		got := reported(entry, suite.Options{}, nil)
		if len(got) != 1 || !strings.Contains(got[0], strings.TrimPrefix(want, "9:19: ")) {
			t.Errorf("%s: %v, want %s", entry, got, want)
		}
	}
}
