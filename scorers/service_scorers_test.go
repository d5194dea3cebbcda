package scorers_test

import (
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/scorers"
)

func rated(finish string, ratings ...string) *scorers.Answer {
	a := answer("text")
	a.Response.Candidates[0].FinishReason = finish
	for _, r := range ratings {
		category, probability, _ := strings.Cut(r, "=")
		a.Response.Candidates[0].SafetyRatings = append(
			a.Response.Candidates[0].SafetyRatings, eval.SafetyRating{Category: category, Probability: probability},
		)
	}
	return a
}

func TestServiceScorersReadWhatTheServiceReports(t *testing.T) {
	t.Parallel()
	blockedPrompt := &scorers.Answer{Response: &eval.Response{PromptFeedback: &eval.PromptFeedback{
		BlockReason: "SAFETY", SafetyRatings: []eval.SafetyRating{{Category: "A", Probability: "HIGH"}},
	}}}
	metered := answer("x")
	metered.Usage = eval.Usage{PromptTokens: 10, OutputTokens: 5, TotalTokens: 15, Source: eval.UsageEstimated}
	metered.Timing = eval.Timing{LatencyMs: 1500}
	for _, test := range []struct {
		entry string
		a     *scorers.Answer
		want  string
	}{
		{"- finishReason: STOP", rated("STOP"), "p"},
		{"- finishReason: [STOP, MAX_TOKENS]", rated("MAX_TOKENS"), "p"},
		{"- finishReason: STOP", rated("NEWLY_INVENTED"), "f"},
		{"- finishReason: NEWLY_INVENTED", rated("NEWLY_INVENTED"), "p"},
		{"- finishReason: STOP", rated(""), "f"},
		{"- finishReason: STOP", blockedPrompt, "f"},
		{"- not: {finishReason: STOP}", blockedPrompt, "f"},
		{"- safety: {max: LOW}", rated("STOP", "A=NEGLIGIBLE", "B=LOW"), "p"},
		{"- safety: {max: LOW}", rated("STOP", "A=NEGLIGIBLE", "B=MEDIUM"), "f"},
		{"- safety: {max: LOW}", rated("STOP"), "u"},
		{"- safety: {max: LOW}", rated("STOP", "A=LOW", "B=EXTREME"), "u"},
		{"- safety: {max: LOW}", rated("STOP", "A=HIGH", "B=EXTREME"), "f"}, // a failure says more than a doubt
		{"- safety: {max: LOW, absent: true}", rated("STOP"), "p"},
		{"- safety: {category: A, max: LOW}", rated("STOP", "A=LOW", "B=HIGH"), "p"},
		{"- safety: {category: [A, B], max: LOW}", rated("STOP", "A=LOW"), "u"},
		{"- safety: {category: C, absent: true}", rated("STOP", "A=LOW"), "p"},
		{"- safety: {category: A, absent: true}", rated("STOP", "A=LOW"), "f"},
		{"- safety: {category: A, min: MEDIUM}", rated("STOP", "A=HIGH"), "p"},
		{"- safety: {category: A, min: MEDIUM}", rated("STOP", "A=LOW"), "f"},
		{"- safety: {of: prompt, min: HIGH}", blockedPrompt, "p"},
		{"- safety: {max: HIGH}", blockedPrompt, "u"},
		{"- not: {safety: {max: LOW}}", rated("STOP"), "u"},
		{"- any: [{safety: {max: LOW}}, {contains: text}]", rated("STOP"), "p"},
		{"- any: [{safety: {max: LOW}}, {contains: zzz}]", rated("STOP"), "u"},
		{"- all: [{safety: {max: LOW}}, {contains: zzz}]", rated("STOP"), "f"},
		{"- all: [{safety: {max: LOW}}, {contains: text}]", rated("STOP"), "u"},
		{"- blocked: true", blockedPrompt, "p"},
		{"- blocked: false", blockedPrompt, "f"},
		{"- blocked: true", rated("SAFETY"), "p"},
		{"- blocked: true", rated("PROHIBITED_CONTENT"), "p"},
		{"- blocked: true", rated("OTHER"), "f"},
		{"- blocked: {reason: RECITATION}", rated("SAFETY"), "f"},
		{"- blocked: {reason: [RECITATION, SAFETY]}", rated("SAFETY"), "p"},
		{"- blocked: {by: prompt}", rated("SAFETY"), "f"},
		{"- blocked: SPII", rated("SPII"), "p"},
		{"- not: {blocked: true}", answer("x"), "p"},
		{"- latency: 2s", metered, "p"},
		{"- latency: {max: 1499ms}", metered, "f"},
		{"- latency: {min: 1s, max: 1500ms}", metered, "p"},
		{"- tokens: 5", metered, "p"},
		{"- tokens: {max: 4}", metered, "f"},
		{"- tokens: {of: prompt, min: 10}", metered, "p"},
		{"- tokens: {of: total, max: 14}", metered, "f"},
	} {
		expect.Same(t, test.entry, letter(score(t, test.entry, test.a)), test.want)
	}
}

