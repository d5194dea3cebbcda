package reports_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/clipperhouse/displaywidth"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/internal/testing/testrun"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/reports"
)

// worseArm is the comparison of an arm that has one of everything that a reader of its verdict must know.
func worseArm() compare.ArmComparison {
	return compare.ArmComparison{
		Suite: "s", BaseArm: "x/p", HeadArm: "x/p", Verdict: eval.NotWorse,
		Cases: compare.Pairing{
			Paired: 5, Units: 4, Compared: 5, Of: 9, MinPaired: 0.5, Unselected: 2,
			Removed: []string{"gone a", "gone b"}, Changed: []string{"edited"}, Quarantined: []string{"quiet"}, Added: []string{"fresh"},
			PassedBefore: []string{"gone b", "edited"}, Duplicates: [][]string{{"broke", "twin"}},
		},
		Metrics: []compare.MetricComparison{
			{
				Name: eval.MetricPass,
				MetricChange: compare.MetricChange{
					N:    4,
					Base: 0.9, Head: 0.8, Estimate: -0.1, Interval: &[2]float64{-0.2, -0.01}, Level: 0.98, Anytime: true, Regressed: 1,
				},
				MetricTests: compare.MetricTests{
					Test: "a test", Gated: true, Margin: new(0.25), PNonInferior: new(0.01), PWorse: new(0.03),
					HeadErrors: 2, PWithErrors: &[2]float64{0.04, 1},
				},
				MetricVerdict: compare.MetricVerdict{Verdict: eval.NotWorse, Cautions: []string{"worse_within_margin"}},
			},
			{
				Name:         eval.MetricTokens,
				MetricChange: compare.MetricChange{N: 4, Base: 100, Head: 110, Estimate: 1.1, Level: 0.9},
				MetricTests:  compare.MetricTests{Gated: true, Margin: new(1.2), Cap: new(400.0), Needs: 77},
				MetricVerdict: compare.MetricVerdict{
					Advisory: true, Verdict: eval.Inconclusive, Advice: "a ratio of 1.2 at most takes 77 cases even if none differs",
				},
			},
			{
				Name:         eval.MetricLatency,
				MetricChange: compare.MetricChange{N: 4, Base: 10, Head: 10, Estimate: 1, Level: 0.9},
				MetricTests:  compare.MetricTests{Cap: new(50.0)},
			},
		},
		Flips: []compare.Flip{
			{
				Case: "broke", BasePassed: 1, BaseScored: 1, HeadScored: 1, SingleSample: true,
				BaseAnswer: "before", HeadAnswer: "an answer", HeadTrial: "0000000000000001",
			},
			{Case: "mended", BaseScored: 1, HeadPassed: 1, HeadScored: 1, SingleSample: true},
		},
	}
}

// worseRun is a run with that comparison: one case newly fails, one failed before too, one was added and one was edited.
func worseRun(t testing.TB) *journal.Document {
	t.Helper()
	var all []*eval.Result
	for n, one := range []brief{
		fails("always", "x/p", "has: no"), fails("broke", "x/p", "has: no"), fails("fresh", "x/p", "has: no"),
		fails("edited", "x/p", "has: no"),
		{name: "mended", arm: "x/p", outcome: eval.Pass},
		{name: "twin", arm: "x/p", outcome: eval.Pass},
	} {
		all = append(all, one.trial(n))
	}
	d := testrun.Record(t, &eval.Run{
		ID: "head", StartedAt: "2026-01-01T00:00:00Z", Suites: []eval.RunSuite{{Name: "s", File: "s.yaml"}},
		Plan: eval.RunPlan{Trials: len(all)},
	}, completed, all...)
	d.Dir = "head"
	d.Decision.Comparison = &compare.Comparison{
		Base: compare.Compared{Run: "base", Name: "main"}, Head: compare.Compared{Run: "head"}, Verdict: eval.NotWorse,
		Arms: []compare.ArmComparison{worseArm()},
	}
	d.Decision.Gate = journal.Gate{Exit: 1, Rules: []journal.GateRule{
		{Suite: "s", RuleName: "baseline", Arm: "x/p", Found: journal.RuleVerdict(eval.NotWorse), Standing: journal.RuleWarned},
		{Suite: "s", RuleName: "passRate", Arm: "x/p", Found: journal.RuleValue(0.2), Limit: 0.9},
	}}
	return d
}

