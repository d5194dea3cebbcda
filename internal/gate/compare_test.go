package gate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/testrun"
)

func arms(names ...string) (out []*eval.Result) {
	for _, name := range names {
		s, arm, _ := strings.Cut(name, ":")
		out = append(out, row("pppp", on(s, arm))...)
	}
	return out
}

// Arms pair by the names that were given, by their own, or, where each side has one, one to one.
func TestArmsArePaired(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		base, head []string
		what       Comparing
		want       []string // SUITE: BASE < HEAD
	}{
		"by name":                     {base: []string{"s:a", "s:b"}, head: []string{"s:b", "s:a"}, want: []string{"s: b < b", "s: a < a"}},
		"the only ones":               {base: []string{"s:a"}, head: []string{"s:z"}, want: []string{"s: a < z"}},
		"the only ones of each suite": {base: []string{"s:a", "r:b"}, head: []string{"s:y", "r:z"}, want: []string{"s: a < y", "r: b < z"}},
		"a new one among several":     {base: []string{"s:a"}, head: []string{"s:a", "s:z"}, want: []string{"s: a < a", "s:  < z"}},
		"one that had company before": {base: []string{"s:a", "s:b"}, head: []string{"s:z"}, want: []string{"s:  < z"}},
		"by given names": {
			base: []string{"s:a", "s:b"}, head: []string{"s:a", "s:b"},
			what: Comparing{BaseOf: func(arm string) string { return map[string]string{"b": "a"}[arm] }}, want: []string{"s: a < b"},
		},
		"one arm": {
			base: []string{"s:a", "s:b"}, head: []string{"s:a", "s:b"}, what: Comparing{HeadArm: "b"}, want: []string{"s: b < b"},
		},
		"one suite": {
			base: []string{"s:a", "r:b"}, head: []string{"s:a", "r:b"}, what: Comparing{Suite: "r"}, want: []string{"r: b < b"},
		},
		"a suite that is new": {base: []string{"s:a"}, head: []string{"s:a", "r:a"}, want: []string{"s: a < a"}},
		"a suite that is new, at a gate": {
			base: []string{"s:a"}, head: []string{"s:a", "r:a"}, what: Comparing{Gate: true}, want: []string{"s: a < a", "r:  < a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.what.Rules = func(string) *eval.BaselineRule { return nil }
			c := compared(t, runOf(t, "base", nil, arms(test.base...)...), runOf(t, "head", nil, arms(test.head...)...), test.what)
			var got []string
			for i := range c.Arms {
				got = append(got, fmt.Sprintf("%s: %s < %s", c.Arms[i].Suite, c.Arms[i].BaseArm, c.Arms[i].HeadArm))
			}
			expect.Same(t, "pairs", got, test.want)
		})
	}
}

func TestAnArmThatTheBaselineLacksIsInvalid(t *testing.T) {
	t.Parallel()
	c := compared(t, runOf(t, "base", nil, arms("s:a", "s:b")...), runOf(t, "head", nil, arms("s:z")...), byRule(passRule(0.5)))
	expect.Same(t, "verdicts", verdicts(c), []string{"s z: invalid", "s a: invalid", "s b: invalid"})
	expect.Same(t, "why", c.Arms[0].Why, "the arm is not in the baseline, which has a, b")
}

// Runs that share no suite have no comparison, and both are named.
func TestRunsWithoutACommonSuiteAreInvalid(t *testing.T) {
	t.Parallel()
	c := compared(t, runOf(t, "base", nil, arms("s:a")...), runOf(t, "head", nil, arms("r:z")...), Comparing{
		Rules: func(string) *eval.BaselineRule { return nil },
	})
	expect.Same(t, "verdict", c.Verdict, eval.Invalid)
	expect.Same(t, "why", c.Why, "no arm is in both: the baseline has s on a, the run r on z")
}

