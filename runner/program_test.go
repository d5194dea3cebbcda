//go:build unix

package runner_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// programPlan is the plan of a suite in a folder, in which its programs run.
func programPlan(t *testing.T, dir, scorer string) *runner.Plan {
	t.Helper()
	text := "version: 1\nname: s\ntargets: [{name: t, model: svc-pro}]\nprompts: [{name: p, text: \"{{.q}}\"}]\ndefaults: {repeats: " +
		"2}\ncases: [{name: c, vars: {q: a}, scorers: [" + scorer + "]}]\n"
	expect.OK(t, os.WriteFile(filepath.Join(dir, "s.yaml"), []byte(text), 0o600))
	var diags diag.List
	s := suite.Load(os.DirFS(dir), "s.yaml", scorers.Builtin(), suite.Options{Dir: dir}, &diags)
	expect.OK(t, diags.Err())
	return runner.NewPlan([]*suite.Suite{s}, scorers.Builtin(), runner.Filter{}, "v1")
}

// A program judges each answer once, although another scorer wants embeddings first, and knows which trial it is.
func TestProgramsRunOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	scorer := `{exec: [sh, -c, 'cat >> told; echo true']}, {similar: {to: b, min: 0}}, {cost: 1}`
	cfg := config(&fake{}, 4)
	cfg.Services.Embedder = &embedder{}
	cfg.ScorerData.Prices = &eval.PriceList{Currency: "X", Models: map[string]eval.Price{"svc-pro": {Input: 1e6, Output: 0}}}
	counts, all := results(t, programPlan(t, dir, scorer), cfg)
	input, err := os.ReadFile(filepath.Join(dir, "told"))
	expect.OK(t, err)
	expect.Same(t, "pass", counts.Pass, 2)
	expect.Same(t, "lines", strings.Count(string(input), "\n"), 2)
	expect.Contains(t, "the input", string(input), `"suite":"s","case":"c","arm":"t/p","model":"svc-pro","repeat":2`)
	for _, r := range all {
		if len(r.Scores) != 3 || r.Scores[0].Scorer != "exec" || r.Scores[2].Reason != "1 X for 1 and 1 tokens (estimated)" {
			t.Errorf("%+v, want 3 scores, of exec first, of what it cost last", r.Scores)
		}
	}
}

// A program that fails is an error of the trial that keeps the answer.
func TestAProgramThatFailsIsAnError(t *testing.T) {
	t.Parallel()
	_, all := results(t, programPlan(t, t.TempDir(), `{contains: a}, {exec: [sh, -c, 'echo "no luck" >&2; exit 7']}`), config(&fake{}, 4))
	for _, r := range all {
		if r.Outcome() != eval.Err || r.Err().Kind != eval.KindScorer ||
			r.Err().Message != `exec: the program "sh" ended with exit status 7; its standard error: no luck` ||
			r.Response == nil {
			t.Errorf("%+v, want a scorer's error with the exit status 7", r.Err())
		}
	}
}

// Programs that hang are abandoned with the run.
func TestProgramsAreAbandoned(t *testing.T) {
	defer goleak.VerifyNone(t)
	p := programPlan(t, t.TempDir(), `{exec: {command: [sleep, '600'], timeout: 10m}}`)
	ctx, cancel := context.WithCancel(t.Context())
	f := &fake{}
	answered := make(chan struct{}, 2)
	f.generate = func(context.Context, *eval.Call) (*eval.Response, error) {
		defer func() { answered <- struct{}{} }()
		return &eval.Response{Candidates: []eval.Candidate{{Text: "a"}}}, nil
	}
	go func() {
		<-answered
		<-answered
		cancel()
	}()
	for r := range runner.Run(ctx, p, config(f, 2)) {
		if r.Outcome() != eval.Err || !strings.Contains(r.Err().Message, "abandoned") {
			t.Errorf("%s %+v, want an error that says abandoned", r.Outcome(), r.Err())
		}
	}
}

// What a program is made of is part of the scorer.
func TestProgramsArePartOfTheScorersHash(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	hash := func(program string) string {
		expect.OK(t, os.WriteFile(filepath.Join(dir, "x.sh"), []byte(program), 0o700))
		for tr := range programPlan(t, dir, `{not: {exec: ./x.sh}}`).Trials() {
			return tr.ScorersHash
		}
		return ""
	}
	if hash("#!/bin/sh\necho true\n") == hash("#!/bin/sh\necho false\n") {
		t.Error("got the same hash for a changed program, want another one")
	}
}
