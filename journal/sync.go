package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
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
