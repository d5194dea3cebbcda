package compare

import (
	"fmt"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// headlineOf is what is said of two arms of one run, compared by these margins.
func headlineOf(base, head *Side, margins ...eval.MetricMargin) string {
	base.Arm, head.Arm = "large/ask", "mini/ask"
	c := Comparison{Base: Compared{Run: "r"}, Head: Compared{Run: "r"}, Arms: []ArmComparison{*decided(base, head, options(0.05, margins...))}}
	c.Verdict = c.Arms[0].Verdict
	c.Describe()
	return c.Headline
}

// scoredBy gives each case a score; those of the last cases differ by a step.
func scoredBy(n, worse int, step float64) (base, head *Side) {
	base, head = flipped(n, 0, 0)
	for _, s := range []*Side{base, head} {
		s.Metrics = []string{"closeness"}
		updateAll(s, func(i int, c *CaseTotals) {
			x := 0.9
			if s == head && i >= n-worse {
				x -= step
			}
			c.Metrics = []eval.Sum{{Total: x, N: 1}}
		})
	}
	return base, head
}

func slower(n int, times float64) (base, head *Side) {
	base, head = flipped(n, 0, 0)
	updateAll(base, func(i int, c *CaseTotals) { c.LatencyMs = eval.Sum{Total: 100 + float64(i%7), N: 1} })
	updateAll(head, func(i int, c *CaseTotals) { c.LatencyMs = eval.Sum{Total: times * (100 + float64(i%5)), N: 1} })
	return base, head
}

// flaky runs each case four times. One repeat of the first cases fails in head.
func flaky(n, worse int) (base, head *Side) {
	before, after := make([]int, n), make([]int, n)
	for i := range n {
		if before[i], after[i] = 4, 4; i < worse {
			after[i] = 3
		}
	}
	return side("base", 4, before...), side("head", 4, after...)
}

// clustered is one cluster for each four cases; the first clusters fail wholly in head.
func clustered(clusters, worse int) (base, head *Side) {
	base, head = flipped(4*clusters, 0, 4*worse)
	for _, s := range []*Side{base, head} {
		updateAll(s, func(i int, c *CaseTotals) { c.Cluster = string(rune('A' + i/4)) })
	}
	return base, head
}

// prefers gives head the first cases, base the next, and leaves a tie in the others.
func prefers(n, wins, losses int) (base, head *Side) {
	base, head = flipped(n, 0, 0)
	updateAll(head, func(i int, c *CaseTotals) {
		c.HeadPreferred = eval.Sum{Total: 0.5, N: 1}
		switch {
		case i < wins:
			c.HeadPreferred.Total = 1
		case i < wins+losses:
			c.HeadPreferred.Total = 0
		}
	})
	return base, head
}

func blocks(n, worse int) (base, head *Side) {
	base, head = flipped(n, 0, 0)
	updateAll(head, func(i int, c *CaseTotals) {
		if i < worse {
			c.Blocked = 1
		}
	})
	return base, head
}

func TestHeadlinesSayWhatHappened(t *testing.T) {
	t.Parallel()
	type pair struct{ base, head *Side }
	of := func(base, head *Side) pair { return pair{base, head} }
	errors := func() pair {
		base, head := flipped(100, 0, 0)
		updateAll(head, func(i int, c *CaseTotals) {
			if i < 5 {
				c.Passed, c.Errors = 0, 1
			}
		})
		return pair{base, head}
	}
	latency := eval.MetricMargin{Name: eval.MetricLatency, Margin: 1.1}
	closeness := eval.MetricMargin{Name: "closeness", Margin: 0.05}
	for _, test := range []struct {
		want string
		pair
		margins []eval.MetricMargin
	}{
		{
			"REGRESSED  mini/ask is worse than large/ask: 7 of 30 cases got worse, none better (100 % to 77 %, by 11 to 39 points)",
			of(flipped(30, 0, 7)),
			[]eval.MetricMargin{passMargin(0.05)},
		},
		{
			"NOT WORSE by more than 5 points, but worse: 41 of 900 cases got worse, 12 better (-3.2 points)",
			of(flipped(900, 12, 41)),
			[]eval.MetricMargin{passMargin(0.05)},
		},
		{"NOT WORSE by more than 5 points: none of 60 cases changed", of(flipped(60, 0, 0)), []eval.MetricMargin{passMargin(0.05)}},
		{
			"NOT WORSE by more than 0.5 points: none of 2000 cases changed",
			of(flipped(2000, 0, 0)),
			[]eval.MetricMargin{passMargin(0.005)},
		},
		{
			"IMPROVED  mini/ask is better than large/ask: 12 of 40 cases got better, none worse (70 % to 100 %, by 18 to 44 points)",
			of(flipped(40, 12, 0)),
			[]eval.MetricMargin{passMargin(0.05)},
		},
		{
			"CANNOT TELL: 30 cases cannot show a loss of 5 points; about 124 could", of(flipped(30, 0, 0)),
			[]eval.MetricMargin{passMargin(0.05)},
		},
		{
			"CANNOT TELL: 30 cases cannot show a loss of 5 points; about 327 could; so far 2 got worse, 1 better", of(flipped(30, 1, 2)),
			[]eval.MetricMargin{passMargin(0.05)},
		},
		{
			"CANNOT TELL: 3 of 60 cases got worse, none better (-5 points), which can be chance, or a loss of 5 points or more",
			of(flipped(60, 0, 3)),
			[]eval.MetricMargin{passMargin(0.05)},
		},
		{"INVALID: 5.0 % of the trials of the run are errors, more than 1 %", errors(), []eval.MetricMargin{passMargin(0.05)}},
		{"INVALID: no case has this metric on both sides", of(flipped(60, 0, 0)), []eval.MetricMargin{closeness}},
		{"NO VERDICT without a margin: 7 of 30 cases got worse, 1 better (97 % to 77 %)", of(flipped(30, 1, 7)), nil},
		{
			"REGRESSED  mini/ask has a worse closeness than large/ask: 40 of 50 cases got worse, none better " +
				"(0.9 to 0.66, by 0.17 to 0.28)",
			of(scoredBy(50, 40, 0.3)),
			[]eval.MetricMargin{closeness},
		},
		{
			"NOT WORSE by more than 0.05 in closeness, but worse: 40 of 200 cases got worse, none better (-0.02)",
			of(scoredBy(200, 40, 0.1)),
			[]eval.MetricMargin{closeness},
		},
		{
			"REGRESSED  mini/ask is slower than large/ask: latency +29 % over 100 cases (+12 % to +44 %)",
			of(slower(100, 1.3)),
			[]eval.MetricMargin{latency},
		},
		{
			"CANNOT TELL: 20 cases cannot show that the rise is at most 10 % in latency (-45 % to +80 %); " +
				"it takes 152 even if none differs",
			of(slower(20, 1)),
			[]eval.MetricMargin{latency},
		},
		{
			"NOT WORSE by more than 10 % in latency: latency -0.96 % over 400 cases (-4.6 % to +2.8 %)",
			of(slower(400, 1)),
			[]eval.MetricMargin{latency},
		},
		{
			"NOT WORSE by more than 5 points: 6 of 200 cases got worse, none better (-0.75 points)", of(flaky(200, 6)),
			[]eval.MetricMargin{passMargin(0.05)},
		},
		{
			"REGRESSED  mini/ask is worse than large/ask: 32 of 80 cases (20 independent groups) got worse, none better " +
				"(100 % to 60 %, by 20 to 61 points)", of(clustered(20, 8)), []eval.MetricMargin{passMargin(0.05)},
		},
		{
			"CANNOT TELL: 20 independent groups of cases cannot show a loss of 5 points; about 153 could", of(clustered(20, 0)),
			[]eval.MetricMargin{passMargin(0.05)},
		},
		{
			"REGRESSED  mini/ask is blocked more often than large/ask: 9 of 60 cases are blocked more often, " +
				"none less often (0 % to 15 %, by 8.1 to 25 points)",
			of(blocks(60, 9)),
			[]eval.MetricMargin{{Name: eval.MetricBlocked, Margin: 0.05}},
		},
		{
			"REGRESSED  the judge prefers large/ask to mini/ask: large/ask in 25 of 60 cases, mini/ask in 2 " +
				"(31 % of the preferences are for mini/ask, interval 25 % to 37 %)",
			of(prefers(60, 2, 25)),
			[]eval.MetricMargin{{Name: eval.MetricPreference, Margin: 0.05}},
		},
		{
			"CANNOT TELL: 20 cases cannot show a loss of 5 points in preferences; about 153 could; " +
				"so far large/ask in 1 of 20 cases, mini/ask in 3",
			of(prefers(20, 3, 1)),
			[]eval.MetricMargin{{Name: eval.MetricPreference, Margin: 0.05}},
		},
		{
			"NO VERDICT without a margin: large/ask in 1 of 20 cases, mini/ask in 3 " +
				"(55 % of the preferences are for mini/ask, interval 46 % to 64 %)",
			of(prefers(20, 3, 1)), nil,
		},
		{
			"NOT WORSE by more than 5 points: none of 60 cases changed; improved: choose",
			of(prefers(60, 25, 2)),
			[]eval.MetricMargin{passMargin(0.05), {Name: eval.MetricPreference, Margin: 0.05}},
		},
		{
			"REGRESSED  mini/ask is worse than large/ask: 9 of 60 cases got worse, none better (100 % to 85 %, by 8.1 to 25 points); " +
				"also regressed: blocked",
			of(func() (*Side, *Side) {
				base, head := flipped(60, 0, 9)
				updateAll(head, func(i int, c *CaseTotals) { c.Blocked = c.Failed })
				return base, head
			}()),
			[]eval.MetricMargin{passMargin(0.05), {Name: eval.MetricBlocked, Margin: 0.1}},
		},
	} {
		expect.Same(t, "headline", headlineOf(test.base, test.head, test.margins...), test.want)
	}
}

// Several arms: the worst one is described, and the others are counted.
func TestTheHeadlineOfSeveralArmsIsOfTheWorst(t *testing.T) {
	t.Parallel()
	c := Comparison{Base: Compared{Run: "b", Name: "main"}, Head: Compared{Run: "h"}}
	o := options(0.05, passMargin(0.05))
	for i, regressed := range []int{0, 8, 20, 2} {
		base, head := flipped(60, 0, regressed)
		base.Arm = "pro/" + string(rune('a'+i))
		head.Arm = base.Arm
		c.Arms = append(c.Arms, Compare(base, head, o))
	}
	c.Verdict = Decide(c.Arms, everywhere(o))
	Advise(c.Arms, everywhere(o))
	c.Arms[1].Notes, c.Arms[2].Notes = []string{"look 2"}, []string{"look 2", "as judged by strict"}
	c.Notes = []string{"compared 60 of 600 cases"}
	c.Describe()
	expect.Same(t, "headline", c.Headline, "REGRESSED  pro/c is worse than in main: 20 of 60 cases got worse, none better "+
		"(100 % to 67 %, by 23 to 45 points); 3 more arms: 1 regressed, 1 cannot tell, 1 not worse")
	want := Finding{
		c.Headline, State(eval.Regressed), "Regressed", c.Headline[len("REGRESSED  "):], "read the 20 cases that got worse", eval.MetricPass,
	}
	expect.Same(t, "parts", c.Finding, want)
	expect.Same(t, "worst arm", c.Worst, 2)
	next := fmt.Sprintf("add about %d cases and run again", c.Arms[3].Metrics[0].MoreCases)
	expect.Same(t, "next for an arm without a verdict", c.Arms[3].Next, next)
	expect.Same(t, "an arm", c.Arms[0].Headline, "NOT WORSE by more than 5 points: none of 60 cases changed on pro/a")
	expect.Same(t, "notes", c.AllNotes(), []string{"compared 60 of 600 cases", "pro/b: look 2", "pro/c: look 2", "pro/c: as judged by strict"})
	c.Arms = c.Arms[:1]
	c.Arms[0].Notes = []string{"look 2"}
	expect.Same(t, "notes of the only arm", c.AllNotes(), []string{"compared 60 of 600 cases", "look 2"})
	c.Arms[0].Suite = "other"
	base, head := flipped(60, 0, 0)
	c.Arms = append(c.Arms, Compare(base, head, o))
	c.Verdict = Decide(c.Arms, everywhere(o))
	c.Describe()
	expect.Same(t, "of two suites", c.Headline, "NOT WORSE by more than 5 points: none of 60 cases changed on pro/a of other; "+
		"1 more arm: not worse")
	c.Why = "the baseline is blank"
	c.Describe()
	expect.Same(t, "state as a whole", c.State, State(eval.Invalid))
	expect.Same(t, "invalid as a whole", c.Headline, "INVALID: the baseline is blank")
	if strings.Contains(c.Headline+c.Arms[0].Headline, "p not worse") {
		t.Error("got a p value in a headline")
	}
}
