package session

import (
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/runner"
)

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
