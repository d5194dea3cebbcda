package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

func planOf(t *testing.T, text string) *runner.Plan {
	t.Helper()
	return filtered(t, text, runner.Filter{})
}

func filtered(t *testing.T, text string, filter runner.Filter) *runner.Plan {
	t.Helper()
	var diags diag.List
	files := fstest.MapFS{"s.yaml": {Data: []byte("version: 1\nname: s\n" + text)}}
	s := suite.Load(files, "s.yaml", scorers.Builtin(), suite.Options{Getenv: func(string) string { return "" }}, &diags)
	expect.OK(t, diags.Err())
	return runner.NewPlan([]*suite.Suite{s}, scorers.Builtin(), filter, "v1")
}

func forecastOf(t *testing.T, text string, l suite.Limits, prices *eval.PriceList) *Forecast {
	t.Helper()
	l.Concurrency, l.Attempts = 8, 5
	if l.CountTokens == "" {
		l.CountTokens = suite.CountAuto
	}
	f, err := NewForecast(t.Context(), planOf(t, text), &l, prices, nil, nil)
	expect.OK(t, err)
	return f
}

var near = cmpopts.EquateApprox(0, 1e-12)

// twoArms has 2 cases of 7 and 10 bytes, so 2 and 3 tokens, 3 times each on two arms. One arm has at most 100 tokens
// an answer, the other the 2048 that the model gives.
const twoArms = `targets:
  - {name: short, model: svc-pro, generationConfig: {maxOutputTokens: 100}}
  - {name: long, model: svc-pro}
prompts: [{name: p, text: "hello {{.x}}"}]
defaults: {repeats: 3, scorers: [{contains: hello}]}
cases: [{name: a, vars: {x: a}}, {name: b, vars: {x: bbbb}}]
`

// dollar costs a dollar per million tokens in, two per million out.
var dollar = &eval.PriceList{Currency: "USD", Models: map[string]eval.Price{"svc-pro": {Input: 1, Output: 2}}}

// The numbers of two arms with repeats, worked out by hand.
func TestForecastAddsUpArmsAndRepeats(t *testing.T) {
	t.Parallel()
	arm := ArmForecast{Suite: "s", Model: "svc-pro", APIVersion: "v1", Trials: 6, Calls: 6, MostCalls: 6, PromptTokens: 15}
	short, long := arm, arm
	short.Arm, short.MaxOutputTokens = "short/p", 600
	long.Arm, long.MaxOutputTokens = "long/p", 12288
	want := &Forecast{
		Trials: 12, Arms: []ArmForecast{short, long}, GenerateCalls: 12, MostGenerateCalls: 12, MaxAttempts: 60, PromptTokens: 30,
		MaxOutputTokens: 12888, Concurrency: 8, LeastCost: 30e-6, MostCost: 30e-6 + 2*12888e-6, Currency: "USD", Problems: []string{},
	}
	expect.Same(t, "result", forecastOf(t, twoArms, suite.Limits{}, dollar), want, near)
}

// shardOf adds up the part of a suite that a shard has, within the default limits.
func shardOf(t *testing.T, text string, shard eval.Shard) *Forecast {
	t.Helper()
	limits := suite.Limits{Concurrency: 8, Attempts: 5, CountTokens: suite.CountAuto}
	f, err := NewForecast(t.Context(), filtered(t, text, runner.Filter{Shard: shard}), &limits, dollar, nil, nil)
	expect.OK(t, err)
	return f
}

// An arm without a trial in a shard has no part in its forecast: here 2 trials on 2 arms are cut into 4 shards.
func TestForecastOfAShardLeavesOutItsMissingArm(t *testing.T) {
	t.Parallel()
	trials := map[string]int{}
	for i := range 4 {
		for _, a := range shardOf(t, `targets: [{name: one, model: svc-pro}, {name: two, model: svc-pro}]
prompts: [{name: p, text: abcd}]
cases: [{name: c, scorers: [{contains: x}]}]
`, eval.Shard{Index: i + 1, Of: 4}).Arms {
			if a.Trials == 0 {
				t.Errorf("shard %d: got the arm %s without a trial, want one or no arm", i+1, a.Arm)
			}
			trials[a.Arm] += a.Trials
		}
	}
	expect.Same(t, "trials of arms in all shards", trials, map[string]int{"one/p": 1, "two/p": 1})
}

