package session

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/app"
	"github.com/evalrun/evalrun/internal/clients/proxy"
	"github.com/evalrun/evalrun/internal/flow"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/suite"
)

// routed sends calls of applications to their own services, and all others to the service of the models.
type routed struct {
	flow.Service
	applications map[eval.RequestMaker]flow.Service
}

func (r routed) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	switch {
	case call.To == nil:
		return r.Service.Generate(ctx, call)
	case call.Earlier == eval.EarlierRequired:
		return nil, eval.Errorf(eval.KindReplayMiss, "some earlier answers of the chat are missing")
	}
	return r.applications[call.To.RequestMaker].Generate(ctx, call)
}

// absent is the service of a run in which no model is called.
type absent struct {
	offline
	refusing
}

// applications returns applications with separate decorators, so that a throttled one does not delay the others.
func (s *Session) applications() map[eval.RequestMaker]flow.Service {
	out := map[eval.RequestMaker]flow.Service{}
	for name, t := range s.NamedTargets {
		if to := t.App(); to != nil {
			out[to] = targeted{s.wayToTarget(to, t.Name), name}
		}
	}
	return out
}

// replaying runs the programs whose calls of models are recorded, and takes all other answers from the records.
type replaying struct {
	flow.Service
	programs map[eval.RequestMaker]flow.Service
}

func (r replaying) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	if call.To != nil {
		if program := r.programs[call.To.RequestMaker]; program != nil {
			return program.Generate(ctx, call)
		}
	}
	return r.Service.Generate(ctx, call)
}

// replayedPrograms opens the programs whose calls of models are recorded: they run again, and their calls are answered from the records.
func (s *Session) replayedPrograms(store *flow.Recordings) (map[eval.RequestMaker]flow.Service, error) {
	_, fromRecords := s.Settings.Source.(eval.FromRecords)
	out := map[eval.RequestMaker]flow.Service{}
	h := &here{s, nil, map[string]application{}}
	for name, t := range s.NamedTargets {
		if p, ok := t.Of.(*suite.Program); ok && len(p.Models) > 0 && fromRecords {
			h.targets[name] = application{s.program(p), p}
			out[p] = targeted{s.limiter.Budget(flow.By(h, ""), true), name}
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	for name, one := range s.Settings.Services {
		s.models.lines = append(s.models.lines, &proxy.Service{Name: name, Protocol: one.Protocol, KeyEnv: one.KeyEnv})
	}
	s.models.replay = store.Exchanges
	return out, s.checkSandboxes()
}

// targeted says in each call which application it is for.
type targeted struct {
	flow.Service
	name string
}

func (t targeted) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	call.To.Name = t.name
	return t.Service.Generate(ctx, call)
}

func (s *Session) checkPlace(dir string) error {
	for t := range s.Targets {
		p, ok := t.Of.(*suite.Program)
		if !ok {
			continue
		}
		if err := checkRun(dir, p); err != nil {
			return err
		}
	}
	return nil
}

// wayToTarget wires an application. A program keeps its own time and spares no service: only budgets apply to it.
func (s *Session) wayToTarget(of suite.Application, name string) flow.Service {
	limits := &s.Settings.Limits
	to := way{peer: "the target `" + name + "`", timeout: limits.Timeout, concurrency: limits.Concurrency, counts: true}
	switch a := of.(type) {
	case *suite.Program:
		next := flow.By(s.executor, "")
		if s.Options.Executor != nil {
			next = s.limiter.Booked(next)
		}
		return flow.Retry(s.placed(s.limiter.Budget(next, len(a.Models) > 0)), s.retryPolicy(to))
	case *suite.HTTPTarget:
		to.timeout = cmp.Or(a.Timeout, to.timeout)
	case *suite.EchoTarget:
	}
	return s.decorated(to)
}

func (s *Session) endpoint(name string, of *suite.HTTPTarget) attempter {
	cfg := app.HTTPConfig{
		Name:        name,
		Reading:     of.Reading,
		TLS:         of.TLS,
		Secrets:     s.secrets(),
		UserAgent:   "evalrun/" + s.Version,
		Connections: s.Settings.Limits.Concurrency,
		Late:        of.ScoresLate,
		Login:       loginOf(of),
	}
	if of.Auth != nil {
		cfg.Tokens = s.printed(of.Auth, "the target `"+name+"`")
	}
	one := app.NewHTTP(cfg)
	s.endpoints = append(s.endpoints, one)
	return one
}

// loginOf returns how to log in to an endpoint; nil when it wants no login.
func loginOf(of *suite.HTTPTarget) *app.Login {
	if of.Login == nil {
		return nil
	}
	return &app.Login{Request: of.Login.Request, Take: of.Login.Take, PerTrial: of.Login.PerTrial}
}

func (s *Session) program(p *suite.Program) attempter {
	path, _ := p.Path() // checkVariables reports a missing one where a run calls it
	return app.NewProgram(app.ProgramConfig{
		Shown: p.String(), Path: path, Env: p.Env, Keys: s.KeyVariables(), Timeout: p.Timeout, Late: p.ScoresLate,
		Reading: p.Reading,
		Place:   func(call *eval.Call, args []string) (*app.Place, error) { return s.place(p, call, args) },
	})
}

// reader returns what reads given answers of applications. It is nil if all answers are given in their final form.
func (s *Session) reader() runner.AnswerReader {
	if _, final := s.Settings.Source.(eval.FromFile); final {
		return nil
	}
	readers := endpointReaders{}
	for t := range s.Targets {
		if e, ok := t.Of.(*suite.HTTPTarget); ok {
			readers[e] = app.NewReader(e.Reading)
		}
		if p, ok := t.Of.(*suite.Program); ok && p.Reading != (eval.Reading{}) {
			readers[p] = app.NewReader(p.Reading)
		}
	}
	return readers
}

// endpointReaders read the answers of endpoints. Those of other applications are final.
type endpointReaders map[eval.RequestMaker]*app.Reader

func (readers endpointReaders) ReadAgain(to eval.RequestMaker, resp *eval.Response) (*eval.Response, error) {
	if r := readers[to]; r != nil {
		return r.Reread(resp)
	}
	return resp, nil
}

// secrets are the secrets of all applications, since an answer of one may contain another's.
func (s *Session) secrets() []string {
	var out []string
	for t := range s.Targets {
		if e, ok := t.Of.(*suite.HTTPTarget); ok {
			out = append(out, e.Secrets...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// checkVariables wants the variables of the environment that requests to applications need. Where requests are sent,
// it wants all of them, and programs too. Else it wants only the ones in addresses, which are a part of a trial's
// identity.
func (s *Session) checkVariables(sends bool) error {
	missing := map[string]string{}
	for _, arm := range s.CalledArms() {
		to := arm.Target.App()
		if to == nil {
			continue
		}
		if p, ok := to.(*suite.Program); ok && sends {
			if _, err := p.Path(); err != nil {
				missing[err.Error()] = fmt.Sprintf("%s, and the target `%s` needs it", err, arm.Target.Name)
			}
		}
		for name, pos := range to.Unset(!sends) {
			if missing[name] == "" {
				missing[name] = fmt.Sprintf(
					"the environment variable %s is not set, and the target `%s` needs it (%s)", name, arm.Target.Name, pos,
				)
			}
		}
	}
	if len(missing) > 0 {
		return eval.BadInput("%s", strings.Join(slices.Sorted(maps.Values(missing)), "; "))
	}
	return nil
}
