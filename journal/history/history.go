// Package history is an index of run directories: it has the runs, and how the numbers of each suite, arm
// and case changed from run to run. Everything in it comes from the run files, without prompts and answers,
// so Rebuild can always make it again.
//
// Only this package uses SQL. The usual order: Open, Store.Add when a run has ended, or Store.Runs,
// Store.Knows and Store.Trend to read; Close. Rebuild if Open returns ErrUnusable.
//
// Several processes may use one history. They should close it soon, because Rebuild waits until all have.
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

	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/journal"
)

// ErrUnusable is wrapped for a file that is damaged, no history, or of a newer evalrun. Rebuild replaces it.
var ErrUnusable = errors.New("`evalrun history --rebuild` makes the history again from the run directories")

// ErrStrange is wrapped for a history with another schema, such as triggers. SetAside renames it.
var ErrStrange = errors.New("has tables, triggers or views that evalrun did not write")

// ErrBusy is wrapped by errors of Open, Add and Rebuild when another process used the history for too long.
var ErrBusy = errors.New("another evalrun uses the history")

// patience is how long to wait for other processes.
const patience = 30 * time.Second

// longest bounds each query, since the pages of a hostile file can refer to each other.
const longest = time.Minute

// bounded is a context that ends a query in time.
func bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), longest)
}

// Store is an open history. It is safe for concurrent use.
type Store struct {
	path string // absolute
	db   *sql.DB
	lock *flock.Flock // shared, so that Rebuild waits
}

// Open opens the history in a file, and creates the file if needed. Its folder must exist.
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
		_ = s.Close() // the first error is the one to report
		return nil, s.explain(err)
	}
	return s, nil
}

// SetAside renames a history, and returns its new path.
func SetAside(path string) (string, error) {
	lock, err := hold(path, (*flock.Flock).TryLockContext)
	if err != nil {
		return "", err
	}
	defer lock.Unlock() //nolint:errcheck // the file is renamed by then
	aside := path + ".set-aside"
	for _, end := range []string{"-wal", "-shm", ""} {
		if err := os.Rename(path+end, aside+end); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
	}
	return aside, nil
}

// begin creates the file under an exclusive lock.
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

// missing reports whether the file does not exist or is empty.
func missing(path string) bool {
	info, err := os.Stat(path) //nolint:gosec // the path is the user's own
	return errors.Is(err, os.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() == 0
}

// create makes an empty history. It sets write-ahead logging, with which readers need not wait for a
// writer; the file keeps this setting.
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

// connect opens one connection: SQLite has one writer, and queries are short.
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

func openFile(path string, query url.Values) (*sql.DB, error) {
	if err := files.Lockable(path); err != nil {
		return nil, err
	}
	query.Set("_defensive", "1")
	query["_pragma"] = append(query["_pragma"], "trusted_schema(0)", "cell_size_check(1)")
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

// hold locks a file next to the history: shared to use the history, exclusive to replace it.
func hold(path string, how func(*flock.Flock, context.Context, time.Duration) (bool, error)) (*flock.Flock, error) {
	if err := files.Lockable(path + ".lock"); err != nil {
		return nil, err
	}
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

// Close closes the history.
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

// Result codes of SQLite about the environment of the file, not its content.
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

// explain adds the name of the file to an error, and advice if there is any.
func (s *Store) explain(err error) error {
	var known *sqlite.Error
	var system *os.PathError
	var other foreign
	switch {
	case err == nil, errors.Is(err, ErrUnusable):
		return err
	case errors.Is(err, ErrStrange):
		return fmt.Errorf("the history %s %w", s.path, err)
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

// unusable returns an ErrUnusable that says what is wrong with the file.
func (s *Store) unusable(what string) error {
	return fmt.Errorf("the history %s %s: %w", s.path, what, ErrUnusable)
}

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
