package judging_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/gate"
	"github.com/evalrun/evalrun/internal/judging"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
)

func counted(t testing.TB, c *compare.Comparison) compare.PairCounts {
	t.Helper()
	if c.Preferences == nil || len(c.Arms) != 1 || c.Arms[0].Preference == nil {
		t.Fatalf("got the comparison %+v, want one arm with preferences", c)
	}
	expect.Same(t, "total pairs", c.Preferences.Pairs, c.Arms[0].Preference.Pairs)
	out := c.Preferences.PairCounts
	out.FirstPlace.Interval = nil
	return out
}

func TestAJudgePrefersInBothOrdersAndOnlyAgreementCounts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		rules func(a, b string) (string, error)
		want  compare.PairCounts
	}{
		"head":  {favours("new"), compare.PairCounts{Pairs: 3, Wins: 3, FirstPlace: compare.FirstPlace{Preferred: 3, Of: 6}}},
		"base":  {favours("old"), compare.PairCounts{Pairs: 3, Losses: 3, FirstPlace: compare.FirstPlace{Preferred: 3, Of: 6}}},
		"none":  {always(pick("tie")), compare.PairCounts{Pairs: 3, Ties: 3}},
		"first": {always(pick("A")), compare.PairCounts{Pairs: 3, Ties: 3, Contradicted: 3, FirstPlace: compare.FirstPlace{Preferred: 6, Of: 6}}},
		"last":  {always(pick("B")), compare.PairCounts{Pairs: 3, Ties: 3, Contradicted: 3, FirstPlace: compare.FirstPlace{Of: 6}}},
	} {
		b := newBench(t, test.rules)
		base, head := b.run("base", alike("old answer", 3)), b.run("head", alike("new answer", 3))
		c, err := b.pairJudge(base, head, b.by()).Compare(t.Context(), noRules)
		expect.OK(t, err)
		expect.Same(t, "a judge that prefers "+name, counted(t, c), test.want)
		expect.Same(t, "calls for "+name, c.Preferences.Attempts, 6)
		expect.Same(t, "tokens for "+name, c.Preferences.Tokens, 72)
		expect.Same(t, "questions for "+name, len(b.judge.seen), 6)
		by := c.Preferences
		expect.Same(t, "judge", [3]string{by.Judge, by.Model, by.Criteria}, [3]string{"strict", "svc-pro", "Short, שלום."})
	}
}

func TestEachOrderOfAPairIsPutToTheJudgeOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, always(pick("tie")))
	base, head := b.run("base", answers{"t/p", [][]string{{"one", "two"}}}), b.run("head", answers{"t/p", [][]string{{"eins", "zwei"}}})
	_, err := b.pairJudge(base, head, b.by()).Compare(t.Context(), noRules)
	expect.OK(t, err)
	var got []string
	for _, q := range b.judge.seen {
		got = append(got, fenced(q, "answerA")+" / "+fenced(q, "answerB"))
		expect.Contains(t, "question", q, "question 0")
		expect.Contains(t, "question", q, "Short, שלום.")
	}
	slices.Sort(got)
	expect.Same(t, "answers in their order", got, []string{"eins / one", "one / eins", "two / zwei", "zwei / two"})
}

func TestEqualAnswersAreTiesWithoutACall(t *testing.T) {
	t.Parallel()
	b := newBench(t, always(pick("A")))
	var same answers
	same.arm = "t/p"
	for _, text := range hostile.Strings() {
		if strings.TrimSpace(text) != "" {
			same.cases = append(same.cases, []string{text})
		}
	}
	c, err := b.pairJudge(b.run("base", same), b.run("head", same), b.by()).Compare(t.Context(), noRules)
	expect.OK(t, err)
	got := counted(t, c)
	if got.Same != got.Pairs-got.Unjudged || got.Same == 0 || got.Ties != got.Same || got.Wins+got.Losses+got.Contradicted != 0 {
		t.Errorf("got %+v, want ties of the same answer alone", got)
	}
	expect.Same(t, "calls", [2]int{c.Preferences.Attempts, len(b.judge.seen)}, [2]int{0, 0})
}

func TestPairsWithoutAnAnswerAreNotPutToTheJudge(t *testing.T) {
	t.Parallel()
	b := newBench(t, favours("new"))
	base := b.run("base", answers{"t/p", [][]string{{"old", "", "old"}, {" \n"}, {"old"}}})
	head := b.run("head", answers{"t/p", [][]string{{"new", "new", ""}, {"new"}, {""}}})
	c, err := b.pairJudge(base, head, b.by()).Compare(t.Context(), noRules)
	expect.OK(t, err)
	expect.Same(t, "preferences", counted(t, c), compare.PairCounts{
		Pairs: 2, Wins: 1, Unjudged: 1, FirstPlace: compare.FirstPlace{Preferred: 1, Of: 2},
		Why: []compare.PairProblem{{Problem: "one of the answers has no text", Pairs: 1}},
	})
}

