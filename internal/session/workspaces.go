package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/suite"
)

// workspacesDir is where the copies of workspaces are, inside the run directory.
const workspacesDir = "workspaces"

// folders are the copies of workspaces in a run. A copy is there until the outcome of its trial is known, and longer where
// the suite keeps it. Calls and results come from several goroutines.
type folders struct {
	Run string // the run directory, absolute; "" before there is one

	keeping bool     // whether any is kept: one may hold what the program was sent
	resumed bool     // whether earlier sessions of the run may have left some
	left    []string // those of them that may be needed

	places places

	mu       sync.Mutex
	open     map[string]opened // by the name of the trial
	removing sync.WaitGroup
	removers chan struct{} // holds a token for each removal in progress
}

type opened struct {
	name string // in workspacesDir
	of   *suite.Program
	at   trialPlace // zero for one that an earlier session has left
}

// newFolders has no folders. keeping says whether any outlives its trial: a folder may hold what the program was sent.
func newFolders(keeping bool) *folders {
	return &folders{keeping: keeping, open: map[string]opened{}, removers: make(chan struct{}, runtime.GOMAXPROCS(0))}
}

// checkRun refuses a run directory inside the workspace of a program: each copy would hold the copies before it.
func checkRun(dir string, of *suite.Program) error {
	if of.Workspace != "" && isWithin(dir, filepath.Join(of.Dir, filepath.FromSlash(of.Workspace))) {
		return eval.BadInput(
			"the run directory would be inside the workspace %s, and each trial gets a copy of that: name another with --out", of.Workspace,
		)
	}
	return nil
}

// isWithin reports whether a path is a folder or inside it. The end of the path need not exist.
func isWithin(name, folder string) bool {
	name, err := filepath.Abs(name)
	info, failed := os.Stat(folder)
	if err != nil || failed != nil {
		return false
	}
	for ; ; name = filepath.Dir(name) {
		if one, err := os.Stat(name); err == nil && os.SameFile(one, info) {
			return true
		}
		if name == filepath.Dir(name) {
			return false
		}
	}
}

func (w *folders) path(name string) string { return filepath.Join(w.Run, workspacesDir, name) }

// Of is the place in which a program runs for a call. All calls of a trial share it; each attempt of the first one gets a new one.
func (w *folders) Of(p *suite.Program, call *eval.Call) (trialPlace, error) {
	w.mu.Lock()
	one, known := w.open[call.TrialName]
	w.mu.Unlock()
	if known && !isFirst(call) {
		return one.at, nil
	}
	at, err := w.places.make(p)
	if err != nil {
		return at, fmt.Errorf("the workspace cannot be made: %w", err)
	}
	w.mu.Lock()
	w.open[call.TrialName] = opened{call.TrialID + "-" + call.TrialName[:8], p, at}
	w.mu.Unlock()
	if known {
		_ = files.Remove(one.at.root)
	}
	switch {
	case p.Workspace != "":
		err = fill(p, at.work)
	case !p.Placed():
		at.work = p.Dir
	}
	return at, err
}

