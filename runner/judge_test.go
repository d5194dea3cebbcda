package runner_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/expect"
	"github.com/evalrun/evalrun/runner"
)

// bench is a service that answers questions with their text, and judges as it is told.
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
		text := call.Contents[0].Parts[0].Text
		if strings.HasPrefix(text, "You are a judge.") {
			b.mu.Lock()
			b.put[call.TrialID]++
			b.turns = append(b.turns, call.Contents[len(call.Contents)-1].Parts[0].Text)
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

// judgedSuite has cases of which each two ask for the same answer, judged twice.
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
func TestJudgesAreAskedOnce(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, workers := range []int{1, 8, 64} {
		b := newBench(replying(fine))
		counts, all := results(t, plan(t, judgedSuite(20), runner.Filter{}), config(&b.fake, workers))
		if counts.Pass != 40 || len(b.put) != 20 || b.asked.Load() != 40+20 {
			t.Errorf("%d workers: %+v, %d questions, %d calls", workers, counts, len(b.put), b.asked.Load())
		}
		paid := map[string]int{}
		for _, r := range all {
			if len(r.Judgements) != 2 || r.Scores[0].Judged == nil || r.Usage.TotalTokens > 10 {
				t.Fatalf("%+v", r)
			}
			for i, j := range r.Judgements {
				if j.ID == r.ID || j.Judge != "j" || j.Model != "svc-pro" || j.Repeat != i+1 || j.Reply != fine || j.Usage.TotalTokens < 100 {
					t.Errorf("%+v", j)
				}
				if !j.Cached {
					paid[j.ID] += j.Attempts
				}
			}
		}
		for id, n := range b.put {
			if n != 1 || paid[id] != 1 {
				t.Errorf("%s was put %d times and paid %d times", id, n, paid[id])
			}
		}
	}
}

// What is asked of a judge is the judge's: its model, version and configuration.
func TestJudgeRequest(t *testing.T) {
	t.Parallel()
	b := newBench(func(call *eval.Call, _ string) (string, error) {
		if call.APIVersion != "v1beta" || *call.GenerationConfig.Temperature != 0.5 || call.OutputLimit != 99 || call.PromptTokens < 100 ||
			call.Stream {
			t.Errorf("%+v", call)
		}
		return fine, nil
	})
	results(t, plan(t, judgedSuite(1), runner.Filter{}), config(&b.fake, 1))
	if len(b.put) != 2 {
		t.Error(b.put)
	}
}

func TestJudgeIsAskedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(func(call *eval.Call, _ string) (string, error) {
		if len(call.Contents) == 1 {
			return "I think it is fine.", nil
		}
		return fine, nil
	})
	counts, all := results(t, plan(t, judgedSuite(1), runner.Filter{}), config(&b.fake, 1))
	if counts.Pass != 2 || len(b.put) != 4 || len(all[0].Judgements) != 4 || all[0].Judgements[0].Reply != "I think it is fine." {
		t.Errorf("%+v %d %+v", counts, len(b.put), all[0].Judgements)
	}
	b = newBench(replying("I think it is fine."))
	counts, all = results(t, plan(t, judgedSuite(1), runner.Filter{}), config(&b.fake, 1))
	if counts.Error != 2 || all[0].Error.Kind != eval.KindUnscored || len(b.put) != 4 || all[0].OverBudget || all[0].Trouble != nil {
		t.Errorf("%+v %+v %d", counts, all[0].Error, len(b.put))
	}
}

