package journal

import (
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// What judges cost is counted apart from the answers, once for each call, by the last line of a trial.
func TestJudgingIsCounted(t *testing.T) {
	t.Parallel()
	judgement := func(id string, tokens int) eval.Judgement {
		return eval.Judgement{
			ID:       id,
			Judge:    "j",
			Model:    "m",
			Repeat:   1,
			Reply:    `{"reason": "attempts\": 99", "score": 1}`,
			Attempts: 2,
			Usage:    &eval.Usage{PromptTokens: tokens, OutputTokens: 1, TotalTokens: tokens + 1},
		}
	}
	first, cached, failed := judgement("a", 10), judgement("a", 10), judgement("b", 0)
	cached.Cached, cached.Attempts = true, 0
	failed.Error, failed.Usage, failed.Attempts = eval.Errorf(eval.KindStatus, "500"), nil, 5
	one, two, second := result(0, eval.Err), result(1, eval.Pass), result(0, eval.Pass)
	one.Judgements = []eval.Judgement{first, failed}
	two.Judgements = []eval.Judgement{cached}
	second.Judgements = []eval.Judgement{first, judgement("b", 20)}
	d, err := open(t, write(t, t.TempDir(), false, one, two))
	expect.OK(t, err)
	want := JudgeRequests{Replies: 2, Attempts: 7, Tokens: Tokens{Prompt: 10, Output: 1, Total: 11}}
	if d.Summary.JudgeRequests != want || d.Summary.Tokens.Total != 6 || d.Spent.Attempts != 7 || d.Spent.Tokens != 6+11 {
		t.Errorf("%+v, spent %+v, want %+v, and both judges in what was spent", d.Summary, d.Spent, want)
	}
	expect.Same(t, "prompt tokens", d.Unpriced["m"].PromptTokens, 10)
	d, err = open(t, write(t, t.TempDir(), true, one, two, second))
	expect.OK(t, err)
	want = JudgeRequests{Replies: 3, Attempts: 4, Tokens: Tokens{Prompt: 30, Output: 2, Total: 32}}
	expect.Same(t, "judging", d.Summary.JudgeRequests, want)
	second.Judgements = nil
	if d, err = open(t, write(t, t.TempDir(), true, one, second)); err != nil || d.Summary.JudgeRequests != (JudgeRequests{}) {
		t.Errorf("%+v %v, want none", d.Summary.JudgeRequests, err)
	}
	r, err := d.Trial(0)
	expect.OK(t, err)
	expect.Same(t, "judgements", len(r.Judgements), 0)
}
