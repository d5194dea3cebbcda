package gate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// chosen are cases named a0, a1, b0, b1 and so on, those of a letter with its tag.
func chosen(letters string, each int) (out []*eval.Result) {
	for _, letter := range letters {
		for n := range each {
			out = append(out, trialOf(fmt.Sprintf("%c%02d", letter, n), eval.Pass, func(r *eval.Result) {
				r.Tags = []string{"tag-" + string(letter)}
			}))
		}
	}
	return out
}

// Only the cases of the baseline that the run was to send are expected in it.
func TestCasesThatWereNotSelectedAreNotMissing(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]eval.SelectionOptions{
		"by name":              {Cases: []string{"a*"}},
		"by either name":       {Cases: []string{"nothing", "a*"}},
		"by tag":               {Tags: []string{"tag-a"}},
		"by a glob of tags":    {Tags: []string{"*-a"}},
		"by name and tag":      {Cases: []string{"*0*"}, Tags: []string{"tag-a"}},
		"by a tag of everyone": {Cases: []string{"a*"}, Tags: []string{"tag-*"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := runOf(t, "base", nil, chosen("ab", 10)...)
			head := runOf(t, "head", func(r *eval.Run) { r.CommandOptions.SelectionOptions = options }, chosen("a", 10)...)
			c := onlyArm(t, compared(t, base, head, byRule(passRule(0.3))))
			expect.Same(t, "pairing", pairingOf(c), counts{Of: 10, Compared: 10, Unselected: 10})
			expect.Same(t, "why", c.Why, "")
		})
	}
}

type counts struct{ Of, Compared, Unselected, Removed, Changed int }

func pairingOf(c *compare.ArmComparison) counts {
	p := c.Cases
	return counts{p.Of, p.Compared, p.Unselected, len(p.Removed), len(p.Changed)}
}

// Without a filter, what the run leaves out is removed, and too much of it makes the comparison invalid.
func TestCasesLeftOutOfTheWholeSuiteMakeTheComparisonInvalid(t *testing.T) {
	t.Parallel()
	base := runOf(t, "base", nil, chosen("ab", 10)...)
	head := runOf(t, "head", nil, chosen("a", 10)...)
	c := onlyArm(t, compared(t, base, head, byRule(passRule(0.3))))
	expect.Same(t, "pairing", pairingOf(c), counts{Of: 20, Compared: 10, Removed: 10})
	expect.Same(t, "verdict", c.Verdict, eval.Invalid)
	expect.Same(t, "why", c.Why, "10 of 20 cases of the baseline are compared, less than 90 %: --min-paired 0.50 accepts it, "+
		"and `accepted: {removed: [\"b00\", \"b01\", \"b02\", \"b03\", \"b04\", ...]}` accepts cases by name")
	half := 0.5
	rule := passRule(0.3)
	rule.MinPaired = &half
	expect.Same(t, "why with the least share that it has", onlyArm(t, compared(t, base, head, byRule(rule))).Why, "")
}

// A case whose name or tag changes, so that the filter misses it, counts by its name and tag in the baseline.
func TestACaseThatEscapesTheFilterIsMissed(t *testing.T) {
	t.Parallel()
	base := runOf(t, "base", nil, chosen("a", 10)...)
	trials := chosen("a", 10)[1:]
	for name, options := range map[string]eval.SelectionOptions{
		"by name": {Cases: []string{"a*"}},
		"by tag":  {Tags: []string{"tag-a"}},
	} {
		head := runOf(t, "head", func(r *eval.Run) { r.CommandOptions.SelectionOptions = options }, trials...)
		c := onlyArm(t, compared(t, base, head, byRule(passRule(0.3))))
		expect.Same(t, name, pairingOf(c), counts{Of: 10, Compared: 9, Removed: 1})
		expect.Same(t, name+", those that passed before", c.Cases.PassedBefore, []string{"a00"})
	}
}