// The shards of a plan add up to the plan, however they cut the repeats of a case.
func TestForecastsOfShardsAddUp(t *testing.T) {
	t.Parallel()
	whole := forecastOf(t, twoArms, suite.Limits{}, dollar)
	for _, of := range []int{1, 2, 3, 5, 12} {
		sum := &Forecast{}
		for i := range of {
			f := shardOf(t, twoArms, eval.Shard{Index: i + 1, Of: of})
			sum.Trials += f.Trials
			sum.GenerateCalls += f.GenerateCalls
			sum.MostGenerateCalls += f.MostGenerateCalls
			sum.PromptTokens += f.PromptTokens
			sum.MaxOutputTokens += f.MaxOutputTokens
			sum.LeastCost += f.LeastCost
			sum.MostCost += f.MostCost
		}
		want := &Forecast{
			Trials: whole.Trials, GenerateCalls: whole.GenerateCalls, MostGenerateCalls: whole.GenerateCalls, PromptTokens: whole.PromptTokens,
			MaxOutputTokens: whole.MaxOutputTokens, LeastCost: whole.LeastCost, MostCost: whole.MostCost,
		}
		expect.Same(t, fmt.Sprint("sum of shards: ", of), sum, want, near)
	}
}

// A prompt that is too long is one problem of each shard that sends it.
func TestEachShardReportsALongPromptOnce(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("abcd", 40_000)
	for i := range 4 {
		f := shardOf(t, `targets: [{name: t, model: svc-pro}]
prompts: [{name: p, text: "`+long+`"}]
cases: [{name: c, repeats: 5, scorers: [{contains: x}]}]
`, eval.Shard{Index: i + 1, Of: 4})
		if want := min(1, f.Trials); len(f.Problems) != want {
			t.Errorf("shard %d with %d trials: problems %q, want %d", i+1, f.Trials, f.Problems, want)
		}
		for _, problem := range f.Problems {
			if !strings.HasPrefix(problem, "s / c on t/p: the prompt has 40000 tokens") {
				t.Errorf("shard %d: %q, want the case with its tokens", i+1, problem)
			}
		}
	}
}

// Where tokens matter each distinct prompt of a model is counted once, and each answer: 2 prompts and 12 answers. A rate of n a minute
// spaces calls by a minute/n, and the tokens of the first minute are free.
func TestForecastFollowsTheRates(t *testing.T) {
	t.Parallel()
	minutes := func(m float64) time.Duration { return time.Duration(m * float64(time.Minute)) }
	for name, test := range map[string]struct {
		limits      suite.Limits
		counts      int
		least, most time.Duration
	}{
		"none":     {},
		"requests": {limits: suite.Limits{RequestsPerMinute: 60}, least: 11 * time.Second},
		"tokens":   {limits: suite.Limits{TokensPerMinute: 10}, counts: 14, least: minutes(2), most: minutes(1290.8)},
		"tokens not counted": {
			limits: suite.Limits{TokensPerMinute: 10, CountTokens: suite.CountNever}, least: minutes(2), most: minutes(1290.8),
		},
		"tokens that suffice": {limits: suite.Limits{TokensPerMinute: 20_000}, counts: 14},
		"both": {
			limits: suite.Limits{RequestsPerMinute: 1, TokensPerMinute: 20_000}, counts: 14, least: minutes(25), most: minutes(25),
		},
		"always counted": {limits: suite.Limits{CountTokens: suite.CountAlways, RequestsPerMinute: 60}, counts: 2, least: 13 * time.Second},
	} {
		f := forecastOf(t, twoArms, test.limits, nil)
		if f.CountCalls != test.counts || f.MaxAttempts != 5*(12+test.counts) {
			t.Errorf("%s: %d calls to count and %d at most, want %d and %d", name, f.CountCalls, f.MaxAttempts, test.counts, 5*(12+test.counts))
		}
		if (f.LeastTime-test.least).Abs() > time.Millisecond || (f.MostTime-test.most).Abs() > time.Millisecond {
			t.Errorf("%s: from %s to %s, want %s to %s", name, f.LeastTime, f.MostTime, test.least, test.most)
		}
	}
}

// A budget is a problem as soon as a run could exceed it, and none while it cannot.
func TestForecastReportsBudgetsThatMayBeExceeded(t *testing.T) {
	t.Parallel()
	for says, test := range map[string]struct{ enough, short suite.Limits }{
		"11 calls":  {suite.Limits{BudgetCalls: 12}, suite.Limits{BudgetCalls: 11}},
		"12917 tok": {suite.Limits{BudgetTokens: 12918}, suite.Limits{BudgetTokens: 12917}},
		"0.0258 US": {suite.Limits{BudgetMoney: 0.025807}, suite.Limits{BudgetMoney: 0.0258}},
	} {
		if f := forecastOf(t, twoArms, test.enough, dollar); len(f.Problems) != 0 {
			t.Errorf("%+v: %q, want no problem", test.enough, f.Problems)
		}
		if f := forecastOf(t, twoArms, test.short, dollar); len(f.Problems) != 1 || !strings.Contains(f.Problems[0], says) {
			t.Errorf("%+v: %q, want one problem with %q", test.short, f.Problems, says)
		}
	}
}

