package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/history"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/regular"
	"github.com/evalrun/evalrun/journal"
)

// historyPath is where the history of the runs that began in this folder is kept.
const historyPath = own + string(filepath.Separator) + "history.db"

// Remember adds a run that has just ended to the history. The run file is the truth, and nothing depends on this.
func (d Dir) Remember(doc *journal.Document) error {
	err := ignoreByGit(d.Join(own))
	if err == nil {
		var s *history.Store
		if s, err = history.Open(d.Join(historyPath)); err == nil {
			err = errors.Join(s.Add(doc), s.Close())
		}
	}
	if err != nil {
		return fmt.Errorf("the run was not added to the history: %w", err)
	}
	_ = os.Remove(filepath.Join(d.Join(expectedRuns), doc.Run.ID)) // mostly it is there; else there is nothing to remove
	return nil
}

// expectedRuns has a file for each run that began and was not added to the history: its directory. A process that is
// killed between the end of a run and the history adds nothing; the next look at the history does.
const expectedRuns = own + string(filepath.Separator) + "expected-runs"

// ExpectRun notes that a run begins. Nothing but the history depends on it, so its errors are no reason not to run.
func (d Dir) ExpectRun(run *eval.Run, dir string) {
	abs, err := filepath.Abs(dir)
	if err != nil || ignoreByGit(d.Join(own)) != nil || os.MkdirAll(d.Join(expectedRuns), 0o755) != nil {
		return
	}
	_ = os.WriteFile(filepath.Join(d.Join(expectedRuns), run.ID), []byte(abs+"\n"), 0o600) // as above
}

// catchUp adds runs that ended and were not added.
func (d Dir) catchUp() {
	entries, err := os.ReadDir(d.Join(expectedRuns))
	if err != nil { // mostly there is none
		return
	}
	for _, e := range entries {
		note := filepath.Join(d.Join(expectedRuns), e.Name())
		text, err := regular.ReadFile(note, maxFile)
		if err != nil {
			continue
		}
		doc, err := journal.Open(strings.TrimSpace(string(text)))
		switch {
		case err != nil: // it is gone, or another one is there
			_ = os.Remove(note)
			continue
		case doc.Run.ID != e.Name():
			_ = os.Remove(note)
		case doc.End != nil && !doc.Running:
			_ = d.Remember(doc) // at the latest the next time
		}
		_ = doc.Close() // it was only read
	}
}

// OpenHistory opens the history, nil when there is none yet. The caller closes it.
func (d Dir) OpenHistory() (*history.Store, error) {
	d.catchUp()
	if _, err := os.Stat(d.Join(historyPath)); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return history.Open(d.Join(historyPath))
}

// Comparisons counts, for each suite of a run, its comparisons with its baseline up to this one, by the history. It
// is nil when the run is not of this folder, or there is no history that can be read: nothing depends on it.
func (d Dir) Comparisons(doc *journal.Document) []int {
	s, err := d.ReadHistory()
	if err != nil || s == nil {
		return nil
	}
	defer s.Close() //nolint:errcheck // it was only read
	known, err := s.Knows(doc.Run.ID)
	if err != nil || !known && !d.expects(doc.Run.ID) {
		return nil
	}
	counts, err := s.Comparisons(doc)
	if err != nil {
		return nil
	}
	return counts
}

// expects reports whether a run began here that is not yet in the history.
func (d Dir) expects(id string) bool {
	_, err := os.Stat(d.Join(filepath.Join(expectedRuns, filepath.Base(id))))
	return err == nil
}

// RebuildHistory makes the history again from the runs below .evalrun/runs, the runs below dirs, and the runs that it
// knew. It reports what it cannot read.
func (d Dir) RebuildHistory(dirs []string, notice func(string)) error {
	for i, named := range dirs {
		dir := d.Join(named)
		dirs[i] = dir
		if info, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) || err == nil && !info.IsDir() {
			return exit.BadInput("there is no folder %s", dir)
		} else if err != nil {
			return exit.BadInput("%s cannot be read: %w", dir, err)
		}
	}
	if err := ignoreByGit(d.Join(own)); err != nil {
		return exit.BadInput("the history cannot be made: %w", err)
	}
	return history.Rebuild(d.Join(historyPath), append([]string{d.Join(Runs)}, dirs...), notice)
}
