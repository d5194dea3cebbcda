package gate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
)

func gated(g eval.GateConfig) func(*eval.Run) {
	return func(r *eval.Run) {
		for i := range r.Suites {
			if r.Suites[i].Name == "s" {
				r.Suites[i].Gate = &g
			}
		}
	}
}

// rulesOf are the rules of a gate as NAME ARM: holds or not, and the exit code.
func rulesOf(d *journal.Document) (out []string) {
	Apply(d)
	for _, r := range d.Gate().Rules {
		state := "broken"
		if r.Standing.Holds() {
			state = "holds"
		}
		out = append(out, strings.TrimSpace(string(r.RuleName)+" "+r.Arm)+" "+state)
	}
	return append(out, fmt.Sprint("exit ", d.Gate().Exit))
}

func blocked(r *eval.Result) {
	r.Response = &eval.Response{PromptFeedback: &eval.PromptFeedback{BlockReason: "SAFETY"}}
}

func quarantined(r *eval.Result) { r.Quarantine = &eval.Quarantine{Until: "2027-01-01"} }

func TestRulesMayReachTheirUpperLimit(t *testing.T) {
	t.Parallel()
	none := func(*eval.Result) {}
	for name, test := range map[string]struct {
		gate   eval.GateConfig
		change change // of the first of four cases
		want   []string
	}{
		"blocked, at the limit": {
			eval.GateConfig{BlockedMax: new(0.25)},
			blocked,
			[]string{"errors holds", "blocked holds", "exit 0"},
		},
		"blocked, too many": {
			eval.GateConfig{BlockedMax: new(0.2)},
			blocked,
			[]string{"errors holds", "blocked broken", "exit 1"},
		},
		"blocked, none may be": {
			eval.GateConfig{BlockedMax: new(0.0)},
			none,
			[]string{"errors holds", "blocked holds", "exit 0"},
		},
		"quarantined, at the limit": {
			eval.GateConfig{MaxQuarantined: new(0.25)},
			quarantined,
			[]string{"errors holds", "maxQuarantined holds", "exit 0"},
		},
		"quarantined, too many": {
			eval.GateConfig{MaxQuarantined: new(0.2)},
			quarantined,
			[]string{"errors holds", "maxQuarantined broken", "exit 1"},
		},
		"a quarantine that is over": {
			eval.GateConfig{MaxQuarantined: new(0.2)},
			func(r *eval.Result) { r.Quarantine = &eval.Quarantine{Until: "2025-12-31"} },
			[]string{"errors holds", "maxQuarantined holds", "exit 0"},
		},
		"a blocked one, quarantined": {
			eval.GateConfig{BlockedMax: new(0.0)},
			func(r *eval.Result) { blocked(r); quarantined(r) },
			[]string{"errors holds", "blocked holds", "exit 0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trials := row("pppp")
			test.change(trials[0])
			expect.Same(t, "rules", rulesOf(runOf(t, "r", gated(test.gate), trials...)), test.want)
		})
	}
}

// A case in quarantine neither fails a gate nor helps it.
func TestQuarantinedCasesStayOutOfTheGate(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		gate    eval.GateConfig
		letters string
		want    []string
	}{
		"a failure in quarantine": {
			eval.GateConfig{PassRateMin: new(1.0)},
			"fppp",
			[]string{"passRate t/p holds", "errors holds", "exit 0"},
		},
		"a pass in quarantine": {
			eval.GateConfig{PassRateMin: new(0.7)},
			"ppff",
			[]string{"passRate t/p broken", "errors holds", "exit 1"},
		},
		"an error in quarantine": {eval.GateConfig{}, "eppp", []string{"errors holds", "exit 0"}},
		"nothing but in quarantine": {
			eval.GateConfig{PassRateMin: new(0.1)},
			"p",
			[]string{"passRate t/p broken", "errors holds", "exit 4"},
		},
	} {
		trials := row(test.letters)
		quarantined(trials[0])
		expect.Same(t, name, rulesOf(runOf(t, "r", gated(test.gate), trials...)), test.want)
	}
}

func TestEveryArmMustHold(t *testing.T) {
	t.Parallel()
	trials := slices.Concat(row("pppf", on("s", "t/p")), row("pfff", on("s", "t/q")))
	d := runOf(t, "r", gated(eval.GateConfig{PassRateMin: new(0.5), LatencyP95Ms: new(100.0)}), trials...)
	expect.Same(t, "rules", rulesOf(d), []string{
		"passRate t/p holds", "latency p95 t/p holds", "passRate t/q broken", "latency p95 t/q holds", "errors holds", "exit 1",
	})
}

