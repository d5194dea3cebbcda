package session

import (
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/testing/expect"
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
		expect.Same(t, prompt, of(prompt).PromptTokens, want)
	}
}

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
	f, err := NewForecast(t.Context(), plan, limits, nil, counter, nil)
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

// The 12 calls of two arms are cut into batches by the number of calls or by bytes, and a factor applies to what they cost.
func TestForecastCutsCallsIntoBatches(t *testing.T) {
	t.Parallel()
	half := &eval.PriceList{Batch: new(0.5), Currency: "USD", Models: dollar.Models}
	for name, test := range map[string]struct {
		bounds  wire.BatchBounds
		batches int
	}{
		"one":   {wire.BatchBounds{Items: 12, Bytes: 1e6}, 1},
		"calls": {wire.BatchBounds{Items: 5, Bytes: 1e6}, 3},
		"bytes": {wire.BatchBounds{Items: 100, Bytes: 3 * itemBytes}, 5},
	} {
		bounds := func(string) (wire.BatchBounds, bool) { return test.bounds, true }
		f, err := NewForecast(t.Context(), planOf(t, twoArms), &suite.Limits{Attempts: 1}, half, nil, bounds)
		expect.OK(t, err)
		expect.Same(t, name, f.Batch, &BatchForecast{
			LeastCost: f.LeastCost / 2, MostCost: f.MostCost / 2, Rounds: 1, MostRounds: 1, MostTime: 24 * time.Hour,
			Models: []batchedModel{{Model: "svc-pro", Calls: 12, Batches: test.batches, MostCalls: 12}},
		}, near)
	}
	none := func(string) (wire.BatchBounds, bool) { return wire.BatchBounds{}, false }
	f, err := NewForecast(t.Context(), planOf(t, twoArms), &suite.Limits{Attempts: 1}, half, nil, none)
	expect.OK(t, err)
	expect.Same(t, "without batches", f.Batch, nil)
}

// Each protocol's client says what a batch may hold.
func TestEveryProtocolHasBoundsOfBatches(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.write("s.yaml", limitedSuite("s", `services:
  openai: {protocol: openai, baseUrl: 'https://a.example/v1'}
  responses: {protocol: responses, baseUrl: 'https://a.example/v1'}
  anthropic: {protocol: anthropic, baseUrl: 'https://a.example'}
  never: {protocol: openai, baseUrl: 'https://b.example/v1', batch: false}`))
	j, err := s.settle(Options{Options: eval.Options{Batch: true}}, "s.yaml")
	expect.OK(t, err)
	for _, name := range []string{"", "openai", "responses", "anthropic", "never"} {
		bounds, ok := j.Batching()(name)
		if want := name != "never"; ok != want || ok && (bounds.Items < 1000 || bounds.Bytes < 1e7) {
			t.Errorf("service %q: got %+v, %t, want bounds: %t", name, bounds, ok, want)
		}
	}
}
