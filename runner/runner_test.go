package runner_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

func load(t testing.TB, text string) *suite.Suite {
	t.Helper()
	var diags diag.List
	s := suite.Load(fstest.MapFS{"s.yaml": {Data: []byte(text)}}, "s.yaml", scorers.Builtin(), suite.Options{}, &diags)
	expect.OK(t, diags.Err())
	return s
}

func plan(t testing.TB, text string, filter runner.Filter) *runner.Plan {
	return runner.NewPlan([]*suite.Suite{load(t, text)}, scorers.Builtin(), filter, "v1")
}

const twoArms = `version: 1
name: s
targets: [{name: one, model: svc-pro}, {name: two, model: svc-pro, generationConfig: {temperature: 0}}]
prompts: [{name: p, text: "{{.q}}"}]
defaults: {repeats: 2, scorers: [{contains: a}]}
cases: [{name: a, vars: {q: a}}, {name: b, vars: {q: b}}, {name: again, vars: {q: a}}]
`

// fake is a service that answers from a function.
type fake struct {
	generate func(ctx context.Context, call *eval.Call) (*eval.Response, error)
	tokens   int
	counted  atomic.Int64
	sent     atomic.Int64
}

func (f *fake) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	f.sent.Add(1)
	call.Timing.Attempts++
	call.Timing.StartedAt = time.Now()
	if f.generate != nil {
		return f.generate(ctx, call)
	}
	return &eval.Response{Candidates: []eval.Candidate{{Text: call.Contents[0].Parts[0].(eval.TextPart).Text, FinishReason: "STOP"}}}, nil
}

func (f *fake) CountTokens(context.Context, *eval.Call) (int, error) {
	f.counted.Add(1)
	return f.tokens, nil
}

func config(f *fake, concurrency int) runner.Config {
	return runner.Config{
		Services: runner.Services{Generator: f, Counter: f, Concurrency: concurrency},
		Counting: runner.Counting{Mode: suite.CountAuto},
		Stop:     runner.NewStop(),
	}
}

func TestEachTrialHasAnIDOfItsOwn(t *testing.T) {
	t.Parallel()
	var got []string
	ids := map[string]bool{}
	for tr := range plan(t, twoArms, runner.Filter{}).Trials() {
		got = append(got, fmt.Sprintf("%d %s %s %d", tr.N, tr.Case, tr.Arm, tr.Repeat))
		if ids[tr.ID] {
			t.Errorf("got the id of %v twice, want it once", tr.Trial)
		}
		ids[tr.ID] = true
	}
	if len(got) != 12 || got[3] != "3 a two/p 2" || got[8] != "8 again one/p 1" {
		t.Errorf("%q, want 12 trials, the 4th `3 a two/p 2` and the 9th `8 again one/p 1`", got)
	}
	// The same trial has the same id under a filter, although an equal one was left out before it.
	for tr := range plan(t, twoArms, runner.Filter{Cases: eval.Patterns{"again"}}).Trials() {
		if !ids[tr.ID] {
			t.Errorf("%v has the id %s under a filter, want the one that it has without", tr.Trial, tr.ID)
		}
	}
}

// The first repeat of a case on an arm that a plan has leads the others, in a shard too.
func TestTheFirstRepeatLeadsTheOthers(t *testing.T) {
	t.Parallel()
	others := 0 // that lead and are not repeat 1
	for _, of := range []int{1, 2, 3} {
		for i := range of {
			seen := map[string]bool{}
			for tr := range plan(t, twoArms, runner.Filter{Shard: eval.Shard{Index: i + 1, Of: of}}).Trials() {
				name := tr.Case + " on " + tr.Arm
				if tr.First == seen[name] {
					t.Errorf("shard %d/%d: got First %v for repeat %d of %s, want it for the first alone", i+1, of, tr.First, tr.Repeat, name)
				}
				seen[name] = true
				if tr.First && tr.Repeat > 1 {
					others++
				}
			}
		}
	}
	if others == 0 {
		t.Error("no shard begins with a later repeat: the test shows nothing, want some")
	}
}

// Whatever the concurrency, every trial comes once and the results are the same.
func TestResultsAreComplete(t *testing.T) {
	defer goleak.VerifyNone(t)
	want := ""
	for _, workers := range []int{1, 8, 64} {
		seen := make([]string, 12)
		for r := range runner.Run(t.Context(), plan(t, twoArms, runner.Filter{}), config(&fake{}, workers)) {
			seen[r.N] += fmt.Sprint(r.ID, r.Outcome(), r.Scores[0].Reason)
		}
		if got := strings.Join(seen, "\n"); want == "" {
			want = got
		} else if got != want {
			t.Errorf("%d workers:\n%s\nwant\n%s", workers, got, want)
		}
	}
	expect.Same(t, "passed", strings.Count(want, "pass"), 8)
	expect.Same(t, "failed", strings.Count(want, "fail"), 4)
}

