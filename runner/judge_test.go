package runner_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/runner"
)

// bench is a service that answers questions with their text, and judges as the test sets it.
type bench struct {
	fake
	judge func(call *eval.Call, question string) (string, error)

	mu    sync.Mutex
	put   map[string]int // questions to judges, by the ids under which they were put
	turns []string       // the last turn of each
}

func newBench(judge func(call *eval.Call, question string) (string, error)) *bench {
	b := &bench{judge: judge, put: map[string]int{}}
	b.generate = func(_ context.Context, call *eval.Call) (*eval.Response, error) {
		text := call.Contents[0].Parts[0].(eval.TextPart).Text
		if strings.HasPrefix(text, "You are a judge.") {
			b.mu.Lock()
			b.put[call.TrialID]++
			b.turns = append(b.turns, call.Contents[len(call.Contents)-1].Parts[0].(eval.TextPart).Text)
			b.mu.Unlock()
			var err error
			if text, err = b.judge(call, text); err != nil {
				return nil, err
			}
		}
		return &eval.Response{Candidates: []eval.Candidate{{Text: text, FinishReason: "STOP"}}}, nil
	}
	return b
}

func replying(reply string) func(*eval.Call, string) (string, error) {
	return func(*eval.Call, string) (string, error) { return reply, nil }
}

const fine, poor = `{"reason": "fine", "score": 1}`, `{"reason": "poor", "score": 0}`

// judgedSuite has pairs of cases with the same request, judged twice.
func judgedSuite(cases int) string {
	var b strings.Builder
	b.WriteString("version: 1\nname: s\ntargets: [{name: t, model: svc-pro}]\nprompts: [{name: p, text: \"{{.q}}\"}]\n" +
		"judges: [{name: j, model: svc-pro, apiVersion: v1beta, generationConfig: {temperature: 0.5, maxOutputTokens: 99}}]\n" +
		"defaults: {repeats: 2, scorers: [{judge: {rubric: good, repeats: 2}, name: quality}, {contains: q}]}\ncases:\n")
	for i := range cases {
		fmt.Fprintf(&b, "  - {name: c%d, vars: {q: question %d}}\n", i, i/2)
	}
	return b.String()
}

// The same question is put to a judge once, however many answers come to it, at any concurrency.
func TestJudgesAreCalledOnce(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, workers := range []int{1, 8, 64} {
		b := newBench(replying(fine))
		counts, all := results(t, plan(t, judgedSuite(20), runner.Filter{}), config(&b.fake, workers))
		if counts.Pass != 40 || len(b.put) != 20 || b.sent.Load() != 40+20 {
			t.Errorf("%d workers: %+v, %d questions, %d calls, want 40 passed, 20 and 60", workers, counts, len(b.put), b.sent.Load())
		}
		paid := map[string]int{}
		for _, r := range all {
			if len(r.Judgements) != 2 || r.Scores[0].Judged == nil || r.Usage.TotalTokens > 10 {
				t.Fatalf("%+v, want 2 judgements, a judged score and at most 10 tokens", r)
			}
			for i, j := range r.Judgements {
				checkJudged(t, &r, j, i+1)
				if !j.Cached {
					paid[j.ID] += j.Attempts
				}
			}
		}
		for id, n := range b.put {
			if n != 1 || paid[id] != 1 {
				t.Errorf("%s was put %d times and paid %d times, want once each", id, n, paid[id])
			}
		}
	}
}

// checkJudged wants a judgement of the judge of judgedSuite, that a call of its own has made.
func checkJudged(t *testing.T, r *eval.Result, j eval.Judgement, repeat int) {
	t.Helper()
	if j.ID == r.ID || j.Judge != "j" || j.Model != "svc-pro" || j.Repeat != repeat || j.Reply != fine || j.Usage.TotalTokens < 100 {
		t.Errorf("%+v, want the repeat %d of the judge j on svc-pro with the reply %s", j, repeat, fine)
	}
}

// The request to a judge has the judge's own model, version and configuration.
func TestJudgeRequestHasTheModelOfTheJudge(t *testing.T) {
	t.Parallel()
	b := newBench(func(call *eval.Call, _ string) (string, error) {
		if call.APIVersion != "v1beta" || *call.GenerationConfig.Temperature != 0.5 || call.OutputLimit != 99 || call.PromptTokens < 100 ||
			call.Stream {
			t.Errorf("%+v, want the version, temperature and output limit of the judge, unstreamed", call)
		}
		return fine, nil
	})
	results(t, plan(t, judgedSuite(1), runner.Filter{}), config(&b.fake, 1))
	expect.Same(t, "questions", len(b.put), 2)
}

