package runner_test

import (
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// A question with an earlier reply is not sent again, as long as it is the same.
func TestRecordedJudgementsAreNotSentAgain(t *testing.T) {
	t.Parallel()
	b := newBench(replying(fine))
	_, before := results(t, plan(t, judgedSuite(1), runner.Filter{}), config(&b.fake, 1))
	known := map[int]*eval.Result{}
	for i := range before {
		known[before[i].Repeat] = &before[i]
	}
	second := func(text string, change func(*eval.Result)) ([]eval.Result, *bench) {
		b := newBench(replying(poor))
		cfg := config(&b.fake, 1)
		cfg.EarlierRuns.Trial = func(t *runner.Planned) runner.EarlierTrial {
			r := *known[t.Repeat]
			r.Judgements = append([]eval.Judgement{}, r.Judgements...)
			change(&r)
			return runner.AnsweredTrial{Result: &r}
		}
		_, all := results(t, plan(t, text, runner.Filter{}), cfg)
		return all, b
	}
	all, b := second(judgedSuite(1), func(*eval.Result) {})
	if len(b.put) != 0 || all[0].Outcome() != eval.Pass || all[1].Outcome() != eval.Pass || len(all[0].Judgements) != 2 {
		t.Errorf("%d questions, %+v, want no question, and two trials that pass", len(b.put), all[0])
	}
	all, b = second(judgedSuite(1), func(r *eval.Result) { r.Judgements[1].Error = &eval.Error{Kind: eval.KindStatus} })
	if len(b.put) != 1 || all[0].Judgements[0].Reply != fine || all[0].Judgements[1].Reply != poor {
		t.Errorf("%d questions, %+v, want one question after the kept reply", len(b.put), all[0].Judgements)
	}
	for _, change := range [][2]string{
		{"temperature: 0.5", "temperature: 0.4"},
		{"rubric: good", "rubric: better"},
		{"apiVersion: v1beta", "apiVersion: v1"},
	} {
		all, b = second(strings.Replace(judgedSuite(1), change[0], change[1], 1), func(*eval.Result) {})
		if value, ok := all[0].Scores[0].Value(); len(b.put) != 2 || !ok || value != 0 {
			t.Errorf("%s: got %d questions, %+v, want 2 and the value 0", change[1], len(b.put), all[0].Scores)
		}
	}
}

// Replies from before that do not count are requested again where that is wanted, once each, and the others are kept.
func TestUselessRepliesAreRepeated(t *testing.T) {
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
		t.Fatalf("%+v, want 4 errors", counts)
	}
	sent := map[string]bool{}
	for _, r := range before {
		for _, j := range r.Judgements {
			sent[j.ID] = true
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
		repeated bool
		change   func(*eval.Result)
		reply    string
		want     eval.Counts
		sent     int
	}{
		"kept":             {false, func(*eval.Result) {}, fine, eval.Counts{Error: 4}, 0},
		"asked anew":       {true, func(*eval.Result) {}, fine, eval.Counts{Pass: 4}, 2},
		"useless again":    {true, func(*eval.Result) {}, "I like it.", eval.Counts{Error: 4}, 4},
		"useless at first": {true, func(*eval.Result) {}, "", eval.Counts{Pass: 4}, 4},
		"blocked":          {true, blocked, fine, eval.Counts{Pass: 4}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(func(call *eval.Call, _ string) (string, error) {
				expect.Same(t, "a new call", call.Earlier == eval.EarlierRefused, sent[call.TrialID])
				if test.reply == "" && len(call.Contents) == 3 {
					return fine, nil
				}
				return test.reply, nil
			})
			cfg := config(&b.fake, 4)
			cfg.EarlierRuns.RepeatUseless = test.repeated
			cfg.EarlierRuns.Replies, cfg.EarlierRuns.Trial = from(before, test.change)
			counts, all := results(t, plan(t, text, runner.Filter{}), cfg)
			if counts != test.want || len(b.put) != test.sent {
				t.Errorf("%+v, %d questions, want %+v, %d", counts, len(b.put), test.want, test.sent)
			}
			for _, r := range all {
				noneTwice(t, r.Judgements)
			}
		})
	}
}

