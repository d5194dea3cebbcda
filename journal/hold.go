package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/evalrun/evalrun/internal/files"
)

// syncLoop brings written lines to the disk from time to time, and looks whether the file is there.
func (w *Writer) syncLoop() {
	defer close(w.done)
	tick := time.NewTicker(syncEvery)
	defer tick.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-tick.C:
			if !w.look() {
				return
			}
		}
	}
}

// look syncs what was written, and reports whether the file is as this process left it.
func (w *Writer) look() bool {
	w.mu.Lock()
	dirty := w.dirty
	w.dirty = false
	err := errors.Join(w.unchanged(), w.stillThere())
	w.mu.Unlock()
	if err == nil && dirty {
		err = w.file.Sync()
	}
	if err == nil {
		return true
	}
	w.mu.Lock()
	if w.err == nil {
		w.err = fmt.Errorf("the run file cannot be written: %w", err)
	}
	err, broken := w.err, w.broken
	w.mu.Unlock()
	if broken != nil {
		broken(err)
	}
	return false
}

// unchanged returns an error when another program cut the file or wrote to it: lines would be missing in the middle.
func (w *Writer) unchanged() error {
	mine, err := w.file.Stat()
	if err == nil && mine.Size() != w.size {
		err = fmt.Errorf("another program changed it: it has %d bytes instead of %d", mine.Size(), w.size)
	}
	return err
}

// stillThere returns an error when the file was moved or deleted, since further lines would be lost.
func (w *Writer) stillThere() error {
	mine, err := w.file.Stat()
	if err != nil {
		return err
	}
	there, err := os.Stat(w.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("another program removed it")
	case err == nil && !os.SameFile(mine, there):
		return errors.New("another program replaced it by another file")
	}
	return err
}

// Hold keeps writers away from a run until release. The error is ErrLocked while a process writes to it.
func Hold(dir string) (release func() error, err error) {
	lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	letGo := func() error { return errors.Join(removeQuietly(lock.Path()), lock.Unlock()) }
	if runtime.GOOS == "windows" {
		return letGo, nil
	}
	file := flock.New(filepath.Join(dir, FileName), flock.SetFlag(os.O_RDWR))
	ok, err := file.TryLock()
	if err == nil && !ok {
		err = fmt.Errorf("%s: %w", dir, ErrLocked)
	}
	if err != nil {
		return nil, errors.Join(err, letGo())
	}
	return func() error { return errors.Join(file.Unlock(), letGo()) }, nil
}

// ReportName is the name of the HTML report in a run directory.
const ReportName = "report.html"

// IsOwn reports whether a name is one that evalrun gives to a file or a folder at the top of a run directory.
func IsOwn(name string) bool {
	switch name {
	case FileName, headerName, lockName, copiesDir, "workspaces", ReportName, FileName + newSuffix, FileName + partSuffix:
		return true
	}
	return isTemporary(name) || strings.HasPrefix(name, files.Prefix)
}

// IsRemains reports whether a directory has only what a process left that was killed before its run file was there.
func IsRemains(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && !isLocked(dir) && !slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return e.Name() == FileName || !IsOwn(e.Name())
	})
}
