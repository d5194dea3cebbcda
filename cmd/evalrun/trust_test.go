package main

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// stoppedRun is a box with a run that its budget has stopped half-way.
func stoppedRun(t *testing.T, calls *atomic.Int64, scorer string) *box {
	t.Helper()
	b := newBox(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Fprint(w, `{"name":"models/m"}`)
			return
		}
		calls.Add(1)
		fmt.Fprint(w, hi)
	}), map[string]string{
		"check.sh":    "#!/bin/sh\ntouch \"$OUT\" started\necho '{\"score\": 1}'\n",
		"prompt.tmpl": "hello {{.x}}\n",
		"suite.yaml": "version: 1\nname: s\ntargets: [{name: t, model: m}]\nprompts: [{name: p, file: prompt.tmpl}]\nlimits: {countTokens: " +
			"never}\n" +
			"cases: [{name: c, vars: {x: y}, repeats: 10, scorers: [" + scorer + "]}]\n",
	})
	expect.OK(t, os.Chmod(b.path("check.sh"), 0o755))
	b.exits(4, "run", "suite.yaml", "--out", "run", "--budget-calls", "5")
	return b
}

// A copy of a suite that was changed, added or removed is not used: every command that would read it refuses, and names the file.
func TestChangedCopiesOfSuitesAreRefused(t *testing.T) {
	for name, change := range map[string]func(b *box, copies string) error{
		"has changed": func(_ *box, copies string) error {
			return os.WriteFile(filepath.Join(copies, "prompt.tmpl"), []byte("hallo {{.x}}\n"), 0o600)
		},
		"was added": func(_ *box, copies string) error {
			return os.WriteFile(filepath.Join(copies, "other.tmpl"), []byte("hello"), 0o600)
		},
		"is gone": func(_ *box, copies string) error { return os.Remove(filepath.Join(copies, "prompt.tmpl")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int64
			b := stoppedRun(t, &calls, "{equals: hi}")
			expect.OK(t, change(b, b.path("run/suites/0")))
			before := calls.Load()
			for _, args := range [][]string{
				{"resume", "run", "--budget-calls", "20"}, {"resume", "run", "--trust"}, {"rescore", "run"}, {"rescore", "run", "--trust"},
			} {
				b.exits(2, args...)
				b.says(name, ".tmpl")
			}
			expect.Same(t, "calls", calls.Load(), before)
		})
	}
	t.Run("merge", func(t *testing.T) {
		t.Parallel()
		b := newBox(t, nil, map[string]string{"suite.yaml": oneCase})
		b.exits(0, "run", "suite.yaml", "--emulator", "--shard", "1/2", "--out", "one")
		b.exits(0, "run", "suite.yaml", "--emulator", "--shard", "2/2", "--out", "two")
		b.write("two/suites/0/suite.yaml", oneCase+"# changed\n")
		b.exits(2, "merge", "one", "two")
		b.says("two/suites/0/suite.yaml has changed since the run began")
	})
}

// A run that was made elsewhere starts no program and gets no key until the user says so.
func TestRunsOfOthersStartNoProgramAndGetNoKey(t *testing.T) {
	program := "{exec: {command: [./check.sh]}}"
	elsewhere := []string{"XDG_CONFIG_HOME=/nonexistent", "HOME=/nonexistent"} // of another user
	moved := func(b *box) {                                                    // a folder is part of what is signed
		expect.OK(b.t, os.Rename(b.path("run"), b.path("moved")))
	}
	for _, test := range []struct {
		name, scorer string
		env          []string // of the other user
		change       func(b *box)
		run          string
		resume       int // the exit codes
		rescore      int
		says         []string
	}{
		{"own", program, nil, func(*box) {}, "run", 0, 4, nil},
		{"moved, with a program", program, nil, moved, "moved", 2, 2, []string{"start the program", "check.sh", "add --trust"}},
		{"moved, to the user's own address", "{equals: hi}", nil, moved, "moved", 0, 4, nil},
		{"another user", program, elsewhere, func(*box) {}, "run", 2, 2, []string{"was signed by somebody else"}},
		{
			"another user and another address", "{equals: hi}", append([]string{"EVALRUN_BASE_URL="}, elsewhere...), func(*box) {}, "run", 2, 4,
			[]string{"send requests, with your key or login, to http://127.0.0.1"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int64
			b := stoppedRun(t, &calls, test.scorer)
			test.change(b)
			_ = os.Remove(b.path("started"))
			b.env = append(b.env, test.env...)
			before := calls.Load()
			b.exits(test.rescore, "rescore", test.run)
			if test.rescore == 2 {
				b.says(test.says...)
			}
			b.exits(test.resume, "resume", test.run, "--budget-calls", "20")
			if test.resume == 2 {
				b.says(test.says...)
				if _, err := os.Stat(b.path("started")); err == nil || calls.Load() != before {
					t.Errorf("got %d calls, or a program that was started (%v), want neither", calls.Load()-before, err)
				}
				b.exits(0, "resume", test.run, "--trust", "--budget-calls", "20")
			}
		})
	}
}

