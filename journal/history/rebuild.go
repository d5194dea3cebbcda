package history

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/evalrun/evalrun/journal"
)

// Rebuild makes the history in a file again, from the run files below dirs and those of the old history
// that still exist. It replaces the old file once the new one is complete. notice gets what it cannot read.
// A run in progress is added when it ends. judge gives each run its verdict; nil gives none.
func Rebuild(path string, dirs []string, notice func(string), judge func(*journal.Document)) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	r := &rebuild{path: path, dirs: dirs, notice: notice, judge: judge, seen: map[string]stamp{}}
	err = r.run()
	s := &Store{path: path}
	if errors.Is(err, ErrUnusable) { // about the temporary file, which the user does not know
		return fmt.Errorf("the history %s could not be made again: %s", path, err.Error())
	}
	return s.explain(err)
}

type rebuild struct {
	path   string
	dirs   []string
	notice func(string)
	judge  func(*journal.Document)
	fresh  *Store
	seen   map[string]stamp // run directories
}

type stamp struct {
	size int64
	time time.Time
}

func (r *rebuild) run() error {
	only := flock.New(filepath.Dir(r.path), flock.SetFlag(os.O_RDONLY)) // if the folder cannot be locked, nothing is swept
	if ok, err := only.TryLock(); err == nil && ok {
		defer only.Unlock() //nolint:errcheck // the process ends soon
		r.sweep()
	}
	temp, err := os.CreateTemp(filepath.Dir(r.path), filepath.Base(r.path)+".new-*")
	if err != nil {
		return err
	}
	defer discard(temp.Name())
	if err := temp.Close(); err != nil {
		return err
	}
	if err := create(temp.Name()); err != nil {
		return err
	}
	db, err := connect(temp.Name(), false)
	if err != nil {
		return err
	}
	r.fresh = &Store{path: temp.Name(), db: db}
	err = r.fill()
	if err = errors.Join(err, r.fresh.Close()); err != nil {
		return err
	}
	return r.replace(temp.Name())
}

// sweep deletes temporary files of killed processes, while no other Rebuild is running.
func (r *rebuild) sweep() {
	left, _ := filepath.Glob(r.path + ".new-*") // a folder with [ in its name is not swept
	for _, path := range left {
		_ = os.Remove(path) // it only takes up space
	}
}

func discard(path string) {
	for _, end := range []string{"", "-wal", "-shm"} {
		_ = os.Remove(path + end) // it may not exist
	}
}

// fill adds the runs before Rebuild locks the old history, so that others wait less.
func (r *rebuild) fill() error {
	lock, err := hold(r.path, (*flock.Flock).TryRLockContext)
	if err != nil {
		return err
	}
	known := r.known()
	if err := lock.Unlock(); err != nil {
		return err
	}
	return r.take(known)
}

// replace moves the new history into place while no process has the old one open. It first adds runs that
// were added to the old one meanwhile.
func (r *rebuild) replace(temp string) error {
	lock, err := hold(r.path, (*flock.Flock).TryLockContext)
	if err != nil {
		return err
	}
	defer lock.Unlock() //nolint:errcheck // the file is in place by then
	known := r.known()
	if r.fresh.db, err = connect(temp, false); err != nil {
		return err
	}
	if err := errors.Join(r.take(known), r.fresh.Close(), syncFile(temp)); err != nil {
		return err
	}
	if err := removeSideFiles(r.path); err != nil {
		return err
	}
	if was, err := os.Stat(r.path); err == nil {
		if err := os.Chmod(temp, was.Mode().Perm()); err != nil {
			return err
		}
	}
	return os.Rename(temp, r.path)
}

// removeSideFiles deletes side files of a killed process, which SQLite would apply to the new file.
func removeSideFiles(path string) error {
	for _, end := range []string{"-wal", "-shm"} {
		if err := os.Remove(path + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// syncFile returns once the file is on the disk.
func syncFile(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// known returns the run directories in the old history; none if it cannot be read.
func (r *rebuild) known() []string {
	if missing(r.path) {
		return nil
	}
	db, err := connect(r.path, false)
	if err != nil {
		return nil
	}
	old := &Store{path: r.path, db: db}
	defer old.Close() //nolint:errcheck // only read
	if version, err := admit(db); err != nil || version == 0 {
		return nil
	}
	dirs, err := collect(old, func(rows *sql.Rows, dir *string) error { return rows.Scan(dir) }, "SELECT dir FROM run ORDER BY started, id")
	if err != nil {
		return nil
	}
	for i := range dirs {
		dirs[i] = old.placed(dirs[i])
	}
	return dirs
}

// take adds the runs below the directories and the known ones, if they changed since its last call.
func (r *rebuild) take(known []string) error {
	for _, dir := range r.dirs {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		if err := filepath.WalkDir(dir, r.visit); err != nil {
			return err
		}
	}
	for _, dir := range known {
		if _, err := os.Stat(filepath.Join(dir, journal.FileName)); err == nil {
			if err := r.add(dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// visit adds the run whose file is at a path. It reports and skips what it cannot read.
func (r *rebuild) visit(path string, entry fs.DirEntry, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		r.notice(err.Error())
		return nil
	case entry.IsDir() || entry.Name() != journal.FileName:
		return nil
	}
	return r.add(filepath.Dir(path))
}

// add adds a run if it is new or has changed.
func (r *rebuild) add(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	info, err := os.Stat(filepath.Join(dir, journal.FileName))
	if err != nil {
		r.notice(err.Error())
		return nil
	}
	now := stamp{info.Size(), info.ModTime()}
	if r.seen[dir] == now {
		return nil
	}
	r.seen[dir] = now
	doc, err := journal.Open(dir)
	if err != nil {
		r.notice(err.Error())
		return nil
	}
	defer doc.Close() //nolint:errcheck // only read
	if r.judge != nil && doc.End != nil {
		r.judge(doc)
	}
	return r.fresh.Add(doc)
}
