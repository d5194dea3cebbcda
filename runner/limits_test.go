package runner_test

import (
	"fmt"
	"testing"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/suite"
)

// A limit on tokens needs to know how long answers may be: the service says so of the model, or the suite of the target.
func TestLimitsOnTokensNeedABound(t *testing.T) {
	t.Parallel()
	const text = `version: 1
name: s
targets:
  - {name: told, model: bounded}
  - {name: open, model: open}
  - {name: capped, model: open, generationConfig: {maxOutputTokens: 5}}
  - {name: gone, model: gone}
  - {name: echo, echo: true}
  - {name: unused, model: open}
prompts: [{name: p, text: x}]
cases: [{name: c, arms: ["told/p", "open/p", "capped/p", "gone/p", "echo/p"], scorers: [{contains: x}]}]
`
	for name, test := range map[string]struct {
		limits suite.Limits
		want   []string
	}{
		"none":             {suite.Limits{BudgetCalls: 5, BudgetMoney: 1, RequestsPerMinute: 3}, nil},
		"a rate":           {suite.Limits{TokensPerMinute: 10}, []string{"5 tokensPerMinute"}},
		"a budget":         {suite.Limits{BudgetTokens: 10}, []string{"5 budget.tokens"}},
		"of the model":     {suite.Limits{Models: []suite.ModelLimits{{Model: "open", TokensPerMinute: 5}}}, []string{"5 tokensPerMinute"}},
		"of another model": {suite.Limits{Models: []suite.ModelLimits{{Model: "bounded", TokensPerMinute: 5}}}, nil},
		"calls of a model": {suite.Limits{Models: []suite.ModelLimits{{Model: "open", RequestsPerMinute: 5}}}, nil},
	} {
		p := plan(t, text, runner.Filter{})
		src := &source{models: map[string]eval.Model{"bounded": {Name: "models/bounded", OutputTokenLimit: 10}, "open": {Name: "models/open"}}}
		var ignored, diags diag.List
		expect.OK(t, p.CheckModels(t.Context(), src, &ignored, func(string) {}))
		p.CheckLimits(&test.limits, &diags)
		var got []string
		for _, d := range diags.Sorted() {
			var limit string
			_, err := fmt.Sscanf(d.Message, "`%s", &limit)
			expect.OK(t, err)
			got = append(got, fmt.Sprintf("%d %s", d.Pos.Line, limit[:len(limit)-1]))
		}
		expect.Same(t, name, got, test.want)
	}
}
