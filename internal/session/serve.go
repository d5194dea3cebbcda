package session

import (
	"slices"
	"strings"
	"time"

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
	Listen       string // port 0 takes a free one
	Script       string // a path, or eval.DemoScript
	Key          string // the only API key that is accepted; "" accepts all
	HeaderPrefix string
	Alias        map[string]string // further names of models
	Seed         uint64
	Consent      string // how the emulator grants OAuth logins
	Lifetime     time.Duration
	Project      string // the only project in which the API is enabled; "" enables all
	CORS         bool   // pages of any origin may call the emulator
}

// NewEmulation returns the defaults: a free local port, the demo script, and a page that grants logins.
func NewEmulation() Emulation {
	return Emulation{
		Listen: "127.0.0.1:0", Script: eval.DemoScript, HeaderPrefix: wire.DefaultHeaderPrefix, Alias: map[string]string{},
		Consent: emulator.ConsentPage,
	}
}

// Start starts the emulator. The caller closes it.
func (e *Emulation) Start(dir rundir.Dir) (*emulator.Server, error) {
	script, err := readScript(dir, e.Script)
	if err != nil {
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
	server, err := emulator.New(emulator.Options{
		Script: script, Key: e.Key, HeaderPrefix: e.HeaderPrefix, Alias: e.Alias, Seed: e.Seed,
		Consent: e.Consent, TokenLifetime: e.Lifetime, Project: e.Project, CORS: e.CORS,
	}).Start(e.Listen)
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
	Listen  string // port 0 takes a free one
	Limits  string // a path
	State   string // the folder in which the ledger keeps its file
	Cert    string // paths of the TLS certificate and its key
	CertKey string
}

// Start serves the ledger. The caller closes it. Problems of the limits are a *session.BadFiles.
func (o LedgerService) Start(dir rundir.Dir, getenv func(string) string, notice func(string)) (*ledger.Server, error) {
	if o.Limits == "" {
		return nil, eval.BadInput("--config FILE is missing: it has the limits of the accounts; see `evalrun help ledger`")
	}
	src, err := files.ReadInput(dir.Join(o.Limits), maxLimits)
	if err != nil {
		return nil, eval.BadInput("the limits cannot be read: %w", err)
	}
	f := &Files{}
	f.Keep(o.Limits, src)
	limits := ledger.ReadLimits(o.Limits, src, &f.Diags)
	if f.Diags.HasErrors() {
		return nil, &BadFiles{Files: f}
	}
	return ledger.Start(ledger.Config{
		Listen: o.Listen, Limits: limits, State: dir.Join(o.State), Token: strings.TrimSpace(getenv("EVALRUN_LEDGER_TOKEN")),
		Cert: o.Cert, CertKey: o.CertKey, Notice: notice,
	})
}
