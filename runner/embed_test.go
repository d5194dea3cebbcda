package runner_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/runner"
)

// embedder gives every text the same vector, and fails on chosen texts.
type embedder struct {
	mu    sync.Mutex
	calls [][]string
	fail  func(call *eval.EmbedCall) error
}

func (e *embedder) Embed(_ context.Context, call *eval.EmbedCall) ([][]float64, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls = append(e.calls, slices.Clone(call.Texts))
	if e.fail != nil {
		if err := e.fail(call); err != nil {
			return nil, err
		}
	}
	out := make([][]float64, len(call.Texts))
	for i := range out {
		out[i] = []float64{1, 1}
	}
	return out, nil
}

func similarSuite(cases int) string {
	var b strings.Builder
	b.WriteString("version: 1\nname: s\ntargets: [{name: t, model: svc-pro}]\nprompts: [{name: p, text: \"{{.q}}\"}]\n" +
		"defaults: {repeats: 2, scorers: [{similar: {to: [reference, another], min: 0.5}}, {contains: q}]}\ncases:\n")
	for i := range cases {
		fmt.Fprintf(&b, "  - {name: c%d, vars: {q: question %d}}\n", i, i)
	}
	return b.String()
}

func results(t *testing.T, p *runner.Plan, cfg runner.Config) (counts eval.Counts, all []eval.Result) {
	t.Helper()
	for _, r := range yielded(context.Background(), t, p, cfg) {
		counts.Add(r.Outcome())
		all = append(all, r.Result)
	}
	return counts, all
}

// yieldedResult is a result with why the run may have to stop.
type yieldedResult struct {
	eval.Result
	halt runner.Halt
}

func yielded(ctx context.Context, t *testing.T, p *runner.Plan, cfg runner.Config) (all []yieldedResult) {
	t.Helper()
	for r, halt := range runner.Run(ctx, p, cfg) {
		all = append(all, yieldedResult{r, halt})
	}
	return all
}

// overBudget reports whether the run has to stop because a budget is spent.
func (r *yieldedResult) overBudget() bool {
	_, spent := r.halt.(runner.SpentBudget)
	return spent
}

// Texts are embedded in batches over trials, each text once, and every answer is judged.
func TestEmbeddingsAreSentInBatches(t *testing.T) { synctest.Test(t, embeddingsInBatches) }

func embeddingsInBatches(t *testing.T) {
	e, called := &embedder{}, &fake{}
	called.generate = func(_ context.Context, call *eval.Call) (*eval.Response, error) {
		text := call.Contents[0].Parts[0].(eval.TextPart).Text
		if text == "question 249" { // the clock stops until all others wait for their vectors
			time.Sleep(time.Minute)
		}
		return &eval.Response{Candidates: []eval.Candidate{{Text: text, FinishReason: "STOP"}}}, nil
	}
	cfg := config(called, 64)
	cfg.Services.Embedder = e
	counts, _ := results(t, plan(t, similarSuite(250), runner.Filter{}), cfg)
	expect.Same(t, "passed", counts.Pass, 500)
	seen := map[string]int{}
	for _, call := range e.calls {
		if len(call) > wire.MaxEmbedTexts {
			t.Errorf("got %d texts in a call, want at most %d", len(call), wire.MaxEmbedTexts)
		}
		for _, text := range call {
			seen[text]++
		}
	}
	expect.Same(t, "texts", len(seen), 252)
	if len(e.calls) > 5 { // 251 at once, and the last one by itself
		t.Errorf("got %d calls, want at most 5", len(e.calls))
	}
	for text, n := range seen {
		expect.Same(t, text+": times that it was embedded", n, 1)
	}
}

// A failed call makes errors of the trials that waited for it, with their answers kept. Later trials make it again.
func TestFailedEmbeddingsAreErrorsOfTheirTrials(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, test := range []struct {
		err    *eval.Error
		kind   eval.ErrorKind
		budget bool
	}{
		{&eval.Error{Kind: eval.KindStatus, Status: 500, Message: "boom"}, eval.KindStatus, false},
		{&eval.Error{Kind: eval.KindMalformed, Message: "3 embeddings came for 4 texts"}, eval.KindMalformed, false},
		{&eval.Error{Kind: eval.KindBudget, Message: "the budget is spent"}, eval.KindUnscored, true},
		{&eval.Error{Kind: eval.KindCanceled, Message: "canceled"}, eval.KindUnscored, false},
	} {
		e := &embedder{fail: func(*eval.EmbedCall) error { return test.err }}
		cfg := config(&fake{}, 4)
		cfg.Services.Embedder = e
		all := yielded(t.Context(), t, plan(t, similarSuite(5), runner.Filter{}), cfg)
		expect.Same(t, string(test.err.Kind)+": results", len(all), 10)
		for _, r := range all {
			checkUnembedded(t, &r.Result)
			expect.Same(t, "the kind", r.Err().Kind, test.kind)
			expect.Same(t, "over budget", r.overBudget(), test.budget)
		}
	}
}

