package rundir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/journal/history"
)

// Bounds of the search in FindRuns.
const (
	mostRuns   = 10_000
	deepestRun = 8 // folders below the named one
)

// FindRuns lists the paths of runs: below .evalrun/runs, in the history if they still exist, and at or
// below the named paths. If there are selectors among the names, it lists only what is named. It returns an
// error if a name leads to no run.
func (d Dir) FindRuns(named []string) ([]string, error) {
	out, err := d.named(named)
	if err != nil {
		return nil, err
	}
	if selectors, _ := d.Selectors(named); len(selectors) > 0 {
		return out.all, nil
	}
	for _, id := range d.IDs() {
		out.add(filepath.Join(d.Join(Runs), id))
	}
	for _, dir := range d.remembered() {
		out.add(dir)
	}
	return out.all, nil
}

// NamedRuns lists the paths of the named runs without duplicates: runs, runs below folders, and selected
// runs. It returns an error if a name leads to no run.
func (d Dir) NamedRuns(named []string) ([]string, error) {
	out, err := d.named(named)
	if err != nil {
		return nil, err
	}
	return out.all, nil
}

func (d Dir) named(named []string) (*runDirs, error) {
	out := &runDirs{seen: map[string]bool{}}
	selectors, named := d.Selectors(named)
	for _, dir := range d.Select(selectors) {
		out.add(dir)
	}
	if len(selectors) > 0 && len(out.all) == 0 {
		return nil, d.NoRun(selectors[0].Text)
	}
	for _, name := range named {
		found := d.runsAt(name)
		if len(found) == 0 {
			return nil, eval.BadInput("there is no run %s, and no folder of that name with runs in it%s", name, d.hint())
		}
		for _, path := range found {
			out.add(path)
		}
	}
	return out, nil
}

// runDirs is a set of run directories. Links are followed to find duplicates.
type runDirs struct {
	all  []string
	seen map[string]bool
}

func (p *runDirs) add(path string) {
	if len(p.all) >= mostRuns {
		return
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return
	}
	if abs, err := filepath.Abs(real); err == nil && !p.seen[abs] {
		p.seen[abs] = true
		p.all = append(p.all, abs)
	}
}

// remembered lists the runs of the history that still exist.
func (d Dir) remembered() (out []string) {
	s, err := d.ReadHistory()
	if err != nil || s == nil {
		return nil
	}
	defer s.Close() //nolint:errcheck // it was only read
	runs, err := s.Runs(history.RunFilter{Limit: mostRuns})
	if err != nil {
		return nil
	}
	for i := range runs {
		if isRun(runs[i].Dir) {
			out = append(out, runs[i].Dir)
		}
	}
	return out
}

// NamedRun returns the path of the only named run; "" if several runs or a folder are named.
func (d Dir) NamedRun(named []string) string {
	if len(named) != 1 {
		return ""
	}
	if selectors, _ := d.Selectors(named); len(selectors) > 0 && !selectors[0].Latest {
		return ""
	}
	path := d.Path(named[0])
	if info, err := os.Stat(path); err != nil || info.IsDir() && !isRun(path) {
		return ""
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	abs, _ := filepath.Abs(real) // fails only without a working directory
	return abs
}

func isRun(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, journal.FileName))
	return err == nil && info.Mode().IsRegular()
}

func (d Dir) runsAt(name string) []string {
	path := d.Path(name)
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	if !info.IsDir() || isRun(path) {
		return []string{path}
	}
	var out []string
	_ = filepath.WalkDir(path, func(at string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // ignored, because other folders may have runs
		case entry.IsDir() && strings.Count(strings.TrimPrefix(at, path), string(filepath.Separator)) > deepestRun:
			return fs.SkipDir
		case len(out) == mostRuns:
			return fs.SkipAll
		case entry.Name() == journal.FileName && entry.Type().IsRegular():
			out = append(out, filepath.Dir(at))
		}
		return nil
	})
	slices.Sort(out)
	return out
}

// ReadHistory opens the history without changing any file; nil without one. The caller closes it.
func (d Dir) ReadHistory() (*history.Store, error) {
	s, err := history.OpenToRead(d.Join(historyPath))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return s, err
}
