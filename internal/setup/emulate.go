package setup

import (
	"slices"
	"strings"
	"time"

	"github.com/evalrun/evalrun/clients/emulator"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/harness"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/internal/service"
	"github.com/evalrun/evalrun/suite"
)

// Emulation is an emulator that is served on its own.
type Emulation struct {
	Listen       string // address; port 0 takes a free one
	Script       string // a file, or eval.DemoScript
	Key          string // the one good API key; "": any is good
	HeaderPrefix string
	Alias        map[string]string // other names for models
	Seed         uint64
	Consent      string // how OAuth logins are granted
	Lifetime     time.Duration
	Project      string // the one in which the API is enabled; "": every one
}

// NewEmulation is what is served where nothing else is said.
func NewEmulation() Emulation {
	return Emulation{
		Listen: "127.0.0.1:0", Script: eval.DemoScript, HeaderPrefix: service.DefaultHeaderPrefix, Alias: map[string]string{},
		Consent: emulator.ConsentPage,
	}
}

// Start serves the emulator. The caller closes it.
func (e *Emulation) Start(dir rundir.Dir) (*emulator.Server, error) {
	script, err := harness.ReadScript(dir, e.Script)
	if err != nil {
		return nil, err
	}
	for alias, model := range e.Alias {
		id := strings.TrimPrefix(model, "models/")
		if service.NamedModel(id) == nil {
			return nil, exit.BadInput("--alias %s=%s: the emulator has no such model", alias, model)
		}
		e.Alias[alias] = id
	}
	if !suite.HeaderPrefix.MatchString(e.HeaderPrefix) {
		return nil, exit.BadInput("%q is not the beginning of a header name", e.HeaderPrefix)
	}
	if consents := []string{emulator.ConsentPage, emulator.ConsentAuto, emulator.ConsentDeny}; !slices.Contains(consents, e.Consent) {
		return nil, exit.BadInput("--consent is one of %s, not %q", strings.Join(consents, ", "), e.Consent)
	}
	server, err := emulator.New(emulator.Options{
		Script: script, Key: e.Key, HeaderPrefix: e.HeaderPrefix, Alias: e.Alias, Seed: e.Seed,
		Consent: e.Consent, TokenLifetime: e.Lifetime, Project: e.Project,
	}).Start(e.Listen)
	if err != nil {
		return nil, exit.BadInput("%w", err)
	}
	return server, nil
}

// StartApp serves the small HTTP application for tries instead of the service. Of the settings it takes Listen and Key.
// The caller closes it.
func (e *Emulation) StartApp() (*emulator.AppServer, error) {
	server, err := emulator.NewApp(e.Key).Start(e.Listen)
	if err != nil {
		return nil, exit.BadInput("%w", err)
	}
	return server, nil
}
