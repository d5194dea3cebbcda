package session

import (
	"testing"

	"github.com/evalrun/evalrun/suite"
)

// The system text goes with each turn of a live chat: with one of 2 tokens, 3 turns have 6 tokens more.
func TestForecastCountsSystemTextsWithEachTurn(t *testing.T) {
	t.Parallel()
	of := func(prompt string) *Forecast {
		return forecastOf(t, "targets: [{name: t, model: svc-pro}]\nprompts: [{name: p, "+prompt+"}]\n"+
			"cases: [{name: c, scorers: [{contains: x}]}]\n", suite.Limits{}, nil)
	}
	const live = "live: true, turns: [{user: abcd}, {user: abcdefgh}, {user: abcdefghijkl}]"
	for prompt, want := range map[string]int{
		"text: abcd": 1, "system: abcdefgh, text: abcd": 3, live: 10, "system: abcdefgh, " + live: 16,
		"text: abcd, tools: [{name: f}]": 1 + len(`[{"functionDeclarations":[{"name":"f"}]}]`+"xxx")/4,
	} {
		if f := of(prompt); f.PromptTokens != want {
			t.Errorf("%s: %d tokens, want %d", prompt, f.PromptTokens, want)
		}
	}
}