func TestASideChosenByItsOutcomesIsInvalid(t *testing.T) {
	t.Parallel()
	failedIn := func(r *eval.Run) { r.CommandOptions.FailedIn = "yesterday" }
	changedSince := func(r *eval.Run) { r.CommandOptions.ChangedSince = "yesterday" }
	maxFailures := &eval.End{Reason: eval.EndMaxFailures}
	for name, test := range map[string]struct {
		base, head       func(*eval.Run)
		baseEnd, headEnd *eval.End
		want             string // how the reason begins; "" for a verdict
	}{
		"neither":                      {},
		"the run by --failed-in":       {head: failedIn, want: "the run ran only what had failed before (--failed-in)"},
		"the baseline by --failed-in":  {base: failedIn, want: "the baseline ran only what had failed before (--failed-in)"},
		"the run by --max-failures":    {headEnd: maxFailures, want: "the run ended after too many failures (--max-failures)"},
		"the baseline, --max-failures": {baseEnd: maxFailures, want: "the baseline ended after too many failures (--max-failures)"},
		"by content":                   {head: changedSince, base: changedSince},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			end := func(e *eval.End) *eval.End {
				if e == nil {
					return completed()
				}
				return e
			}
			letters := strings.Repeat("p", 60)
			base := endedRun(t, "base", test.base, end(test.baseEnd), row(letters)...)
			head := endedRun(t, "head", test.head, end(test.headEnd), row(letters)...)
			c := onlyArm(t, compared(t, base, head, byRule(passRule(0.05))))
			want := eval.NotWorse
			if test.want != "" {
				want = eval.Invalid
			}
			expect.Same(t, "verdict", c.Verdict, want)
			if !strings.HasPrefix(c.Why, test.want) || (c.Why == "") != (test.want == "") {
				t.Errorf("got the reason %q, want it to begin with %q", c.Why, test.want)
			}
		})
	}
}

// The verdict of the whole is the worst of its suites, each by its own rule.
func TestEachSuiteIsDecidedByItsOwnRule(t *testing.T) {
	t.Parallel()
	trials := func(letters string) []*eval.Result {
		return slices.Concat(row(letters, on("strict", "t/p")), row(letters, on("lax", "t/p")))
	}
	same, worse := strings.Repeat("p", 60), strings.Repeat("f", 9)+strings.Repeat("p", 51)
	rules := map[string]*eval.BaselineRule{"strict": passRule(0.05), "lax": passRule(0.4)}
	c := compared(t, runOf(t, "base", nil, trials(same)...), runOf(t, "head", nil, trials(worse)...), Comparing{
		Gate: true, Rules: func(s string) *eval.BaselineRule { return rules[s] },
	})
	expect.Same(t, "verdicts", verdicts(c), []string{"strict t/p: regressed", "lax t/p: not_worse"})
	expect.Same(t, "the whole", c.Verdict, eval.Regressed)
	expect.Same(t, "the lax one's flags", c.Arms[1].Metrics[0].Cautions, []string{"worse_within_margin"})
}

// What differs other than the prompt is a warning.
func TestDriftBetweenTheSidesIsAWarning(t *testing.T) {
	t.Parallel()
	model := func(version string) func(*eval.Run) {
		return func(r *eval.Run) { r.Models = []eval.Model{{Name: "models/pro", APIVersion: "v1", Version: version}} }
	}
	for name, test := range map[string]struct {
		base, head func(*eval.Run)
		answers    [2]string // versions of the models that answered
		want       []string
	}{
		"none":            {base: model("001"), head: model("001")},
		"another version": {base: model("001"), head: model("002"), want: []string{"of version 001 and is of version 002 now"}},
		"another model": {base: model("001"), head: func(r *eval.Run) {
			r.Models = []eval.Model{{Name: "models/flash", APIVersion: "v1", Version: "002"}}
		}},
		"the emulator": {
			head: func(r *eval.Run) { r.Emulator = true },
			want: []string{"one side was answered by evalrun's emulator, the other by a service"},
		},
		"other answers": {
			answers: [2]string{"v1", "v2"},
			want:    []string{"s on t/p: answers of v2 are compared with answers of v1"},
		},
		"one side does not say": {answers: [2]string{"", "v2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			by := func(version string) change {
				return func(r *eval.Result) { r.Response.ModelVersion = version }
			}
			base := runOf(t, "base", test.base, row("pp", by(test.answers[0]))...)
			head := runOf(t, "head", test.head, row("pp", by(test.answers[1]))...)
			got := compared(t, base, head, byRule(passRule(0.5))).Warnings
			if len(got) != len(test.want) || len(got) == 1 && !strings.Contains(got[0], test.want[0]) {
				t.Errorf("got the warnings %q, want %q", got, test.want)
			}
		})
	}
}

// The same answers, scored again by other scorers, are compared; other answers judged by other scorers are not.
func TestRescoredAnswersArePairedWhateverTheScorers(t *testing.T) {
	t.Parallel()
	newScorers := func(r *eval.Result) { r.ScorersHash = "other" }
	for name, test := range map[string]struct {
		from string
		want counts
		note int
	}{
		"the same answers": {from: "base", want: counts{Of: 4, Compared: 4}, note: 1},
		"other answers":    {from: "", want: counts{Of: 4, Changed: 4}},
	} {
		base := runOf(t, "base", nil, row("pppp")...)
		head := runOf(t, "head", func(r *eval.Run) { r.RescoredFrom = test.from }, row("pppf", newScorers)...)
		c := compared(t, base, head, byRule(passRule(0.5)))
		expect.Same(t, name, pairingOf(onlyArm(t, c)), test.want)
		expect.Same(t, name+": warnings", len(c.Warnings), test.note)
	}
}