// from gives a run the results of an earlier one, each changed first.
func from(before []eval.Result, change func(*eval.Result)) (iter.Seq[eval.Judgement], func(*runner.Planned) runner.EarlierTrial) {
	replies := func(yield func(eval.Judgement) bool) {
		for _, r := range before {
			change(&r)
			for _, j := range r.Judgements {
				if !yield(j) {
					return
				}
			}
		}
	}
	return replies, func(planned *runner.Planned) runner.EarlierTrial {
		for _, r := range before {
			if r.Case == planned.Case && r.Repeat == planned.Repeat {
				change(&r)
				return runner.AnsweredTrial{Result: &r}
			}
		}
		return nil
	}
}

// noneTwice wants each judgement of a trial once.
func noneTwice(t *testing.T, all []eval.Judgement) {
	t.Helper()
	seen := map[string]bool{}
	for _, j := range all {
		if seen[j.ID] {
			t.Errorf("got %s twice, want it once", j.ID)
		}
		seen[j.ID] = true
	}
}

// A useless reply that counts as a failure is requested again like one that leaves the score open.
func TestUselessRepliesThatFailAreRepeated(t *testing.T) {
	t.Parallel()
	text := strings.Replace(judgedSuite(1), "name: quality", "name: quality, onError: fail", 1)
	b := newBench(replying("I like it."))
	counts, before := results(t, plan(t, text, runner.Filter{}), config(&b.fake, 1))
	expect.Same(t, "with useless replies", counts.Fail, 2)
	for _, repeated := range []bool{false, true} {
		b := newBench(replying(fine))
		cfg := config(&b.fake, 1)
		cfg.EarlierRuns.RepeatUseless = repeated
		cfg.EarlierRuns.Replies, cfg.EarlierRuns.Trial = from(before, func(*eval.Result) {})
		counts, _ := results(t, plan(t, text, runner.Filter{}), cfg)
		expect.Same(t, "passes when the judge is useful", counts.Pass > 0, repeated)
		expect.Same(t, "is asked again", len(b.put) > 0, repeated)
	}
}

// The default temperature is sent and is no part of what a question is: replies of before count, as the id of one of them shows.
// Prompts and labels of the suite's own are a part of how answers are judged.
func TestQuestionsKeepTheirIdentity(t *testing.T) {
	t.Parallel()
	for _, temperature := range []string{"", ", generationConfig: {temperature: 0}"} {
		b := newBench(replying(fine))
		text := strings.Replace(requestSuite, "{name: j, model: svc-pro}", "{name: j, model: svc-pro"+temperature+"}", 1)
		_, all := results(t, plan(t, text, runner.Filter{}), config(&b.fake, 1))
		const before = "861b7479308442d9" // by evalrun 0.1
		if got := all[0].Judgements[0].ID; (got == before) != (temperature == "") {
			t.Errorf("%q: the question is %s, want %s only without a temperature", temperature, got, before)
		}
	}
	hash := func(template, choices string) (out string) {
		var diags diag.List
		own := "model: svc-pro, template: j.md, choices: {" + choices + "}}]\nprompts"
		text := strings.Replace(requestSuite, "model: svc-pro}]\nprompts", own, 1)
		text = strings.Replace(text, "judge: {rubric: good}", "judge: {}", 1)
		files := fstest.MapFS{"s.yaml": {Data: []byte(text)}, "j.md": {Data: []byte(template)}}
		s := suite.Load(files, "s.yaml", scorers.Builtin(), suite.Options{}, &diags)
		expect.OK(t, diags.Err())
		for tr := range runner.NewPlan([]*suite.Suite{s}, scorers.Builtin(), runner.Filter{}, "v1").Trials() {
			out = tr.ScorersHash
		}
		return out
	}
	seen := map[string]string{}
	for _, one := range [][2]string{
		{"Judge {{.answer}}", "A: 1, B: 0"},
		{"Judge {{.answer}}!", "A: 1, B: 0"},
		{"Judge {{.answer}}", "A: 1, B: 0.5"},
		{"Judge {{.answer}}", "A: 1, C: 0"},
	} {
		got := hash(one[0], one[1])
		if twin := seen[got]; twin != "" {
			t.Errorf("%q is judged as %q is, want a hash of its own", one, twin)
		}
		seen[got] = one[0] + one[1]
	}
	if second := hash("Judge {{.answer}}", "A: 1, B: 0"); seen[second] == "" {
		t.Errorf("the same prompt and labels give %s, want the hash of before", second)
	}
}
