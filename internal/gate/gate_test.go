package gate

import (
	"fmt"
	"testing"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
)

// outcomes makes a run of a suite with a gate, a trial for each letter, with scores of 0 and 0.5 in turn, and slower each.
func outcomes(t *testing.T, gate *eval.GateConfig, letters string, end *eval.End) *journal.Document {
	t.Helper()
	n := 0
	trials := row(letters, func(r *eval.Result) {
		r.Timing = &eval.Timing{LatencyMs: float64(100 * (n + 1))}
		r.Scores = []eval.Score{{Scorer: "contains", Name: "tone", Grade: eval.Graded{Value: float64(n%2) / 2}}}
		n++
	})
	return endedRun(t, "r", func(r *eval.Run) { r.Suites[0].Gate = gate }, end, trials...)
}

// The exit code is that of the worst rule; rules that have nothing to apply to make the run incomplete.
func TestApplyTakesTheWorstRule(t *testing.T) {
	t.Parallel()
	share := func(v float64) *float64 { return &v }
	completed := &eval.End{Reason: eval.EndCompleted}
	for name, test := range map[string]struct {
		gate    *eval.GateConfig
		letters string
		end     *eval.End
		want    int
		broken  string // the rule that does not hold
	}{
		"no gate, all pass":      {nil, "ppp", completed, eval.CodeOK, ""},
		"no gate, a failure":     {nil, "pfe", completed, eval.CodeFailed, ""},
		"no gate, an error":      {nil, "ppe", completed, eval.CodeIncomplete, ""},
		"pass rate":              {&eval.GateConfig{PassRateMin: share(0.6)}, "ppf", completed, eval.CodeOK, ""},
		"pass rate, not reached": {&eval.GateConfig{PassRateMin: share(0.7)}, "ppf", completed, eval.CodeFailed, "passRate"},
		"19 of 20 are 0.95":      {&eval.GateConfig{PassRateMin: share(0.95)}, "pppppppppppppppppppf", completed, eval.CodeOK, ""},
		"errors":                 {&eval.GateConfig{ErrorsMax: new(0.4)}, "ppe", completed, eval.CodeOK, ""},
		"too many errors":        {&eval.GateConfig{ErrorsMax: new(0.3)}, "ppe", completed, eval.CodeIncomplete, "errors"},
		"a mean":                 {&eval.GateConfig{Means: []eval.MeanMin{{Metric: "tone", Min: 0.2}}}, "pppp", completed, eval.CodeOK, ""},
		"a mean, too low": {
			&eval.GateConfig{Means: []eval.MeanMin{{Metric: "tone", Min: 0.3}}}, "pppp", completed, eval.CodeFailed, "mean tone",
		},
		"a metric without a value": {
			&eval.GateConfig{Means: []eval.MeanMin{{Metric: "none", Min: 0.3}}}, "pp", completed, eval.CodeIncomplete, "mean none",
		},
		"latency":           {&eval.GateConfig{LatencyP95Ms: new(10_000.0)}, "pp", completed, eval.CodeOK, ""},
		"latency, too long": {&eval.GateConfig{LatencyP95Ms: new(50.0)}, "pp", completed, eval.CodeFailed, "latency p95"},
		"nothing judged": {
			&eval.GateConfig{PassRateMin: share(0.5), ErrorsMax: new(1.0)}, "ee", completed, eval.CodeIncomplete, "passRate",
		},
		"not complete":           {&eval.GateConfig{PassRateMin: share(0.5)}, "pps", &eval.End{Reason: eval.EndBudget}, eval.CodeIncomplete, ""},
		"a failure and a signal": {nil, "pfs", &eval.End{Reason: eval.EndInterrupted, Signal: "interrupt"}, eval.CodeInterrupted, ""},
		"a baseline that is gone": {
			&eval.GateConfig{Baseline: &eval.BaselineRule{
				Against: eval.BaseRun{Name: "gone", Path: "/nowhere/run.jsonl"},
				Metrics: []eval.MetricMargin{{Name: eval.MetricPass, Margin: 0.1}},
			}}, "pp", completed, eval.CodeIncomplete, "baseline",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := outcomes(t, test.gate, test.letters, test.end)
			Apply(d)
			expect.Same(t, fmt.Sprintf("exit by the rules %+v", d.Gate().Rules), d.Gate().Exit, test.want)
			for _, r := range d.Gate().Rules {
				if broken := string(r.RuleName) == test.broken; r.Standing.Holds() == broken {
					t.Errorf("the rule %s holds: %v, want %v", r.RuleName, r.Standing.Holds(), !broken)
				}
			}
		})
	}
}

// Options replace the rule of a suite; a gate without a margin is refused.
func TestRuleOfLetsOptionsReplaceTheRule(t *testing.T) {
	t.Parallel()
	rule, err := RuleOf(eval.RuleOptions{Margin: 0.05, Metrics: []string{"pass", "tone=0.1", "latency=1.2"}})
	expect.OK(t, err)
	want := "[{pass 0.05 0 false} {tone 0.1 0 false} {latency 1.2 0 true}]"
	if got := fmt.Sprint(rule.Metrics); got != want || rule.Alpha != eval.DefaultAlpha || rule.OnInconclusive != eval.OnFail {
		t.Errorf("%s at %g, %s, want %s at the defaults", got, rule.Alpha, rule.OnInconclusive, want)
	}
	if rule, err := RuleOf(eval.RuleOptions{}); rule != nil || err != nil {
		t.Errorf("without a margin: got the rule %+v, %v, want none", rule, err)
	}
	for _, bad := range []eval.RuleOptions{
		{Metrics: []string{"tone"}},
		{Margin: 0.1, Metrics: []string{"latency"}},
		{Margin: 0.1, Metrics: []string{"tone=1.5"}},
		{Margin: 0.1, Metrics: []string{"tone", "tone"}},
		{Margin: 0.1, Alpha: 0.9},
		{Margin: 0.1, OnInconclusive: "shrug"},
	} {
		if _, err := RuleOf(bad); eval.CodeOf(err) != eval.CodeBadInput {
			t.Errorf("%+v is taken: %v, want exit code %d", bad, err, eval.CodeBadInput)
		}
	}
}

func TestOnlyKnownVerdictsPass(t *testing.T) {
	t.Parallel()
	for v, want := range map[eval.Verdict]int{
		eval.Improved: eval.CodeOK, eval.NotWorse: eval.CodeOK, eval.Regressed: eval.CodeFailed,
		eval.Inconclusive: eval.CodeInconclusive, eval.Invalid: eval.CodeIncomplete, "": eval.CodeIncomplete, "better": eval.CodeIncomplete,
	} {
		if standing, got := decided(v, eval.OnFail); got != want || standing.Holds() != (want == eval.CodeOK) {
			t.Errorf("%q: exit %d, want %d", v, got, want)
		}
		c := &compare.Comparison{Arms: []compare.ArmComparison{{Verdict: v}}}
		expect.Same(t, fmt.Sprintf("comparison with %q: exit", v), Exit(c, &eval.BaselineRule{}), want)
	}
	if _, got := decided("", eval.OnPass); got != eval.CodeIncomplete {
		t.Errorf("no verdict, where inconclusive ones pass: exit %d, want %d", got, eval.CodeIncomplete)
	}
	expect.Same(t, "a comparison without a rule: exit", Exit(&compare.Comparison{}, nil), eval.CodeOK)
}
