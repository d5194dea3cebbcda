package session

import (
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/emulator"
)

// emulatorKey is the key with which a session talks to its own emulator.
const emulatorKey = "the-embedded-emulator"

// standIn answers instead of services: the *embedded emulator, or unemulated when the services answer.
type standIn interface {
	// answersFor redirects a contact to the emulator. It returns false when the service answers itself.
	answersFor(c *Contact) bool
	// script is the hash of the emulator's script.
	script() string
	// Echoed is how many prompts the script had no reply for.
	Echoed() int64
	Close()
}

// unemulated is the stand-in of a session without one.
type unemulated struct{}

func (unemulated) answersFor(*Contact) bool { return false }
func (unemulated) script() string           { return "" }
func (unemulated) Echoed() int64            { return 0 }
func (unemulated) Close()                   {}

// embedded is an emulator that the session runs.
type embedded struct {
	*emulator.Server
	sum, headerPrefix string
}

func (e *embedded) answersFor(c *Contact) bool {
	own := *c.NamedService
	own.Headers = nil
	own.Path = ""
	own.HeaderPrefix = e.headerPrefix
	c.NamedService = &own
	c.URL = e.URL + EmulatorPath(own.Protocol)
	c.Key = emulatorKey
	c.ToEmulator = true
	return true
}

func (e *embedded) script() string { return e.sum }

// startEmulator starts the emulator that answers for every service, if one is called.
func (s *Session) startEmulator() error {
	if len(s.calls) == 0 && len(s.Suites) > 0 {
		return nil
	}
	script, err := ReadScript(s.Options.In(), s.Options.Emulator)
	if err != nil {
		return err
	}
	e := emulator.New(
		emulator.Options{
			Script:       script,
			Key:          emulatorKey,
			HeaderPrefix: s.Settings.Service.HeaderPrefix,
			Seed:         s.Options.Seed,
			AnyModel:     true,
		},
	)
	server, err := e.Start("127.0.0.1:0")
	if err != nil {
		return eval.With(eval.CodeIncomplete, err)
	}
	s.emulator = &embedded{server, script.Sum(), s.Settings.Service.HeaderPrefix}
	s.Settings.Service.BaseURL = server.URL
	s.Settings.UseKey(emulatorKey)
	return nil
}

// noteEchoes reports prompts that the built-in script does not know and echoed. An author of a script knows what it echoes.
func (s *Session) noteEchoes() {
	if s.Options.Emulator != eval.DemoScript {
		return
	}
	if n := s.emulator.Echoed(); n > 0 {
		s.Notice("the emulator echoed " + diag.Count(int(n), "prompt") +
			" that it has no reply for; --emulator=FILE names a script of yours (evalrun help emulator)")
	}
}
