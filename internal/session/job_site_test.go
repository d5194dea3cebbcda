package session

import (
	"bytes"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/emulator"
	"github.com/evalrun/evalrun/internal/rundir"
)

// site is a user's folder with suites, and a service that counts its calls.
type site struct {
	*testing.T
	at      rundir.Dir
	service *emulator.Emulator
	env     map[string]string
}

// newSite starts a service that echoes prompts.
func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{T: t, at: rundir.At(t.TempDir()), service: emulator.New(emulator.Options{Key: "key"})}
	server := httptest.NewServer(s.service)
	t.Cleanup(server.Close)
	// With a shared key no key of this machine is read or made.
	s.env = map[string]string{"EVALRUN_BASE_URL": server.URL, "EVALRUN_API_KEY": "key", "EVALRUN_TRUST_KEY": "0123456789abcdef"}
	return s
}

// fourSuite has four cases.
const fourSuite = `version: 1
name: s
targets: [{name: t, model: svc-pro}]
prompts: [{name: p, text: "say {{.w}}"}]
defaults: {scorers: [{contains: x}]}
cases: [{name: one, vars: {w: x1}}, {name: two, vars: {w: x2}}, {name: three, vars: {w: b3}}, {name: four, vars: {w: x4}}]
`

func (s *site) getenv(name string) string { return s.env[name] }

// write puts a file into the folder.
func (s *site) write(name, text string) {
	s.Helper()
	path := s.at.Join(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

// settle loads and settles suites, as every command does.
func (s *site) settle(f Options, files ...string) (*Job, error) {
	f.Dir, f.NoHistory = s.at, true
	l, err := Load(files, f, s.getenv)
	if err != nil {
		return nil, err
	}
	return l.Settle()
}

// calls is how many calls of any method the service has had.
func (s *site) calls() (n int64) {
	for _, times := range s.service.Stats() {
		n += times
	}
	return n
}

// refused fails the test unless an error is bad input and its text has each of the names.
func (s *site) refused(err error, names ...string) {
	s.Helper()
	if err == nil || eval.Of(err) != eval.CodeBadInput {
		s.Errorf("got exit %d with %v, want exit %d", eval.Of(err), err, eval.CodeBadInput)
		return
	}
	text := err.Error()
	if bad := (*BadFiles)(nil); errors.As(err, &bad) {
		var b bytes.Buffer
		if err := bad.WriteProblems(&b, false); err != nil {
			s.Error(err)
		}
		text = b.String()
	}
	for _, name := range names {
		if !strings.Contains(text, name) {
			s.Errorf("got %q, want it to name %q", text, name)
		}
	}
}