// A live chat of 1, 2 and 3 tokens a turn sends its turns 3, 2 and 1 times. It sends replies of up to 100 tokens 2
// and 1 times.
func TestForecastOfALiveChatAddsUpItsTurns(t *testing.T) {
	t.Parallel()
	f := forecastOf(t, `targets: [{name: t, model: svc-pro, generationConfig: {maxOutputTokens: 100}}]
prompts: [{name: p, live: true, turns: [{user: abcd}, {user: abcdefgh}, {user: abcdefghijkl}]}]
cases: [{name: c, repeats: 2, scorers: [{contains: x}]}]
`, suite.Limits{BudgetTokens: 1219}, dollar)
	want := ArmForecast{
		Suite: "s", Arm: "t/p", Model: "svc-pro", APIVersion: "v1", Trials: 2, Calls: 6, MostCalls: 6, PromptTokens: 20, ReplyTokens: 600,
		MaxOutputTokens: 600,
	}
	expect.Same(t, "result", f.Arms, []ArmForecast{want})
	if f.GenerateCalls != 6 || math.Abs(f.MostCost-(620+2*600)*1e-6) > 1e-12 || len(f.Problems) != 1 {
		t.Errorf("%d calls, %g at most, problems %q, want 6, 0.00182 and the budget", f.GenerateCalls, f.MostCost, f.Problems)
	}
}

// Without a bound on an answer there is none on the sum, and several candidates are as many answers.
func TestForecastCountsUnknownAndSeveralAnswers(t *testing.T) {
	t.Parallel()
	one := func(target string) *Forecast {
		return forecastOf(t, "targets: [{name: k, model: svc-pro}, {name: t, "+target+"}]\nprompts: [{name: p, text: abcd}]\n"+
			"cases: [{name: c, scorers: [{contains: x}]}]\n", suite.Limits{}, nil)
	}
	if f := one("model: other"); f.MaxOutputTokens != 0 || f.PromptTokens != 2 {
		t.Errorf("a model that is not known: %d and %d tokens, want no sum of answers and 2", f.MaxOutputTokens, f.PromptTokens)
	}
	three := one("model: svc-pro, generationConfig: {maxOutputTokens: 10, extra: {candidateCount: 3}}")
	expect.Same(t, "three candidates", three.MaxOutputTokens, 2048+30)
}

// Each answer is embedded, each text that answers are compared with only once, and at most 100 texts go into a call.
func TestForecastBatchesEmbeddings(t *testing.T) {
	t.Parallel()
	embedding := func(repeats int) *Forecast {
		return forecastOf(t, fmt.Sprintf(`targets: [{name: t, model: svc-pro, generationConfig: {maxOutputTokens: 100}}]
prompts: [{name: p, text: "{{.x}}"}]
defaults: {repeats: %d, scorers: [{similar: {to: abcd, min: 0.5}}]}
cases: [{name: a, vars: {x: a}}, {name: b, vars: {x: b}, scorers: [{similar: {to: abcdefgh, min: 0.5}}]}]
`, repeats), suite.Limits{}, nil)
	}
	for repeats, want := range map[int]struct{ calls, tokens, most int }{
		2:   {1, 4*100 + 1 + 2, 5 * (4 + 4 + 2)},
		49:  {1, 98*100 + 3, 5 * (98 + 98 + 2)},
		50:  {2, 100*100 + 3, 5 * (100 + 100 + 2)},
		150: {4, 300*100 + 3, 5 * (300 + 300 + 2)},
	} {
		if f := embedding(repeats); f.EmbedCalls != want.calls || f.EmbedTokens != want.tokens || f.MaxAttempts != want.most {
			t.Errorf("%d repeats: %d calls, %d tokens and %d calls at most, want %+v", repeats, f.EmbedCalls, f.EmbedTokens, f.MaxAttempts, want)
		}
	}
}

// judged is a suite of 2 trials, each judged 3 times by a judge.
func judged(rubric string, answer, reply int) string {
	return fmt.Sprintf(`targets: [{name: t, model: svc-pro, generationConfig: {maxOutputTokens: %d}}]
judges: [{name: j, model: svc-judge, generationConfig: {maxOutputTokens: %d}}]
prompts: [{name: p, text: abcd}]
cases: [{name: c, repeats: 2, scorers: [{judge: {rubric: %q, repeats: 3}}]}]
`, answer, reply, rubric)
}

