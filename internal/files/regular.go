// Package files reads and writes files with care. It opens regular files up to a bound, replaces files as a whole, reads
// versions in git, copies workspaces, and runs programs once.
package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// ErrNotFile is wrapped by the errors of anything but a regular file.
var ErrNotFile = errors.New("not a regular file")

// Errors that the errors of Plain wrap.
var (
	ErrHidden = errors.New("its name, or that of a folder on the way, begins with a dot")
	ErrLink   = errors.New("it is a link, or a folder on the way is")
)

// ErrTooLarge is wrapped by the errors of files that are larger than is read.
var ErrTooLarge = errors.New("too large")

// ErrDeep is wrapped by the errors of an FS for what is in too many folders: each of them is opened again for each name.
var ErrDeep = fmt.Errorf("it is more than %d folders deep", maxDepth)

const maxDepth = 255

// Open opens a regular file to be read.
func Open(name string) (*os.File, error) {
	file, err := os.OpenFile(name, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, err
	}
	return checked(file, name, false)
}

// ReadFile reads a regular file of at most limit bytes.
func ReadFile(name string, limit int64) ([]byte, error) {
	file, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	return readAll(file, name, limit)
}

// Lockable returns an error for a path that is anything but a regular file, or not there yet: to open a pipe as a lock would
// wait for ever.
func Lockable(name string) error {
	info, err := os.Stat(name)
	if err != nil || info.Mode().IsRegular() {
		return nil
	}
	return &fs.PathError{Op: "lock", Path: name, Err: fmt.Errorf("%w, but %s", ErrNotFile, kind(info.Mode()))}
}

func checked(file *os.File, name string, folders bool) (*os.File, error) {
	info, err := file.Stat()
	switch {
	case err != nil:
	case info.Mode().IsRegular() || folders && info.IsDir():
		return file, nil
	default:
		err = &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("%w, but %s", ErrNotFile, kind(info.Mode()))}
	}
	_ = file.Close() // the first error is the one to report
	return nil, err
}

func kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "something else"
}

// FS is the file system below a folder. It opens nothing but regular files and folders.
func FS(root *os.Root) fs.FS { return confined{root, root.FS(), func(string) {}, false} }

// Plain is FS without links, and without files and folders whose names begin with a dot: keys are often kept in them.
func Plain(root *os.Root) fs.FS { return confined{root, root.FS(), func(string) {}, true} }

// Notes receive what is about to be read.
type Notes struct {
	Read func(name string)
	// List gets a glob, and a function that lists the names of the files that match it at the time.
	List func(glob string, matches func() []string)
	// Plain leaves out what Plain leaves out.
	Plain bool
}

// Noting is FS for a caller that wants to know the names of files, and globs, before they are read.
func Noting(root *os.Root, notes Notes) fs.FS {
	return noting{confined{root, root.FS(), notes.Read, notes.Plain}, notes}
}

type noting struct {
	confined
	notes Notes
}

func (n noting) Listing(glob string, matches func() []string) { n.notes.List(glob, matches) }

type confined struct {
	root  *os.Root
	all   fs.FS
	note  func(name string)
	plain bool
}

// check refuses names that are too deep or that Plain leaves out.
func (c confined) check(op, name string) error {
	if err := notDeep(op, name); err != nil || !c.plain {
		return err
	}
	for i, r := range name + "/" {
		if r != '/' {
			continue
		}
		at := name[:i]
		if base := path.Base(at); base != "." && strings.HasPrefix(base, ".") {
			return &fs.PathError{Op: op, Path: name, Err: ErrHidden}
		}
		if info, err := c.root.Lstat(at); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return &fs.PathError{Op: op, Path: name, Err: ErrLink}
		}
	}
	return nil
}

func (c confined) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if err := c.check("open", name); err != nil {
		return nil, err
	}
	c.note(name)
	file, err := c.root.OpenFile(name, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, err
	}
	out, err := checked(file, name, true)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c confined) Stat(name string) (fs.FileInfo, error) {
	if err := c.check("stat", name); err != nil {
		return nil, err
	}
	c.note(name)
	return fs.Stat(c.all, name)
}

func (c confined) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(c.all, name) }

func (c confined) ReadLink(name string) (string, error) { return fs.ReadLink(c.all, name) }

func (c confined) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := c.check("readdir", name); err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(c.all, name)
	if c.plain {
		entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), ".") })
	}
	return entries, err
}

func notDeep(op, name string) error {
	if strings.Count(name, "/") < maxDepth {
		return nil
	}
	top, _, _ := strings.Cut(name, "/")
	return &fs.PathError{Op: op, Path: top + "/...", Err: ErrDeep}
}