// What a judge said is kept between comparisons; what it did not say is requested again.
func TestOnlyPairsWithoutARulingAreRequestedAgain(t *testing.T) {
	t.Parallel()
	failing := true
	b := newBench(t, nil)
	prefer := favours("new")
	b.judge.rules = func(x, y string) (string, error) {
		if failing && strings.Contains(x+y, "third") {
			return "", &eval.Error{Kind: eval.KindStatus, Status: 400, Message: "boom", Retry: eval.RetryNever}
		}
		return prefer(x, y)
	}
	base := b.run("base", answers{"t/p", [][]string{{"old first"}, {"old second"}, {"old third"}}})
	head := b.run("head", answers{"t/p", [][]string{{"new first"}, {"new second"}, {"new third"}}})
	c, err := b.pairJudge(base, head, b.by()).Compare(t.Context(), noRules)
	expect.OK(t, err)
	got := counted(t, c)
	expect.Same(t, "wins and unjudged", [2]int{got.Wins, got.Unjudged}, [2]int{2, 1})
	expect.Contains(t, "why", fmt.Sprint(got.Why), "no reply from the judge: 400: boom")
	expect.Contains(t, "incomplete", c.Preferences.Incomplete, "boom")

	failing = false
	before := len(b.judge.seen)
	c, err = b.pairJudge(base, head, b.by()).Compare(t.Context(), noRules)
	expect.OK(t, err)
	got = counted(t, c)
	expect.Same(t, "wins and unjudged the second time", [2]int{got.Wins, got.Unjudged}, [2]int{3, 0})
	expect.Same(t, "incomplete the second time", c.Preferences.Incomplete, "")
	for _, q := range b.judge.seen[before:] {
		expect.Contains(t, "question the second time", fenced(q, "answerA"), "third")
	}
	expect.Same(t, "calls the second time", c.Preferences.Attempts, 2)
}

func TestRepliesThatDoNotCountLeavePairsUnjudged(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"A":                           "replied twice with no JSON object",
		"":                            "strict",
		pick("C"):                     `the judge was not given the choice "C"`,
		`{"reason": "x", "score": 1}`: `a key "score"`,
		`{"choice": "A"`:              "strict",
	} {
		b := newBench(t, always(said))
		c, err := b.pairJudge(b.run("base", alike("old", 1)), b.run("head", alike("new", 1)), b.by()).Compare(t.Context(), noRules)
		expect.OK(t, err)
		got := counted(t, c)
		expect.Same(t, fmt.Sprintf("pairs and unjudged of %q", said), [2]int{got.Pairs, got.Unjudged}, [2]int{1, 1})
		expect.Contains(t, fmt.Sprintf("why of %q", said), fmt.Sprint(got.Why), want)
	}
}

func TestAVerdictRestsOnTheChoicesWithAMargin(t *testing.T) {
	t.Parallel()
	rule, err := gate.RuleOf(eval.RuleOptions{Margin: 0.2, Metrics: []string{eval.MetricPreference}})
	expect.OK(t, err)
	rules := gate.Comparing{Rules: func(string) *eval.BaselineRule { return rule }}
	for name, test := range map[string]struct {
		rules func(a, b string) (string, error)
		want  eval.Verdict
	}{
		"better":         {favours("new"), eval.Improved},
		"worse":          {favours("old"), eval.Regressed},
		"by place alone": {always(pick("A")), eval.Invalid},
	} {
		b := newBench(t, test.rules)
		base, head := b.run("base", varied("t/p", "old", 40)), b.run("head", varied("t/p", "new", 40))
		c, err := b.pairJudge(base, head, b.by()).Compare(t.Context(), rules)
		expect.OK(t, err)
		expect.Same(t, "verdict of a head that is "+name, c.Verdict, test.want)
	}
}

func varied(arm, text string, n int) answers {
	out := answers{arm: arm}
	for i := range n {
		out.cases = append(out.cases, []string{fmt.Sprint(text, " ", i)})
	}
	return out
}

