package main

import (
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
)

// canary is the content of a private file, which must leave it in no way.
const canary = "canary-5d1c"

// spied is a box with a private file and a service that keeps what it gets.
type spied struct {
	*box
	mu   sync.Mutex
	sent []string // bodies and headers of requests that want an answer
}

func newSpied(t *testing.T, files map[string]string) *spied {
	t.Helper()
	s := &spied{}
	s.box = newBox(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.Method == http.MethodPost {
			var header strings.Builder
			_ = r.Header.Write(&header)
			s.sent = append(s.sent, header.String()+string(body))
		}
		_, _ = io.WriteString(w, hi)
	}), files)
	s.write("private/canary.txt", canary+"\n")
	return s
}

func (s *spied) calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sent)
}

// silent wants the canary in no request, no output of the last command, and no file but the private one.
func (s *spied) silent() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.Contains(strings.Join(s.sent, ""), canary) {
		s.t.Error("the private file was sent, want it left alone")
	}
	if strings.Contains(s.out+s.errs, canary) {
		s.t.Errorf("the private file was printed, want it left alone:\n%s%s", s.out, s.errs)
	}
	err := filepath.WalkDir(s.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || filepath.Dir(path) == s.path("private") {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), canary) {
			s.t.Errorf("%s has the private file, want it left alone", path)
		}
		return err
	})
	expect.OK(s.t, err)
}

