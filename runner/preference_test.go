package runner_test

import (
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// pairsOf are n pairs; each two neighbours are alike.
func pairsOf(n int) func(func(scorers.AnswerPair) bool) {
	return func(yield func(scorers.AnswerPair) bool) {
		for i := range n {
			q := fmt.Sprint("question ", i/2)
			if !yield(scorers.AnswerPair{Base: scorers.Exchange{Question: q, Answer: "old"}, Head: scorers.Exchange{Question: q, Answer: "new"}}) {
				return
			}
		}
	}
}

func preferenceQuestion() *scorers.PreferenceQuestion {
	return scorers.NewPreferenceQuestion(&suite.Judge{Name: "j", Model: suite.ConfiguredModel{ID: "svc-pro"}}, "")
}

// Every pair is judged once in each order, at any concurrency, and equal questions are sent once.
func TestPreferJudgesEachPairOnceInEachOrder(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, workers := range []int{1, 8, 64} {
		b := newBench(func(_ *eval.Call, question string) (string, error) {
			_, answer, _ := strings.Cut(question, "\n<<<answerA ")
			if strings.Contains(strings.SplitN(answer, "\n", 3)[1], "new") {
				return `{"reason": "new", "choice": "A"}`, nil
			}
			return `{"reason": "new", "choice": "B"}`, nil
		})
		p := plan(t, judgedSuite(1), runner.Filter{})
		places, calls := map[int]bool{}, 0
		for one := range p.Prefer(t.Context(), config(&b.fake, workers), preferenceQuestion(), pairsOf(20)) {
			checkWin(t, one)
			if places[one.Index] {
				t.Fatalf("got pair %d twice, want it once", one.Index)
			}
			places[one.Index] = true
			for _, j := range one.Judgements {
				calls += j.Attempts
			}
		}
		if len(places) != 20 || len(b.put) != 20 || calls != 20 {
			t.Errorf("%d workers: got %d pairs, %d questions, %d calls, want 20 of each", workers, len(places), len(b.put), calls)
		}
	}
}

// checkWin wants the new answer to be preferred in both orders.
func checkWin(t *testing.T, one runner.PairPreference) {
	t.Helper()
	if one.Preferred != scorers.Win || one.Err != nil || one.Firsts != 1 || one.Seconds != 1 || len(one.Judgements) != 2 {
		t.Fatalf("%+v, want a win in both orders with two judgements", one)
	}
}

// A judge that fails leaves its pairs without a preference, and leaving the loop leaves nothing behind.
func TestAFailedPreferenceLeavesItsPairsOpen(t *testing.T) {
	defer goleak.VerifyNone(t)
	p := plan(t, judgedSuite(1), runner.Filter{})
	b := newBench(func(_ *eval.Call, question string) (string, error) {
		if strings.Contains(question, "\nquestion 3\n") {
			return "", &eval.Error{Kind: eval.KindStatus, Status: 500, Message: "boom"}
		}
		return `{"reason": "x", "choice": "tie"}`, nil
	})
	failed := 0
	for one := range p.Prefer(t.Context(), config(&b.fake, 4), preferenceQuestion(), pairsOf(20)) {
		if one.Err != nil {
			failed++
		}
		if (one.Err != nil) != (one.Preferred == "") || one.Err != nil && !strings.Contains(one.Why, "no reply from the judge: 500: boom") {
			t.Errorf("%+v, want a preference, or the judge's error 500", one)
		}
	}
	expect.Same(t, "failed", failed, 2)
	for range p.Prefer(t.Context(), config(&b.fake, 4), preferenceQuestion(), pairsOf(1000)) {
		break
	}
	cfg := config(&b.fake, 4)
	cfg.Stop.Now("enough")
	for one := range p.Prefer(t.Context(), cfg, preferenceQuestion(), pairsOf(4)) {
		if one.Err == nil || one.Preferred != "" {
			t.Errorf("%+v, want an error and no preference", one)
		}
	}
}