func TestJudgeIsSentACorrection(t *testing.T) {
	t.Parallel()
	b := newBench(func(call *eval.Call, _ string) (string, error) {
		if len(call.Contents) == 1 {
			return "I think it is fine.", nil
		}
		return fine, nil
	})
	counts, all := results(t, plan(t, judgedSuite(1), runner.Filter{}), config(&b.fake, 1))
	if counts.Pass != 2 || len(b.put) != 4 || len(all[0].Judgements) != 4 || all[0].Judgements[0].Reply != "I think it is fine." {
		t.Errorf("%+v, %d questions, %+v, want 2 passed, 4 and 4 judgements", counts, len(b.put), all[0].Judgements)
	}
	b = newBench(replying("I think it is fine."))
	unscored := yielded(t.Context(), t, plan(t, judgedSuite(1), runner.Filter{}), config(&b.fake, 1))
	expect.Same(t, "results", len(unscored), 2)
	expect.Same(t, "questions", len(b.put), 4)
	for _, r := range unscored {
		if r.Err() == nil || r.Err().Kind != eval.KindUnscored || r.halt != nil {
			t.Errorf("%+v and %+v, want an error of kind %s that stops nothing", r.Err(), r.halt, eval.KindUnscored)
		}
	}
}

// A judge that cannot be reached makes errors of kind unscored, with the answers kept and what was replied before.
func TestFailedJudgesLeaveAnswersUnscored(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, test := range []judgeFailure{
		{&eval.Error{Kind: eval.KindStatus, Status: 500, Message: "boom"}, "the answer could not be judged: 500: boom"},
		{&eval.Error{Kind: eval.KindAuth, Status: 403, Message: "no"}, "403: no"},
		{
			&eval.Error{Kind: eval.KindBudget, Message: "the budget of 3 calls is spent"},
			"the answer could not be judged: the budget of 3 calls is spent",
		},
		{&eval.Error{Kind: eval.KindCanceled, Message: "canceled"}, "the run was stopped before the judge replied"},
	} {
		t.Run(string(test.err.Kind), func(t *testing.T) {
			var n int
			b := newBench(func(*eval.Call, string) (string, error) {
				if n++; n == 1 {
					return fine, nil
				}
				return "", test.err
			})
			all := yielded(t.Context(), t, plan(t, judgedSuite(1), runner.Filter{Cases: eval.Patterns{"c0"}}), config(&b.fake, 1))
			if len(all) != 2 {
				t.Fatalf("%d results, want 2", len(all))
			}
			cached, failed := 0, 0
			for _, r := range all {
				test.check(t, &r)
				if len(r.Judgements) == 2 { // the other trial waited for the failed call
					failed++
				}
				if r.Judgements[0].Cached {
					cached++
				}
			}
			if cached != 1 || failed == 0 {
				t.Errorf("%d trials share the first reply and %d have the failed one, want 1 and at least 1", cached, failed)
			}
		})
	}
}

// judgeFailure is why a judge fails, and what becomes of the trials.
type judgeFailure struct {
	err     *eval.Error
	message string
}

func (f *judgeFailure) halt() runner.Halt {
	switch f.err.Kind {
	case eval.KindBudget:
		return runner.SpentBudget{Message: f.err.Message}
	case eval.KindCanceled:
		return nil
	}
	return runner.JudgeTrouble{Error: f.err}
}

// check wants a trial that could not be judged, with the first reply, and the second if it was sent.
func (f *judgeFailure) check(t *testing.T, r *yieldedResult) {
	t.Helper()
	if r.Err().Kind != eval.KindUnscored || !strings.Contains(r.Err().Message, f.message) || r.Response == nil || !othersScored(&r.Result) {
		t.Errorf("%+v, want it unscored with %q, and the other scorers scored", r, f.message)
	}
	expect.Same(t, "halt", r.halt, f.halt())
	j := r.Judgements
	if len(j) == 0 || j[0].Reply != fine {
		t.Fatalf("%+v, want %s first", j, fine)
	}
	if len(j) > 1 && (len(j) != 2 || j[1].Error == nil || j[1].Attempts != 1) {
		t.Errorf("%+v, want a second one with an error after one attempt", j)
	}
}

