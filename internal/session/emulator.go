package session

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/emulator"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/rundir"
)

// emulatorKey is the key with which a session talks to its own emulator.
const emulatorKey = "the-embedded-emulator"

// embedded is an emulator that the session runs, which answers instead of services; nil: the services answer.
type embedded struct {
	*emulator.Server
	script       *emulator.Script
	headerPrefix string
}

// answersFor redirects a contact to the emulator. It returns false when the service answers itself.
func (e *embedded) answersFor(c *contact) bool {
	if e == nil {
		return false
	}
	own := *c.NamedService
	own.Headers = nil
	own.Path = ""
	own.HeaderPrefix = e.headerPrefix
	c.NamedService = &own
	c.URL = e.URL + protocols[own.Protocol].base
	c.Key = emulatorKey
	c.ToEmulator = true
	return true
}

// startEmulator starts the emulator that answers for every service, if one is called.
func (s *Session) startEmulator() error {
	if len(s.calls) == 0 && len(s.Suites) > 0 {
		return nil
	}
	script, err := readScript(s.Options.In(), s.Options.Emulator)
	if err != nil {
		return err
	}
	prefix := s.Settings.Service.HeaderPrefix
	e := emulator.New(emulator.Options{
		Script: script, Key: emulatorKey, HeaderPrefix: prefix, Seed: s.Options.Seed, AnyModel: true,
	})
	server, err := e.Start("127.0.0.1:0")
	if err != nil {
		return eval.WithCode(eval.CodeIncomplete, err)
	}
	s.emulator = &embedded{server, script, prefix}
	s.Settings.Service.BaseURL = server.URL
	s.Settings.UseKey(emulatorKey)
	return nil
}

// noteEchoes reports prompts that no rule of the script is for. Where rules of a user's script are for none of the prompts, they may
// have been meant for these.
func (s *Session) noteEchoes() {
	if s.emulator == nil || s.emulator.Echoed() == 0 {
		return
	}
	echoed := "the emulator echoed " + diag.Count(int(s.emulator.Echoed()), "prompt") + " that it has no reply for"
	if s.Options.Emulator == eval.DemoScript {
		s.Notice(echoed + "; --emulator=FILE names a script of yours (evalrun help emulator)")
	} else if idle := s.emulator.script.Idle(); len(idle) > 0 {
		s.Notice(fmt.Sprintf(
			"warning: %s; no prompt matches %s:%d%s: `text` is a glob of the whole last turn, with * around a part of it", echoed,
			s.Options.Emulator, idle[0], others(len(idle)-1),
		))
	}
}

func others(n int) string {
	if n == 0 {
		return ""
	}
	return " and " + diag.Count(n, "other rule")
}

// maxScript bounds the scripts of emulators, in bytes.
const maxScript = 64 << 20

// readScript reads an emulator script; eval.DemoScript is the one that evalrun brings.
func readScript(dir rundir.Dir, path string) (*emulator.Script, error) {
	if path == eval.DemoScript {
		return emulator.DemoScript(), nil
	}
	src, err := files.ReadInput(dir.Join(path), maxScript)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, eval.BadInput("the emulator's script cannot be read: there is no file %s", path)
	}
	if err != nil {
		return nil, eval.BadInput("the emulator's script cannot be read: %w", err)
	}
	f := &Files{}
	f.Keep(path, src)
	script := emulator.LoadScript(path, src, &f.Diags)
	if f.Diags.HasErrors() {
		return nil, &BadFiles{Files: f}
	}
	return script, nil
}