func TestStopSkipsTheRest(t *testing.T) {
	defer goleak.VerifyNone(t)
	f := &fake{}
	cfg := config(f, 1)
	var counts eval.Counts
	for r := range runner.Run(t.Context(), plan(t, twoArms, runner.Filter{}), cfg) {
		if counts.Add(r.Outcome()); counts.Total() == 1 {
			cfg.Stop.Now("enough")
		}
		if r.Outcome() == eval.Skip && (r.SkipReason() != "enough" || r.Request != nil) {
			t.Errorf("%+v, want a skipped trial without a request, for the reason `enough`", r)
		}
	}
	if counts.Total() != 12 || counts.Skip < 6 || int64(counts.Ran()) != f.sent.Load() {
		t.Errorf("%+v, %d asked, want 12 trials, at least 6 of them skipped, and every other one asked", counts, f.sent.Load())
	}
}

// An error stops before the next call when the consumer says so.
func TestAnErrorIsSeenBeforeTheNextCall(t *testing.T) {
	t.Parallel()
	f := &fake{generate: func(context.Context, *eval.Call) (*eval.Response, error) {
		return nil, eval.Errorf(eval.KindAuth, "no")
	}}
	cfg := config(f, 1)
	for r := range runner.Run(t.Context(), plan(t, twoArms, runner.Filter{}), cfg) {
		if r.Outcome() == eval.Err {
			cfg.Stop.Now("refused")
		}
	}
	expect.Same(t, "calls", f.sent.Load(), 1)
}

// What a kill costs is bounded: until their results are taken, no more trials are sent than run at once.
func TestNoMoreIsSentThanWasTaken(t *testing.T) {
	t.Parallel()
	for _, workers := range []int{1, 3} {
		f := &fake{}
		taken := int64(0)
		for range runner.Run(t.Context(), plan(t, twoArms, runner.Filter{}), config(f, workers)) {
			if ahead := f.sent.Load() - taken; ahead > int64(workers) {
				t.Errorf("%d workers: %d asked and not taken, want at most %d", workers, ahead, workers)
			}
			taken++
		}
	}
}

// A bug that one trial meets is that trial's error.
func TestPanicsCostOnlyTheirTrial(t *testing.T) {
	t.Parallel()
	f := &fake{generate: func(_ context.Context, call *eval.Call) (*eval.Response, error) {
		if call.Contents[0].Parts[0].(eval.TextPart).Text == "b" {
			panic("oops")
		}
		return &eval.Response{Candidates: []eval.Candidate{{Text: "a", FinishReason: "STOP"}}}, nil
	}}
	var counts eval.Counts
	for r := range runner.Run(t.Context(), plan(t, twoArms, runner.Filter{}), config(f, 2)) {
		counts.Add(r.Outcome())
		if r.Outcome() == eval.Err && (r.Case != "b" || !strings.Contains(r.Err().Message, "a bug in evalrun, not in what you did: oops")) {
			t.Errorf("the case %s: %+v, want case b with the message of a panic", r.Case, r.Err())
		}
	}
	if counts.Pass != 8 || counts.Error != 4 {
		t.Errorf("%+v, want 8 passed and 4 errors", counts)
	}
}

func TestLeavingEarlyLeavesNothingBehind(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, workers := range []int{1, 16} {
		for range runner.Run(t.Context(), plan(t, twoArms, runner.Filter{}), config(&fake{}, workers)) {
			break
		}
	}
}

func TestCancelingEndsTheRun(t *testing.T) {
	defer goleak.VerifyNone(t)
	ctx, cancel := context.WithCancel(t.Context())
	f := &fake{generate: func(ctx context.Context, _ *eval.Call) (*eval.Response, error) {
		cancel()
		<-ctx.Done()
		return nil, eval.Errorf(eval.KindCanceled, "canceled")
	}}
	abandoned := 0
	for r := range runner.Run(ctx, plan(t, twoArms, runner.Filter{}), config(f, 4)) {
		if r.Outcome() == eval.Err && r.Err().Kind == eval.KindTransport {
			abandoned++
		}
	}
	if n := int(f.sent.Load()); abandoned != n || n > 4 {
		t.Errorf("%d asked, %d abandoned, want the same number, at most 4", n, abandoned)
	}
}

func TestNoCandidatesIsAnError(t *testing.T) {
	t.Parallel()
	none := &fake{generate: func(context.Context, *eval.Call) (*eval.Response, error) { return &eval.Response{}, nil }}
	for r := range runner.Run(t.Context(), plan(t, twoArms, runner.Filter{}), config(none, 4)) {
		if r.Outcome() != eval.Err || r.Err().Kind != eval.KindNoCandidates {
			t.Errorf("%+v, want an error of the kind %s", r, eval.KindNoCandidates)
		}
	}
	blocked := &fake{generate: func(context.Context, *eval.Call) (*eval.Response, error) {
		return &eval.Response{PromptFeedback: &eval.PromptFeedback{BlockReason: "SAFETY"}}, nil
	}}
	for r := range runner.Run(t.Context(), plan(t, twoArms, runner.Filter{}), config(blocked, 4)) {
		expect.Same(t, "outcome", r.Outcome(), eval.Fail)
	}
}