// othersScored reports whether the other scorer has a score, and that of the judge says why it has none.
func othersScored(r *eval.Result) bool {
	return len(r.Scores) == 2 && strings.HasPrefix(r.Scores[0].Unscored(), "no reply from the judge `j`: ") &&
		r.Scores[1].Passed()
}

// A reply that is not recorded leaves one score open. The other judge, whose reply is there, keeps its score, and so
// does a scorer without a judge.
func TestAMissingReplyLeavesOneScoreOpen(t *testing.T) {
	defer goleak.VerifyNone(t)
	const suite = "version: 1\nname: s\ntargets: [{name: t, model: svc-pro}]\nprompts: [{name: p, text: q}]\njudges: [{name: j, model: " +
		"svc-pro}]\n" +
		"defaults: {scorers: [{judge: {rubric: new}, name: new}, {judge: {rubric: old}, name: old}, {any: [{judge: {rubric: new}}, " +
		"{contains: q}]}, {contains: q}]}\ncases: [{name: c}]\n"
	b := newBench(func(call *eval.Call, question string) (string, error) {
		if strings.Contains(question, "\nold\n") {
			return fine, nil
		}
		return "", &eval.Error{Kind: eval.KindReplayMiss, Message: "not asked " + call.Judge, Cause: eval.NeverCalled}
	})
	r := yielded(t.Context(), t, plan(t, suite, runner.Filter{}), config(&b.fake, 1))[0]
	if r.Err() == nil || r.Err().Kind != eval.KindUnscored || r.Err().Message != "new: not asked j" || r.halt != nil ||
		len(r.Scores) != 4 {
		t.Fatalf("%+v, want 4 scores and the error `new: not asked j`", r)
	}
	_, scored := r.Scores[1].Value()
	if r.Scores[0].Unscored() != "not asked j" || !scored || !r.Scores[2].Passed() || !r.Scores[3].Passed() {
		t.Errorf("%+v, want the first unscored and the others scored", r.Scores)
	}
	expect.Same(t, "cause of the error", r.Err().Cause, eval.NeverCalled)
	expect.Same(t, "grade", r.Scores[0].Grade, eval.Grade(eval.Unscored{Why: "not asked j", Cause: eval.NeverCalled}))
}

// A panic during a call to a judge costs the trials that wait for it, and no others.
func TestAPanicWhileJudgingCostsOnlyItsTrials(t *testing.T) {
	defer goleak.VerifyNone(t)
	b := newBench(func(_ *eval.Call, question string) (string, error) {
		if strings.Contains(question, "\nquestion 3\n") {
			panic("oh no")
		}
		return fine, nil
	})
	counts, all := results(t, plan(t, judgedSuite(20), runner.Filter{}), config(&b.fake, 16))
	if counts.Pass != 36 || counts.Error != 4 {
		t.Errorf("%+v, want 36 passed and 4 errors", counts)
	}
	for _, r := range all {
		if r.Outcome() == eval.Err && r.Response == nil {
			t.Errorf("%+v, want the answer kept", r)
		}
	}
}

// Leaving the loop during calls to judges leaves nothing behind.
func TestLeavingWhileJudgingLeavesNothingBehind(t *testing.T) {
	defer goleak.VerifyNone(t)
	b := newBench(nil)
	generate := b.generate
	b.judge = func(*eval.Call, string) (string, error) { return fine, nil }
	b.generate = func(ctx context.Context, call *eval.Call) (*eval.Response, error) {
		if strings.Contains(call.Contents[0].Parts[0].(eval.TextPart).Text, "\nquestion 0\n") {
			return generate(ctx, call)
		}
		if strings.HasPrefix(call.Contents[0].Parts[0].(eval.TextPart).Text, "You are") {
			<-ctx.Done()
			return nil, eval.Errorf(eval.KindCanceled, "canceled")
		}
		return generate(ctx, call)
	}
	n := 0
	for range runner.Run(t.Context(), plan(t, judgedSuite(20), runner.Filter{}), config(&b.fake, 8)) {
		if n++; n == 2 {
			break
		}
	}
}