// folds are where a table breaks its lines.
var folds = regexp.MustCompile(`\n +`)

// Every format has what a verdict rests on: lost cases, the ones that passed before by name, the compared share and
// what allowed it to be small, the margin. It also has how the interval holds, caps, and metrics that do not decide.
func TestVerdictsCanBeRead(t *testing.T) {
	t.Parallel()
	words := []string{
		"1 newly failing, 1 newly passing, 2 removed (1 passed before), 1 changed (1 passed before), 1 in quarantine",
		"compared 5 of 11 cases (--min-paired 0.5), 4 independent units",
		"2 cases removed; passed before: gone b; others: gone a",
		"1 case changed (other variables or scorers); passed before: edited",
		"1 case in quarantine: quiet",
		"2 cases of the baseline not selected",
		"warning: 2 cases ask the same: counted once (broke, twin)",
		"margin 0.25, 1 got worse, 0 better",
		"anytime-valid interval (98 %), the estimate is biased away from zero",
		"worse, but within the margin",
		"at most x 1.2, each case at most 400 tokens; too few cases for a ratio of 1.2: takes 77; the gate bears it",
	}
	d := worseRun(t)
	for _, format := range []string{"table", "markdown", "github", "junit"} {
		got := folds.ReplaceAllString(written(t, format, d, reports.Options{}), " ")
		got = strings.NewReplacer("%25", "%", "&#39;", "'").Replace(got)
		for _, want := range words {
			expect.Contains(t, format, got, want)
		}
	}
	got := written(t, "table", d, reports.Options{})
	missing(t, got, "  levels of the intervals: 98 % (pass), 90 % (tokens, latency)\n", "latency: each case at most 50 ms\n")
	present(t, got, "a ratio of 1.2 at most takes")
	missing(t, written(t, "markdown", d, reports.Options{}),
		"| `s on x/p` | `pass` | 4 | 0.900 | 0.800 | -0.100 | -0.200 to -0.010 (98 %) | margin 0.25 | not worse |\n",
		"p 0.01 if it were worse by 0.25, p 0.04 with each of 2 head errors at its worst, p 0.03 if it were no worse\n")
	missing(t, folds.ReplaceAllString(written(t, "table", d, reports.Options{Verbose: true}), " "), "p 0.01 if it were worse by 0.25, ")
	for _, format := range []string{"table", "github", "junit"} {
		present(t, written(t, format, d, reports.Options{}), "p 0.0")
	}
}

// The default of --min-paired is not worth a word; where one level holds for all intervals, it is in the header.
func TestDefaultsOfComparisonsAreSilent(t *testing.T) {
	t.Parallel()
	a := worseArm()
	a.Cases.MinPaired = 0.9
	a.Metrics[0].Level = 0.9
	var b strings.Builder
	expect.OK(t, reports.Comparison(&b, &compare.Comparison{Arms: []compare.ArmComparison{a}}, reports.Options{}))
	missing(t, b.String(), "90 % interval", "compared 5 of 11 cases, 4 independent units\n")
	present(t, b.String(), "--min-paired", "levels of the intervals")
}

// Each failure says how it did in the baseline, new ones come first, and no case is listed as failing and as newly failing.
func TestFailuresAreSetApartFromThoseOfTheBaseline(t *testing.T) {
	t.Parallel()
	d := worseRun(t)
	for format, wants := range map[string][]string{
		"table": {
			"FAIL (newly failing) broke on x/p\n", "     answer to broke, before and now:\n      - before\n      + an answer\n",
			"FAIL (not in the baseline) fresh on x/p\n", "FAIL (changed since the baseline) edited on x/p\n",
			"FAIL (also failed in the baseline) always on x/p\n",
			"1 newly failing, 1 newly passing, ", "newly passing mended: 1/1, was 0/1",
			"broke   FAIL (new)", "fresh   FAIL (added)", "edited  FAIL (changed)", "always  FAIL (as before)",
			"evalrun compare main head",
		},
		"markdown": {
			"### Newly failing\n\n| case | asked | wanted, or what was wrong | before | now |\n|---|---|---|---|---|\n" +
				"| `broke` |  | `has: no` | `before` | `an answer` |\n",
			"### Failed, not in the baseline\n\n<details><summary><code>fresh</code>",
			"### Failed, changed since the baseline\n\n<details><summary><code>edited</code>",
			"### Also failed in the baseline\n\n<details><summary><code>always</code>",
		},
		"github": {
			"title=broke%3A newly failing (", "::x/p (newly failing): has: no", "title=fresh%3A failed%2C not in the baseline (",
			"title=edited%3A failed%2C changed since the baseline (", "::1 case failed in the baseline too",
		},
		"junit": {
			`message="also failed in the baseline: has: no"`, `message="newly failing: has: no"`, `message="not in the baseline: has: no"`,
		},
	} {
		got := written(t, format, d, reports.Options{Verbose: true})
		at := 0
		for _, want := range wants {
			i := strings.Index(got[at:], want)
			if i < 0 {
				t.Fatalf("%s: got no %q after byte %d, want it in\n%s", format, want, at, got)
			}
			if format != "junit" { // whose cases have the order of the plan
				at += i
			}
		}
	}
	places := strings.Count(written(t, "markdown", d, reports.Options{}), "| `broke` |") +
		strings.Count(written(t, "markdown", d, reports.Options{}), "<summary><code>broke</code>")
	expect.Same(t, "places of the broken case", places, 1)
	present(t, written(t, "table", d, reports.Options{}), "newly failing broke:")
}

