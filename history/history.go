// Package history is an index over run directories: which runs there were, and how the numbers of each suite, arm and
// case moved from run to run. It holds no prompts and no answers, and nothing that is not in the run files: it can be
// thrown away and made again by Rebuild.
//
// It is the one package that knows SQL. The usual order: Open, Store.Add when a run has ended, or Store.Runs,
// Store.Known and Store.Course to look at what there is; Close. Rebuild when Open finds the file unusable.
//
// Several processes may use one history at once. A Store is meant to be open for moments: Rebuild waits until it is
// closed everywhere.
package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"modernc.org/sqlite" // the driver
)

// ErrUnusable is wrapped by errors about a file that is damaged, is no history, or is one of a newer evalrun. Rebuild
// makes a good one of it.
var ErrUnusable = errors.New("`evalrun history --rebuild` makes the history again from the run directories")

// ErrBusy is wrapped by errors of Open, Add and Rebuild when another process held the history for too long.
var ErrBusy = errors.New("another evalrun uses the history")

// patience is how long to wait for other processes.
const patience = 30 * time.Second

// Store is an open history. It is safe for concurrent use.
type Store struct {
	path string // absolute
	db   *sql.DB
	lock *flock.Flock // shared: the file is not replaced meanwhile
}

// Open opens the history in a file, which is made when it is not there; its folder must be.
func Open(path string) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	s := &Store{path: path}
	if missing(path) {
		if err := s.begin(); err != nil {
			return nil, s.explain(err)
		}
	}
	if s.lock, err = hold(path, (*flock.Flock).TryRLockContext); err != nil {
		return nil, s.explain(err)
	}
	if s.db, err = connect(path, false); err == nil {
		err = migrate(s.db)
	}
	if err != nil {
		_ = s.Close() // the first error is the one to tell
		return nil, s.explain(err)
	}
	return s, nil
}

// begin makes the file, which only one process does.
func (s *Store) begin() error {
	lock, err := hold(s.path, (*flock.Flock).TryLockContext)
	if err != nil {
		return err
	}
	if missing(s.path) {
		err = create(s.path)
	}
	return errors.Join(err, lock.Unlock())
}

// missing reports whether there is no file, or one with nothing in it.
func missing(path string) bool {
	info, err := os.Stat(path) //nolint:gosec // a file that the user has
	return errors.Is(err, os.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() == 0
}

// create makes an empty history. Write-ahead logging stays with the file: readers do not wait for a writer.
func create(path string) error {
	db, err := connect(path, true)
	if err != nil {
		return err
	}
	_, err = db.Exec("PRAGMA journal_mode = WAL")
	if err == nil {
		err = migrate(db)
	}
	return errors.Join(err, db.Close())
}

// connect opens the file with one connection: SQLite has one writer anyway, and every query takes moments.
func connect(path string, make bool) (*sql.DB, error) {
	mode := "rw"
	if make {
		mode = "rwc"
	}
	return openFile(path, url.Values{
		"mode": {mode}, "_txlock": {"immediate"},
		"_pragma": {fmt.Sprintf("busy_timeout(%d)", patience.Milliseconds()), "synchronous(NORMAL)"},
	})
}

// openFile opens the file as the parameters say.
func openFile(path string, query url.Values) (*sql.DB, error) {
	slashed := filepath.ToSlash(path)
	if slashed[0] != '/' { // C:/x
		slashed = "/" + slashed
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: slashed, RawQuery: query.Encode()}).String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// hold locks a file next to the history: shared by processes that have it open, exclusive for the one that replaces it.
func hold(path string, how func(*flock.Flock, context.Context, time.Duration) (bool, error)) (*flock.Flock, error) {
	lock := flock.New(path + ".lock")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if ok, err := how(lock, ctx, 5*time.Millisecond); errors.Is(err, context.DeadlineExceeded) || err == nil && !ok {
		return nil, ErrBusy
	} else if err != nil {
		return nil, err
	}
	return lock, nil
}

// Close lets go of the history.
func (s *Store) Close() error {
	var errs []error
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Unlock())
	}
	return errors.Join(errs...)
}

// SQLite's result codes that are about the world around the file rather than about what is in it.
const (
	codePerm      = 3
	codeBusy      = 5
	codeLocked    = 6
	codeReadOnly  = 8
	codeInterrupt = 9
	codeInOut     = 10
	codeFull      = 13
	codeCantOpen  = 14
)

// explain names the file in an error, and the way out where there is one.
func (s *Store) explain(err error) error {
	var known *sqlite.Error
	var system *os.PathError
	var other foreign
	switch {
	case err == nil, errors.Is(err, ErrUnusable):
		return err
	case errors.As(err, &other):
		return s.unusable(string(other))
	case errors.Is(err, ErrBusy), errors.As(err, &system):
		return fmt.Errorf("the history %s cannot be used: %w", s.path, err)
	case errors.As(err, &known):
		switch known.Code() & 0xff {
		case codeBusy, codeLocked:
			return fmt.Errorf("the history %s cannot be used: %w", s.path, ErrBusy)
		case codePerm, codeReadOnly, codeInterrupt, codeInOut, codeFull, codeCantOpen:
			return fmt.Errorf("the history %s cannot be used: %w", s.path, err)
		}
	}
	return s.unusable("is damaged (" + err.Error() + ")")
}

// unusable says what is wrong with the file, and what to do.
func (s *Store) unusable(what string) error {
	return fmt.Errorf("the history %s %s: %w", s.path, what, ErrUnusable)
}
