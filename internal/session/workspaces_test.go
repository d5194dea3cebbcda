package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/testrun"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// working is the program of a suite with a workspace of one file, whose copies it keeps as `keep` says. Workspaces are below
// a run directory.
func working(t *testing.T, keep string) (*folders, *suite.Program) {
	t.Helper()
	dir := t.TempDir()
	expect.OK(t, os.MkdirAll(filepath.Join(dir, "fixture"), 0o755))
	expect.OK(t, os.WriteFile(filepath.Join(dir, "fixture", "file"), []byte("new"), 0o600))
	expect.OK(t, os.WriteFile(filepath.Join(dir, "s.yaml"), []byte(`version: 1
name: s
targets: [{name: t, program: {command: [sh], workspace: fixture, keep: `+keep+`}}]
prompts: [{name: p, text: x}]
cases: [{name: c, scorers: [{contains: x}]}]
`), 0o600))
	var diags diag.List
	one := suite.Load(os.DirFS(dir), "s.yaml", scorers.Builtin(), suite.Options{Dir: dir}, &diags)
	expect.OK(t, diags.Err())
	w := newFolders(true)
	w.Run = t.TempDir()
	p, _ := one.Targets[0].App().(*suite.Program)
	return w, p
}

func callOf(session string, live bool, contents int) *eval.Call {
	return &eval.Call{
		Request: eval.Request{Live: live, Contents: make([]eval.Content, contents)}, TrialID: "0123456789abcdef", TrialName: session,
	}
}

func read(t *testing.T, dir string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "file"))
	expect.OK(t, err)
	return string(data)
}

// An attempt of a first call finds a fresh copy, and a later call what the earlier ones have left.
func TestEachTrialHasItsWorkspace(t *testing.T) {
	t.Parallel()
	w, p := working(t, "none")
	first, err := w.Of(p, callOf("a-session", true, 1))
	expect.OK(t, err)
	write := func(dir, text string) { expect.OK(t, os.WriteFile(filepath.Join(dir, "file"), []byte(text), 0o600)) }
	write(first.work, "changed")
	second, err := w.Of(p, callOf("a-session", true, 1))
	expect.OK(t, err)
	expect.Same(t, "what another attempt finds", read(t, second.work), "new")
	if _, err := os.Stat(first.root); err == nil {
		t.Errorf("the place %s of the first attempt is there, want it removed", first.root)
	}
	write(second.work, "changed")
	later, err := w.Of(p, callOf("a-session", true, 3))
	expect.OK(t, err)
	expect.Same(t, "the folder of a later call", later.work, second.work)
	expect.Same(t, "what it holds", read(t, later.work), "changed")
	other, err := w.Of(p, callOf("b-session", false, 3))
	expect.OK(t, err)
	if other == second || read(t, other.work) != "new" || strings.HasPrefix(other.work, w.Run) {
		t.Errorf("another trial works in %s, want another folder than %s outside of %s, with new files", other.work, second.work, w.Run)
	}
	write(other.work, "left")
	expect.OK(t, os.Symlink("/etc/passwd", filepath.Join(other.work, "out")))
	expect.OK(t, w.leave(p, callOf("b-session", false, 3), other))
	expect.Same(t, "what scorers find", read(t, w.Folder("b-session")), "left")
	if _, err := os.Lstat(filepath.Join(w.Folder("b-session"), "out")); err == nil {
		t.Error("the link that leads out is there, want it left out")
	}
	unplaced := &suite.Program{Dir: "/x", Confined: suite.Confinement{Kind: suite.SandboxNone, Home: suite.HomeFresh}}
	none, err := w.Of(unplaced, callOf("c-session", false, 1))
	expect.OK(t, err)
	expect.Same(t, "the folder of a program without a workspace", none.work, "/x")
	expect.OK(t, os.WriteFile(filepath.Join(p.Dir, "fixture", "file"), []byte("newer"), 0o600))
	_, err = w.Of(p, callOf("d-session", false, 1))
	expect.Fails(t, "a workspace that has changed", err, "has changed since the suite was read")
	expect.OK(t, os.RemoveAll(filepath.Join(p.Dir, "fixture")))
	if _, err := w.Of(p, callOf("e-session", false, 1)); err == nil || !strings.Contains(err.Error(), "the workspace fixture is gone") {
		t.Errorf("got %v, want that the workspace is gone", err)
	}
	w.Close()
	if _, err := os.Stat(w.path("")); err == nil {
		t.Error("workspaces are left, want none")
	}
}

