package session

import (
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/emulator"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/ledger"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/suite"
)

// Emulation configures an emulator that runs until it is stopped, for `evalrun emulate`.
type Emulation struct {
	emulator.Options        // without the script
	Listen           string // port 0 takes a free one
	ScriptFile       string // a path, or eval.DemoScript
}

// NewEmulation returns the defaults: a free local port, the demo script, and a page that grants logins.
func NewEmulation() Emulation {
	options := emulator.Options{HeaderPrefix: wire.DefaultHeaderPrefix, Alias: map[string]string{}, Consent: emulator.ConsentPage}
	return Emulation{Options: options, Listen: "127.0.0.1:0", ScriptFile: eval.DemoScript}
}

// Start starts the emulator. The caller closes it.
func (e *Emulation) Start(dir rundir.Dir) (*emulator.Server, error) {
	options := e.Options
	var err error
	if options.Script, err = readScript(dir, e.ScriptFile); err != nil {
		return nil, err
	}
	for alias, model := range e.Alias {
		id := strings.TrimPrefix(model, "models/")
		if wire.NamedModel(id) == nil {
			return nil, eval.BadInput("--alias %s=%s: the emulator has no such model; `evalrun models --emulator` lists them", alias, model)
		}
		e.Alias[alias] = id
	}
	if !suite.HeaderPrefix.MatchString(e.HeaderPrefix) {
		return nil, eval.BadInput("%q is not the beginning of a header name", e.HeaderPrefix)
	}
	if consents := []string{emulator.ConsentPage, emulator.ConsentAuto, emulator.ConsentDeny}; !slices.Contains(consents, e.Consent) {
		return nil, eval.BadInput("--consent is one of %s, not %q", strings.Join(consents, ", "), e.Consent)
	}
	server, err := emulator.New(options).Start(e.Listen)
	if err != nil {
		return nil, eval.BadInput("%w", err)
	}
	return server, nil
}

// StartApp starts the emulated HTTP application, by Listen and Key alone. The caller closes it.
func (e *Emulation) StartApp() (*emulator.AppServer, error) {
	server, err := emulator.NewApp(e.Key).Start(e.Listen)
	if err != nil {
		return nil, eval.BadInput("%w", err)
	}
	return server, nil
}

// maxLimits bounds the file of limits, in bytes.
const maxLimits = 64 << 20

// LedgerService configures a ledger that a team shares.
type LedgerService struct {
	ledger.Config        // without the limits and the token
	LimitsFile    string // a path
}

// Start serves the ledger. The caller closes it. Problems of the limits are a *session.BadFiles.
func (o LedgerService) Start(dir rundir.Dir, getenv func(string) string) (*ledger.Server, error) {
	if o.LimitsFile == "" {
		return nil, eval.BadInput("--config FILE is missing: it has the limits of the accounts; see `evalrun help ledger`")
	}
	src, err := files.ReadInput(dir.Join(o.LimitsFile), maxLimits)
	if err != nil {
		return nil, eval.BadInput("the limits cannot be read: %w", err)
	}
	f := &Files{}
	f.Keep(o.LimitsFile, src)
	config := o.Config
	config.Limits = ledger.ReadLimits(o.LimitsFile, src, &f.Diags)
	if f.Diags.HasErrors() {
		return nil, &BadFiles{Files: f}
	}
	config.State, config.Token = dir.Join(o.State), strings.TrimSpace(getenv("EVALRUN_LEDGER_TOKEN"))
	return ledger.Start(config)
}