func TestCandidateSaysWhichAnswersCount(t *testing.T) {
	t.Parallel()
	a := &scorers.Answer{Response: &eval.Response{Candidates: []eval.Candidate{{Text: "one"}, {Text: "two"}}}}
	for entry, want := range map[string]string{
		"- equals: one":                                           "p",
		"- {equals: two, candidate: 1}":                           "p",
		"- {equals: two, candidate: first}":                       "f",
		"- {regex: '^(one|two)$', candidate: all}":                "p",
		"- {equals: one, candidate: all}":                         "f",
		"- {equals: two, candidate: 2}":                           "f",
		"- not: {equals: x, candidate: 2}":                        "f",
		"- any: [{equals: two, candidate: 1}, {equals: nothing}]": "p",
	} {
		expect.Same(t, entry, letter(score(t, entry, a)), want)
	}
}

func TestTurnSaysWhichTurnsOfAChatCount(t *testing.T) {
	t.Parallel()
	turn := func(text string, tokens int) eval.AnsweredCall {
		return eval.AnsweredCall{
			Response: eval.Response{Candidates: []eval.Candidate{{Text: text, FinishReason: "STOP"}, {Text: text + "2"}}},
			Usage:    eval.Usage{OutputTokens: tokens},
		}
	}
	chat := &scorers.Answer{Calls: []eval.AnsweredCall{turn("one", 1), turn("two", 2)}, Usage: eval.Usage{OutputTokens: 3}}
	chat.Response = &chat.Calls[1].Response
	blocked := &scorers.Answer{
		Calls: []eval.AnsweredCall{turn("one", 1), {Response: eval.Response{PromptFeedback: &eval.PromptFeedback{BlockReason: "SAFETY"}}}},
	}
	blocked.Response = &blocked.Calls[1].Response
	for _, test := range []struct {
		entry  string
		a      *scorers.Answer
		want   string
		reason string
	}{
		{"- equals: two", chat, "p", "the answer is"},
		{"- {equals: one, turn: 1}", chat, "p", "turn 1: the answer is"},
		{"- {equals: two, turn: last}", chat, "p", "turn 2: "},
		{"- {equals: one, turn: all}", chat, "f", "turn 2: "},
		{"- {equals: x, turn: all}", chat, "f", "turn 1: "}, // of equals the first
		{"- {regex: '^(one|two)', turn: all, candidate: all}", chat, "p", "turn 1: "},
		{"- {equals: one2, turn: 1, candidate: 1}", chat, "p", "turn 1: "},
		{"- any: [{equals: two, turn: 1}, {equals: two2, turn: 2, candidate: 1}]", chat, "p", "turn 2: "},
		{"- {all: [{contains: one}, {not: {contains: two}}], turn: 1}", chat, "p", "turn 1: "},
		{"- {all: [{contains: one}, {contains: two, turn: 2}], turn: 1}", chat, "p", "turn 1: "},
		{"- tokens: {max: 3, min: 3}", chat, "p", ""},
		{"- {tokens: {max: 1}, turn: 1}", chat, "p", ""},
		{"- {tokens: {max: 1}, turn: all}", chat, "f", "turn 2: "},
		{"- {safety: {max: LOW}, turn: 1}", chat, "u", "turn 1: "},
		{"- {equals: two, turn: 3}", chat, "f", "turn 3 was never answered"},
		{"- {blocked: true, turn: last}", blocked, "p", "turn 2: "},
		{"- {not: {blocked: true}, turn: 1}", blocked, "p", "turn 1: "},
		{"- {contains: x, turn: 3}", blocked, "f", "turn 3 was never answered: turn 2 was blocked (SAFETY)"},
		{"- not: {contains: x, turn: 3}", blocked, "f", "turn 3 was never answered: turn 2 was blocked (SAFETY)"},
		{"- {not: {contains: x}, turn: 3, threshold: 0}", blocked, "f", "turn 3 was never answered"},
		{"- {not: {contains: x}, turn: all}", blocked, "f", "turn 2: there is no answer: the prompt was blocked (SAFETY)"},
		{"- {contains: a, turn: all}", answer("a"), "p", "the answer contains"}, // an arm that is not a live chat
		{"- {contains: a, turn: 1}", answer("a"), "f", "turn 1 was never answered"},
	} {
		if got := score(t, test.entry, test.a); letter(got) != test.want || !strings.HasPrefix(got.Reason, test.reason) {
			t.Errorf("%s: %s (%s), want %s", test.entry, letter(got), got.Reason, test.want)
		}
	}
}