// With no baseline, or one that was not compared, failures are plain ones.
func TestFailuresWithoutBaselineArePlain(t *testing.T) {
	t.Parallel()
	d := worseRun(t)
	for _, decision := range []journal.Decision{{}, {NotCompared: true}, {Comparison: &compare.Comparison{Why: "no arm is in both"}}} {
		d.Decision.Comparison, d.Decision.NotCompared = decision.Comparison, decision.NotCompared
		for _, format := range []string{"table", "markdown", "github", "junit"} {
			present(t, written(t, format, d, reports.Options{}), "newly failing", "in the baseline", "since the baseline", "(new)")
		}
	}
}

// GitHub shows ten errors: the new ones are among them, wherever they are in the suite.
func TestNewFailuresAreAnnotatedFirst(t *testing.T) {
	t.Parallel()
	d := manyFailures(t, 100, "no")
	d.Gate().Exit = 1
	d.Decision.Comparison = &compare.Comparison{Arms: []compare.ArmComparison{{
		Suite: "s", BaseArm: "a/b", HeadArm: "a/b", Cases: compare.Pairing{Of: 50, Paired: 50, Compared: 50},
		Flips: []compare.Flip{{Case: "case 49", BasePassed: 1, BaseScored: 1, HeadScored: 1}},
	}}}
	lines := annotationsOf(t, d)
	missing(t, lines[1], "title=case 49%3A newly failing (", "a/b (newly failing): equals: no")
	missing(t, lines[len(lines)-1], "::notice title=evalrun%3A not new::", "cases failed in the baseline too")
}

// Every line of a comparison fits a terminal of 60 columns, and no name of a case is cut away.
func TestComparisonsFoldToTheWidth(t *testing.T) {
	t.Parallel()
	a := worseArm()
	a.Cases.Removed, a.Cases.PassedBefore = nil, nil
	for i := range 20 {
		a.Cases.Removed = append(a.Cases.Removed, fmt.Sprintf("a case with a long name %d", i))
	}
	a.Cases.PassedBefore = a.Cases.Removed
	var b strings.Builder
	expect.OK(t, reports.Comparison(&b, &compare.Comparison{Arms: []compare.ArmComparison{a}}, reports.Options{Width: 60}))
	for _, line := range strings.Split(b.String(), "\n") {
		if displaywidth.String(line) > 60 {
			t.Errorf("got a line that is too wide, want at most 60 columns: %s", line)
		}
	}
	got := folds.ReplaceAllString(b.String(), " ")
	for _, name := range a.Cases.Removed {
		if !regexp.MustCompile(name + `\D`).MatchString(got) {
			t.Errorf("got no %q, want it in\n%s", name, got)
		}
	}
}

