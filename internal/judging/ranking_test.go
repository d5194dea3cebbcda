package judging_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/judging"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/wirejson"
	"github.com/evalrun/evalrun/journal"
)

func newError(b *bench, base, head *journal.Document) error {
	c, err := judging.NewPairJudge(b.Context(), base, head, b.by())
	if err == nil {
		c.Close()
	}
	return err
}

func better(order ...string) func(a, b string) (string, error) {
	place := func(text string) int {
		return slices.IndexFunc(order, func(word string) bool { return strings.HasPrefix(text, word) })
	}
	return func(a, b string) (string, error) {
		switch pa, pb := place(a), place(b); {
		case pa < pb:
			return pick("A"), nil
		case pa > pb:
			return pick("B"), nil
		}
		return pick("tie"), nil
	}
}

func (b *bench) ranked(d *journal.Document, what judging.RankRequest) *compare.Preferences {
	b.Helper()
	out, err := b.pairJudge(d, d, b.by()).Rank(b.Context(), what)
	expect.OK(b, err)
	return out
}

func armsOf(s *compare.SuitePreferences) (out []string) {
	for i := range s.Arms {
		out = append(out, s.Arms[i].Arm)
	}
	return out
}

func verdictOf(t *testing.T, s *compare.SuitePreferences) eval.Verdict {
	t.Helper()
	data, err := wirejson.Marshal(s)
	expect.OK(t, err)
	var read struct{ Verdict eval.Verdict }
	expect.OK(t, json.Unmarshal(data, &read))
	return read.Verdict
}

func TestArmsAreRankedByWhatTheJudgePrefers(t *testing.T) {
	t.Parallel()
	b := newBench(t, better("gold", "silver", "bronze"))
	d := b.run("r", varied("t/bronze", "bronze", 30), varied("t/gold", "gold", 30), varied("t/silver", "silver", 30))
	out := b.ranked(d, judging.RankRequest{Name: "mine"})
	expect.Same(t, "run", [2]string{out.Run.Run, out.Run.Name}, [2]string{"r", "mine"})
	expect.Same(t, "suites", len(out.Suites), 1)
	s := &out.Suites[0]
	expect.Same(t, "order of arms", armsOf(s), []string{"t/gold", "t/silver", "t/bronze"})
	expect.Same(t, "best", s.Best(), []string{"t/gold"})
	expect.Same(t, "why", s.Why+s.Invalid+string(verdictOf(t, s)), "")
	expect.Same(t, "pairs", [3]int{s.AnswerPairs.Pairs, s.AnswerPairs.Ties, s.AnswerPairs.Unjudged}, [3]int{90, 0, 0})
	expect.Same(t, "place of the answers", [2]int{s.AnswerPairs.FirstPlace.Preferred, s.AnswerPairs.FirstPlace.Of}, [2]int{90, 180})
	expect.Same(t, "calls and tokens", [2]int{out.By.Attempts, out.By.Tokens}, [2]int{180, 180 * 12})
	expect.Same(t, "wins of the best arm", s.Arms[0].Wins, 60)
	expect.Contains(t, "notice", strings.Join(b.notices, "\n"),
		"choosing between 90 pairs of answers of s, on 3 pairs of 3 arms, by the judge strict: up to 180 calls")
}

func TestTheSameChoicesGiveTheSameRanking(t *testing.T) {
	t.Parallel()
	b := newBench(t, better("gold", "silver"))
	d := b.run("r", varied("t/a", "gold", 12), varied("t/b", "silver", 12))
	first := b.ranked(d, judging.RankRequest{})
	again := b.ranked(d, judging.RankRequest{})
	expect.Same(t, "suites", again.Suites, first.Suites)
	expect.Same(t, "calls the second time", again.By.Attempts, 0)
	expect.Same(t, "questions", len(b.judge.seen), 24)
}