// Prompts are counted once per distinct prompt and model, and only where it matters; one over the limit
// costs nothing and names both numbers.
func TestCountingIsOncePerPromptAndModel(t *testing.T) {
	t.Parallel()
	long := strings.ReplaceAll(twoArms, "vars: {q: b}", "vars: {q: "+strings.Repeat("x", 40_000)+"}")
	f := &fake{tokens: 31_000}
	errs := 0
	for r := range runner.Run(t.Context(), plan(t, long, runner.Filter{}), config(f, 4)) {
		if r.Outcome() == eval.Err {
			errs++
			if r.Err().Kind != eval.KindOverLimit || !strings.Contains(r.Err().Message, "31000") || !strings.Contains(r.Err().Message, "30720") {
				t.Errorf("%v, want %s with the tokens 31000 and the limit 30720", r.Err(), eval.KindOverLimit)
			}
		}
	}
	if errs != 4 || f.counted.Load() != 1 || f.sent.Load() != 8 {
		t.Errorf("%d errors, %d counts, %d calls, want 4, 1 and 8", errs, f.counted.Load(), f.sent.Load())
	}
	for mode, want := range map[suite.TokenCounting]int64{suite.CountAlways: 2, suite.CountNever: 0, suite.CountAuto: 0} {
		f := &fake{tokens: 1}
		cfg := config(f, 8)
		cfg.Counting.Mode = mode
		for range runner.Run(t.Context(), plan(t, twoArms, runner.Filter{}), cfg) {
		}
		expect.Same(t, fmt.Sprint(mode, ": counts"), f.counted.Load(), want)
	}
	limited := &fake{tokens: 1}
	cfg := config(limited, 8)
	cfg.Counting.TokensMatter = true
	for range runner.Run(t.Context(), plan(t, twoArms, runner.Filter{}), cfg) {
	}
	expect.Same(t, "counts with a limit", limited.counted.Load(), 2)
}

type source struct {
	models map[string]eval.Model
	err    error
	mu     sync.Mutex
	sent   []string
}

func (s *source) Model(_ context.Context, apiVersion, id string) (*eval.Model, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, apiVersion+"/"+id)
	if s.err != nil {
		return nil, s.err
	}
	if m, ok := s.models[id]; ok {
		return &m, nil
	}
	return nil, &eval.Error{Kind: eval.KindStatus, Status: 404}
}

func (s *source) Models(context.Context, string) ([]eval.Model, error) {
	return []eval.Model{{Name: "models/svc-pro"}, {Name: "models/svc-pro-vision"}}, nil
}

func TestCheckModelsReportsUnknownOnes(t *testing.T) {
	t.Parallel()
	text := `version: 1
name: s
targets:
  - {name: a, model: known}
  - {name: b, model: known, apiVersion: v1beta}
  - {name: c, model: svc-prp}
  - {name: d, model: known, generationConfig: {maxOutputTokens: 11}}
  - {name: unused, model: nothing}
prompts: [{name: p, text: x}]
cases: [{name: c, arms: ["a/p", "b/p", "c/p", "d/p"], scorers: [{contains: x}]}]
`
	src := &source{models: map[string]eval.Model{"known": {Name: "models/known", OutputTokenLimit: 10}}}
	var diags diag.List
	notice := func(s string) { t.Errorf("got the notice %q, want none", s) }
	expect.OK(t, plan(t, text, runner.Filter{}).CheckModels(t.Context(), src, &diags, notice))
	var got []string
	for _, d := range diags.Sorted() {
		got = append(got, fmt.Sprintf("%d %s %s", d.Pos.Line, d.Message, d.Hint))
	}
	want := []string{
		"6 the service has no model `svc-prp` (target `c`) did you mean `svc-pro`?",
		"7 maxOutputTokens 11 is above the outputTokenLimit 10 of known lower it",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || fmt.Sprint(src.sent) != "[v1/known v1beta/known v1/svc-prp v1beta/svc-prp]" {
		t.Errorf("%q after %v, want %q after each name in both versions", got, src.sent, want)
	}

	for kind, fatal := range map[eval.ErrorKind]bool{
		eval.KindAuth: true, eval.KindTransport: true, eval.KindStatus: false, eval.KindMalformed: false,
	} {
		notices := 0
		p := plan(t, twoArms, runner.Filter{})
		err := p.CheckModels(t.Context(), &source{err: eval.Errorf(kind, "x")}, &diag.List{}, func(string) { notices++ })
		if (err != nil) != fatal || (notices == 1) == fatal {
			t.Errorf("%s: %v, %d notices, want an error: %t, otherwise one notice", kind, err, notices, fatal)
		}
		if !fatal && (len(p.Models) != 1 || p.Models[0].InputTokenLimit != 30720) {
			t.Errorf("%s: %+v, want one model with the limit 30720", kind, p.Models)
		}
	}
}