// Names of cases are escaped wherever they stand.
func TestComparisonsAreSafe(t *testing.T) {
	t.Parallel()
	all := slices.Concat(evilMarkdown, hostile.Strings())
	for i, one := range all {
		d := runOf(t, one, all[(i+7)%len(all)], one)
		a := worseArm()
		a.Suite, a.HeadArm = d.Run.Suites[0].Name, d.Summary.Suites[0].Arms[0].Name
		a.Cases.Removed, a.Cases.PassedBefore, a.Cases.Changed = []string{one}, []string{one}, []string{one}
		a.Cases.Added, a.Cases.Duplicates = []string{one}, [][]string{{one, one}}
		d.Decision.Comparison = &compare.Comparison{Arms: []compare.ArmComparison{a}, Verdict: eval.Regressed}
		rule := journal.GateRule{Suite: a.Suite, Arm: a.HeadArm, RuleName: "baseline", Found: journal.RuleVerdict(eval.Regressed)}
		d.Decision.Gate = journal.Gate{Exit: 1, Rules: []journal.GateRule{rule}}
		markdownOf(t, d)
		annotationsOf(t, d)
		parsed(t, written(t, "junit", d, reports.Options{}))
		harmless(t, written(t, "table", d, reports.Options{}))
		d.Close()
	}
}

// After a green run of few cases the table does not advise a comparison that must be inconclusive; from 59 independent
// cases on it does.
func TestNextFitsTheCases(t *testing.T) {
	t.Parallel()
	dir := "run"
	green := func(n int, change func(int, *eval.Result)) string {
		var all []*eval.Result
		for i := range n {
			r := brief{name: fmt.Sprint("c", i), arm: "x/p", outcome: eval.Pass}.trial(i)
			if change != nil {
				change(i, r)
			}
			all = append(all, r)
		}
		d := testrun.Record(t, &eval.Run{
			ID: "r", StartedAt: "2026-01-01T00:00:00Z", Suites: []eval.RunSuite{{Name: "s", File: "s.yaml"}}, Plan: eval.RunPlan{Trials: n},
		}, completed, all...)
		d.Dir = dir
		return written(t, "table", d, reports.Options{Verbose: true})
	}
	got := green(2, nil)
	missing(t, got,
		"  evalrun run s.yaml --repeats 5  # do the cases always pass? (pass^5)\n",
		"  # a gate that suits few cases, in the suite: gate: {passRate: {min: 0.9}}\n",
		"  # 2 independent cases: a comparison with a margin of 0.05 takes 59 (57 more)\n")
	present(t, got, "evalrun compare")
	present(t, green(58, nil), "evalrun compare")
	const compared = "  evalrun compare run NEXT-RUN --margin 0.05  # after the next run: is it worse?\n"
	got = green(59, nil)
	missing(t, got, compared)
	present(t, got, "independent case")
	dir = filepath.Join(".evalrun", "runs", "one")
	missing(t, green(59, nil), "  evalrun compare one latest --margin 0.05  # after the next run: is it worse?\n")
	missing(t, green(60, func(i int, r *eval.Result) { r.Cluster = fmt.Sprint(i / 30) }), "  # 2 independent cases: ")
	missing(t, green(60, func(_ int, r *eval.Result) { r.RequestHash = "same" }), "  # 1 independent case: ")
	missing(t, green(60, func(i int, r *eval.Result) {
		if i < 2 {
			r.Quarantine = &eval.Quarantine{Reason: "known", Until: "2099-01-01"}
		}
	}), "  # 58 independent cases: ")
}

// On a terminal a headline is folded with its first word in colour; in a pipe it is one line.
func TestHeadlinesAreWholeOnEveryScreen(t *testing.T) {
	t.Parallel()
	d := worseRun(t)
	c := d.Comparison()
	c.Finding = compare.Finding{
		Headline: "NOT WORSE by more than 25 points, but worse: 1 of 4 cases got worse, none better (-10 points)",
		Words:    "Not worse by more than 25 points, but worse", State: compare.NotWorseButWorse,
	}
	c.Notes = []string{"compared 60 of 600 cases"}
	expect.Contains(t, "a pipe", written(t, "table", d, reports.Options{Quiet: true}), c.Headline+"\n  compared 60 of 600 cases\nFAIL")
	expect.Contains(t, "60 columns", written(t, "table", d, reports.Options{Quiet: true, Width: 60}),
		"NOT WORSE by more than 25 points, but worse: 1 of 4 cases\ngot worse, none better (-10 points)\n  compared 60 of 600 cases\n")
	colored := written(t, "table", d, reports.Options{Quiet: true, Width: 60, Color: true})
	expect.Contains(t, "colour", colored, "NOT WORSE by more than 25 points, but worse\x1b[0m: 1 of")
}
