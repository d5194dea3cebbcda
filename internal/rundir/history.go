package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/journal/history"
)

// historyPath is the database of the runs that were started in this folder.
const historyPath = own + string(filepath.Separator) + "history.db"

// Remember adds a run that has just ended to the history. It sets a strange history aside, and the error says so. Nothing
// depends on the history, because the run file has all its data.
func (d Dir) Remember(doc *journal.Document) (aside error) {
	err := ignoreByGit(d.Join(own))
	if err == nil {
		var s *history.Store
		if s, err = history.Open(d.Join(historyPath)); errors.Is(err, history.ErrStrange) {
			aside = d.setAside(err)
			s, err = history.Open(d.Join(historyPath))
		}
		if err == nil {
			err = errors.Join(s.Add(doc), s.Close())
		}
	}
	if err != nil {
		return fmt.Errorf("the run was not added to the history: %w", err)
	}
	_ = os.Remove(filepath.Join(d.Join(expectedRuns), doc.Run.ID)) // often it does not exist
	return aside
}

// setAside renames a history with another schema than evalrun writes. The error says so.
func (d Dir) setAside(why error) error {
	to, err := history.SetAside(d.Join(historyPath))
	if err != nil {
		return errors.Join(why, err)
	}
	return fmt.Errorf("%w: it was renamed to %s; `evalrun history --rebuild` makes the history from the runs", why, filepath.Base(to))
}

// expectedRuns has a file for each run that began and is not in the history yet. The file has the path of
// the run. If a process is killed after the run and before it adds it, catchUp adds the run.
const expectedRuns = own + string(filepath.Separator) + "expected-runs"

// ExpectRun records that a run begins. It ignores errors, because only the history depends on it.
func (d Dir) ExpectRun(run *eval.Run, dir string) {
	abs, err := filepath.Abs(dir)
	if err != nil || ignoreByGit(d.Join(own)) != nil || os.MkdirAll(d.Join(expectedRuns), 0o755) != nil {
		return
	}
	_ = os.WriteFile(filepath.Join(d.Join(expectedRuns), run.ID), []byte(abs+"\n"), 0o600) // see above
}

// catchUp adds the ended runs of expectedRuns.
func (d Dir) catchUp() {
	entries, err := os.ReadDir(d.Join(expectedRuns))
	if err != nil { // usually the folder does not exist
		return
	}
	for _, e := range entries {
		note := filepath.Join(d.Join(expectedRuns), e.Name())
		text, err := files.ReadFile(note, maxFile)
		if err != nil {
			continue
		}
		doc, err := journal.Open(strings.TrimSpace(string(text)))
		switch {
		case err != nil: // the run is gone, or another one is there
			_ = os.Remove(note)
			continue
		case doc.Run.ID != e.Name():
			_ = os.Remove(note)
		case doc.End != nil && !doc.Running:
			_ = d.Remember(doc) // the next call tries again
		}
		_ = doc.Close() // only read
	}
}

// OpenHistory opens the history after adding missing runs; nil without one. The caller closes it.
func (d Dir) OpenHistory() (*history.Store, error) {
	if s, err := d.ReadHistory(); errors.Is(err, history.ErrStrange) {
		return nil, d.setAside(err)
	} else if s != nil {
		_ = s.Close() // it was only read
	}
	d.catchUp()
	if _, err := os.Stat(d.Join(historyPath)); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return history.Open(d.Join(historyPath))
}

// NumberLooks numbers the looks of a run that begins, after those in the history and in earlier attempts of the CI job, which
// GitHub counts from 1 and GitLab from 0. The numbers begin with 1 when the history cannot be read, or with those of a run's shards.
func (d Dir) NumberLooks(run *eval.Run, getenv func(string) string) {
	if !slices.ContainsFunc(run.Suites, func(s eval.RunSuite) bool { return len(s.Looks) > 0 }) {
		return // the history stays closed
	}
	s, err := d.OpenHistory()
	if err == nil && s != nil {
		defer s.Close() //nolint:errcheck // it was only read
	}
	attempt, _ := strconv.Atoi(getenv("GITHUB_RUN_ATTEMPT"))
	retries, _ := strconv.Atoi(getenv("CI_JOB_RETRY_COUNT"))
	for i := range run.Suites {
		one := &run.Suites[i]
		for k := range one.Looks {
			l := &one.Looks[k]
			known := 1
			if err == nil && s != nil {
				known, _ = s.Nth(run, one.Name, l)
			}
			l.Nth = max(l.Nth, known, attempt, retries+1)
		}
	}
}

// RebuildHistory makes a new history from the runs below .evalrun/runs, below dirs, and in the old history.
// notice gets what it cannot read, and judge gives each run its verdict.
func (d Dir) RebuildHistory(dirs []string, notice func(string), judge func(*journal.Document)) error {
	for i, named := range dirs {
		dir := d.Join(named)
		dirs[i] = dir
		if info, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) || err == nil && !info.IsDir() {
			return eval.BadInput("there is no folder %s", dir)
		} else if err != nil {
			return eval.BadInput("%s cannot be read: %w", dir, err)
		}
	}
	if err := ignoreByGit(d.Join(own)); err != nil {
		return eval.BadInput("the history cannot be made: %w", err)
	}
	return history.Rebuild(d.Join(historyPath), append([]string{d.Join(Runs)}, dirs...), notice, judge)
}