func TestArmsWithTheSameAnswersTieWithoutACall(t *testing.T) {
	t.Parallel()
	b := newBench(t, always(pick("A")))
	out := b.ranked(b.run("r", varied("t/a", "same", 12), varied("t/b", "same", 12)), judging.RankRequest{})
	s := &out.Suites[0]
	expect.Same(t, "ties and calls", [3]int{s.AnswerPairs.Ties, s.AnswerPairs.Same, out.By.Attempts}, [3]int{12, 12, 0})
	expect.Same(t, "best", slices.Sorted(slices.Values(s.Best())), []string{"t/a", "t/b"})
}

func TestAJudgeThatGoesByPlaceRanksNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, always(pick("B")))
	out := b.ranked(b.run("r", varied("t/a", "x", 30), varied("t/b", "y", 30)), judging.RankRequest{})
	s := &out.Suites[0]
	expect.Same(t, "verdict", verdictOf(t, s), eval.Invalid)
	expect.Contains(t, "invalid", s.Invalid, "the judge contradicts itself: in 30 of 30 pairs")
	expect.Same(t, "why", s.Why, "the choices are invalid")
	expect.Same(t, "best", len(s.Best()), 0)
}

func TestRankingTakesOnlyTheArmsThatAreNamed(t *testing.T) {
	t.Parallel()
	b := newBench(t, better("gold", "silver", "bronze"))
	d := b.run("r", varied("t/a", "bronze", 12), varied("t/b", "gold", 12), varied("t/c", "silver", 12))
	out := b.ranked(d, judging.RankRequest{Arms: []string{"t/c", "t/a"}})
	expect.Same(t, "order of arms", armsOf(&out.Suites[0]), []string{"t/c", "t/a"})
	for _, q := range b.judge.seen {
		if strings.Contains(q, "gold") {
			t.Fatalf("got a question about an arm that was not named, want none: %q", q)
		}
	}
}

func TestRankingNeedsTwoArms(t *testing.T) {
	t.Parallel()
	b := newBench(t, always(pick("A")))
	d := b.run("lonely", varied("t/a", "x", 3), varied("t/b", "y", 3))
	c := b.pairJudge(d, d, b.by())
	_, err := c.Rank(t.Context(), judging.RankRequest{Arms: []string{"t/a"}})
	expect.Same(t, "error", fmt.Sprint(err), "lonely has no suite with two arms, so there is nothing to rank")
	expect.Same(t, "exit code", eval.CodeOf(err), eval.CodeBadInput)
}

func TestPairsThatCannotBeJudgedMakeTheRankingInvalid(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.judge.rules = func(x, y string) (string, error) {
		if strings.Contains(x+y, " 1") { // of 12 cases those numbered 1, 10 and 11
			return "no JSON", nil
		}
		return better("gold", "silver")(x, y)
	}
	out := b.ranked(b.run("r", varied("t/a", "gold", 12), varied("t/b", "silver", 12)), judging.RankRequest{})
	s := &out.Suites[0]
	expect.Same(t, "unjudged", s.AnswerPairs.Unjudged, 3)
	expect.Same(t, "verdict", verdictOf(t, s), eval.Invalid)
	expect.Contains(t, "invalid", s.Invalid, "25.0 % of the pairs of t/a could not be judged, more than 1 %")
}

func TestAnArmWithErrorsIsWarnedOf(t *testing.T) {
	t.Parallel()
	b := newBench(t, better("gold", "silver"))
	gold := varied("t/a", "gold", 101)
	gold.cases[7] = []string{""}
	out := b.ranked(b.run("r", gold, varied("t/b", "silver", 101)), judging.RankRequest{})
	s := &out.Suites[0]
	expect.Same(t, "pairs", s.AnswerPairs.Pairs, 100)
	expect.Same(t, "warnings", s.Warnings, []string{
		"t/a has errors in 1 of 101 trials, which count as lost where it would rule out another arm",
	})
}
