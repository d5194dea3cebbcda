package harness

import (
	"context"
	"runtime"

	"github.com/evalrun/evalrun/app"
	client "github.com/evalrun/evalrun/clients/app"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/flow"
	"github.com/evalrun/evalrun/suite"
)

// attempter makes one attempt of a call to an application.
type attempter interface {
	Generate(ctx context.Context, call *eval.Call) (*eval.Response, error)
}

// caller is an application as a service that only generates: nothing else is called on its way.
type caller struct {
	flow.Service // that of the models, for which nothing comes here
	attempter
}

func (c caller) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	return c.attempter.Generate(ctx, call)
}

// routed sends calls to applications their own way, and all others to the service of the models.
type routed struct {
	flow.Service
	applications map[app.Target]flow.Service
}

func (r routed) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	if call.To == nil {
		return r.Service.Generate(ctx, call)
	}
	return r.applications[call.To].Generate(ctx, call)
}

// absent is the service of a run in which no model is called.
type absent struct {
	offline
	flow.Service // nil: nothing is called
}

// needsService reports whether the plan calls a model: one under test, a judge, or one for embeddings.
func (j *Job) needsService() bool {
	mixed := false
	for _, s := range j.Suites {
		for _, version := range s.Versions() {
			if version.Embeds() || len(version.AskedJudges()) > 0 {
				return true
			}
			for _, t := range version.Targets {
				mixed = mixed || t.App == nil
			}
		}
	}
	if !mixed {
		return len(j.Suites) == 0
	}
	for _, a := range j.Plan().Arms() {
		if a.Target.App == nil {
			return true
		}
	}
	return false
}

// atOnce is how many calls may be under way at once where it is so many of a service: programs run in addition.
func (j *Job) atOnce(concurrency int) int {
	all := concurrency
	for _, s := range j.Suites {
		for _, version := range s.Versions() {
			for _, t := range version.Targets {
				if t.App != nil && t.App.Program != nil {
					all += t.App.Program.Workers(concurrency, runtime.GOMAXPROCS(0))
				}
			}
		}
	}
	return all
}

// applications are the targets of the suites that are no models, each with decorators of its own, so that one which is throttled holds
// up no other.
func (s *Session) applications() map[app.Target]flow.Service {
	out := map[app.Target]flow.Service{}
	for _, one := range s.Suites {
		for _, version := range one.Versions() {
			for _, t := range version.Targets {
				if t.App != nil {
					out[t.App] = s.wayTo(t.App)
				}
			}
		}
	}
	return out
}

// wayTo is an application with its decorators. A program keeps its own time, and runs where no service has to be spared: only budgets
// apply to it.
func (s *Session) wayTo(a *suite.Application) flow.Service {
	if a.Program != nil {
		return flow.Retry(s.ledger.Budget(caller{attempter: s.program(a.Program)}), s.retryPolicy())
	}
	return s.decorated(caller{attempter: client.Echo{}}, s.Settings.Limits.Timeout)
}

// program is what runs a program.
func (s *Session) program(p *suite.Program) attempter {
	return client.NewProgram(client.ProgramConfig{
		Shown: p.String(), Path: p.Path, Args: p.Args, Env: p.Env, Timeout: p.Timeout,
		Folder: func(call *eval.Call) (string, error) { return s.workspaces.of(p, call) },
	})
}
