package session

import (
	"context"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/app"
	"github.com/evalrun/evalrun/internal/clients/proxy"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/flow"
	"github.com/evalrun/evalrun/suite"
)

// here makes attempts in this process. Without services and targets it is the executor of a session that sends nothing.
type here struct {
	session  *Session
	services map[string]flow.Service // by name, "" being the unnamed one
	targets  map[string]application  // by name
}

type application struct {
	attempter
	to eval.RequestMaker
}

// attempter makes one attempt of a call to an application.
type attempter interface {
	Generate(ctx context.Context, call *eval.Call) (*eval.Response, error)
}

// openHere opens the links to the services and the applications.
func (s *Session) openHere() (*here, error) {
	if err := s.checkVariables(true); err != nil {
		return nil, err
	}
	if err := s.checkSandboxes(); err != nil {
		return nil, err
	}
	if s.Options.Emulator == "" {
		if err := s.checkServices(); err != nil {
			return nil, err
		}
	} else if err := s.startEmulator(); err != nil {
		return nil, err
	}
	line, err := s.dial()
	if err != nil {
		return nil, err
	}
	if wire.PlainHTTP(s.Settings.Service.BaseURL) && !s.warned(s.Settings.Service.BaseURL) {
		s.Notice("warning: the key and the prompts travel in the clear to " + s.Settings.Service.BaseURL)
	}
	s.link = line
	h := &here{s, map[string]flow.Service{"": line}, map[string]application{}}
	lines := map[string]any{"": line}
	for name, one := range s.Settings.Services {
		line := s.dialNamed(one)
		h.services[name] = asService(line, one.NoMetadata)
		lines[name] = line
		s.models.lines = append(s.models.lines, &proxy.Service{Name: name, Protocol: one.Protocol, KeyEnv: one.KeyEnv, Line: line})
	}
	if err := s.openBatches(lines); err != nil {
		return nil, err
	}
	for name, t := range s.NamedTargets {
		if to := t.App(); to != nil {
			h.targets[name] = application{s.attempterFor(to, t.Name), to}
		}
	}
	return h, nil
}

// Executor opens the way to the services and applications of a job that was loaded and settled, without limits,
// retries and records: for attempts that another process wants made. Programs run in copies of their workspaces below
// dir. Close the session.
func Executor(j *Job, version, dir string, notice func(string)) (eval.Executor, *Session, error) {
	own := *j
	s := newSession(&own, version, notice)
	s.workspaces.Run = dir
	s.calls = s.Called()
	h, err := s.openHere()
	if err == nil {
		err = s.openLedger()
	}
	if err != nil {
		s.Close()
		return nil, nil, err
	}
	for name, one := range h.services {
		h.services[name] = s.shared.around(flow.Deadline(one, 0), name)
	}
	s.models.way, s.models.prices = h.of, s.Settings.Prices
	for name, one := range h.targets {
		if _, program := one.attempter.(*app.ProgramClient); !program { // which keeps its own time, and no service
			one.attempter = s.shared.around(flow.Deadline(caller{refusing: onlyGenerate, attempter: one.attempter}, 0), "")
			h.targets[name] = one
		}
	}
	return h, s, nil
}

// caller is an application as a service that only generates: nothing else is called on its way.
type caller struct {
	refusing
	attempter
}

func (c caller) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	return c.attempter.Generate(ctx, call)
}

func (s *Session) attempterFor(of suite.Application, name string) attempter {
	switch a := of.(type) {
	case *suite.Program:
		return s.program(a)
	case *suite.HTTPTarget:
		return s.endpoint(name, a)
	case *suite.EchoTarget:
	}
	return app.Echo{}
}

// Enter has room at any time: how many calls are in progress is bounded before.
func (h *here) Enter(ctx context.Context, _ <-chan struct{}) (calling context.Context, leave func()) {
	return ctx, func() {}
}

func (h *here) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	if call.To != nil {
		one, known := h.targets[call.To.Name]
		if !known {
			return nil, refusing("the suites have no application " + call.To.Name).err()
		}
		call.To.RequestMaker = one.to // a call from another process only has the name
		return one.Generate(ctx, call)
	}
	return h.of(call.Service).Generate(ctx, call)
}

func (h *here) CountTokens(ctx context.Context, call *eval.Call) (int, error) {
	return h.of(call.Service).CountTokens(ctx, call)
}

func (h *here) Embed(ctx context.Context, call *eval.EmbedCall) ([][]float64, error) {
	return h.of(call.Service).Embed(ctx, call)
}

func (h *here) Model(ctx context.Context, service, apiVersion, id string) (*eval.Model, error) {
	return h.of(service).Model(ctx, apiVersion, id)
}

func (h *here) Models(ctx context.Context, service, apiVersion string) ([]eval.Model, error) {
	return h.of(service).Models(ctx, apiVersion)
}

func (h *here) Emulated() bool { return h.session.Emulated() }

// of is the service of a name. Only another process can name one that the suites do not have.
func (h *here) of(name string) flow.Service {
	if to := h.services[name]; to != nil {
		return to
	}
	return refusing("the suites have no service " + name)
}

// elsewhere is the link of a session whose attempts other processes make.
type elsewhere struct{ executor eval.Executor }

func (e elsewhere) Emulated() bool                    { return e.executor.Emulated() }
func (elsewhere) Skew() (skew time.Duration, ok bool) { return 0, false }
func (elsewhere) refusal(_ *eval.RunService, e *eval.Error) string {
	return "a worker's service refuses it: " + e.Error()
}
func (elsewhere) Close() {}
