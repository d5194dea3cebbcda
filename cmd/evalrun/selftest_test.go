package main

import (
	"strings"
	"testing"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/gate"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

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
	for _, want := range []string{
		"s on t/p: 2000 comparisons of 60 cases with themselves, margin 0.05\n",
		"  false alarms (regressed): 3.1 %, where 5.0 % are allowed\n",
		"  not worse or improved: 75.0 %, cannot tell: 21.9 %\n",
		"  20.0 % of the answers flip between two repeats; with as many, a loss of 0.150 is reported in 81 %\n",
		"  the gate blocks 25 % of unchanged candidates; add cases or use a larger margin\n",
	} {
		expect.Contains(t, "the text", shown.String(), want)
	}
	expect.Same(t, "gates that block too many", strings.Count(shown.String(), "the gate blocks"), 1)
	if strings.Contains(shown.String(), "\x1b") {
		t.Errorf("got %q, want the name of a suite without commands", shown)
	}
}
