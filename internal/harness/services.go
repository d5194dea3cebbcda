package harness

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/evalrun/evalrun/internal/dialect"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/service"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/suite"
)

// Named is a named service of a run, settled.
type Named struct {
	*suite.NamedService
	// URL is its address; "" where a variable of the environment in it is not set.
	URL string
	key string
}

// Key is the API key, "" without one. It is a secret.
func (n *Named) Key() string { return n.key }

// services settles the named services. The suites must agree on what they are; a flag wins over their addresses.
func (m *merger) services(f *Flags, getenv func(string) string) (map[string]*Named, error) {
	out, err := m.defined(f.Services)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(f.Services)) {
		if err := redirect(out, name, strings.TrimRight(f.Services[name], "/"), f.Emulator != ""); err != nil {
			return nil, err
		}
	}
	for _, one := range out {
		if one.KeyEnv == "" {
			continue
		}
		if one.key = strings.TrimSpace(getenv(one.KeyEnv)); strings.ContainsFunc(one.key, unicode.IsControl) {
			return nil, exit.BadInput(
				"%s, the key of the service `%s`, holds a line break or another control character", one.KeyEnv, one.Name,
			)
		}
	}
	return out, nil
}

// defined are the services as the suites define them. The addresses of services that a flag moves may differ.
func (m *merger) defined(moved map[string]string) (map[string]*Named, error) {
	out, from := map[string]*Named{}, map[string]string{} // which file defines it first
	for _, s := range m.suites {
		for _, one := range s.AllServices() {
			known := out[one.Name]
			if known == nil {
				out[one.Name], from[one.Name] = &Named{one, one.BaseURL, ""}, s.File
				continue
			}
			if key := one.DiffersFrom(known.NamedService); key != "" && (key != "baseUrl" || moved[one.Name] == "") {
				return nil, exit.BadInput(
					"%s and %s differ in `%s` of the service `%s`, which the suites of one run share: "+
						"make them agree, rename one, "+
						"or run the suites one by one", from[one.Name], s.File, key, one.Name,
				)
			}
		}
	}
	return out, nil
}

// redirect gives a named service another address, as --service does.
func redirect(all map[string]*Named, name, url string, emulated bool) error {
	one := all[name]
	switch {
	case one == nil && len(all) == 0:
		return exit.BadInput("--service %s.baseUrl: the suites name no services", name)
	case one == nil:
		names := slices.Sorted(maps.Keys(all))
		return exit.BadInput("--service %s.baseUrl: there is no service %s; %s", name, name, diag.DidYouMean(name, names))
	case emulated:
		return exit.BadInput("--emulator and --service %s.baseUrl name two addresses: choose one", name)
	}
	if problem := one.CheckAddress(url); problem != "" {
		return exit.BadInput("--service %s.baseUrl: %s", name, problem)
	}
	one.URL = url
	return nil
}

// serviceLimits are the limits of the named services, with what those of the run leave to them.
func (s *Settings) serviceLimits() map[string]suite.Limits {
	if len(s.Services) == 0 {
		return nil
	}
	out := map[string]suite.Limits{}
	for name, one := range s.Services {
		own := one.Limits
		own.Concurrency = cmp.Or(own.Concurrency, s.Limits.Concurrency)
		out[name] = own
	}
	return out
}

// runServices are the named services that the plan calls, for the head of a run file.
func (s *Session) runServices() map[string]eval.RunService {
	var out map[string]eval.RunService
	for _, name := range s.calls {
		one := s.Settings.Services[name]
		if one == nil {
			continue
		}
		url := one.URL
		if s.Flags.Emulator != "" {
			url = emulated
		}
		if out == nil {
			out = map[string]eval.RunService{}
		}
		out[name] = eval.RunService{BaseURL: url, HeaderPrefix: one.HeaderPrefix, Protocol: one.Protocol, KeyEnv: one.KeyEnv}
	}
	return out
}

// emulated is where a run was sent that went to the emulator.
const emulated = "emulator"

// used are the names of the services that the plan calls, "" being the unnamed one: for models under test, judges and embeddings.
func (j *Job) used() []string { return j.calling(true) }

// called are the names of the services that are called: of a run whose answers are judged again, those of judges and embeddings.
func (j *Job) called() []string {
	if j.only != nil {
		return []string{*j.only}
	}
	return j.calling(j.Flags.Rescore == "")
}

// ConnectTo is Connect for one service by its name, "" being the unnamed one: nothing of the others has to be there.
func (j *Job) ConnectTo(name, version string, notice func(string)) (*Session, error) {
	only := *j
	only.only = &name
	return only.Connect(version, notice)
}

// Named are the named services that the plan calls, in the order of their names.
func (j *Job) Named() []*Named {
	var out []*Named
	for _, name := range j.called() {
		if one := j.Settings.Services[name]; one != nil {
			out = append(out, one)
		}
	}
	return out
}