func TestTheSameIDWithOtherVariablesIsChanged(t *testing.T) {
	t.Parallel()
	vars := func(hash string) change { return func(r *eval.Result) { r.VarsHash = hash } }
	for name, test := range map[string]struct {
		base, head string
		want       counts
	}{
		"the same":             {"v1", "v1", counts{Of: 3, Compared: 3}},
		"others":               {"v1", "v2", counts{Of: 3, Changed: 3}},
		"an old run lacks it":  {"", "v2", counts{Of: 3, Compared: 3}},
		"a head that lacks it": {"v1", "", counts{Of: 3, Compared: 3}},
	} {
		base := runOf(t, "base", nil, row("ppp", vars(test.base))...)
		head := runOf(t, "head", nil, row("ppp", vars(test.head))...)
		expect.Same(t, name, pairingOf(onlyArm(t, compared(t, base, head, byRule(passRule(0.5))))), test.want)
	}
}

// Cases that send one request count as one that was sent several times.
func TestCasesOfOneRequestAreOneUnit(t *testing.T) {
	t.Parallel()
	pairs := func(r *eval.Result) { r.RequestHash = "question " + r.Case[:2] } // c00 to c09 have the same request
	letters := strings.Repeat("p", 30)
	base, head := runOf(t, "base", nil, row(letters, pairs)...), runOf(t, "head", nil, row(letters, pairs)...)
	c := onlyArm(t, compared(t, base, head, byRule(passRule(0.05))))
	expect.Same(t, "cases that are compared", c.Cases.Compared, 30)
	expect.Same(t, "units", c.Cases.Units, 3)
	expect.Same(t, "duplicates", len(c.Cases.Duplicates), 3)
	expect.Same(t, "verdict of three units", c.Verdict, eval.Inconclusive)
}

// Cases that send one request on one side alone depend on each other, unless all of the baseline do: one question has no chance
// to be another.
func TestCasesOfOneRequestOnOneSideAreOneUnit(t *testing.T) {
	t.Parallel()
	ten := func(r *eval.Result) { r.RequestHash = "question " + r.Case[:2] }
	one := func(r *eval.Result) { r.RequestHash = "question" }
	own := func(r *eval.Result) { r.RequestHash = "own question " + r.Case }
	letters := strings.Repeat("p", 30)
	for name, test := range map[string]struct {
		base, head change
		units      int
	}{
		"ten on head":          {own, ten, 3},
		"ten on base":          {ten, own, 3},
		"ten on base, one now": {ten, one, 1},
		"one on base":          {one, own, 30},
	} {
		base, head := runOf(t, "base", nil, row(letters, test.base)...), runOf(t, "head", nil, row(letters, test.head)...)
		expect.Same(t, name, onlyArm(t, compared(t, base, head, byRule(passRule(0.05)))).Cases.Units, test.units)
	}
}

func TestClustersOfEitherSideAreOneUnit(t *testing.T) {
	t.Parallel()
	cluster := func(r *eval.Result) { r.Cluster = "town " + r.Case[2:] }
	letters := strings.Repeat("p", 20)
	for name, sides := range map[string][2][]change{
		"of the baseline": {{cluster}, nil},
		"of the run":      {nil, {cluster}},
		"of both":         {{cluster}, {cluster}},
	} {
		base, head := runOf(t, "base", nil, row(letters, sides[0]...)...), runOf(t, "head", nil, row(letters, sides[1]...)...)
		c := onlyArm(t, compared(t, base, head, byRule(passRule(0.3))))
		expect.Same(t, name, [2]int{c.Cases.Compared, c.Cases.Units}, [2]int{20, 10})
	}
}

