package session

import (
	"fmt"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/runner"
)

type lastSpent struct {
	progressWatcher
	spent eval.Spent
}

func (p *lastSpent) Done(_ *eval.Result, spent eval.Spent) { p.spent = spent }

// The progress of a resumed run reports what came since then, costs as trials; budgets stay those of the run.
func TestResumedProgressReportsWhatCameSince(t *testing.T) {
	t.Parallel()
	var shown lastSpent
	p := &resumedProgress{&shown, eval.Spent{Attempts: 3, Tokens: 100, Money: 0.5}}
	p.Done(&eval.Result{}, eval.Spent{Attempts: 5, Tokens: 114, BudgetTokens: 200, Money: 0.75, Currency: "USD"})
	if want := (eval.Spent{Attempts: 2, Tokens: 14, BudgetTokens: 200, Money: 0.25, Currency: "USD"}); shown.spent != want {
		t.Errorf("%+v, want %+v", shown.spent, want)
	}
}

// Answers of a run that is still in progress are not scored again yet.
func TestRescoreWaitsForTheEndOfARun(t *testing.T) {
	t.Parallel()
	var one Session
	one.Job = &Job{}
	err := one.admit(&rescoredRun{from: eval.FromRun{Run: "now"}, doc: &journal.Document{Running: true}})
	expect.Contains(t, "error", fmt.Sprint(err), "now is still in progress: rescore it when it finishes")
}

// Before version 0.2, --answers was taken whatever else was given. Such a run can still be resumed.
func TestRunsOfEarlierVersionsHaveOneSource(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	kept := eval.Options{SourceOptions: eval.SourceOptions{Answers: "a", Record: "r", Replay: "s"}}
	w, err := journal.Create(dir, &eval.Run{ID: "one", CommandOptions: &eval.RunOptions{Options: kept}}, nil)
	expect.OK(t, err, w.Close())
	r, err := Reopen(dir, Options{Caller: runner.Caller{Dir: dir}})
	expect.OK(t, err)
	defer r.Close()
	got, err := r.Options.Source()
	expect.OK(t, err)
	expect.Same(t, "the source", got, eval.Source(eval.FromFile{Path: "a"}))
}

// The reason why a service gets no more calls names the service, once: the circuit breaker names it itself.
func TestReasonsNameTheServiceOnce(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		service, message string
		origin           eval.Origin
		want             string
	}{
		{"a", "no answer from host", 0, "the service `a`: no answer from host"},
		{"a", "the service `a` gave no answer for 20 attempts", eval.FromBreaker, "the service `a` gave no answer for 20 attempts"},
		{"a", "the service `a` of a vendor says no", 0, "the service `a`: the service `a` of a vendor says no"},
		{"", "the service gave no answer for 20 attempts", eval.FromBreaker, "the service gave no answer for 20 attempts"},
	} {
		got := (&Session{}).reasonOf(test.service, &eval.Error{Kind: eval.KindTransport, Origin: test.origin, Message: test.message})
		expect.Same(t, test.message, got, test.want)
	}
}

// stopped is why a run stops after an error of a trial, "" when it continues. Its targets are a model and two
// endpoints, or one endpoint.
func stopped(target string, only bool, e *eval.Error, halt runner.Halt) string {
	s := &Session{Job: &Job{}, link: offline{}, stop: runner.NewStop()}
	s.Settings.Service.BaseURL = "https://service.example"
	c := &consumer{session: s, targets: []eval.RunTarget{{Suite: "s", Name: "app", App: "POST http://127.0.0.1/"}}}
	if !only {
		c.targets = append(c.targets, eval.RunTarget{Suite: "s", Name: "model", Model: "m"},
			eval.RunTarget{Suite: "s", Name: "other", App: "echo"})
	}
	c.decide(&eval.Result{Trial: eval.Trial{Suite: "s", Target: target}, Ending: eval.Errored{Error: e}}, halt)
	return s.stop.Reason()
}

// What stops a run names who has the trouble. An application that is gone stops only a run that has no other target.
func TestAStopNamesItsCause(t *testing.T) {
	t.Parallel()
	refused := &eval.Error{Kind: eval.KindAuth, Status: 401, Message: "no"}
	gone := &eval.Error{Kind: eval.KindTransport, Origin: eval.FromBreaker, Message: "the target `app` gave no answer"}
	spent := &eval.Error{Kind: eval.KindQuota, Retry: eval.RetryNever, Status: 429, Message: "tomorrow"}
	for _, one := range []struct {
		target string
		only   bool
		e      *eval.Error
		halt   runner.Halt
		want   string
	}{
		{"app", false, refused, nil, "the target `app` refuses its requests: 401: no; look at its `headers`"},
		{"model", false, refused, nil, "https://service.example refuses the key in EVALRUN_API_KEY: 401: no"},
		{"app", false, &eval.Error{Kind: eval.KindUnscored}, runner.JudgeTrouble{Error: refused}, "refuses the key in EVALRUN_API_KEY"},
		{"model", false, &eval.Error{Kind: eval.KindUnscored}, runner.SpentBudget{Message: "the budget is spent"}, "the budget is spent"},
		{"app", false, gone, nil, ""},
		{"app", true, gone, nil, "the target `app` gave no answer"},
		{"model", false, gone, nil, "gave no answer"},
		{"app", false, spent, nil, "the quota of the target `app` is used up"},
		{"model", false, spent, nil, "the quota is used up"},
		{"app", false, &eval.Error{Kind: eval.KindStatus, Status: 500}, nil, ""},
	} {
		got := stopped(one.target, one.only, one.e, one.halt)
		if (one.want == "") != (got == "") || !strings.Contains(got, one.want) {
			t.Errorf("%s, %+v, %+v: got %q, want %q", one.target, one.e, one.halt, got, one.want)
		}
	}
}