// After a stop no judge is called any more; answers that came keep what there is.
func TestNoJudgeIsCalledAfterAStop(t *testing.T) {
	t.Parallel()
	b := newBench(replying(fine))
	cfg := config(&b.fake, 1)
	generate := b.generate
	b.generate = func(ctx context.Context, call *eval.Call) (*eval.Response, error) {
		cfg.Stop.Now("enough")
		return generate(ctx, call)
	}
	counts, all := results(t, plan(t, judgedSuite(2), runner.Filter{}), cfg)
	if counts.Error != 1 || counts.Skip != 3 || len(b.put) != 0 {
		t.Errorf("%+v, %d questions, want 1 error, 3 skipped and no question", counts, len(b.put))
	}
	for _, r := range all {
		if r.Outcome() == eval.Err && (len(r.Judgements) != 0 || r.Response == nil || !strings.Contains(r.Err().Message, "the run was stopped")) {
			t.Errorf("%+v, want an answer without judgements, and the error `the run was stopped`", r)
		}
	}
}

// A judge's name says nothing of what it is; everything else does.
func TestScorersHashKnowsTheJudge(t *testing.T) {
	t.Parallel()
	hash := func(text string) string {
		for t := range plan(t, text, runner.Filter{}).Trials() {
			return t.ScorersHash
		}
		return ""
	}
	one := hash(judgedSuite(1))
	if other := hash(strings.Replace(judgedSuite(1), "temperature: 0.5", "temperature: 0.4", 1)); other == one {
		t.Errorf("the hash is %s with another temperature too, want another one", other)
	}
	expect.Same(t, "the hash under another name", hash(strings.Replace(judgedSuite(1), "name: j,", "name: k,", 1)), one)
}

// An answer that is too long for the judge is found before the judge is paid for it.
func TestAJudgePromptTooLongIsFoundBeforeItCosts(t *testing.T) {
	t.Parallel()
	b := newBench(replying(fine))
	b.tokens = 40_000
	generate := b.generate
	b.generate = func(ctx context.Context, call *eval.Call) (*eval.Response, error) {
		r, err := generate(ctx, call)
		if err == nil && r.Candidates[0].Text != fine {
			r.Candidates[0].Text = strings.Repeat("long ", 30_000)
		}
		return r, err
	}
	counts, all := results(t, plan(t, judgedSuite(1), runner.Filter{}), config(&b.fake, 1))
	if counts.Error != 2 || len(b.put) != 0 ||
		!strings.Contains(all[0].Err().Message, "the prompt has 40000 tokens, and svc-pro takes at most 30720") {
		t.Errorf("%+v, %+v, want 2 errors about 40000 tokens of at most 30720", counts, all[0].Err())
	}
}

// Judges and embeddings work together, and each scorer runs no more often than it has to.
func TestJudgesAndEmbeddingsWorkTogether(t *testing.T) {
	t.Parallel()
	b, e := newBench(replying(fine)), &embedder{}
	cfg := config(&b.fake, 4)
	cfg.Services.Embedder = e
	text := strings.Replace(judgedSuite(6), "{contains: q}", "{all: [{similar: {to: x, min: 0.5}}, {judge: {closedQA: {reference: x}}}]}", 1)
	b.judge = func(_ *eval.Call, question string) (string, error) {
		if strings.Contains(question, `"choice"`) {
			return `{"reason": "right", "choice": "yes"}`, nil
		}
		return fine, nil
	}
	counts, all := results(t, plan(t, text, runner.Filter{}), cfg)
	if counts.Pass != 12 || len(all[0].Scores) != 2 || len(all[0].Judgements) != 3 || len(b.put) != 9 {
		t.Errorf("%+v, %+v, %d questions, want 12 passed with 2 scores and 3 judgements each, and 9", counts, all[0], len(b.put))
	}
}

func TestJudgeModelIsChecked(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]string{
		"svc-pro": "", "svc-prp": "the service has no model `svc-prp` (judge `j`)", "embedding-001": "(judge `j`) does not support " +
			"generateContent",
		"svc-pro, generationConfig: {maxOutputTokens: 5000}": "maxOutputTokens 5000 is above the outputTokenLimit 2048",
	} {
		text := strings.Replace(
			judgedSuite(1), "model: svc-pro, apiVersion: v1beta, generationConfig: {temperature: 0.5, maxOutputTokens: 99}",
			"model: "+model, 1,
		)
		var diags diag.List
		p := plan(t, text, runner.Filter{})
		expect.OK(t, p.CheckModels(t.Context(), models{}, &diags, func(string) {}))
		if err := diags.Err(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", model, err, want)
		}
	}
}
