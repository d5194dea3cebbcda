package runner_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/runner"
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
			if n != 2*cases {
				t.Errorf("%d trials, want %d", n, 2*cases)
			}
		})
	}
	counts, _ := results(t, p, config(&fake{}, 8))
	walks.Wait()
	if counts.Pass != 2*cases {
		t.Errorf("got %+v, want %d passes", counts, 2*cases)
	}
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