func TestFlipsHaveTheAnswersOfBothSides(t *testing.T) {
	t.Parallel()
	letters := strings.Repeat("f", 25)
	head := row(letters)
	head[0].Response = &eval.Response{PromptFeedback: &eval.PromptFeedback{BlockReason: "SAFETY"}}
	head[1].Response = nil
	base := runOf(t, "base", nil, row(strings.Repeat("p", 25))...)
	other := runOf(t, "head", nil, head...)
	c := onlyArm(t, compared(t, base, other, byRule(passRule(0.5))))
	expect.Same(t, "flips", len(c.Flips), 25)
	var got []string
	for _, f := range c.Flips[:3] {
		got = append(got, f.Case+": "+f.BaseAnswer+" / "+f.HeadAnswer)
	}
	expect.Same(t, "answers", got, []string{
		"c00: an answer to c00 / (blocked: SAFETY)", "c01: an answer to c01 / ", "c02: an answer to c02 / an answer to c02",
	})
	expect.Same(t, "the last with answers", c.Flips[19].BaseAnswer, "an answer to c19")
	expect.Same(t, "the first without", c.Flips[20].BaseAnswer, "")
	what := byRule(passRule(0.5))
	what.NoContent = true
	expect.Same(t, "without content", onlyArm(t, compared(t, base, other, what)).Flips[5].BaseAnswer, "")
}

func TestTooManyErrorsMakeAnArmInvalid(t *testing.T) {
	t.Parallel()
	letters := strings.Repeat("p", 94) + strings.Repeat("e", 6)
	for limit, want := range map[float64]eval.Verdict{0: eval.Invalid, 0.05: eval.Invalid, 0.06: eval.NotWorse} {
		base := runOf(t, "base", nil, row(strings.Repeat("p", 100))...)
		head := runOf(t, "head", func(r *eval.Run) { r.Suites[0].Gate = &eval.GateConfig{ErrorsMax: new(limit)} }, row(letters)...)
		c := onlyArm(t, compared(t, base, head, byRule(passRule(0.2))))
		expect.Same(t, fmt.Sprint("verdict with errors of ", limit), c.Verdict, want)
	}
}

func TestPreferencesWithMostPairsUnjudgedAreInvalid(t *testing.T) {
	t.Parallel()
	rule := passRule(0.05)
	rule.Metrics[0].Name = eval.MetricPreference
	for unjudged, want := range map[int]string{0: "", 1: "", 2: "2.0 % of the pairs could not be judged, more than 1 %"} {
		what := byRule(rule)
		what.Prefer = func(_, head *compare.Side) (*compare.ArmPreference, error) {
			for _, c := range head.Cases {
				c.HeadPreferred.Add(1)
			}
			return &compare.ArmPreference{PairCounts: compare.PairCounts{Pairs: 100, Unjudged: unjudged}}, nil
		}
		letters := strings.Repeat("p", 60)
		c := onlyArm(t, compared(t, runOf(t, "base", nil, row(letters)...), runOf(t, "head", nil, row(letters)...), what))
		expect.Same(t, fmt.Sprint("why, with unjudged ", unjudged), c.Why, want)
		expect.Same(t, "preference", *c.Preference.Share, 1.0)
	}
}

// What a service can make up is bounded.
func TestVersionsAndCategoriesOfASideAreBounded(t *testing.T) {
	t.Parallel()
	var trials []*eval.Result
	for n := range 100 {
		r := trialOf(fmt.Sprint(n), eval.Pass)
		r.Response = testrun.Answered("x", "STOP")
		r.Response.ModelVersion = fmt.Sprint("version ", n)
		r.Response.Candidates[0].SafetyRatings = []eval.SafetyRating{{Category: fmt.Sprint("category ", n), Probability: "MEDIUM"}}
		trials = append(trials, r)
	}
	sides, err := sidesOf(runOf(t, "r", nil, trials...), eval.OfPopulation)
	expect.OK(t, err)
	expect.Same(t, "versions and categories", [2]int{len(sides[0].Versions), len(sides[0].Categories)}, [2]int{maxVersions, maxCategories})
	expect.Same(t, "a category", sides[0].Categories[1], compare.Category{Name: "category 1", Rated: 1, High: 1})
}

// Runs of 0.1 do not record the hash of variables: cases with an id of their own are counted, those whose id is the hash are not.
func TestCasesPairedByIDAloneAreCounted(t *testing.T) {
	t.Parallel()
	old := &compare.Side{Cases: []*compare.CaseTotals{{ID: "own"}, {ID: "hash"}, {ID: "gone"}}}
	recorded := &compare.Side{Cases: []*compare.CaseTotals{{ID: "own", Vars: "a"}, {ID: "hash", Vars: "hash"}}}
	head := &compare.Side{Cases: []*compare.CaseTotals{{ID: "own", Vars: "a"}, {ID: "hash", Vars: "hash"}, {ID: "new", Vars: "b"}}}
	expect.Same(t, "cases against an old run", compare.PairedByIDAlone(old, head), 1)
	expect.Same(t, "cases against a new run", compare.PairedByIDAlone(recorded, head), 0)
}
