package session

import (
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/suite"
)

// A tool loop takes a call at least, and its steps at most. Each step sends the prompt and all replies before it
// again.
func TestForecastOfAToolLoopGoesFromOneCallToItsSteps(t *testing.T) {
	t.Parallel()
	const loop = `targets: [{name: t, model: svc-pro, generationConfig: {maxOutputTokens: 100}}]
prompts: [{name: p, PROMPT, tools: [{name: f}], toolResults: {f: {text: x}}, maxSteps: 4}]
cases: [{name: c, repeats: 2, scorers: [{contains: x}]}]
`
	for prompt, least := range map[string]int{"text: abcd": 2, "live: true, turns: [{user: a}, {user: b}]": 4} {
		f := forecastOf(t, strings.Replace(loop, "PROMPT", prompt, 1), suite.Limits{BudgetCalls: 7}, nil)
		if f.GenerateCalls != least || f.MostGenerateCalls != 8 || f.MaxAttempts != 40 || f.Arms[0].Calls != least || f.Arms[0].MostCalls != 8 {
			t.Errorf("%s: %d to %d calls, %d with retries, want %d to 8, and 40", prompt, f.GenerateCalls, f.MostGenerateCalls, f.MaxAttempts, least)
		}
		request := (f.ReplyTokens/2 - 600) / (4 - least/2)
		if f.MaxOutputTokens != 800 || request < 1 || request > 20 {
			t.Errorf("%s: %d and %d tokens, want 800, and 1200 with some requests", prompt, f.MaxOutputTokens, f.ReplyTokens)
		}
		want := []string{"the budget of 7 calls may be too small: up to 8 are possible"}
		expect.Same(t, prompt, f.Problems, want)
	}
	counted := forecastOf(t, strings.Replace(loop, "PROMPT", "text: abcd", 1), suite.Limits{CountTokens: suite.CountAlways}, nil)
	if counted.CountCalls != 1 || counted.MaxAttempts != 5*(8+1+6) {
		t.Errorf("%d counts, %d calls at most, want 1 and 75", counted.CountCalls, counted.MaxAttempts)
	}
}