// JudgeCosts takes the rubric, the answer and the reply in each of 6 calls, at the price of the judge's model.
func TestForecastCountsCallsOfJudges(t *testing.T) {
	t.Parallel()
	prices := &eval.PriceList{Currency: "USD", Models: map[string]eval.Price{"svc-judge": {Input: 10, Output: 100}}}
	get := func(rubric string, answer, reply int) *Forecast {
		return forecastOf(t, judged(rubric, answer, reply), suite.Limits{}, prices)
	}
	base := get("abcd", 100, 50)
	if base.JudgeCalls != 6 || base.GenerateCalls != 2 || base.MaxAttempts != 5*(2+2*6) || base.LeastCost != 0 {
		t.Errorf("%d calls of judges, %d to generate, %d at most from %g USD on, want 6, 2, 70 and 0",
			base.JudgeCalls, base.GenerateCalls, base.MaxAttempts, base.LeastCost)
	}
	if least := 6 * (1 + 100 + 50); base.JudgeTokens < least {
		t.Errorf("%d tokens, want more than the %d of rubric, answer and reply", base.JudgeTokens, least)
	}
	for name, test := range map[string]struct {
		more   *Forecast
		tokens int
		money  float64
	}{
		"longer answers":    {get("abcd", 107, 50), 6 * 7, 6 * 7 * 10e-6},
		"longer replies":    {get("abcd", 100, 57), 6 * 7, 6 * 7 * 100e-6},
		"8 bytes of rubric": {get("abcdefghabcd", 100, 50), 6 * 2, 6 * 2 * 10e-6},
	} {
		expect.Same(t, name+": tokens more", test.more.JudgeTokens-base.JudgeTokens, test.tokens)
		if got := test.more.MostCost - base.MostCost; math.Abs(got-test.money) > 1e-12 {
			t.Errorf("%s: %g USD more, want %g", name, got, test.money)
		}
	}
	budget := forecastOf(t, judged("abcd", 100, 50), suite.Limits{BudgetCalls: 7}, nil) // 2 fit for sure, 8 are possible
	if len(budget.Problems) != 1 || !strings.Contains(budget.Problems[0], "8") {
		t.Errorf("problems %q, want that 8 calls are possible", budget.Problems)
	}
	tokens := 2*(1+100) + base.JudgeTokens // judging is part of what a budget of tokens pays
	for budget, problems := range map[int]int{tokens: 0, tokens - 1: 1} {
		if f := forecastOf(t, judged("abcd", 100, 50), suite.Limits{BudgetTokens: budget}, nil); len(f.Problems) != problems {
			t.Errorf("a budget of %d tokens: problems %q, want %d", budget, f.Problems, problems)
		}
	}
	unknown := strings.Replace(judged("abcd", 100, 50), "svc-pro, generationConfig: {maxOutputTokens: 100}", "other", 1)
	if f := forecastOf(t, unknown, suite.Limits{}, nil); f.JudgeTokens != 0 || f.JudgeCalls != 6 {
		t.Errorf("answers without a bound: %d tokens of judging in %d calls, want no sum and 6", f.JudgeTokens, f.JudgeCalls)
	}
}

// countEach counts a prompt as a thousand tokens, and how often it was called.
type countEach struct {
	calls map[string]int
	err   error
}

func (c *countEach) CountTokens(_ context.Context, call *eval.Call) (int, error) {
	c.calls[call.Model+" "+call.Contents[0].Parts[0].(eval.TextPart).Text]++
	return 1000, c.err
}

// The service counts each distinct prompt of a model once, however many arms and repeats share it.
func TestForecastCountsEachPromptOnce(t *testing.T) {
	t.Parallel()
	counter := &countEach{calls: map[string]int{}}
	plan := planOf(t, strings.Replace(twoArms, "prompts:", "  - {name: other, model: svc-other}\nprompts:", 1))
	f, err := NewForecast(t.Context(), plan, &suite.Limits{Attempts: 1, CountTokens: suite.CountNever}, nil, counter, nil)
	expect.OK(t, err)
	want := map[string]int{"svc-pro hello a": 1, "svc-pro hello bbbb": 1, "svc-other hello a": 1, "svc-other hello bbbb": 1}
	expect.Same(t, "calls", counter.calls, want)
	if !f.Counted || f.PromptTokens != 18_000 {
		t.Errorf("counted: %v, %d tokens, want 18000 by count", f.Counted, f.PromptTokens)
	}
	counter.err = errors.New("no more")
	if _, err := NewForecast(t.Context(), plan, &suite.Limits{}, nil, counter, nil); !errors.Is(err, counter.err) {
		t.Errorf("got %v, want the error of the service", err)
	}
}

