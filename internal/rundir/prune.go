package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// Pruning selects the runs below .evalrun/runs to delete. They are neither among the newest nor recent, and
// nothing else keeps them.
type Pruning struct {
	Keep   int           // how many of the newest runs to keep
	Older  time.Duration // keep runs that began less than this ago
	DryRun bool          // delete nothing
	Now    time.Time
}

type pruned struct {
	DryRun  bool        `json:"dryRun"`
	Deleted []prunedRun `json:"deleted"`
	Bytes   int64       `json:"bytes"` // size of the deleted runs
	// Kept lists runs that were old enough but are needed. Alone lists folders that Prune does not touch.
	Kept  []prunedRun `json:"kept"`
	Alone []prunedRun `json:"leftAlone"`
	// Others counts the runs that are among the newest, or recent.
	Others int `json:"others"`
}

type prunedRun struct {
	ID        string   `json:"id"`
	StartedAt string   `json:"startedAt,omitempty"`
	Bytes     int64    `json:"bytes,omitempty"`
	Marks     []string `json:"marks,omitempty"`
	Why       string   `json:"why,omitempty"` // why it stays
}

// Prune deletes run directories. It keeps baselines, labelled and unfinished runs, and everything that is
// not a run. An error means that it deleted nothing, or could not delete some run.
func (d Dir) Prune(o Pruning) (*pruned, error) {
	out := &pruned{DryRun: o.DryRun, Deleted: []prunedRun{}, Kept: []prunedRun{}, Alone: []prunedRun{}}
	root, err := d.prunable()
	if root == nil || err != nil {
		return out, err
	}
	defer root.Close() //nolint:errcheck // it has no writes left
	named, err := d.Baselines()
	if err != nil {
		return out, err
	}
	if !o.DryRun {
		d.catchUp() // before the deletion, so that the history has their numbers
	}
	going, staying := out.divide(d.candidates(root, out), o)
	baselines := comparedWith(staying)
	for name, b := range named {
		baselines[b.Run] = "it is the baseline " + name
		baselines[d.Abs(filepath.FromSlash(b.Path))] = baselines[b.Run]
	}
	var failed []error
	for _, one := range going {
		failed = append(failed, out.prune(d, root, one, d.keeps(one, baselines)))
	}
	return out, errors.Join(failed...)
}

// prune deletes a run, unless kept says why it stays.
func (p *pruned) prune(d Dir, root *os.Root, one withHeader, kept string) error {
	run := prunedRun{ID: one.Run.ID, StartedAt: one.Run.StartedAt, Marks: one.Run.Marks(), Why: kept}
	size := sizeOf(one.Dir)
	if kept == "" && !p.DryRun {
		switch err := d.remove(root, one); {
		case errors.Is(err, errInUse):
			run.Why = errInUse.Error()
		case err != nil:
			return eval.Incomplete("the run %s cannot be deleted: %w", one.Run.ID, err)
		}
	}
	if run.Why != "" {
		p.Kept = append(p.Kept, run)
		return nil
	}
	run.Bytes = size
	p.Deleted = append(p.Deleted, run)
	p.Bytes += size
	return nil
}

// prunable opens the folder of the runs, nil for none. A link could lead to runs of other projects.
func (d Dir) prunable() (*os.Root, error) {
	for _, dir := range []string{own, Runs} {
		info, err := os.Lstat(d.Join(dir))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil
		case err != nil:
			return nil, eval.BadInput("the runs cannot be read: %w", err)
		case !info.IsDir():
			return nil, eval.BadInput("%s is not a folder but a link or a file, and prune deletes nothing behind it", dir)
		}
	}
	root, err := os.OpenRoot(d.Join(Runs))
	if err != nil {
		return nil, eval.BadInput("the runs cannot be read: %w", err)
	}
	return root, nil
}

// candidates lists the runs of the folder, the oldest first. It records folders that are left alone.
func (d Dir) candidates(root *os.Root, out *pruned) []withHeader {
	known, headers := map[string]withHeader{}, d.headers()
	for _, one := range headers {
		known[filepath.Base(one.Dir)] = one
	}
	entries, _ := fs.ReadDir(root.FS(), ".") // an unreadable folder has no candidates
	for _, entry := range entries {
		one, readable := known[entry.Name()]
		why := ""
		switch {
		case !entry.IsDir():
			why = "it is not a folder"
		case !readable && newID.MatchString(entry.Name()) && journal.IsRemains(filepath.Join(root.Name(), entry.Name())):
			why = out.pruneRemains(root, entry.Name())
		case !readable:
			why = "it holds no run that can be read"
		case one.Run.ID != entry.Name():
			why = "it holds the run " + one.Run.ID + ", whose folder has another name"
		default:
			why = strange(root, entry.Name())
		}
		if why != "" {
			out.Alone = append(out.Alone, prunedRun{ID: entry.Name(), Why: why})
			delete(known, entry.Name())
		}
	}
	return slices.DeleteFunc(headers, func(one withHeader) bool { _, is := known[filepath.Base(one.Dir)]; return !is })
}

var newID = regexp.MustCompile(`^[0-9]{8}-[0-9]{6}\.[0-9]{3}-[0-9a-f]{6}$`)

