package rundir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/history"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/journal"
)

// How far FindRuns looks.
const (
	mostRuns   = 10_000
	deepestRun = 8 // folders below the one that was named
)

// FindRuns lists where runs are: below .evalrun/runs, in the history as far as they still exist, and in the named
// folders or below them. With selectors among the names it lists what is named alone. The error is that something named
// is no run and has none.
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

// NamedRuns lists where the named runs are, each once: runs, runs below folders, and runs that selectors
// select. The error is that something named is no run and has none.
func (d Dir) NamedRuns(named []string) ([]string, error) {
	out, err := d.named(named)
	if err != nil {
		return nil, err
	}
	return out.all, nil
}

// named finds what is named.
func (d Dir) named(named []string) (*places, error) {
	out := &places{seen: map[string]bool{}}
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
			return nil, exit.BadInput("there is no run %s, and no folder of that name with runs in it%s", name, d.hint())
		}
		for _, path := range found {
			out.add(path)
		}
	}
	return out, nil
}

// places are run directories, each once, under the path that is left when links are followed.
type places struct {
	all  []string
	seen map[string]bool
}

func (p *places) add(path string) {
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

// remembered lists the directories of runs that the history knows and that are still there. Without a history there are none.
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

// NamedRun is the path of the only named run, as FindRuns lists it; "" when there are several, or a folder is named.
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
	abs, _ := filepath.Abs(real) // the working directory is there
	return abs
}

func isRun(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, journal.FileName))
	return err == nil && info.Mode().IsRegular()
}

// runsAt lists the runs that a name stands for: one, or those below a folder.
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
			return nil // a folder that cannot be read has no runs to show
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

// ReadHistory opens the history to read and changes no file, nil when there is none. The caller closes it.
func (d Dir) ReadHistory() (*history.Store, error) {
	s, err := history.OpenToRead(d.Join(historyPath))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return s, err
}
