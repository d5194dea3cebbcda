package session

import (
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/suite"
)

// Calls of applications are calls of their own, at most as often as their target says. What applications are sent is
// not counted, and how much they answer is not known.
func TestForecastCountsCallsOfApplications(t *testing.T) {
	t.Parallel()
	plan := planOf(t, `targets:
  - {name: m, model: svc-pro, generationConfig: {maxOutputTokens: 100}}
  - {name: e, echo: true, attempts: 2}
prompts: [{name: p, text: abcd}]
cases: [{name: c, repeats: 3, scorers: [{contains: x}]}]
`)
	counter := &countEach{calls: map[string]int{}}
	limits := &suite.Limits{Concurrency: 8, Attempts: 5, CountTokens: suite.CountAlways, BudgetCalls: 6}
	f, err := NewForecast(t.Context(), plan, limits, nil, counter)
	expect.OK(t, err)
	want := ArmForecast{Suite: "s", Arm: "e/p", App: "echo", Trials: 3, Calls: 3, MostCalls: 3, PromptTokens: 3}
	expect.Same(t, "result", f.Arms[1], want)
	if f.GenerateCalls != 3 || f.AppCalls != 3 || f.CountCalls != 1 || f.MaxAttempts != 5*(3+1)+2*3 || f.MaxOutputTokens != 300 {
		t.Errorf("got %+v, want 3 calls of each, 1 to count, 26 at most, and 300 tokens of output", f)
	}
	if len(f.Problems) != 1 || len(counter.calls) != 1 {
		t.Errorf("problems %q, counted %v: want the budget of 6 calls, and one prompt", f.Problems, counter.calls)
	}
}