// Repeats of a case are averaged before cases are.
func TestThePassRateIsByCase(t *testing.T) {
	t.Parallel()
	trials := []*eval.Result{trialOf("steady", eval.Pass)}
	for n, outcome := range []eval.Outcome{eval.Fail, eval.Fail, eval.Fail, eval.Pass} {
		trials = append(trials, trialOf("shaky", outcome, func(r *eval.Result) { r.Repeat = n + 1 }))
	}
	d := runOf(t, "r", gated(eval.GateConfig{PassRateMin: new(0.625)}), trials...)
	expect.Same(t, "rules", rulesOf(d), []string{"passRate t/p holds", "errors holds", "exit 0"})
	expect.Same(t, "value", d.Gate().Rules[0].Found, journal.RuleFinding(journal.RuleValue(0.625)))
}

// A shard applies no gate; its merged run does.
func TestAShardAppliesNoGate(t *testing.T) {
	t.Parallel()
	whole := gated(eval.GateConfig{PassRateMin: new(1.0), Baseline: passRule(0.1)})
	d := runOf(t, "r", func(r *eval.Run) {
		whole(r)
		r.Plan.Shard = &eval.ShardOf{Index: 1, Of: 2}
	}, row("ffff")...)
	expect.Same(t, "rules", rulesOf(d), []string{"exit 0"})
	expect.Same(t, "comparison", d.Comparison(), nil)
}

// comparedWith is a run whose gate compares it with a baseline that is recorded.
func comparedWith(t *testing.T, base *journal.Document, rule eval.BaselineRule, trials ...*eval.Result) *journal.Document {
	t.Helper()
	rule.Against = eval.BaseRun{Name: "main", Path: base.Path(), ID: base.Run.ID}
	return runOf(t, "head", gated(eval.GateConfig{Baseline: &rule}), trials...)
}

func TestTheComparisonIsARuleOfTheGate(t *testing.T) {
	t.Parallel()
	all := strings.Repeat("p", 60)
	ten := strings.Repeat("f", 10) + all[10:]
	const (
		worse    = "REGRESSED  t/p is worse than in main: 10 of 60 cases got worse, none better (100 % to 83 %, by 9.3 to 27 points)"
		tooClose = "CANNOT TELL: 3 of 60 cases got worse, none better (-5 points), which can be chance, or a loss of 5 points or more"
	)
	for name, test := range map[string]struct {
		head string
		on   eval.OnInconclusive
		want journal.GateRule // without its names
		exit int
	}{
		"not worse": {
			all,
			eval.OnFail,
			journal.GateRule{
				Found: journal.RuleVerdict(eval.NotWorse), Standing: journal.RuleHolds,
				Why: "NOT WORSE by more than 5 points: none of 60 cases changed",
			},
			eval.CodeOK,
		},
		"regressed": {
			ten,
			eval.OnFail,
			journal.GateRule{Found: journal.RuleVerdict(eval.Regressed), Why: worse},
			eval.CodeFailed,
		},
		"regressed, never borne": {
			ten,
			eval.OnPass,
			journal.GateRule{Found: journal.RuleVerdict(eval.Regressed), Why: worse},
			eval.CodeFailed,
		},
		"inconclusive": {
			"fff" + all[3:],
			eval.OnFail,
			journal.GateRule{Found: journal.RuleVerdict(eval.Inconclusive), Why: tooClose},
			eval.CodeInconclusive,
		},
		"inconclusive, a warning": {
			"fff" + all[3:],
			eval.OnWarn,
			journal.GateRule{Found: journal.RuleVerdict(eval.Inconclusive), Standing: journal.RuleWarned, Why: tooClose},
			eval.CodeOK,
		},
		"inconclusive, not a word": {
			"fff" + all[3:],
			eval.OnPass,
			journal.GateRule{Found: journal.RuleVerdict(eval.Inconclusive), Standing: journal.RuleHolds, Why: tooClose},
			eval.CodeOK,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule := passRule(0.05)
			rule.OnInconclusive = test.on
			trials := row(test.head)
			d := comparedWith(t, runOf(t, "base", nil, row(all)...), *rule, trials...)
			d.Run.Suites[0].Gate.ErrorsMax = new(1.0)
			Apply(d)
			test.want.Suite, test.want.RuleName, test.want.Arm, test.want.Limit = "s", "baseline", "t/p", 0.05
			expect.Same(t, "rule", d.Gate().Rules[1], test.want)
			expect.Same(t, "exit", d.Gate().Exit, test.exit)
			expect.Same(t, "what it was compared with", d.Comparison().Base.Name, "main")
		})
	}
}

