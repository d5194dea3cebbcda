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

// Rebuild makes the history in a file again from the run files below dirs, and from the runs that it knew, as far as
// they still exist. It makes the new history next to the old one, and replaces the old one once the new one is
// complete. It reports and leaves out what it cannot read; a run in progress adds itself when it ends.
func Rebuild(path string, dirs []string, notice func(string)) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	r := &rebuild{path: path, dirs: dirs, notice: notice, seen: map[string]stamp{}}
	err = r.run()
	s := &Store{path: path}
	if errors.Is(err, ErrUnusable) { // of the file next to it, which is unknown
		return fmt.Errorf("the history %s could not be made again: %s", path, err.Error())
	}
	return s.explain(err)
}

type rebuild struct {
	path   string
	dirs   []string
	notice func(string)
	fresh  *Store
	seen   map[string]stamp // run directories
}

// stamp reports whether a run file has changed.
type stamp struct {
	size int64
	time time.Time
}

func (r *rebuild) run() error {
	only := flock.New(filepath.Dir(r.path), flock.SetFlag(os.O_RDONLY)) // where a folder cannot be locked, nothing is swept
	if ok, err := only.TryLock(); err == nil && ok {
		defer only.Unlock() //nolint:errcheck // the next one finds it free, or waits for nothing
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

// sweep removes what killed ones left. The caller is the only one that makes the history again.
func (r *rebuild) sweep() {
	left, _ := filepath.Glob(r.path + ".new-*") // a folder with a [ in its name is not swept
	for _, path := range left {
		_ = os.Remove(path) // it only takes up room
	}
}

// discard removes a history and the files that SQLite keeps next to it.
func discard(path string) {
	for _, end := range []string{"", "-wal", "-shm"} {
		_ = os.Remove(path + end) // it may not be there
	}
}

// fill takes up the runs there are, before anybody has to wait.
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

// replace puts the new history into its place, while no process has the old one open. Runs that have been added to that
// meanwhile are taken up first.
func (r *rebuild) replace(temp string) error {
	lock, err := hold(r.path, (*flock.Flock).TryLockContext)
	if err != nil {
		return err
	}
	defer lock.Unlock() //nolint:errcheck // the file is there by then
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

// removeSideFiles removes what a killed process left: it would be taken for that of the new file.
func removeSideFiles(path string) error {
	for _, end := range []string{"-wal", "-shm"} {
		if err := os.Remove(path + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// syncFile waits until the file is on the disk.
func syncFile(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// known lists the run directories that the old history names; none when it cannot be read.
func (r *rebuild) known() []string {
	if missing(r.path) {
		return nil
	}
	db, err := connect(r.path, false)
	if err != nil {
		return nil
	}
	old := &Store{path: r.path, db: db}
	defer old.Close() //nolint:errcheck // it was only read
	if version, err := versionOf(db); err != nil || version == 0 {
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

// take adds the runs below the directories, and the runs that were known, unless they have not changed since its last
// call.
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

// visit adds the run whose file is at a path. What cannot be read is reported and left out.
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

// add takes up one run, if it is new or has changed.
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
	defer doc.Close() //nolint:errcheck // it was only read
	return r.fresh.Add(doc)
}