// calling is used, with or without the models under test.
func (j *Job) calling(underTest bool) []string {
	names := map[string]bool{}
	take := func(of *suite.NamedService) {
		name, _ := of.Identity()
		names[name] = true
	}
	for _, s := range j.Suites {
		for _, version := range s.Versions() {
			if version.Embeds() {
				take(version.Embedding.Service)
			}
			for _, judge := range version.AskedJudges() {
				take(judge.Service)
			}
		}
	}
	for _, judge := range j.chosen {
		take(judge.Service)
	}
	if underTest && slices.ContainsFunc(slices.Collect(j.targets), func(t *suite.Target) bool { return t.App == nil }) {
		for _, a := range j.askedArms() {
			if a.Target.App == nil {
				take(a.Target.Service)
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// AtOnce is how many calls of the plan may be in progress at once. Each service has a share of its own, and a limit
// that the user set caps them all.
func (j *Job) AtOnce() int {
	limits := &j.Settings.Limits
	sum := 0
	for _, name := range j.used() {
		if own, named := limits.Services[name]; named {
			sum += own.Concurrency
		} else {
			sum += limits.Concurrency
		}
	}
	isApp := func(t *suite.Target) bool { return t.App != nil }
	if !slices.Contains(j.used(), "") && slices.ContainsFunc(slices.Collect(j.targets), isApp) {
		sum += limits.Concurrency
	}
	if j.Settings.capped || sum == 0 {
		return limits.Concurrency
	}
	return sum
}

// Asks adds a judge that gets requests although no scorer of the suites names it.
func (j *Job) Asks(judge *suite.Judge) { j.chosen = append(j.chosen, judge) }

// keyVariables are the names of variables that hold keys of services. Programs do not get them.
func (j *Job) keyVariables() []string {
	var out []string
	for _, s := range j.Suites {
		for _, version := range s.Versions() {
			out = append(out, version.KeyVariables()...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// checkServices wants the keys and the addresses of the named services that are called.
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
		if one.KeyEnv != "" && one.key == "" {
			missing = append(missing, fmt.Sprintf(
				"the environment variable %s is not set, and it holds the key of the service `%s`", one.KeyEnv, name,
			))
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return exit.BadInput("%s", strings.Join(missing, "; "))
	}
	return nil
}

// named is the link to a named service.
type named struct {
	dialect.Speaker
	of *Named
}

// refusal says what it means that the service refuses.
func (n named) refusal(_ *eval.RunService, e *eval.Error) string {
	who := runner.Served(n.of.Name)
	switch {
	case e.OfLogin:
		return e.Error()
	case n.of.Login != nil:
		return fmt.Sprintf("%s refuses the token that the program %q prints: %s", who, n.of.Login.Words[0], e)
	case n.of.KeyEnv != "":
		return fmt.Sprintf("%s (%s) refuses the key in %s: %s", who, n.of.URL, n.of.KeyEnv, e)
	}
	return fmt.Sprintf("%s (%s) refuses requests without a key: %s; name the variable that holds one by `keyEnv`", who, n.of.URL, e)
}

// dialNamed opens the way to a named service.
func (s *Session) dialNamed(one *Named) dialect.Speaker {
	c := &dialect.Contact{
		NamedService: one.NamedService, URL: one.URL, Key: one.key, UserAgent: "evalrun/" + s.Version,
		Connections: s.Settings.Limits.Services[one.Name].Concurrency,
	}
	switch {
	case s.server != nil: // the emulator answers for every service
		own := *one.NamedService
		own.Headers, own.Path, own.HeaderPrefix = nil, "", s.Settings.Service.HeaderPrefix
		c.NamedService, c.URL, c.Key, c.ToEmulator = &own, s.server.URL+dialect.EmulatorPath(one.Protocol), emulatorKey, true
	case one.Login != nil:
		source := dialect.NewPrinted(one.NamedService, s.keyVariables())
		s.endpoints = append(s.endpoints, source)
		c.Tokens = source
	}
	found := c.Connect()
	s.endpoints = append(s.endpoints, found)
	s.links[one.Name] = named{found, one}
	return found
}

// uncounted are the names of services that cannot count tokens.
func (j *Job) uncounted() map[string]bool {
	out := map[string]bool{}
	for _, s := range j.Suites {
		for _, one := range s.AllServices() {
			if !dialect.Can(one.Protocol, service.MethodCountTokens) {
				out[one.Name] = true
			}
		}
	}
	return out
}

// tellUncounted warns of services whose tokens are estimated although their number matters.
func (s *Session) tellUncounted(p *runner.Plan) {
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

// shares are how many trials of one model may be under way at once, by the names of services.
func (s *Session) shares() map[string]int {
	out := map[string]int{}
	for name, own := range s.Settings.Limits.Services {
		out[name] = own.Concurrency
	}
	return out
}
