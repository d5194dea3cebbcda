package harness

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/evalrun/evalrun/app"
	client "github.com/evalrun/evalrun/clients/app"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/exit"
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

// applications are the targets of the suites that are no models, each with decorators of its own, so that one which is throttled holds
// up no other.
func (s *Session) applications() map[app.Target]flow.Service {
	out := map[app.Target]flow.Service{}
	for t := range s.targets {
		if t.App != nil {
			out[t.App] = s.decorated(caller{attempter: s.application(t)}, way{"the target `" + t.Name + "`", s.timeout(t)})
		}
	}
	return out
}

// targets yields the targets of all suites, and of their earlier versions.
func (j *Job) targets(yield func(*suite.Target) bool) {
	for _, one := range j.Suites {
		for _, version := range one.Versions() {
			for _, t := range version.Targets {
				if !yield(t) {
					return
				}
			}
		}
	}
}

// timeout is how long an attempt of a call to an application may take.
func (s *Session) timeout(t *suite.Target) time.Duration {
	if t.App.HTTP != nil {
		return cmp.Or(t.App.HTTP.Timeout, s.Settings.Limits.Timeout)
	}
	return s.Settings.Limits.Timeout
}

// application is what calls a target.
func (s *Session) application(t *suite.Target) attempter {
	if t.App.HTTP == nil {
		return client.Echo{}
	}
	one := client.NewHTTP(client.HTTPConfig{
		Name: t.Name, Reading: t.App.HTTP.Reading, TLS: t.App.HTTP.TLS, Secrets: s.secrets(), UserAgent: "evalrun/" + s.Version,
		Connections: s.Settings.Limits.Concurrency,
	})
	s.endpoints = append(s.endpoints, one)
	return one
}

// secrets are those of all applications: one may have heard of another's.
func (j *Job) secrets() []string {
	var out []string
	for t := range j.targets {
		if t.App != nil && t.App.HTTP != nil {
			out = append(out, t.App.HTTP.Secrets...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// checkVariables wants the variables of the environment that requests to applications need. Where nothing is sent, those of addresses are
// enough: an address is a part of what a trial is known by.
func (s *Session) checkVariables(sends bool) error {
	var missing []string
	for _, arm := range s.Job.Plan().Arms() {
		if arm.Target.App == nil || arm.Target.App.HTTP == nil {
			continue
		}
		for _, u := range arm.Target.App.HTTP.Unset {
			line := fmt.Sprintf("%s: the environment variable %s is not set, and the target `%s` needs it", u.Pos, u.Name, arm.Target.Name)
			if (sends || u.InURL) && !slices.Contains(missing, line) {
				missing = append(missing, line)
			}
		}
	}
	if len(missing) > 0 {
		return exit.BadInput("%s", strings.Join(missing, "\n"))
	}
	return nil
}