// A prompt that the model does not take is a problem that names the case and both numbers, once for all repeats.
func TestForecastReportsAPromptThatIsTooLong(t *testing.T) {
	t.Parallel()
	text := strings.Replace(twoArms, "x: bbbb", "x: "+strings.Repeat("b", 4*30720-6+1), 1)
	f := forecastOf(t, text, suite.Limits{}, nil)
	if f.CountCalls != 1 || len(f.Problems) != 2 { // one prompt, on two arms
		t.Fatalf("%d calls to count, problems %q, want 1 and one for each arm", f.CountCalls, f.Problems)
	}
	for _, want := range []string{"b on short/p", "30721", "30720"} {
		expect.Contains(t, "the problem", f.Problems[0], want)
	}
}

// gateOf is the outlook of the arm t/new, which a gate compares with t/old, over 60 cases with prompts of 8 and 4 bytes.
func gateOf(t *testing.T, margin, alpha float64, early bool) GateOutlook {
	t.Helper()
	var cases strings.Builder
	for i := range 60 {
		fmt.Fprintf(&cases, "  - {name: c%d, vars: {x: %d}}\n", i, i+1000)
	}
	plan := planOf(t, `targets: [{name: t, model: svc-pro, generationConfig: {maxOutputTokens: 10}}]
prompts: [{name: old, text: "{{.x}}"}, {name: new, text: "{{.x}}{{.x}}"}, {name: other, text: "{{.x}} "}]
defaults: {scorers: [{contains: x}]}
`+fmt.Sprintf("gate: {baseline: {arm: t/old, margin: %g, alpha: %g, stopEarly: %v}}\n", margin, alpha, early)+"cases:\n"+cases.String())
	f, err := NewForecast(t.Context(), plan, &suite.Limits{Attempts: 1}, nil, nil, nil)
	if err == nil {
		err = f.Outlooks(plan, rundir.At(t.TempDir()), &Job{inputs: inputs{Suites: plan.Suites}})
	}
	expect.OK(t, err)
	if len(f.Gates) != 2 || f.Gates[0].Arm != "t/new" || f.Gates[1].Arm != "t/other" {
		t.Fatalf("gates %+v, want those of t/new and t/other", f.Gates)
	}
	return f.Gates[0]
}

// The outlook of a gate has the costs of both arms, and the cases that a margin takes without a single flip: at an alpha of 0.01 the
// exact test takes more than the 90 of (1-margin)ⁿ at most alpha.
func TestOutlookGivesTheCasesThatAMarginNeeds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		margin, alpha float64
		want          int
	}{{0.05, 0.05, 59}, {0.1, 0.05, 29}, {0.05, 0.01, 104}} {
		g := gateOf(t, test.margin, test.alpha, false)
		if want := 60*(1+2) + 120*10; g.Trials != 120 || g.Calls != 120 || g.Tokens != want || g.Units != 60 {
			t.Errorf("%+v: %+v, want 120 trials and calls, %d tokens, 60 units", test, g, want)
		}
		expect.Same(t, fmt.Sprintf("%+v: the cases it takes", test), g.Reach, test.want)
		for _, row := range g.Rows {
			expect.Same(t, "share of the cases", row.Share, 1)
		}
	}
}

// With an early stop fewer cases are expected to run, and looking often takes no fewer cases to show the same.
func TestOutlookGivesTheCasesOfAnEarlyStop(t *testing.T) {
	t.Parallel()
	whole, early := gateOf(t, 0.1, 0.05, false), gateOf(t, 0.1, 0.05, true)
	if !early.StopEarly || early.Reach < whole.Reach || early.Rows[0].Share >= 1 || early.Tokens != whole.Tokens {
		t.Errorf("%+v, want what it takes without an early stop or more, %+v, and a smaller share of the cases", early, whole)
	}
}

// A baseline that is not there is a problem of the forecast, and no reason not to have one.
func TestAMissingBaselineIsAProblemOfTheForecast(t *testing.T) {
	t.Parallel()
	plan := planOf(t, twoArms+"gate: {baseline: {run: gone, margin: 0.05}}\n")
	f := &Forecast{}
	expect.OK(t, f.Outlooks(plan, rundir.At(t.TempDir()), &Job{inputs: inputs{Suites: plan.Suites}}))
	if len(f.Problems) != 1 || !strings.Contains(f.Problems[0], "gone") {
		t.Errorf("problems %q, want one that names the baseline", f.Problems)
	}
}
