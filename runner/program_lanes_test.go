package runner_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/suite"
)

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
