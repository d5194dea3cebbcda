package session

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/proxy"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/suite"
)

// proxySuite makes settings, limits and records of a program outside of suites those of a run. Its command is never started.
const proxySuite = `{"version": 1, "name": "proxy", "prompts": [{"name": "command", "text": "-"}],
	"targets": [{"name": "program", "program": {"sandbox": "none", "command": ["program"], "models": %s}}],
	"cases": [{"name": "calls", "scorers": [{"steps": {"min": 0}}]}]}`

// usualVendors are those whose libraries read the variables with the address of the proxy.
var usualVendors = []string{"openai", "anthropic", "google"}

// LoadProxy prepares a program outside of suites, which calls services of the project file or vendors by way of the proxy: those with the
// names, else one for each variable with an address, as far as its key is there.
func LoadProxy(options Options, names []string) (*Loaded, error) {
	if err := options.UseProject(); err != nil {
		return nil, err
	}
	project := noSuites(options)
	services := project.projectServices(options.ofSuites())
	if err := project.Bad(); err != nil {
		return nil, err
	}
	names, err := options.proxied(names, services)
	if err != nil {
		return nil, err
	}
	models, _ := json.Marshal(names)
	options.Suites, options.given = []string{standard}, fmt.Appendf(nil, proxySuite, models)
	return loadFiles(options)
}

// proxied are the services that a program may call: one for each variable with an address.
func (f *Options) proxied(named []string, services []*suite.NamedService) (names []string, err error) {
	all := slices.Concat(named, slices.Sorted(maps.Keys(f.Services)))
	sure := len(all)
	for _, one := range services {
		all = append(all, one.Name)
	}
	all = append(all, usualVendors...)
	found := map[string]string{} // the service that a variable leads to
	for i, name := range all {
		protocol, ready := f.ready(name, services)
		if i < sure && protocol == "" {
			return nil, eval.BadInput("there is no service or vendor %q; %s", name, diag.DidYouMean(name, append(all[sure:], wire.VendorNames()...)))
		}
		variable := wire.ClientsOf(protocol).AddressEnv
		first := found[variable]
		if i < len(named) && first != "" {
			return nil, eval.BadInput("--models: a program finds `%s` and `%s` by the same variable, %s: name one of them", first, name, variable)
		}
		if first == "" && (i < sure || ready && len(named) == 0) {
			found[variable] = name
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, eval.BadInput("there is no service for the program to call: set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY, " +
			"give an address by --service openai.baseUrl=URL, or write `services` into the project file")
	}
	return names, nil
}

// ready finds a service or a vendor, and reports whether it can be called. The protocol is "" without one.
func (f *Options) ready(name string, services []*suite.NamedService) (protocol eval.ProtocolName, ready bool) {
	anyhow := f.Emulator != "" || f.Replay != ""
	isSet := func(variable string) bool { return f.Env(variable) != "" }
	if i := slices.IndexFunc(services, func(s *suite.NamedService) bool { return s.Name == name }); i >= 0 {
		one := services[i]
		return one.Protocol, anyhow || (one.KeyEnv == "" || isSet(one.KeyEnv)) && len(one.Unset()) == 0
	}
	if v := wire.VendorNamed(name); v != nil {
		return v.Protocol, anyhow || slices.ContainsFunc(v.KeyEnv, isSet)
	}
	return "", false
}

// proxied is a program outside of suites that calls services by way of the proxy.
type proxied struct {
	*proxy.Trial
	session *Session
	of      *runner.Planned
}

// Proxy lets a program make calls until it is closed. The job is one of LoadProxy.
func (s *Session) Proxy(ctx context.Context) (*proxied, error) {
	plan, err := s.Plan(ctx)
	if err != nil {
		return nil, err
	}
	for t := range plan.Trials() {
		trial, err := s.models.open(t.Program(), &eval.Call{TrialID: t.ID})
		return &proxied{trial, s, t}, err
	}
	return nil, eval.Incomplete("the flags select nothing")
}

// Environ is the environment of the program: that of evalrun, with the addresses of the proxy and a token in place of the keys.
func (p *proxied) Environ() []string {
	keys := p.session.KeyVariables()
	env := slices.DeleteFunc(os.Environ(), func(one string) bool {
		name, _, _ := strings.Cut(one, "=")
		return files.IsPrivate(name, keys)
	})
	return append(env, p.Env()...)
}

// Account is what calls of a program came to.
type Account struct {
	Service string `json:"service,omitempty"` // "" for all together
	Model   string `json:"model,omitempty"`
	Calls   int    `json:"calls"`
	Failed  int    `json:"failed"` // calls without an answer
	// Steps are the answers of models.
	Steps      int        `json:"steps"`
	ToolCalls  int        `json:"toolCalls"`
	ToolErrors int        `json:"toolErrors"`
	Usage      eval.Usage `json:"usage"`
	// Cost is by the price list; nil where that does not know a model.
	Cost     *float64 `json:"cost,omitempty"`
	Currency string   `json:"currency,omitempty"`
	// Problem is why the last call that failed did, Limit what has ended the program, Unread the variables that a program without calls
	// should read.
	Problem string    `json:"problem,omitempty"`
	Limit   string    `json:"limit,omitempty"`
	Unread  []string  `json:"unread,omitempty"`
	Models  []Account `json:"models,omitempty"`
}

// Close ends the calls of the program, keeps them where the options say so, and returns their account.
func (p *proxied) Close() (*Account, error) {
	made := p.Trial.Close()
	all := p.session.tally(made)
	_, all.Limit = p.Limit()
	if miss := p.Miss(); miss != nil {
		all.Problem = miss.Message
	}
	if p.Silent() {
		all.Unread = p.Addresses()
	}
	for _, one := range made {
		same := func(a Account) bool { return a.Service == one.Service && a.Model == one.Model }
		if slices.ContainsFunc(all.Models, same) {
			continue
		}
		of := p.session.tally(slices.DeleteFunc(slices.Clone(made), func(c eval.ModelCall) bool {
			return c.Service != one.Service || c.Model != one.Model
		}))
		of.Service, of.Model = one.Service, one.Model
		all.Models = append(all.Models, *of)
	}
	if p.session.recorder == nil {
		return all, nil
	}
	answer := &eval.Response{Candidates: []eval.Candidate{{}}, Calls: made, Exchanges: p.Exchanges()}
	p.session.recorder.keep(&eval.Result{Trial: p.of.Trial, Request: &p.of.Request, Response: answer, Usage: &all.Usage})
	if err := p.session.recorder.write(); err != nil {
		return all, eval.Incomplete("the calls cannot be recorded: %w", err)
	}
	return all, nil
}

func (s *Session) tally(made []eval.ModelCall) *Account {
	a := &Account{Calls: len(made)}
	a.Usage = *cmp.Or(proxy.Usage(made), &eval.Usage{Source: eval.UsageService})
	for i := range made {
		one := &made[i]
		if one.Response != nil {
			a.Steps++
		}
		a.ToolCalls += len(one.FunctionCalls())
		for _, result := range one.Results {
			if result.Failed {
				a.ToolErrors++
			}
		}
		if one.Error != nil {
			a.Failed++
			a.Problem = one.Error.Message
		}
	}
	if prices := s.Settings.Prices; prices != nil {
		a.Currency = prices.Currency
		if cost, known := prices.OfTrial("", &a.Usage, made); known {
			a.Cost = &cost
		}
	}
	return a
}
