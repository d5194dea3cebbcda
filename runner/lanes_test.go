package runner_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// manyScorers is a suite with more scorers than a walk remembers, of every family that gathers needs while it is compiled.
func manyScorers(cases, more int) string {
	var b strings.Builder
	b.WriteString(`version: 1
name: s
targets: [{name: one, model: first}, {name: two, model: second}]
prompts: [{name: p, text: "{{.q}}"}]
defaults: {vars: {q: question}, scorers: [{not: {contains: "no {{.q}}"}}]}
cases:
`)
	for i := range cases {
		fmt.Fprintf(
			&b, "  - {name: c%d, scorers: [{expr: 'len(answer) < %d'}, {any: [{contains: a%d}, {regex: question}]}%s]}\n", i,
			100+i, i, strings.Repeat(", {contains: question}", more),
		)
	}
	return b.String()
}

// Walks of one plan compile the same scorers at once, above the number that each remembers, while workers read them.
func TestWalksAtOnceCompileTheSameScorers(t *testing.T) {
	t.Parallel()
	const cases = 300 // of 15 scorers of their own and one with a template
	p := plan(t, manyScorers(cases, 13), runner.Filter{})
	var walks sync.WaitGroup
	for range 2 {
		walks.Go(func() {
			n := 0
			for range p.Trials() {
				n++
			}
			expect.Same(t, "trials", n, 2*cases)
		})
	}
	counts, _ := results(t, p, config(&fake{}, 8))
	walks.Wait()
	expect.Same(t, "passes", counts.Pass, 2*cases)
}

// A model that hangs holds up no other: the others get all of their trials, and each trial is sent once.
func TestAModelThatHangsHoldsUpNoOther(t *testing.T) {
	defer goleak.VerifyNone(t)
	const cases = 1000
	var others atomic.Int64
	release := make(chan struct{})
	f := &fake{generate: func(ctx context.Context, call *eval.Call) (*eval.Response, error) {
		if call.Model == "first" {
			select {
			case <-release:
			case <-ctx.Done():
			}
		} else if others.Add(1) == cases {
			close(release)
		}
		return &eval.Response{Candidates: []eval.Candidate{{Text: "question", FinishReason: "STOP"}}}, nil
	}}
	seen := map[string]int{}
	for r := range runner.Run(t.Context(), plan(t, manyScorers(cases, 0), runner.Filter{}), config(f, 4)) {
		seen[r.ID]++
	}
	for id, n := range seen {
		expect.Same(t, id+": times that it came", n, 1)
	}
	if len(seen) != 2*cases || int(f.sent.Load()) != 2*cases {
		t.Errorf("%d trials and %d calls, want %d", len(seen), f.sent.Load(), 2*cases)
	}
}

// Leaving the loop while a model hangs leaves nothing behind.
func TestLeavingLanesLeavesNothingBehind(t *testing.T) {
	defer goleak.VerifyNone(t)
	f := &fake{generate: func(ctx context.Context, call *eval.Call) (*eval.Response, error) {
		if call.Model == "first" {
			<-ctx.Done()
			return nil, eval.Errorf(eval.KindCanceled, "canceled")
		}
		return &eval.Response{Candidates: []eval.Candidate{{Text: "question", FinishReason: "STOP"}}}, nil
	}}
	n := 0
	for range runner.Run(t.Context(), plan(t, manyScorers(700, 0), runner.Filter{}), config(f, 4)) {
		if n++; n == 600 {
			break
		}
	}
}

const ownSpeeds = `version: 1
name: s
targets:
  - {name: one, program: {command: sh, concurrency: 1}}
  - {name: many, program: {command: sh, concurrency: 6}}
prompts: [{name: p, text: question}]
cases: [{name: a, repeats: 24, scorers: [{contains: question}]}]
`

// A program runs as often at once as its target says, whatever the concurrency of the run is.
func TestProgramsHaveWorkersOfTheirOwn(t *testing.T) {
	t.Parallel()
	p := plan(t, ownSpeeds, runner.Filter{})
	var now, most [2]atomic.Int64
	var once sync.Once
	full := make(chan struct{}) // closed when as many run at once as may
	f := &fake{generate: func(ctx context.Context, call *eval.Call) (*eval.Response, error) {
		which := 0
		if p.Arms()[1].Target.App() == call.To.RequestMaker {
			which = 1
		}
		n := now[which].Add(1)
		defer now[which].Add(-1)
		for {
			if old := most[which].Load(); n <= old || most[which].CompareAndSwap(old, n) {
				break
			}
		}
		if which == 1 && n == 6 {
			once.Do(func() { close(full) })
		}
		if which == 1 {
			select {
			case <-full:
			case <-ctx.Done():
			}
		}
		return &eval.Response{Candidates: []eval.Candidate{{Text: "question", FinishReason: "STOP"}}}, nil
	}}
	counts, _ := results(t, p, config(f, 2))
	expect.Same(t, "passes", counts.Pass, 48)
	expect.Same(t, "calls of the first at once", most[0].Load(), 1)
	expect.Same(t, "calls of the second at once", most[1].Load(), 6)
}

func TestTheTargetSaysHowManyProgramsRunAtOnce(t *testing.T) {
	t.Parallel()
	p := plan(t, ownSpeeds, runner.Filter{})
	own := p.Arms()[1].Target.Of.(*suite.Program)
	expect.Same(t, "as the target says", own.Workers(2, 1), 6)
	free := *own
	free.Concurrency = 0
	for _, test := range [][3]int{{8, 4, 4}, {2, 4, 2}, {8, 1, 1}, {0, 4, 1}} {
		expect.Same(t, "without a number", free.Workers(test[0], test[1]), test[2])
	}
}

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
