package session

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/emulator"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
)

// siteKey is the API key of a site. It must never reach a file.
const siteKey = "open-sesame-0123456789"

// site is a user's folder with suites, and a service that counts its calls.
type site struct {
	*testing.T
	at      rundir.Dir
	service *emulator.Emulator
	env     map[string]string

	mu      sync.Mutex
	notices []string
}

// newSite starts a service that echoes prompts.
func newSite(t *testing.T) *site {
	t.Helper()
	service := emulator.New(emulator.Options{Key: siteKey})
	s := &site{T: t, at: rundir.At(t.TempDir()), service: service}
	server := httptest.NewServer(s.service)
	t.Cleanup(server.Close)
	// With a shared key the runs are the user's own, and no key of this machine is read or made.
	s.env = map[string]string{"EVALRUN_BASE_URL": server.URL, "EVALRUN_API_KEY": siteKey, "EVALRUN_TRUST_KEY": "0123456789abcdef"}
	return s
}

// fourSuite has four cases. The service echoes their prompts, and an x passes.
const fourSuite = `version: 1
name: s
targets: [{name: t, model: svc-pro}]
prompts: [{name: p, text: "say {{.w}}"}]
defaults: {scorers: [{contains: x}]}
cases: [{name: one, vars: {w: x1}}, {name: two, vars: {w: x2}}, {name: three, vars: {w: b3}}, {name: four, vars: {w: x4}}]
`

var fourOutcomes = map[string]eval.Outcome{"one#1": eval.Pass, "two#1": eval.Pass, "three#1": eval.Fail, "four#1": eval.Pass}

func (s *site) getenv(name string) string { return s.env[name] }

// notice collects the notices of a run, which come from several goroutines.
func (s *site) notice(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notices = append(s.notices, text)
}

func (s *site) write(name, text string) {
	s.Helper()
	path := s.at.Join(name)
	expect.OK(s, os.MkdirAll(filepath.Dir(path), 0o755))
	expect.OK(s, os.WriteFile(path, []byte(text), 0o600))
}

func (s *site) read(name string) string {
	s.Helper()
	data, err := os.ReadFile(s.at.Join(name))
	expect.OK(s, err)
	return string(data)
}

// given are options for suites in the folder, with the environment of the site.
func (s *site) given(f Options, suites ...string) Options {
	f.Dir, f.NoHistory, f.Getenv, f.Suites = s.at.Abs(""), true, s.getenv, suites
	return f
}

func (s *site) settle(f Options, files ...string) (*Job, error) {
	l, err := Load(s.given(f, files...))
	if err != nil {
		return nil, err
	}
	return l.Settle()
}

func (s *site) try(f Options, files ...string) error {
	j, err := s.settle(f, files...)
	if err == nil {
		err = s.carryOut(j)
	}
	return err
}

func (s *site) carryOut(j *Job) error {
	session, err := Connect(j, "test", s.notice)
	if err != nil {
		return err
	}
	defer session.Close()
	plan, err := session.Plan(s.Context())
	if err != nil {
		return err
	}
	_, err = session.Run(s.Context(), plan, unwatched{}, nil)
	return err
}

func (s *site) run(out string, o eval.Options, files ...string) {
	s.Helper()
	o.Out = out
	expect.OK(s, s.try(Options{Options: o}, files...))
}

// resume continues a run and returns what was left of it.
func (s *site) resume(name string, f Options) (*remainder, error) {
	r, err := Reopen(name, s.given(f))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if r.Finished() {
		return &remainder{}, nil
	}
	l, err := r.Load()
	if err != nil {
		return nil, err
	}
	j, err := r.Settle(l)
	if err != nil {
		return nil, err
	}
	session, err := Connect(j, "test", s.notice)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	plan, err := session.Plan(s.Context())
	if err != nil {
		return nil, err
	}
	todo, err := NewTodo(r, plan)
	if err != nil {
		return nil, err
	}
	return todo, session.Resume(s.Context(), todo, unwatched{}, nil)
}

// rescored loads a run to score it again, by suites or by those of the run.
func (s *site) rescored(run string, f Options, suites ...string) (*Loaded, error) {
	f.Rescore = run
	return Load(s.given(f, suites...))
}

// rescore scores the answers of a run again, by suites or by those of the run.
func (s *site) rescore(run, out string, f Options, suites ...string) error {
	f.Out = out
	l, err := s.rescored(run, f, suites...)
	if err != nil {
		return err
	}
	j, err := l.Settle()
	if err != nil {
		return err
	}
	return s.carryOut(j)
}

func (s *site) calls() (n int64) {
	for _, times := range s.service.Stats() {
		n += times
	}
	return n
}

func (s *site) generated() int64 { return s.service.Stats()[wire.MethodGenerate] }

func (s *site) open(name string) *journal.Document {
	s.Helper()
	d, err := s.at.Open(name)
	expect.OK(s, err)
	s.Cleanup(func() { _ = d.Close() })
	return d
}

func (s *site) outcomes(name string) map[string]eval.Outcome {
	s.Helper()
	out := map[string]eval.Outcome{}
	for r, err := range s.open(name).Trials() {
		expect.OK(s, err)
		key := fmt.Sprintf("%s#%d", r.Case, r.Repeat)
		if out[key] != "" {
			s.Errorf("%s has %s twice", name, key)
		}
		out[key] = r.Outcome()
	}
	return out
}

// keep cuts a run file after some lines, as a kill does, and appends the torn line that the kill left.
func (s *site) keep(run string, lines int, torn string) {
	s.Helper()
	name := filepath.Join(run, journal.FileName)
	all := strings.SplitAfter(s.read(name), "\n")
	if len(all) <= lines {
		s.Fatalf("%s has %d lines, so that it cannot be cut after %d", name, len(all), lines)
	}
	s.write(name, strings.Join(all[:lines], "")+torn)
}

// reseal replaces a part of the header of a run, checksum and copy included.
func (s *site) reseal(run, old, changed string) {
	s.Helper()
	name := filepath.Join(run, journal.FileName)
	header, rest, _ := strings.Cut(s.read(name), "\n")
	if !strings.Contains(header, old) {
		s.Fatalf("no %s in %s", old, header)
	}
	body, _, _ := strings.Cut(strings.Replace(header, old, changed, 1), `,"crc"`)
	header = fmt.Sprintf(`%s,"crc":"%08x"}`, body, crc32.Checksum([]byte(body), crc32.MakeTable(crc32.Castagnoli)))
	s.write(name, header+"\n"+rest)
	s.write(filepath.Join(run, "head.json"), header+"\n")
}

// bad fails the test unless an error is bad input and its text has each of the names.
func (s *site) bad(err error, names ...string) {
	s.Helper()
	s.refused(err, eval.CodeBadInput, names...)
}

// refused fails the test unless an error has the exit code and its text has each of the names.
func (s *site) refused(err error, code int, names ...string) {
	s.Helper()
	if err == nil || eval.CodeOf(err) != code {
		s.Errorf("got exit %d with %v, want exit %d", eval.CodeOf(err), err, code)
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
		expect.Contains(s, "result", text, name)
	}
}

// unwatched ignores the progress of a run.
type unwatched struct{}

func (unwatched) Start(int)                     {}
func (unwatched) Done(*eval.Result, eval.Spent) {}
func (unwatched) Finish()                       {}