// A spent budget stops the run whatever else a judge's error is about.
func TestASpentBudgetComesBeforeATroubleOfAJudge(t *testing.T) {
	t.Parallel()
	const text = "version: 1\nname: s\ntargets: [{name: t, model: svc-pro}]\nprompts: [{name: p, text: q}]\n" +
		"judges: [{name: j, model: svc-pro}]\n" +
		"defaults: {scorers: [{similar: {to: [reference], min: 0.5}}, {judge: {rubric: fine}}]}\ncases: [{name: c}]\n"
	b := newBench(func(*eval.Call, string) (string, error) {
		return "", &eval.Error{Kind: eval.KindAuth, Status: 401, Message: "no"}
	})
	cfg := config(&b.fake, 1)
	cfg.Services.Embedder = &embedder{fail: func(*eval.EmbedCall) error { return eval.Errorf(eval.KindBudget, "the budget is spent") }}
	r := yielded(t.Context(), t, plan(t, text, runner.Filter{}), cfg)[0]
	if want := (runner.SpentBudget{Message: "the budget is spent"}); r.Outcome() != eval.Err || r.halt != want {
		t.Errorf("got %+v and %#v, want an error and %#v", r.Ending, r.halt, want)
	}
}

// checkUnembedded wants a trial with its answer, whose first score could not be had and whose second one could.
func checkUnembedded(t *testing.T, r *eval.Result) {
	t.Helper()
	if r.Response == nil || len(r.Scores) != 2 || r.Scores[0].Unscored() != r.Err().Message || !r.Scores[1].Passed() {
		t.Errorf("got %+v and %v, want an answer with that error as its first score and a second one that passed", r.Err(), r.Scores)
	}
}

// A text that the service refuses costs the others of its batch nothing.
func TestOneRefusedTextCostsTheOthersNothing(t *testing.T) {
	t.Parallel()
	e := &embedder{fail: func(call *eval.EmbedCall) error {
		if slices.Contains(call.Texts, "question 42") {
			return &eval.Error{Kind: eval.KindStatus, Status: 400, Message: "not that one"}
		}
		return nil
	}}
	cfg := config(&fake{}, 64)
	cfg.Services.Embedder = e
	counts, all := results(t, plan(t, similarSuite(90), runner.Filter{}), cfg)
	expect.Same(t, "counts", counts, eval.Counts{Pass: 178, Error: 2})
	if len(e.calls) > 80 {
		t.Errorf("got %d calls, want at most 80", len(e.calls))
	}
	for _, r := range all {
		expect.Same(t, r.Case+": an error", r.Outcome() == eval.Err, r.Case == "c42")
	}
	// A service that refuses everything does not get the texts one by one.
	e = &embedder{fail: func(*eval.EmbedCall) error { return &eval.Error{Kind: eval.KindStatus, Status: 400, Message: "no"} }}
	cfg.Services.Embedder = e
	if counts, _ := results(t, plan(t, similarSuite(90), runner.Filter{}), cfg); counts.Error != 180 || len(e.calls) > 120 {
		t.Errorf("%+v in %d calls, want 180 errors and at most 120 calls", counts, len(e.calls))
	}
}

// A text that is too long is found before anything is paid for it.
func TestTextsTooLongToEmbedAreFoundBeforeTheyCost(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 4*2048+1)
	f, e := &fake{}, &embedder{}
	cfg := config(f, 2)
	cfg.Services.Embedder = e
	p := plan(t, strings.Replace(similarSuite(2), "another", long, 1), runner.Filter{})
	counts, all := results(t, p, cfg)
	if counts.Error != 4 || f.sent.Load() != 0 || len(e.calls) != 0 || all[0].Err().Kind != eval.KindOverLimit {
		t.Errorf("got %+v, %+v and %d calls, want 4 errors over the limit before any call", counts, all[0].Err(), f.sent.Load())
	}
	var diags diag.List
	if err := p.CheckModels(t.Context(), models{}, &diags, func(string) {}); err != nil || !diags.HasErrors() {
		t.Errorf("got %v, %v, want problems alone", err, diags.Err())
	}
	// An answer that is too long is an error of its own.
	f.generate = func(context.Context, *eval.Call) (*eval.Response, error) {
		return &eval.Response{Candidates: []eval.Candidate{{Text: "q" + long, FinishReason: "STOP"}}}, nil
	}
	counts, all = results(t, plan(t, similarSuite(1), runner.Filter{}), cfg)
	if counts.Error != 2 || all[0].Err().Kind != eval.KindOverLimit || len(e.calls) != 0 {
		t.Errorf("%+v %+v, want 2 errors over the limit before any call", counts, all[0].Err())
	}
}

// models knows the seven named models.
type models struct{}

func (models) Model(_ context.Context, _, id string) (*eval.Model, error) {
	if m := wire.NamedModel(id); m != nil {
		return m, nil
	}
	return nil, &eval.Error{Kind: eval.KindStatus, Status: 404, Message: "no such model"}
}

func (models) Models(context.Context, string) ([]eval.Model, error) {
	return wire.NamedModels(), nil
}

// A suite that compares embeddings names a model that can make them.
func TestEmbeddingModelIsChecked(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]string{
		"embedding-001": "", "embedding-01": "the service has no model `embedding-01` (for embeddings)", "aqa-2": "the service has no model",
	} {
		var diags diag.List
		p := plan(t, similarSuite(1)+"embedding: {model: "+model+"}\n", runner.Filter{})
		expect.OK(t, p.CheckModels(t.Context(), models{}, &diags, func(string) {}))
		if err := diags.Err(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", model, err, want)
		}
		if want == "" && (len(p.Models) != 2 || p.Models[0].APIVersion != "v1") {
			t.Errorf("%+v, want 2 models, the first of v1", p.Models)
		}
	}
}