// pruneRemains deletes a folder in which a run was to be, and says why it stays if that fails.
func (p *pruned) pruneRemains(root *os.Root, id string) (why string) {
	size := sizeOf(filepath.Join(root.Name(), id))
	if !p.DryRun {
		if err := root.RemoveAll(id); err != nil {
			return err.Error()
		}
	}
	p.Deleted = append(p.Deleted, prunedRun{ID: id, Bytes: size})
	p.Bytes += size
	return ""
}

// strange names a file in a run directory that evalrun does not write, "" if there is none.
func strange(root *os.Root, id string) string {
	entries, err := fs.ReadDir(root.FS(), id)
	if err != nil {
		return "it cannot be read"
	}
	for _, entry := range entries {
		if !journal.IsOwn(entry.Name()) || entry.Name() == journal.FileName && !entry.Type().IsRegular() {
			return "it holds " + entry.Name() + ", which evalrun did not write"
		}
	}
	return ""
}

// divide separates the old runs from the runs that are new enough to stay.
func (p *pruned) divide(all []withHeader, o Pruning) (going, staying []withHeader) {
	for i, one := range all {
		began, err := time.Parse(time.RFC3339Nano, one.Run.StartedAt)
		if err != nil || len(all)-i <= o.Keep || o.Now.Sub(began) < o.Older {
			staying = append(staying, one)
			continue
		}
		going = append(going, one)
	}
	p.Others = len(staying)
	return going, staying
}

// comparedWith lists the baselines of runs that stay, whose reports read them, with the reason.
func comparedWith(staying []withHeader) map[string]string {
	out := map[string]string{}
	for _, one := range staying {
		for _, s := range one.Run.Suites {
			if s.Gate != nil && s.Gate.Baseline != nil && s.Gate.Baseline.RunID() != "" {
				out[s.Gate.Baseline.RunID()] = "the run " + one.Run.ID + " was compared with it"
			}
		}
	}
	return out
}

// keeps says why an old run stays, "" if nothing keeps it.
func (d Dir) keeps(one withHeader, baselines map[string]string) string {
	file := Dir{}.Abs(filepath.Join(one.Dir, journal.FileName))
	for _, key := range []string{one.Run.ID, file, filepath.Dir(file)} {
		if why := baselines[key]; why != "" {
			return why
		}
	}
	if len(one.Run.Labels) > 0 {
		return "it has a label"
	}
	return unfinished(one.Dir)
}

func unfinished(dir string) string {
	doc, err := journal.Open(dir)
	if err != nil {
		return "it cannot be read"
	}
	defer doc.Close() //nolint:errcheck // only read
	switch {
	case doc.Running:
		return errInUse.Error()
	case doc.Waits() != nil:
		return "it waits for its batches, and `evalrun resume` collects the answers"
	case doc.Partial():
		return "it is not complete, and `evalrun resume` can continue it"
	}
	return ""
}

// errInUse is returned for a run that another process is writing.
var errInUse = errors.New("it is in progress")

// remove deletes a run directory, the run file last: if it is killed, the next Prune deletes the rest.
func (d Dir) remove(root *os.Root, one withHeader) (err error) {
	release, err := journal.Hold(one.Dir)
	if errors.Is(err, journal.ErrLocked) {
		return errInUse
	}
	if err != nil {
		return err
	}
	id := filepath.Base(one.Dir)
	if unfinished(one.Dir) != "" { // another process has just resumed it
		return errors.Join(errInUse, release())
	}
	err = removeParts(root, id)
	if err == nil {
		err = root.Remove(filepath.Join(id, journal.FileName))
	}
	if err = errors.Join(err, release()); err == nil {
		err = root.Remove(id)
	}
	if err != nil {
		return err
	}
	_ = os.Remove(filepath.Join(d.Join(expectedRuns), id)) // usually it does not exist
	return nil
}

// removeParts deletes what a run directory has, except the run file and its lock. It follows no link.
func removeParts(root *os.Root, id string) error {
	entries, err := fs.ReadDir(root.FS(), id)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if name := entry.Name(); name != journal.FileName && name != "lock" {
			if err := root.RemoveAll(filepath.Join(id, name)); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

func sizeOf(dir string) (total int64) {
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil //nolint:nilerr // unreadable files do not count
		}
		if info, err := entry.Info(); err == nil {
			total += info.Size()
		}
		return nil
	})
	return total
}

// Write writes one line per run.
func (p *pruned) Write(line func(format string, args ...any)) {
	verb := "deleted"
	if p.DryRun {
		verb = "would delete"
	}
	for _, one := range p.Deleted {
		marks := ""
		if len(one.Marks) > 0 {
			marks = " (" + strings.Join(one.Marks, ", ") + ")"
		}
		line("%s %s%s, %d bytes", verb, one.ID, diag.CleanLine(marks), one.Bytes)
	}
	for _, one := range p.Kept {
		line("kept %s: %s", one.ID, diag.CleanLine(one.Why))
	}
	for _, one := range p.Alone {
		line("left alone %s: %s", diag.CleanLine(one.ID), diag.CleanLine(one.Why))
	}
	line("%s %s, %d bytes; %d stay", verb, diag.Count(len(p.Deleted), "run"), p.Bytes, p.Others+len(p.Kept))
}