// leave keeps what a program has left in its workspace for scorers, without what leads out of it, when a call has ended.
func (w *folders) leave(p *suite.Program, call *eval.Call, at trialPlace) error {
	if p.Workspace == "" {
		return nil
	}
	w.mu.Lock()
	dir := w.path(w.open[call.TrialName].name)
	w.mu.Unlock()
	if err := errors.Join(files.Remove(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return err
	}
	return files.CopyKnown(os.DirFS(at.work), dir)
}

// Folder is the workspace of a trial that is under way, "" where it has none.
func (w *folders) Folder(trialName string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if one, known := w.open[trialName]; known && one.of.Workspace != "" {
		return w.path(one.name)
	}
	return ""
}

// Adopt gives a trial the workspace that an earlier session of the run left for it, if it still exists: the
// answer has only to be scored now.
func (w *folders) Adopt(trialName string, p *suite.Program, earlier *eval.Result) {
	name := path.Base(earlier.Workspace)
	earlier.Workspace = ""
	if p == nil || p.Workspace == "" {
		return
	}
	for _, one := range w.left {
		if one == name || name == "." && strings.HasPrefix(one, earlier.ID+"-") {
			w.mu.Lock()
			w.open[trialName] = opened{name: one, of: p}
			w.mu.Unlock()
			earlier.Workspace = w.path(one)
			return
		}
	}
}

func isFirst(call *eval.Call) bool { return !call.Live || len(call.Contents) == 1 }

// fill copies the workspace of a program in the state in which the suite was read.
func fill(p *suite.Program, to string) error {
	if _, err := fs.Stat(p.WorkspaceFiles(), "."); err != nil {
		return fmt.Errorf("the workspace %s is gone: %w", p.Workspace, err)
	}
	digest, err := files.Copy(p.WorkspaceFiles(), to)
	switch {
	case err != nil:
		return fmt.Errorf("the workspace %s cannot be copied: %w", p.Workspace, err)
	case digest != p.WorkspaceDigest:
		return fmt.Errorf("the workspace %s has changed since the suite was read: run the suite again", p.Workspace)
	}
	return nil
}

// Settle returns the path to keep of a trial's workspace, "" for none. Call release when the result is written down.
func (w *folders) Settle(salt string, r *eval.Result) (kept string, release func()) {
	w.mu.Lock()
	var one opened
	known := len(w.open) > 0 // a hash for each trial of a model would only be looked for in vain
	if known {
		name := runner.TrialName(salt, r.N)
		one, known = w.open[name]
		delete(w.open, name)
	}
	w.mu.Unlock()
	if !known {
		return "", func() {}
	}
	if w.keeping && one.of.Workspace != "" && one.of.Keeps(r.Outcome() == eval.Pass) {
		kept = path.Join(workspacesDir, one.name)
	}
	return kept, func() {
		w.leaves(one, kept == "")
		if w.resumed {
			w.removeOlder(r.ID, one.name)
		}
	}
}

// Changes is what the program of a trial changed in its workspace, "" for nothing.
func (w *folders) Changes(salt string, r *eval.Result) string {
	w.mu.Lock()
	var one opened
	if len(w.open) > 0 {
		one = w.open[runner.TrialName(salt, r.N)]
	}
	w.mu.Unlock()
	if one.of == nil || one.of.Workspace == "" || r.Response == nil {
		return ""
	}
	return changes(one.of, w.path(one.name))
}

// leaves removes the place of a trial, and its workspace unless it is kept.
func (w *folders) leaves(one opened, workspace bool) {
	if one.at.root != "" {
		w.removePath(one.at.root)
	}
	if workspace && one.of.Workspace != "" {
		w.remove(one.name)
	}
}

func (w *folders) remove(name string) { w.removePath(w.path(name)) }

func (w *folders) removePath(dir string) {
	w.removing.Go(func() {
		w.removers <- struct{}{}
		defer func() { <-w.removers }()
		_ = files.Remove(dir) // what is left only takes up space
	})
}

// removeOlder removes what earlier sessions of the run have kept of a trial that has a new result.
func (w *folders) removeOlder(trialID, current string) {
	for _, name := range w.names() {
		if strings.HasPrefix(name, trialID+"-") && name != current {
			w.remove(name)
		}
	}
}

func (w *folders) names() []string {
	entries, err := os.ReadDir(w.path(""))
	if err != nil { // mostly there are none
		return nil
	}
	var out []string
	for _, entry := range entries {
		out = append(out, entry.Name())
	}
	return out
}

// Resume removes what a killed session of the run has left: workspaces of trials that were under way. What cannot be
// removed takes room, and no more: no trial works in it again.
func (w *folders) Resume(d *journal.Document) {
	w.resumed = true
	names := w.names()
	if len(names) == 0 {
		return
	}
	kept := map[string]bool{}
	for t, err := range d.Trials() {
		if err != nil { // it is sent again
			continue
		}
		kept[path.Base(t.Workspace)] = true
	}
	for _, name := range names {
		id, _, _ := strings.Cut(name, "-")
		waiting := d.Pending(id)
		if kept[name] || waiting != nil && waiting.Response != nil { // the answer is scored in a moment
			w.left = append(w.left, name)
		} else {
			w.remove(name)
		}
	}
}

// Close removes what trials have left that came to no result.
func (w *folders) Close() {
	w.mu.Lock()
	for trialName, one := range w.open {
		delete(w.open, trialName)
		w.leaves(one, true)
	}
	w.mu.Unlock()
	w.removing.Wait()
	w.places.close()
	_ = os.Remove(w.path("")) // which fails unless it is empty
}
