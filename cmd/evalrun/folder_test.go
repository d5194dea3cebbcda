package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/gate"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// contains reports each text that is not in what was written.
func contains(t *testing.T, got string, want ...string) {
	t.Helper()
	for _, text := range want {
		expect.Contains(t, "the text", got, text)
	}
}

// Show takes globs of cases and arms, and names the nearest case where none fits.
func TestShowFindsCasesByGlobs(t *testing.T) {
	t.Parallel()
	f := newRunFolder(t)
	trials := append(letters("pf", "t/p", 0, 1), letters("pp", "t/q", 2, 1)...)
	f.record("night", nil, completed(), trials...)
	out, shown := screen()
	expect.OK(t, f.show("night", showOptions{Case: "c0*", Arms: []string{"t/p"}}, out, false))
	contains(t, shown.String(), "answer 0", "answer 1")
	if strings.Contains(shown.String(), "answer 2") {
		t.Errorf("got another arm, want one alone:\n%s", shown)
	}
	for want, err := range map[string]error{
		"the run has no case \"c0\"; did you mean `c00`?": f.show("night", showOptions{Case: "c0"}, out, false),
		`no case fits "c00" on an arm that fits x or y; arms are named target/prompt, and * matches any characters`: f.show(
			"night", showOptions{Case: "c00", Arms: []string{"x", "y"}}, out, false,
		),
	} {
		expect.Same(t, "exit code", eval.CodeOf(err), eval.CodeBadInput)
		contains(t, fmt.Sprint(err), want)
	}
	out, shown = screen()
	expect.OK(t, f.list("night", showOptions{}, out))
	contains(t, shown.String(), "c00", "c01", "c02", "c03")
}

// Two runs compare by a margin; arms of one compare by their names.
func TestRunsAreComparedByAMarginAndArmsByName(t *testing.T) {
	t.Parallel()
	f := newRunFolder(t)
	good, bad := strings.Repeat("p", 60), strings.Repeat("f", 12)+strings.Repeat("p", 48)
	f.record("main", nil, completed(), letters(good, "t/p", 0, 1)...)
	f.record("worse", nil, completed(), letters(bad, "t/p", 0, 1)...)
	f.record("arms", nil, completed(), append(letters(good, "t/a", 0, 1), letters(bad, "t/b", 60, 1)...)...)
	margin := eval.RuleOptions{Margin: 0.05}
	for name, test := range map[string]struct {
		names []string
		o     compareRequest
		want  eval.Verdict
		exit  int
	}{
		"a worse run":     {[]string{"main", "worse"}, compareRequest{Rule: margin}, eval.Regressed, eval.CodeFailed},
		"a better one":    {[]string{"worse", "main"}, compareRequest{Rule: margin}, eval.Improved, eval.CodeOK},
		"estimates alone": {[]string{"main", "worse"}, compareRequest{}, "", eval.CodeOK},
		"a worse arm": {
			[]string{"arms"},
			compareRequest{Rule: margin, Arms: []string{"t/a", "t/b"}},
			eval.Regressed,
			eval.CodeFailed,
		},
		"the same arm": {
			[]string{"arms"},
			compareRequest{Rule: margin, Arms: []string{"t/a", "t/a"}},
			eval.Invalid,
			eval.CodeIncomplete,
		},
		"an arm of another run": {
			[]string{"main", "arms"},
			compareRequest{Rule: margin, Arms: []string{"t/p", "t/b"}},
			eval.Regressed,
			eval.CodeFailed,
		},
		"a run and itself": {[]string{"main", "main"}, compareRequest{Rule: margin}, eval.Invalid, eval.CodeIncomplete},
		"a metric that is not": {
			[]string{"main", "worse"},
			compareRequest{Rule: eval.RuleOptions{Metrics: []string{"x=0.1"}}},
			eval.Invalid,
			eval.CodeIncomplete,
		},
		"inconclusive, a pass": {
			[]string{"main", "worse"},
			compareRequest{Rule: eval.RuleOptions{Margin: 0.2, OnInconclusive: "pass"}},
			eval.Regressed,
			eval.CodeFailed,
		},
		"blocked, none are lost": {
			[]string{"main", "worse"},
			compareRequest{Rule: eval.RuleOptions{Metrics: []string{"blocked=0.05"}}},
			eval.NotWorse,
			eval.CodeOK,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := f.compare(context.Background(), test.names, test.o)
			expect.OK(t, err)
			expect.Same(t, "verdict and exit", [2]any{c.found.Verdict, c.Exit()}, [2]any{test.want, test.exit})
			out, shown := screen()
			expect.OK(t, c.Write(out))
			contains(t, shown.String(), "s")
			var read compare.Comparison
			out, shown = screen()
			expect.OK(t, c.WriteJSON(out), json.Unmarshal(shown.Bytes(), &read))
			expect.Same(t, "the verdict in JSON", read.Verdict, test.want)
			expect.Same(t, "the name of the base", read.Base.Name, test.names[0])
		})
	}
}

// A self-test says how often the gate errs, and what to do where it blocks too many.
func TestSelfTestsSayHowOftenTheGateErrs(t *testing.T) {
	t.Parallel()
	one := gate.ArmSelfTest{Suite: "s", Arm: "t/p", Margin: 0.05, Alpha: 0.05, SelfTest: compare.SelfTest{
		Units: 60, Draws: 2000, FalseAlarms: 0.031, Flips: 0.2, Smallest: 0.15, Detects: 0.81,
		Verdicts: map[eval.Verdict]float64{eval.NotWorse: 0.5, eval.Improved: 0.25, eval.Inconclusive: 0.219},
	}}
	fine := one
	fine.Suite, fine.Verdicts = "fine\x1b[2J", map[eval.Verdict]float64{eval.NotWorse: 0.8}
	out, shown := screen()
	expect.OK(t, selfTests{one, fine}.Write(out))
	contains(
		t, shown.String(),
		"s on t/p: 2000 comparisons of 60 cases with themselves, margin 0.05\n",
		"  false alarms (regressed): 3.1 %, where 5.0 % are allowed\n",
		"  not worse or improved: 75.0 %, cannot tell: 21.9 %\n",
		"  20.0 % of the answers flip between two repeats; with as many, a loss of 0.150 is reported in 81 %\n",
		"  the gate blocks 25 % of unchanged candidates; add cases or use a larger margin\n",
	)
	expect.Same(t, "gates that block too many", strings.Count(shown.String(), "the gate blocks"), 1)
	if strings.Contains(shown.String(), "\x1b") {
		t.Errorf("got %q, want the name of a suite without commands", shown)
	}
}
