package harness

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/evalrun/evalrun/clients/emulator"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/regular"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/internal/service"
	"github.com/evalrun/evalrun/suite"
)

// emulatorKey is the key with which a session talks to its own emulator.
const emulatorKey = "the-embedded-emulator"

// startEmulator starts the emulator that answers for every service, if one is called.
func (s *Session) startEmulator() error {
	if len(s.calls) == 0 && len(s.Suites) > 0 {
		return nil
	}
	script, err := readScript(s.Flags.Dir, s.Flags.Emulator)
	if err != nil {
		return err
	}
	e := emulator.New(
		emulator.Options{Script: script, Key: emulatorKey, HeaderPrefix: s.Settings.Service.HeaderPrefix, Seed: s.Flags.Seed, AnyModel: true},
	)
	if s.server, err = e.Start("127.0.0.1:0"); err != nil {
		return exit.With(exit.CodeIncomplete, err)
	}
	s.script = script.Sum()
	s.Settings.Service.BaseURL, s.Settings.key = s.server.URL, emulatorKey
	return nil
}

// noteEchoes reports prompts that the built-in script does not know and echoed. An author of a script knows what it echoes.
func (s *Session) noteEchoes() {
	if s.server == nil || s.Flags.Emulator != eval.DemoScript {
		return
	}
	if n := s.server.Echoed(); n > 0 {
		s.Notice("the emulator echoed " + diag.Count(int(n), "prompt") + " that it has no reply for (evalrun help emulator)")
	}
}

// readScript reads an emulator script; eval.DemoScript is the one that evalrun brings.
func readScript(dir rundir.Dir, path string) (*emulator.Script, error) {
	if path == eval.DemoScript {
		return emulator.DemoScript(), nil
	}
	src, err := regular.ReadInput(dir.Join(path), maxInput)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, exit.BadInput("the emulator's script cannot be read: there is no file %s", path)
	}
	if err != nil {
		return nil, exit.BadInput("the emulator's script cannot be read: %w", err)
	}
	f := &Files{sources: map[string][]byte{path: src}}
	script := emulator.LoadScript(path, src, &f.Diags)
	if f.Diags.HasErrors() {
		return nil, &BadFiles{f}
	}
	return script, nil
}

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
func (e *Emulation) Start(dir rundir.Dir) (*Emulated, error) {
	script, err := readScript(dir, e.Script)
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
	return &Emulated{server}, nil
}

// Emulated is an emulator that serves.
type Emulated struct{ *emulator.Server }

// Served lists the methods that were called, each with how often.
func (e *Emulated) Served() []string {
	var out []string
	for _, m := range emulator.Methods() {
		if n := e.Stats()[m]; n > 0 {
			out = append(out, fmt.Sprintf("%s %d", m, n))
		}
	}
	return out
}
