package history

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/evalrun/evalrun/journal"
)

// OpenToRead opens the history without creating or changing any file. The error is fs.ErrNotExist if there
// is none. The Store cannot Add.
func OpenToRead(path string) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	s := &Store{path: path}
	if _, err := os.Stat(path + ".lock"); err == nil { // the lock file is created with the history
		if s.lock, err = hold(path, (*flock.Flock).TryRLockContext); err != nil {
			return nil, s.explain(err)
		}
	}
	query := url.Values{"mode": {"ro"}, "_pragma": {fmt.Sprintf("busy_timeout(%d)", patience.Milliseconds())}}
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
		query.Set("immutable", "1") // no process writes, so SQLite needs no files for coordination
	}
	if s.db, err = openFile(path, query); err == nil {
		err = s.current()
	}
	if err != nil {
		_ = s.Close() // the first error is the one to report
		return nil, s.explain(err)
	}
	return s, nil
}

// current accepts all versions of the file, because each version only adds to the previous one.
func (s *Store) current() error {
	version, err := admit(s.db)
	if err == nil && version == 0 {
		return foreign("is empty")
	}
	return err
}

// InMemory returns a history without a file. It has no single cases of runs that Summarize added.
func InMemory() (*Store, error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	s := &Store{path: ":memory:", db: db}
	if err := migrate(db); err != nil {
		return nil, errors.Join(s.explain(err), db.Close())
	}
	return s, nil
}

// Summarize adds the numbers of a run's arms, without those of its cases, which are many.
func (s *Store) Summarize(doc *journal.Document) error { return s.take(doc, false) }