// A baseline that is not the one of the run's beginning is no basis for a verdict.
func TestABaselineThatChangedIsInvalid(t *testing.T) {
	t.Parallel()
	base := runOf(t, "base", nil, row("pppp")...)
	for name, test := range map[string]struct {
		change func(*eval.BaseRun)
		want   string
	}{
		"another run by that name": {
			func(r *eval.BaseRun) { r.ID = "older" },
			"INVALID: " + base.Path() + " is another run now: base, and older when this run began",
		},
		"it is gone": {
			func(r *eval.BaseRun) { r.Path = "/nowhere/run.jsonl" },
			"INVALID: the baseline main cannot be read: ",
		},
	} {
		d := comparedWith(t, base, *passRule(0.1), row("pppp")...)
		rule := d.Run.Suites[0].Gate.Baseline
		against := rule.Against.(eval.BaseRun)
		test.change(&against)
		rule.Against = against
		Apply(d)
		got := d.Gate().Rules[1]
		expect.Same(t, name+": verdict and exit", [2]any{got.Verdict(), d.Gate().Exit}, [2]any{eval.Invalid, eval.CodeIncomplete})
		if !strings.HasPrefix(got.Why, test.want) {
			t.Errorf("%s: got the reason %q, want it to begin with %q", name, got.Why, test.want)
		}
	}
}

func TestARunIsNotItsOwnBaseline(t *testing.T) {
	t.Parallel()
	base := runOf(t, "head", nil, row("pppp")...) // the same id
	d := comparedWith(t, base, *passRule(0.1), row("pppp")...)
	Apply(d)
	expect.Same(t, "why", d.Gate().Rules[1].Why, "INVALID: the baseline is the run itself")
}

// --no-baseline compares nothing and says so; the other rules stay.
func TestWithoutTheBaselineTheOtherRulesStay(t *testing.T) {
	t.Parallel()
	d := comparedWith(t, runOf(t, "base", nil, row("pppp")...), *passRule(0.1), row("ffff")...)
	d.Run.CommandOptions.Baseline = eval.NoBaseline{}
	expect.Same(t, "rules", rulesOf(d), []string{"errors holds", "exit 0"})
	expect.Same(t, "not compared", d.NotCompared(), true)
	expect.Same(t, "comparison", d.Comparison(), nil)
}

func TestALostSuiteBreaksTheGate(t *testing.T) {
	t.Parallel()
	letters := strings.Repeat("p", 60)
	base := runOf(t, "base", nil, slices.Concat(row(letters), row("p", on("gone", "t/p")))...)
	d := comparedWith(t, base, *passRule(0.05), row(letters)...)
	expect.Same(t, "rules", rulesOf(d), []string{"errors holds", "baseline t/p holds", "baseline t/p broken", "exit 4"})
	expect.Same(t, "its suite", d.Gate().Rules[2].Suite, "gone")

	d = comparedWith(t, base, *passRule(0.05), row(letters)...)
	d.Run.Suites[0].Gate.Baseline.AllowRemoved = []string{"gone"}
	expect.Same(t, "rules when it may go", rulesOf(d), []string{"errors holds", "baseline t/p holds", "exit 0"})
}

func TestArmsOfOneRunAreCompared(t *testing.T) {
	t.Parallel()
	good, bad := strings.Repeat("p", 60), strings.Repeat("f", 10)+strings.Repeat("p", 50)
	trials := func(names ...string) []*eval.Result {
		return slices.Concat(row(good, on("s", names[0])), row(bad, on("s", names[1])), row(good, on("s", names[2])))
	}
	named := passRule(0.05)
	named.Against = eval.BaseArm{Name: "t/old"}
	d := runOf(t, "r", gated(eval.GateConfig{Baseline: named}), trials("t/old", "t/bad", "t/good")...)
	Apply(d)
	expect.Same(t, "against the arm", verdicts(d.Comparison()), []string{"s t/bad: regressed", "s t/good: not_worse"})

	suffix := passRule(0.05)
	suffix.Against = eval.BaseVersion{Suffix: "@main"}
	d = runOf(t, "r", gated(eval.GateConfig{Baseline: suffix}), trials("t/p@main", "t/p", "t/q")...)
	Apply(d)
	expect.Same(t, "against versions", verdicts(d.Comparison()), []string{"s t/p: regressed", "s t/q: invalid"})
	expect.Same(t, "the name of the baseline", d.Comparison().Base.Name, "main")
}