// attempt runs a command without a wish for its exit code.
func (s *spied) attempt(args ...string) {
	cmd := s.command(args...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run()
	s.out, s.errs = out.String(), errs.String()
}

// forge writes a run of somebody else: the header of a run of the box with a change, and no trial.
func (s *spied) forge(name string, copies map[string]string, change func(*eval.Run)) {
	s.t.Helper()
	run, err := journal.Header(s.path("run"))
	expect.OK(s.t, err)
	run.ID, run.Signature, run.Copies = name, "", nil
	change(run)
	files := map[string][]byte{}
	for path, text := range copies {
		files[path] = []byte(text)
	}
	w, err := journal.Create(s.path(name), run, files)
	expect.OK(s.t, err, w.Close())
}

const plainSuite = "version: 1\nname: s\ntargets: [{name: t, model: m}]\nprompts: [{name: p, text: hello}]\n" +
	"limits: {countTokens: never}\ncases: [{name: c, repeats: 4, scorers: [{equals: hi}]}]\n"

func filePrompt(file string) string {
	return strings.Replace(plainSuite, "text: hello", "file: "+file, 1)
}

// No command opens a path that the header of somebody else's run names: folders, files of flags, links among the copies.
func TestPathsOfAForeignRunAreNotOpened(t *testing.T) {
	t.Parallel()
	s := newSpied(t, map[string]string{"suite.yaml": plainSuite})
	s.env = append(s.env, "CI=")
	s.exits(4, "run", "suite.yaml", "--out", "run", "--budget-calls", "1")
	secret := s.path("private/canary.txt")
	own := map[string]string{"suites/0/suite.yaml": plainSuite}
	begun := func(change func(*eval.Options)) func(*eval.Run) {
		return func(r *eval.Run) { change(&r.CommandOptions.Options) }
	}
	forged := map[string]func(name string){
		"root": func(name string) {
			copied := map[string]string{"suites/0/suite.yaml": filePrompt(strings.TrimPrefix(secret, "/"))}
			s.forge(name, copied, func(r *eval.Run) { r.Suites[0].Dir = "/" })
		},
		"folder": func(name string) {
			copied := map[string]string{"suites/0/suite.yaml": filePrompt("canary.txt")}
			s.forge(name, copied, func(r *eval.Run) { r.Suites[0].Dir = s.path("private") })
		},
		"suite": func(name string) {
			s.forge(name, own, func(r *eval.Run) {
				r.Suites[0].Dir, r.Suites[0].Copy, r.Suites[0].File = s.path("private"), "../../private/canary.txt", secret
			})
		},
		"linked": func(name string) {
			s.forge(name, nil, func(r *eval.Run) { r.Suites[0].Copy = "suites/0/canary.txt" })
			expect.OK(t, os.Mkdir(s.path(name+"/suites"), 0o700), os.Symlink(s.path("private"), s.path(name+"/suites/0")))
		},
		"linked-file": func(name string) {
			s.forge(name, map[string]string{"suites/0/suite.yaml": filePrompt("p.txt")}, func(*eval.Run) {})
			expect.OK(t, os.Symlink(secret, s.path(name+"/suites/0/p.txt")))
		},
		"project": func(name string) {
			s.forge(name, own, func(r *eval.Run) { r.ProjectFile = secret })
			expect.OK(t, os.Mkdir(s.path(name+"/suites/project"), 0o700), os.Symlink(secret, s.path(name+"/suites/project/evalrun.yaml")))
		},
		"no-content": func(name string) {
			s.forge(name, nil, func(r *eval.Run) {
				r.CommandOptions.NoContent = true
				r.Suites[0].Dir, r.Suites[0].Copy = s.path("private"), "canary.txt"
			})
		},
		"interleaved": func(name string) {
			s.forge(name, own, begun(func(o *eval.Options) { o.Interleave = "suite.yaml@main" }))
		},
		"prices":   func(name string) { s.forge(name, own, begun(func(o *eval.Options) { o.Prices = secret })) },
		"emulator": func(name string) { s.forge(name, own, begun(func(o *eval.Options) { o.Emulator = secret })) },
		"replay":   func(name string) { s.forge(name, own, begun(func(o *eval.Options) { o.Replay = s.path("private") })) },
		"answers":  func(name string) { s.forge(name, own, begun(func(o *eval.Options) { o.Answers = secret })) },
		"rescored": func(name string) { s.forge(name, own, begun(func(o *eval.Options) { o.Rescore = s.path("run") })) },
	}
	before := s.calls()
	for _, name := range slices.Sorted(maps.Keys(forged)) {
		forged[name](name)
		for _, args := range [][]string{{"resume", name, "--untrusted"}, {"resume", name}} {
			if (name == "project" || name == "interleaved") && len(args) > 2 {
				continue // --untrusted uses no project file
			}
			s.exits(2, append(args, "--budget-calls", "9")...)
			s.silent()
			expect.Same(t, name+": calls", s.calls(), before)
		}
		for _, args := range [][]string{
			{"rescore", name},
			{"rescore", name, "--untrusted"},
			{"accept", name, "--yes"},
			{"run", "--failed-in", name},
			{"compare", name, "run", "--judge", "j"},
			{"report", name},
			{"publish", name, "--out", "site-" + name},
			{"judge-check", name},
		} {
			s.attempt(args...)
			s.silent()
			expect.Same(t, name+": calls of "+args[0], s.calls(), before)
		}
	}
	for message, args := range map[string][]string{
		"read " + secret + " (--emulator)": {"resume", "emulator"},
		"the run cannot be resumed: it has no copies of its suites, and the files that it names could be any: add --trust to read them": {
			"resume", "no-content",
		},
		"was not signed by you, and its header names a version of a suite in git: name the suite by --suite FILE, or add --trust": {
			"rescore", "interleaved",
		},
		"was not signed by you, so its header could name any file: name the suite":                               {"run", "--failed-in", "root"},
		"the run was not signed by you, so its header could name any folder: name the suite by --suite FILE":     {"accept", "project", "--yes"},
		"was not signed by you, and it has no copy of its suite: name the suite by --suite FILE, or add --trust": {"rescore", "linked"},
	} {
		s.exits(2, args...)
		s.says(message)
	}
}

// The user's own run resumes with the images and programs of its folder. Moved, it says what is missing, and --trust reads it.
func TestFilesOfTheSuiteNeedTheSignature(t *testing.T) {
	t.Parallel()
	suite := strings.Replace(plainSuite, "text: hello", "parts: [{text: hello}, {image: dot.png}]", 1)
	s := newSpied(t, map[string]string{"suite.yaml": suite})
	expect.OK(t, os.CopyFS(s.path("pictures"), os.DirFS("../../internal/dataset/testdata")))
	names, err := filepath.Glob(s.path("pictures/*.png"))
	expect.OK(t, err)
	expect.OK(t, os.Rename(names[0], s.path("dot.png")))
	s.exits(4, "run", "suite.yaml", "--out", "run", "--budget-calls", "1")
	s.exits(4, "resume", "run", "--budget-calls", "2")
	expect.OK(t, os.Rename(s.path("run"), s.path("moved")))
	s.exits(2, "resume", "moved", "--budget-calls", "9")
	s.says("dot.png", "the run was not signed by you, so only the files that it copied are read", "add --trust")
	s.attempt("rescore", "moved")
	s.says("the run was not signed by you, so the copy of the suite in it is used", "--suite FILE")
	s.exits(0, "resume", "moved", "--budget-calls", "9", "--trust")
	expect.Same(t, "calls", s.calls(), 4)
}
