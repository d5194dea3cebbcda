package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/suite"
)

// runServices are the named services that the plan calls, for the header of a run file.
func (s *Session) runServices() map[string]eval.RunService {
	var out map[string]eval.RunService
	for _, name := range s.calls {
		one := s.Settings.Services[name]
		if one == nil {
			continue
		}
		url := one.URL
		if s.Options.Emulator != "" {
			url = emulated
		}
		if out == nil {
			out = map[string]eval.RunService{}
		}
		out[name] = eval.RunService{
			BaseURL: url, HeaderPrefix: one.HeaderPrefix, Protocol: one.Protocol, KeyEnv: one.KeyEnv, Batch: s.Settings.Batches(name),
		}
	}
	return out
}

// emulated replaces the address of the service in the header of a run that an emulator answered.
const emulated = "emulator"

func (s *Session) checkServices() error {
	var missing []string
	for _, name := range s.calls {
		one := s.Settings.Services[name]
		if one == nil {
			continue
		}
		for variable, pos := range one.Unset() {
			missing = append(missing, fmt.Sprintf(
				"the environment variable %s is not set, and the service `%s` needs it (%s)", variable, name, pos,
			))
		}
		if one.KeyEnv != "" && one.Key() == "" {
			missing = append(missing, one.MissingKey())
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return eval.BadInput("%s", strings.Join(missing, "; "))
	}
	return nil
}

type named struct {
	speaker
	of *namedService
}

// refusal explains an error by which the service refuses the caller.
func (n named) refusal(_ *eval.RunService, e *eval.Error) string {
	who := runner.Served(n.of.Name)
	switch {
	case e.Origin == eval.FromLogin:
		return e.Error()
	case n.of.Login != nil:
		return fmt.Sprintf("%s refuses the token that the program %q prints: %s", who, n.of.Login.Words[0], e)
	case n.of.KeyEnv != "":
		return fmt.Sprintf("%s (%s) refuses the key in %s: %s", who, n.of.URL, n.of.KeyEnv, e)
	}
	return fmt.Sprintf("%s (%s) refuses requests without a key: %s; name the variable that holds one by `keyEnv`", who, n.of.URL, e)
}

func (s *Session) dialNamed(one *namedService) speaker {
	c := &contact{
		NamedService: one.NamedService, URL: one.URL, Key: one.Key(), UserAgent: "evalrun/" + s.Version,
		Connections: s.Settings.Limits.Services[one.Name].Concurrency,
	}
	if !s.emulator.answersFor(c) && one.Login != nil {
		c.TokenSource = s.printed(one.Login, runner.Served(one.Name))
	}
	found := c.Connect()
	s.endpoints = append(s.endpoints, found)
	s.links[one.Name] = named{found, one}
	return found
}

// printed returns the source of the tokens that a program prints, which closes with the session.
func (s *Session) printed(of *suite.TokenProgram, whose string) *Printed {
	source := NewPrinted(of, whose, s.KeyVariables())
	s.endpoints = append(s.endpoints, source)
	return source
}

// warnUncounted warns of services whose tokens are estimated although their number matters.
func (s *Session) warnUncounted(p *runner.Plan) {
	limits := &s.Settings.Limits
	if !limits.TokensMatter() || limits.CountTokens == suite.CountNever || s.offline() {
		return
	}
	for _, name := range s.calls {
		if p.Uncounted[name] {
			s.Notice(runner.Served(name) + " cannot count tokens: those of its prompts are estimated")
		}
	}
}

func (s *Session) shares() map[string]int {
	out := map[string]int{}
	for name, own := range s.Settings.Limits.Services {
		out[name] = own.Concurrency
	}
	return out
}