// A judge that cannot be asked makes errors of kind unscored, with the answers kept and what was replied before.
func TestJudgesThatFail(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, test := range []struct {
		err             *eval.Error
		budget, trouble bool
		message         string
	}{
		{&eval.Error{Kind: eval.KindStatus, Status: 500, Message: "boom"}, false, true, "the answer could not be judged: 500: boom"},
		{&eval.Error{Kind: eval.KindAuth, Status: 403, Message: "no"}, false, true, "403: no"},
		{&eval.Error{Kind: eval.KindBudget, Message: "the budget of 3 calls is spent"}, true, false, "the answer could not be judged: the " +
			"budget of 3 calls is spent"},
		{&eval.Error{Kind: eval.KindCanceled, Message: "canceled"}, false, false, "the run was stopped before the judge could be asked"},
	} {
		var n int
		b := newBench(func(*eval.Call, string) (string, error) {
			if n++; n == 1 {
				return fine, nil
			}
			return "", test.err
		})
		counts, all := results(t, plan(t, judgedSuite(1), runner.Filter{Cases: eval.Globs{"c0"}}), config(&b.fake, 1))
		if counts.Error != 2 {
			t.Fatalf("%s: %+v", test.err.Kind, counts)
		}
		cached, failed := 0, 0
		for _, r := range all {
			if r.Error.Kind != eval.KindUnscored || !strings.Contains(r.Error.Message, test.message) || r.Response == nil || !othersScored(&r) ||
				r.OverBudget != test.budget ||
				(r.Trouble != nil) != test.trouble {
				t.Errorf("%s: %+v", test.err.Kind, r)
			}
			j := r.Judgements
			if len(j) == 1 { // it waited for the failed call of the other trial
				failed--
			} else if len(j) != 2 || j[1].Error == nil || j[1].Attempts != 1 {
				t.Errorf("%s: %+v", test.err.Kind, j)
			}
			if failed++; len(j) == 0 || j[0].Reply != fine {
				t.Fatalf("%s: %+v", test.err.Kind, j)
			}
			if j[0].Cached {
				cached++
			}
		}
		if cached != 1 || failed == 0 {
			t.Errorf("%s: %d trials share the first reply and %d have the failed one, want 1 and at least 1", test.err.Kind, cached, failed)
		}
	}
}

// othersScored reports whether the scorer beside the judge has told, and that of the judge says why it cannot.
func othersScored(r *eval.Result) bool {
	return len(r.Scores) == 2 && r.Scores[0].Value == nil && strings.HasPrefix(r.Scores[0].Unscored, "the judge `j` could not be asked: ") &&
		r.Scores[1].Passed
}

// A reply that is not among those that are recorded keeps one scorer from telling, and not the other judge, whose reply is there,
// nor one that passes without.
func TestJudgesThatWereNeverAsked(t *testing.T) {
	defer goleak.VerifyNone(t)
	const suite = "version: 1\nname: s\ntargets: [{name: t, model: svc-pro}]\nprompts: [{name: p, text: q}]\njudges: [{name: j, model: " +
		"svc-pro}]\n" +
		"defaults: {scorers: [{judge: {rubric: new}, name: new}, {judge: {rubric: old}, name: old}, {any: [{judge: {rubric: new}}, " +
		"{contains: q}]}, {contains: q}]}\ncases: [{name: c}]\n"
	b := newBench(func(call *eval.Call, question string) (string, error) {
		if strings.Contains(question, "\nold\n") {
			return fine, nil
		}
		return "", eval.Errorf(eval.KindReplayMiss, "nobody asked %s", call.Judge)
	})
	_, all := results(t, plan(t, suite, runner.Filter{}), config(&b.fake, 1))
	r := all[0]
	if r.Error == nil || r.Error.Kind != eval.KindUnscored || r.Error.Message != "new: nobody asked j" || r.Trouble != nil ||
		len(r.Scores) != 4 {
		t.Fatalf("%+v", r)
	}
	if r.Scores[0].Unscored != "nobody asked j" || r.Scores[1].Value == nil || !r.Scores[2].Passed || !r.Scores[3].Passed {
		t.Errorf("%+v", r.Scores)
	}
}

// A panic while a judge is asked costs the trials that wait for it, and no others.
func TestPanicWhileJudging(t *testing.T) {
	defer goleak.VerifyNone(t)
	b := newBench(func(_ *eval.Call, question string) (string, error) {
		if strings.Contains(question, "\nquestion 3\n") {
			panic("oh no")
		}
		return fine, nil
	})
	counts, all := results(t, plan(t, judgedSuite(20), runner.Filter{}), config(&b.fake, 16))
	if counts.Pass != 36 || counts.Error != 4 {
		t.Errorf("%+v", counts)
	}
	for _, r := range all {
		if r.Outcome == eval.Err && r.Response == nil {
			t.Errorf("%+v", r)
		}
	}
}