func TestABudgetOfCallsMakesTheChoicesIncomplete(t *testing.T) {
	t.Parallel()
	b := newBench(t, favours("new"))
	by := b.by()
	by.Options.BudgetCalls, by.Options.Concurrency = 4, 1
	c, err := b.pairJudge(b.run("base", varied("t/p", "old", 5)), b.run("head", varied("t/p", "new", 5)), by).Compare(t.Context(), noRules)
	expect.OK(t, err)
	got := counted(t, c)
	expect.Same(t, "pairs, wins and unjudged", [3]int{got.Pairs, got.Wins, got.Unjudged}, [3]int{5, 2, 3})
	expect.Same(t, "questions", len(b.judge.seen), 4)
	expect.Contains(t, "incomplete", c.Preferences.Incomplete, "the budget of 4 calls is spent")
}

func TestAnEndedContextEndsTheComparison(t *testing.T) {
	t.Parallel()
	b := newBench(t, favours("new"))
	c := b.pairJudge(b.run("base", alike("old", 3)), b.run("head", alike("new", 3)), b.by())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Compare(ctx, noRules); !errors.Is(err, context.Canceled) {
		t.Errorf("comparing: got the error %v, want %v", err, context.Canceled)
	}
}

func TestTheJudgeIsFoundOrTheErrorSaysWhatToName(t *testing.T) {
	t.Parallel()
	const two = "judges: [{name: strict, model: svc-pro}, {name: brief, model: svc-pro, choose: {criteria: Short.}}]"
	const three = "judges: [{name: a, model: svc-pro, choose: {}}, {name: b, model: svc-pro, choose: {}}, {name: c, model: svc-pro}]"
	for name, test := range map[string]struct {
		judges, named string
		found, want   string
	}{
		"the only one":             {"judges: [{name: one, model: svc-pro}]", "", "one", ""},
		"the one that prefers":     {two, "", "brief", ""},
		"one by its name":          {two, "strict", "strict", ""},
		"a name with an error":     {two, "breif", "", "there is no judge breif; did you mean `brief`?"},
		"none":                     {"", "", "", "there is no judge to choose: add `judges: [{name: judge, model: svc-pro}]` to the suite"},
		"several that choose":      {three, "", "", "there are 3 judges: name one by --choose=NAME: a, b, c"},
		"none, although it has no": {"", "strict", "", "there is no judge to choose"},
	} {
		b := newBench(t, always(pick("tie")))
		text := strings.Replace(judges, `judges: [{name: strict, model: svc-pro, choose: {criteria: "Short, שלום."}}]`, test.judges, 1)
		b.write("judges.yaml", text)
		by := b.by()
		by.Judge = test.named
		d := b.run("r", alike("x", 1))
		c, err := judging.NewPairJudge(t.Context(), d, d, by)
		if test.want != "" {
			expect.Contains(t, name, fmt.Sprint(err), test.want)
			expect.Same(t, "exit code of "+name, eval.CodeOf(err), eval.CodeBadInput)
			continue
		}
		expect.OK(t, err)
		out, err := c.Compare(t.Context(), noRules)
		expect.OK(t, err)
		c.Close()
		expect.Same(t, "judge of "+name, out.Preferences.Judge, test.found)
	}
}

func TestCriteriaOfTheCommandReplaceThoseOfTheJudge(t *testing.T) {
	t.Parallel()
	b := newBench(t, always(pick("tie")))
	by := b.by()
	by.Criteria = "Brevity.\n<<<answerA"
	c, err := b.pairJudge(b.run("base", alike("old", 1)), b.run("head", alike("new", 1)), by).Compare(t.Context(), noRules)
	expect.OK(t, err)
	expect.Same(t, "criteria", c.Preferences.Criteria, by.Criteria)
	expect.Contains(t, "question", b.judge.seen[0], "Brevity.")
	if strings.Contains(b.judge.seen[0], "שלום") {
		t.Errorf("got the criteria of the judge in %q, want those of the command alone", b.judge.seen[0])
	}
}

func TestRunsWithoutContentCannotBeChosenBetween(t *testing.T) {
	t.Parallel()
	b := newBench(t, always(pick("tie")))
	full, bare, export := b.run("full", alike("x", 1)), b.run("bare", alike("x", 1)), b.run("export", alike("x", 1))
	bare.Run.CommandOptions.NoContent = true
	export.Run.CommandOptions = nil
	for _, d := range []string{"bare", "export"} {
		other := bare
		if d == "export" {
			other = export
		}
		for _, err := range []error{newError(b, full, other), newError(b, other, full)} {
			expect.Same(t, "error", fmt.Sprint(err), d+" keeps no answers between which a judge could choose")
			expect.Same(t, "exit code", eval.CodeOf(err), eval.CodeBadInput)
		}
	}
	expect.Same(t, "questions", len(b.judge.seen), 0)
}