func byLot(trials []*eval.Result, seed uint64) []*eval.Result {
	slices.SortFunc(trials, func(a, b *eval.Result) int {
		x, y := lot(seed, a.Suite, a.CaseID), lot(seed, b.Suite, b.CaseID)
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	return trials
}

// A sample expects the cases whose lots are not above its own, and misses one that was deleted.
func TestASampleExpectsTheCasesThatItWouldDraw(t *testing.T) {
	t.Parallel()
	const seed, size = 7, 10
	drawn := byLot(chosen("a", 30), seed)
	sampled := func(r *eval.Run) { r.CommandOptions.Sample, r.CommandOptions.Seed = size, seed }
	base := runOf(t, "base", nil, chosen("a", 30)...)

	head := runOf(t, "head", sampled, drawn[:size]...)
	c := onlyArm(t, compared(t, base, head, byRule(passRule(0.3))))
	expect.Same(t, "the sample", pairingOf(c), counts{Of: 10, Compared: 10, Unselected: 20})

	without := slices.Concat(drawn[:3], drawn[4:size+1]) // a case was deleted, so that the next one is drawn instead
	lost := drawn[3].Case
	c = onlyArm(t, compared(t, base, runOf(t, "head", sampled, without...), byRule(passRule(0.3))))
	expect.Same(t, "after deleting a case", pairingOf(c), counts{Of: 11, Compared: 10, Unselected: 19, Removed: 1})
	expect.Same(t, "removed", c.Cases.Removed, []string{lost})
}

// A sample larger than the suite is the whole suite.
func TestASampleOfMoreThanAllMissesWhatWasDeleted(t *testing.T) {
	t.Parallel()
	base := runOf(t, "base", nil, chosen("a", 12)...)
	head := runOf(t, "head", func(r *eval.Run) { r.CommandOptions.Sample = 100 }, chosen("a", 11)...)
	c := onlyArm(t, compared(t, base, head, byRule(passRule(0.3))))
	expect.Same(t, "pairing", pairingOf(c), counts{Of: 12, Compared: 11, Removed: 1})
}

// What only the baseline has is invalid, unless the run was not to send it or the rule allows that it is gone.
func TestWhatOnlyTheBaselineHasIsInvalid(t *testing.T) {
	t.Parallel()
	whole := slices.Concat(row(strings.Repeat("p", 12)), row("pp", on("s", "t/q")), row("pp", on("other", "u/x")))
	const arm, suite = "s t/q: invalid", "other u/x: invalid"
	for name, test := range map[string]struct {
		options eval.SelectionOptions
		allowed []string
		want    []string
	}{
		"neither is allowed":           {want: []string{arm, suite}},
		"the arm is allowed":           {allowed: []string{"t/q"}, want: []string{suite}},
		"the arm by a glob":            {allowed: []string{"*/q"}, want: []string{suite}},
		"the suite is allowed":         {allowed: []string{"other"}, want: []string{arm}},
		"the suite's arm is allowed":   {allowed: []string{"u/*"}, want: []string{arm}},
		"all is allowed":               {allowed: []string{"*"}},
		"another name is allowed":      {allowed: []string{"q", "oth"}, want: []string{arm, suite}},
		"--arm leaves them out":        {options: eval.SelectionOptions{Arms: []string{"t/p"}}},
		"--arm names the lost arm":     {options: eval.SelectionOptions{Arms: []string{"t/*"}}, want: []string{arm}},
		"--case leaves their cases":    {options: eval.SelectionOptions{Cases: []string{"c1*"}}},
		"--case takes one of theirs":   {options: eval.SelectionOptions{Cases: []string{"c*1"}}, want: []string{arm, suite}},
		"--tag that none of them have": {options: eval.SelectionOptions{Tags: []string{"x"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := runOf(t, "base", nil, whole...)
			selected := func(r *eval.Run) { r.CommandOptions.SelectionOptions = test.options }
			head := runOf(t, "head", selected, row(strings.Repeat("p", 12))...)
			rule := passRule(0.3)
			rule.AllowRemoved = test.allowed
			c := compared(t, base, head, byRule(rule))
			var lost []string
			for i := range c.Arms[1:] {
				lost = append(lost, verdicts(c)[i+1])
			}
			expect.Same(t, "lost arms", lost, test.want)
			if len(lost) > 0 {
				expect.Same(t, "the whole", c.Verdict, eval.Invalid)
			}
		})
	}
}

func TestALostArmSaysHowToAllowIt(t *testing.T) {
	t.Parallel()
	base := runOf(t, "base", nil, slices.Concat(row("pppp"), row("pp", on("s", "t/q")))...)
	head := runOf(t, "head", nil, row("pppp")...)
	c := compared(t, base, head, byRule(passRule(0.3)))
	want := "the baseline has s on t/q, and the run has not: `allowRemoved: [\"t/q\"]`, or --allow-removed, accepts it"
	expect.Same(t, "why", c.Arms[1].Why, want)
}

func TestWithoutARuleNothingIsLost(t *testing.T) {
	t.Parallel()
	base := runOf(t, "base", nil, slices.Concat(row("pppp"), row("pp", on("s", "t/q")))...)
	c := compared(t, base, runOf(t, "head", nil, row("pppp", on("s", "t/q"))...), Comparing{
		Rules: func(string) *eval.BaselineRule { return nil },
	})
	expect.Same(t, "arms", verdicts(c), []string{"s t/q: "})
}

func TestASuiteThatTheRunHasIsComparedByItsOwnRule(t *testing.T) {
	t.Parallel()
	both := func() []*eval.Result { return slices.Concat(row("pppp"), row("pp", on("other", "t/p"))) }
	what := byRule(passRule(0.3))
	what.Suite = "s"
	c := compared(t, runOf(t, "base", nil, both()...), runOf(t, "head", nil, both()...), what)
	expect.Same(t, "arms", len(c.Arms), 1)
}
