package judging_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/gate"
	"github.com/evalrun/evalrun/internal/judging"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/internal/session"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/testrun"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/runner"
)

// judge is a model that prefers as rules says, in this process, and keeps what it was sent.
type judge struct {
	rules func(a, b string) (string, error) // a letter or tie, by the answers in the order of the question

	mu   sync.Mutex
	seen []string // questions, whole
}

func (j *judge) Enter(ctx context.Context, _ <-chan struct{}) (context.Context, func()) {
	return ctx, func() {}
}

func (j *judge) Generate(_ context.Context, call *eval.Call) (*eval.Response, error) {
	question := call.Contents[0].Parts[0].(eval.TextPart).Text // what follows are a reply that does not count, and a request to correct it
	j.mu.Lock()
	j.seen = append(j.seen, question)
	j.mu.Unlock()
	said, err := j.rules(fenced(question, "answerA"), fenced(question, "answerB"))
	if err != nil {
		return nil, err
	}
	r := testrun.Answered(said, "STOP")
	r.Usage = &eval.Usage{PromptTokens: 10, OutputTokens: 2, TotalTokens: 12, Source: eval.UsageService}
	return r, nil
}

func (j *judge) CountTokens(context.Context, *eval.Call) (int, error) { return 10, nil }

func (j *judge) Embed(context.Context, *eval.EmbedCall) ([][]float64, error) {
	return nil, eval.Errorf(eval.KindStatus, "it embeds nothing")
}

func (j *judge) Model(_ context.Context, _, _, id string) (*eval.Model, error) {
	return &eval.Model{Name: "models/" + id, InputTokenLimit: 1 << 20, OutputTokenLimit: 1 << 13}, nil
}

func (j *judge) Models(context.Context, string, string) ([]eval.Model, error) { return nil, nil }

func (j *judge) Emulated() bool { return false }

func fenced(question, name string) string {
	_, rest, _ := strings.Cut(question, "\n<<<"+name+" ")
	fence, rest, _ := strings.Cut(rest, "\n")
	text, _, _ := strings.Cut(rest, "\n"+name+" "+fence+">>>")
	return text
}

func pick(word string) string { return fmt.Sprintf(`{"reason": "so", "choice": %q}`, word) }

// favours prefers answers with a word in them, wherever they stand.
func favours(word string) func(a, b string) (string, error) {
	return func(a, b string) (string, error) {
		inA, inB := strings.Contains(a, word), strings.Contains(b, word)
		switch {
		case inA == inB:
			return pick("tie"), nil
		case inA:
			return pick("A"), nil
		}
		return pick("B"), nil
	}
}

func always(said string) func(a, b string) (string, error) {
	return func(string, string) (string, error) { return said, nil }
}

type bench struct {
	*testing.T
	rundir.Dir
	judge   *judge
	notices []string
	mu      sync.Mutex
}

const judges = `version: 1
name: j
targets: [{name: t, model: svc-pro}]
prompts: [{name: p, text: hello}]
judges: [{name: strict, model: svc-pro, choose: {criteria: "Short, שלום."}}]
cases: [{name: a, scorers: [{contains: x}]}]
`

func newBench(t *testing.T, rules func(a, b string) (string, error)) *bench {
	t.Helper()
	b := &bench{T: t, Dir: rundir.At(t.TempDir()), judge: &judge{rules: rules}}
	b.write("judges.yaml", judges)
	return b
}

func (b *bench) write(name, text string) {
	b.Helper()
	expect.OK(b, os.WriteFile(b.Join(name), []byte(text), 0o600))
}

func (b *bench) by() judging.ByJudge {
	env := map[string]string{"EVALRUN_BASE_URL": "http://127.0.0.1:1", "EVALRUN_TRUST_KEY": "0123456789abcdef"}
	caller := runner.Caller{Dir: b.Abs(""), Executor: b.judge, Trust: true, NoHistory: true}
	caller.Getenv = func(name string) string { return env[name] }
	return judging.ByJudge{
		Suite: "judges.yaml", Options: session.Options{Caller: caller},
		Connect: func(j *session.Job) (*session.Session, error) {
			return session.Connect(j, "test", func(text string) {
				b.mu.Lock()
				defer b.mu.Unlock()
				b.notices = append(b.notices, text)
			})
		},
	}
}

// answers are those of an arm to the suite "s": one a case and repeat. "" is an error.
type answers struct {
	arm   string
	cases [][]string
}

func (b *bench) run(id string, arms ...answers) *journal.Document {
	b.Helper()
	var trials []*eval.Result
	for _, arm := range arms {
		for i, repeats := range arm.cases {
			for k, text := range repeats {
				trials = append(trials, trial(len(trials), arm.arm, i, k+1, text))
			}
		}
	}
	return testrun.Record(b, &eval.Run{
		ID: id, StartedAt: "2026-01-01T00:00:00Z", CommandOptions: &eval.RunOptions{}, Suites: []eval.RunSuite{{Name: "s"}},
		Plan: eval.RunPlan{Trials: len(trials)},
	}, &eval.End{Reason: eval.EndCompleted, FinishedAt: "2026-01-01T00:01:00Z"}, trials...)
}

func trial(n int, arm string, at, repeat int, text string) *eval.Result {
	r := &eval.Result{
		Trial: eval.Trial{
			N: n, ID: fmt.Sprintf("%016x", n), CaseID: fmt.Sprint("id ", at), Suite: "s", Case: fmt.Sprintf("c%02d", at), Arm: arm,
			Repeat: repeat, VarsHash: fmt.Sprint("v ", at), RequestHash: fmt.Sprint("r ", at),
		},
		Ending:   eval.Passed{},
		Request:  &eval.Request{Contents: []eval.Content{{Role: "user", Parts: []eval.Part{eval.TextPart{Text: fmt.Sprint("question ", at)}}}}},
		Response: testrun.Answered(text, "STOP"), Timing: &eval.Timing{LatencyMs: 100, Attempts: 1},
	}
	if text == "" {
		r.Ending, r.Response = eval.Errored{Error: eval.Errorf(eval.KindStatus, "no")}, nil
	}
	return r
}

func alike(text string, n int) answers {
	out := answers{arm: "t/p"}
	for range n {
		out.cases = append(out.cases, []string{text})
	}
	return out
}

func (b *bench) pairJudge(base, head *journal.Document, by judging.ByJudge) *judging.PairJudge {
	b.Helper()
	c, err := judging.NewPairJudge(b.Context(), base, head, by)
	expect.OK(b, err)
	b.Cleanup(c.Close)
	return c
}

var noRules = gate.Comparing{Base: "base", Head: "head", Rules: func(string) *eval.BaselineRule { return nil }}
