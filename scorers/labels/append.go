package labels

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"
)

// Waiting for another process that writes: for how long, and how often to try.
const (
	patience = 10 * time.Second
	retry    = 10 * time.Millisecond
)

// Append adds a label to the file of its suite in a folder, and creates the file if needed. lock is a file
// that processes lock in turn. A label that repeats the last one of the person is not written. The error is
// about an invalid label, or a file that cannot be written.
func Append(dir, lock string, l *Label) error {
	if err := l.Check(); err != nil {
		return err
	}
	info, err := os.Lstat(lock) //nolint:gosec // the caller's path, not part of a request
	if err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file, and labels are locked by no other", lock)
	}
	turn := flock.New(lock)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if ok, err := turn.TryLockContext(ctx, retry); err != nil || !ok {
		return fmt.Errorf("the labels are locked by another process: %w", errors.Join(err, ctx.Err()))
	}
	defer turn.Unlock() //nolint:errcheck // ends with the process
	if was, err := Read(dir, l.Suite); err != nil {
		return err
	} else if was.says(l) {
		return nil
	}
	return appendLine(dir, l)
}

// says reports whether the person's last label is the same.
func (f *File) says(l *Label) bool {
	if len(f.said[l.Key()]) == 0 && l.Label == None && l.Comment == "" {
		return true
	}
	return slices.ContainsFunc(f.said[l.Key()], func(one Label) bool {
		return one.Who == l.Who && one.Label == l.Label && one.Comment == l.Comment
	})
}

// appendLine writes the whole line or nothing.
func appendLine(dir string, l *Label) (err error) {
	name, err := FileName(l.Suite)
	if err != nil {
		return err
	}
	line, err := encode(l)
	if err != nil {
		return err
	}
	file, size, err := openFile(dir, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if ended, err := endsLine(file, size); err != nil {
		return err
	} else if !ended {
		line = append([]byte{'\n'}, line...)
	}
	if size+int64(len(line)) > maxFile {
		return fmt.Errorf("%s would have more than %d bytes: start a new one", filepath.Join(dir, name), maxFile)
	}
	if _, err := file.Write(line); err != nil {
		return errors.Join(err, file.Truncate(size))
	}
	return file.Sync()
}

// encode returns the line of a label. It does not escape < and &, since reviewers read the file.
func encode(l *Label) ([]byte, error) {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	err := enc.Encode(l)
	return line.Bytes(), err
}

// openFile opens the file for appending. It accepts only a regular file in the folder, because a link could
// lead to any file of the user.
func openFile(dir, name string) (*os.File, int64, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, 0, err
	}
	defer root.Close() //nolint:errcheck // the file stays open
	before, err := root.Lstat(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, 0, err
	}
	how := os.O_RDWR | os.O_APPEND
	if before == nil {
		how |= os.O_CREATE | os.O_EXCL
	} else if !before.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s is not a regular file, and labels are written to no other", filepath.Join(dir, name))
	}
	file, err := root.OpenFile(name, how, 0o644)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err == nil && before != nil && !os.SameFile(before, info) {
		err = fmt.Errorf("%s was replaced meanwhile", filepath.Join(dir, name))
	}
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, info.Size(), nil
}

// endsLine reports whether the file ends with a line break. A person may have written the last line without one.
func endsLine(file io.ReaderAt, size int64) (bool, error) {
	if size == 0 {
		return true, nil
	}
	last := make([]byte, 1)
	_, err := file.ReadAt(last, size-1)
	return last[0] == '\n', err
}