// Leaving the loop while judges are asked leaves nothing behind.
func TestLeavingWhileJudging(t *testing.T) {
	defer goleak.VerifyNone(t)
	b := newBench(nil)
	generate := b.generate
	b.judge = func(*eval.Call, string) (string, error) { return fine, nil }
	b.generate = func(ctx context.Context, call *eval.Call) (*eval.Response, error) {
		if strings.Contains(call.Contents[0].Parts[0].Text, "\nquestion 0\n") {
			return generate(ctx, call)
		}
		if strings.HasPrefix(call.Contents[0].Parts[0].Text, "You are") {
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

// After a stop no judge is asked any more; answers that came keep what there is.
func TestStopBeforeJudging(t *testing.T) {
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
		t.Errorf("%+v, %d questions", counts, len(b.put))
	}
	for _, r := range all {
		if r.Outcome == eval.Err && (len(r.Judgements) != 0 || r.Response == nil || !strings.Contains(r.Error.Message, "the run was stopped")) {
			t.Errorf("%+v", r)
		}
	}
}

// What judges replied before is not asked again, as long as the question is the same.
func TestRecordedJudgements(t *testing.T) {
	t.Parallel()
	b := newBench(replying(fine))
	_, before := results(t, plan(t, judgedSuite(1), runner.Filter{}), config(&b.fake, 1))
	known := map[int]*eval.Result{}
	for i := range before {
		known[before[i].Repeat] = &before[i]
	}
	again := func(text string, change func(*eval.Result)) ([]eval.Result, *bench) {
		b := newBench(replying(poor))
		cfg := config(&b.fake, 1)
		cfg.Recorded = func(t *runner.Planned) runner.Recorded {
			r := *known[t.Repeat]
			r.Judgements = append([]eval.Judgement{}, r.Judgements...)
			change(&r)
			return runner.Recorded{Result: &r}
		}
		_, all := results(t, plan(t, text, runner.Filter{}), cfg)
		return all, b
	}
	all, b := again(judgedSuite(1), func(*eval.Result) {})
	if len(b.put) != 0 || all[0].Outcome != eval.Pass || all[1].Outcome != eval.Pass || len(all[0].Judgements) != 2 {
		t.Errorf("%d questions, %+v", len(b.put), all[0])
	}
	all, b = again(judgedSuite(1), func(r *eval.Result) { r.Judgements[1].Error = &eval.Error{Kind: eval.KindStatus} })
	if len(b.put) != 1 || all[0].Judgements[0].Reply != fine || all[0].Judgements[1].Reply != poor {
		t.Errorf("%d questions, %+v", len(b.put), all[0].Judgements)
	}
	for _, change := range [][2]string{{"temperature: 0.5", "temperature: 0.4"}, {"rubric: good", "rubric: better"}, {"apiVersion: v1beta", "apiVersion: v1"}} {
		all, b = again(strings.Replace(judgedSuite(1), change[0], change[1], 1), func(*eval.Result) {})
		if len(b.put) != 2 || *all[0].Scores[0].Value != 0 {
			t.Errorf("%s: %d questions, %+v", change[1], len(b.put), all[0].Scores)
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
		t.Error("another judge is the same")
	}
	if other := hash(strings.Replace(judgedSuite(1), "name: j,", "name: k,", 1)); other != one {
		t.Error("the same judge under another name is another")
	}
}

// An answer that is too long for the judge is found before the judge is paid for it.
func TestJudgePromptTooLong(t *testing.T) {
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
		!strings.Contains(all[0].Error.Message, "the prompt has 40000 tokens, and svc-pro takes at most 30720") {
		t.Errorf("%+v %+v", counts, all[0].Error)
	}
}

// Judges and embeddings go together, and each scorer is asked no more often than it has to be.
func TestJudgesAndEmbeddings(t *testing.T) {
	t.Parallel()
	b, e := newBench(replying(fine)), &embedder{}
	cfg := config(&b.fake, 4)
	cfg.Embedder = e
	text := strings.Replace(judgedSuite(6), "{contains: q}", "{all: [{similar: {to: x, min: 0.5}}, {judge: {closedQA: {reference: x}}}]}", 1)
	b.judge = func(_ *eval.Call, question string) (string, error) {
		if strings.Contains(question, `"choice"`) {
			return `{"reason": "right", "choice": "yes"}`, nil
		}
		return fine, nil
	}
	counts, all := results(t, plan(t, text, runner.Filter{}), cfg)
	if counts.Pass != 12 || len(all[0].Scores) != 2 || len(all[0].Judgements) != 3 || len(b.put) != 9 {
		t.Errorf("%+v %+v, %d questions", counts, all[0], len(b.put))
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
			t.Errorf("%s: %v", model, err)
		}
	}
}

// Replies from before that do not count are asked for anew where that is wanted, once each, and those that count are kept.
func TestUselessRepliesAreAskedAnew(t *testing.T) {
	t.Parallel()
	text := strings.Replace(judgedSuite(2), "{contains: q}", "{judge: {rubric: other}, name: other}", 1)
	b := newBench(func(_ *eval.Call, question string) (string, error) {
		if strings.Contains(question, "\nother\n") {
			return fine, nil
		}
		return "I like it.", nil
	})
	counts, before := results(t, plan(t, text, runner.Filter{}), config(&b.fake, 1))
	if counts.Error != 4 {
		t.Fatalf("%+v", counts)
	}
	asked := map[string]bool{}
	for _, r := range before {
		for _, j := range r.Judgements {
			asked[j.ID] = true
		}
	}
	blocked := func(r *eval.Result) {
		r.Judgements = slices.Clone(r.Judgements)
		for i := range r.Judgements {
			if r.Judgements[i].Reply != fine {
				r.Judgements[i].Reply, r.Judgements[i].BlockReason = "", "SAFETY"
			}
		}
	}
	for name, test := range map[string]struct {
		anew   bool
		change func(*eval.Result)
		reply  string
		want   eval.Counts
		asked  int
	}{
		"kept":             {false, func(*eval.Result) {}, fine, eval.Counts{Error: 4}, 0},
		"asked anew":       {true, func(*eval.Result) {}, fine, eval.Counts{Pass: 4}, 2},
		"useless again":    {true, func(*eval.Result) {}, "I like it.", eval.Counts{Error: 4}, 4},
		"useless at first": {true, func(*eval.Result) {}, "", eval.Counts{Pass: 4}, 4},
		"blocked":          {true, blocked, fine, eval.Counts{Pass: 4}, 2},
	} {
		b := newBench(func(call *eval.Call, _ string) (string, error) {
			if call.Anew != asked[call.TrialID] {
				t.Errorf("%s: anew: %t", name, call.Anew)
			}
			if test.reply == "" && len(call.Contents) == 3 {
				return fine, nil
			}
			return test.reply, nil
		})
		cfg := config(&b.fake, 4)
		cfg.Anew = test.anew
		cfg.Replies = func(yield func(eval.Judgement) bool) {
			for _, r := range before {
				test.change(&r)
				for _, j := range r.Judgements {
					if !yield(j) {
						return
					}
				}
			}
		}
		cfg.Recorded = func(planned *runner.Planned) runner.Recorded {
			for _, r := range before {
				if r.Case == planned.Case && r.Repeat == planned.Repeat {
					test.change(&r)
					return runner.Recorded{Result: &r}
				}
			}
			return runner.Recorded{}
		}
		counts, all := results(t, plan(t, text, runner.Filter{}), cfg)
		if counts != test.want || len(b.put) != test.asked {
			t.Errorf("%s: %+v, %d questions", name, counts, len(b.put))
		}
		for _, r := range all {
			seen := map[string]bool{}
			for _, j := range r.Judgements {
				if seen[j.ID] {
					t.Errorf("%s: %s stands there twice", name, j.ID)
				}
				seen[j.ID] = true
			}
		}
	}
}