func TestWorkspacesAreKeptAsTheSuiteSays(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		keep      string
		outcome   eval.Outcome
		noContent bool
		want      bool
	}{
		{"none", eval.Fail, false, false},
		{"failed", eval.Pass, false, false},
		{"failed", eval.Fail, false, true},
		{"failed", eval.Err, false, true},
		{"all", eval.Pass, false, true},
		{"all", eval.Fail, true, false},
	} {
		w, p := working(t, test.keep)
		w.keeping = !test.noContent
		call := callOf(runner.TrialName("a-session", 0), false, 1)
		at, err := w.Of(p, call)
		expect.OK(t, err)
		expect.OK(t, w.leave(p, call, at))
		dir := w.Folder(call.TrialName)
		result := &eval.Result{Trial: eval.Trial{ID: "0123456789abcdef"}, Ending: testrun.Ending(test.outcome)}
		kept, release := w.Settle("a-session", result)
		expect.Same(t, "the workspace before the result is written", read(t, dir), "new")
		release()
		w.Close()
		_, err = os.Stat(dir)
		if there := err == nil; there != test.want || (kept != "") != test.want {
			t.Errorf("%+v: there %t, recorded as %q; want both to be %t", test, there, kept, test.want)
		}
		if kept != "" && filepath.Join(w.Run, filepath.FromSlash(kept)) != dir {
			t.Errorf("recorded as %s, want %s relative to the run", kept, dir)
		}
	}
}

// What an earlier session has left of a trial is used where its answer is judged now, and goes when the trial has a new result.
func TestWorkspacesOfEarlierSessionsAreReused(t *testing.T) {
	t.Parallel()
	w, p := working(t, "all")
	for _, name := range []string{"0123456789abcdef-old", "0123456789abcdef-older", "fedcba9876543210-other"} {
		expect.OK(t, os.MkdirAll(w.path(name), 0o755))
	}
	w.resumed, w.left = true, []string{"0123456789abcdef-old", "fedcba9876543210-other"}
	known := &eval.Result{Trial: eval.Trial{ID: "0123456789abcdef"}, Workspace: "workspaces/0123456789abcdef-older"}
	session := runner.TrialName("a-session", 0)
	w.Adopt(session, p, known)
	expect.Same(t, "one that is being removed", known.Workspace, "")
	w.Adopt(session, p, known)
	expect.Same(t, "one that waits", known.Workspace, w.path("0123456789abcdef-old"))
	expect.Same(t, "the folder of the trial", w.Folder(session), known.Workspace)
	for _, escape := range []string{"../../etc", "workspaces/../../x", "/etc", ".."} {
		foreign := &eval.Result{Trial: eval.Trial{ID: "1111111111111111"}, Workspace: escape}
		w.Adopt("x-session", p, foreign)
		expect.Same(t, escape, foreign.Workspace, "")
	}
	kept, release := w.Settle("a-session", &eval.Result{Trial: eval.Trial{ID: "0123456789abcdef"}, Ending: eval.Passed{}})
	release()
	w.Close()
	expect.Same(t, "what is kept", kept, "workspaces/0123456789abcdef-old")
	expect.Same(t, "what is left", w.names(), []string{"0123456789abcdef-old", "fedcba9876543210-other"})
}
