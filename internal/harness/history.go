package harness

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/evalrun/evalrun/history"
	"github.com/evalrun/evalrun/journal"
)

// historyPath is where the history of the runs that began in this folder is kept.
var historyPath = filepath.Join(".evalrun", "history.db")

// Remember adds a run that has just ended to the history. The run file is the truth, and nothing depends on this.
func Remember(doc *journal.Document) error {
	err := ignoreByGit(filepath.Dir(historyPath))
	if err == nil {
		var s *history.Store
		if s, err = history.Open(historyPath); err == nil {
			err = errors.Join(s.Add(doc), s.Close())
		}
	}
	if err != nil {
		return fmt.Errorf("the run was not added to the history: %w", err)
	}
	return nil
}

// OpenHistory opens the history, nil when there is none yet. The caller closes it.
func OpenHistory() (*history.Store, error) {
	if _, err := os.Stat(historyPath); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return history.Open(historyPath)
}

// RebuildHistory makes the history again from the runs below .evalrun/runs, below dirs, and those that it knew. What cannot be
// read is told.
func RebuildHistory(dirs []string, tell func(string)) error {
	for _, dir := range dirs {
		if info, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) || err == nil && !info.IsDir() {
			return Exitf(ExitBadInput, "there is no folder %s", dir)
		} else if err != nil {
			return Exitf(ExitBadInput, "%s cannot be read: %w", dir, err)
		}
	}
	if err := ignoreByGit(filepath.Dir(historyPath)); err != nil {
		return Exitf(ExitBadInput, "the history cannot be made: %w", err)
	}
	return history.Rebuild(historyPath, append([]string{runsDir}, dirs...), tell)
}