// Programs and endpoints under test are what a run of others is not trusted with either. Judging its answers again calls none of them.
func TestApplicationsOfOthersAreNotCalled(t *testing.T) {
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		fmt.Fprint(w, "hi")
	}))
	t.Cleanup(server.Close)
	endpoint := "http: {url: " + server.URL + "/chat, body: \"{{prompt}}\"}"
	host := strings.TrimPrefix(server.URL, "http://")
	for name, test := range map[string]struct {
		target, says, other string
		allow               string
	}{
		"program":  {"program: {command: [sh, agent.sh]}", "start the program \"sh\"\"agent.sh\"", "http=" + host, "program"},
		"endpoint": {endpoint, "to POST " + server.URL + "/chat", "program", "http=" + host},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t, nil, map[string]string{
				"agent.sh": "touch started\necho hi\n",
				"suite.yaml": "version: 1\nname: s\ntargets: [{name: t, " + test.target + "}]\nprompts: [{name: p, text: hello}]\n" +
					"cases: [{name: c, repeats: 4, scorers: [{equals: hi}]}]\n",
			})
			b.exits(4, "run", "suite.yaml", "--out", "run", "--budget-calls", "2")
			expect.OK(t, os.Rename(b.path("run"), b.path("moved")))
			_ = os.Remove(b.path("started"))
			calls.Store(0)
			b.exits(4, "rescore", "moved", "--suite", "suite.yaml", "--out", "rescored")
			b.exits(2, "resume", "moved", "--budget-calls", "4")
			b.says(test.says, "add --trust to allow that, or --untrusted to start no program, call no endpoint and use only your own service")
			b.exits(2, "resume", "moved", "--budget-calls", "4", "--untrusted")
			b.says("an untrusted suite cannot", "add --allow "+test.allow)
			b.exits(2, "resume", "moved", "--budget-calls", "4", "--untrusted", "--allow", test.other)
			if _, err := os.Stat(b.path("started")); err == nil || calls.Load() > 0 {
				t.Errorf("got %d calls, or a program that was started (%v), want neither", calls.Load(), err)
			}
			b.exits(4, "resume", "moved", "--budget-calls", "3", "--trust")
			b.exits(0, "resume", "moved", "--budget-calls", "4", "--untrusted", "--allow", test.allow)
		})
	}
}

// A key that machines share signs runs wherever they are; without it they are those of others.
func TestSharedTrustSignsRunsOfSeveralMachines(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil, map[string]string{"suite.yaml": strings.Replace(oneCase, "{equals: hi}", "{exec: {command: [\"true\"]}}", 1)})
	shared := "EVALRUN_TRUST_KEY=0123456789abcdef"
	plain := b.env
	b.env = slices.Concat(plain, []string{shared})
	b.exits(4, "run", "suite.yaml", "--emulator", "--out", "run") // the program says nothing
	b.env = slices.Concat(plain, []string{"XDG_CONFIG_HOME=/nonexistent", "HOME=/nonexistent", shared})
	expect.OK(t, os.CopyFS(b.path("elsewhere"), os.DirFS(b.path("run"))))
	b.exits(4, "rescore", "elsewhere", "--out", "again")
	b.exits(4, "rescore", "again")
	b.env = plain
	b.exits(2, "rescore", "elsewhere")
	b.says("start the program")
	b.env = slices.Concat(plain, []string{"EVALRUN_TRUST_KEY=short"})
	b.exits(2, "rescore", "elsewhere")
	b.says("EVALRUN_TRUST_KEY has 5 characters")
	if _, err := fs.Stat(os.DirFS(b.dir), "config/evalrun/trust.key"); err == nil {
		t.Error("a key was made although there is a shared one, want none")
	}
}

// What was rescored or merged from a run of others is not the user's own either.
func TestRunsMadeFromThoseOfOthersAreNotTrusted(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil, map[string]string{"suite.yaml": oneCase})
	b.exits(1, "run", "suite.yaml", "--emulator", "--out", "run")
	b.exits(1, "rescore", "run", "--out", "own")
	expect.OK(t, os.CopyFS(b.path("foreign"), os.DirFS(b.path("run"))))
	b.exits(1, "rescore", "foreign", "--out", "derived")
	b.exits(1, "rescore", "foreign", "--out", "vouched", "--trust")
	b.exits(0, "run", "suite.yaml", "--emulator", "--shard", "1/2", "--out", "one")
	b.exits(0, "run", "suite.yaml", "--emulator", "--shard", "2/2", "--out", "two")
	expect.OK(t, os.CopyFS(b.path("other"), os.DirFS(b.path("two"))))
	b.exits(1, "merge", "one", "two", "--out", "merged")
	b.exits(1, "merge", "one", "other", "--out", "mixed")
	for name, signed := range map[string]bool{"own": true, "derived": false, "vouched": true, "merged": true, "mixed": false} {
		expect.Same(t, name+": signed", strings.Contains(b.read(name+"/run.jsonl"), `"signature"`), signed)
	}
}

// Under --untrusted a run goes to the user's own service, and its suites start no program.
func TestUntrustedResumeStartsNoProgram(t *testing.T) {
	t.Parallel()
	var foreign, own atomic.Int64
	b := stoppedRun(t, &foreign, "{equals: hi}")
	other := newBox(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Fprint(w, `{"name":"models/m"}`)
			return
		}
		own.Add(1)
		fmt.Fprint(w, hi)
	}), nil)
	before := foreign.Load()
	b.exits(0, "resume", "run", "--untrusted", "--base-url", other.url, "--budget-calls", "20")
	if own.Load() != 5 || foreign.Load() != before {
		t.Errorf("%d calls to the user's own service and %d to that of the run, want 5 and 0", own.Load(), foreign.Load()-before)
	}
	c := stoppedRun(t, &foreign, "{exec: {command: [./check.sh]}}")
	_ = os.Remove(c.path("started"))
	c.exits(2, "resume", "run", "--untrusted")
	if _, err := os.Stat(c.path("started")); err == nil {
		t.Error("the program was started, want it not started")
	}
	b.exits(2, "resume", "run", "--base-url", "http://127.0.0.1:1")
}
