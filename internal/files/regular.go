// Package files reads and writes files with care. It opens regular files up to a bound, replaces files as a whole, reads
// versions in git, copies workspaces, and runs programs once.
package files

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
)

// ErrNotFile is wrapped by the errors of anything but a regular file.
var ErrNotFile = errors.New("not a regular file")

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
func FS(root *os.Root) fs.FS { return confined{root, root.FS(), func(string) {}} }

// Notes receive what is about to be read.
type Notes struct {
	Read func(name string)
	// List gets a glob, and a function that lists the names of the files that match it at the time.
	List func(glob string, matches func() []string)
}

// Noting is FS for a caller that wants to know the names of files, and globs, before they are read.
func Noting(root *os.Root, notes Notes) fs.FS {
	return noting{confined{root, root.FS(), notes.Read}, notes}
}

type noting struct {
	confined
	notes Notes
}

func (n noting) Listing(glob string, matches func() []string) { n.notes.List(glob, matches) }

type confined struct {
	root *os.Root
	all  fs.FS
	note func(name string)
}

func (c confined) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if err := notDeep("open", name); err != nil {
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
	if err := notDeep("stat", name); err != nil {
		return nil, err
	}
	c.note(name)
	return fs.Stat(c.all, name)
}

func (c confined) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(c.all, name) }

func (c confined) ReadLink(name string) (string, error) { return fs.ReadLink(c.all, name) }

func (c confined) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := notDeep("readdir", name); err != nil {
		return nil, err
	}
	return fs.ReadDir(c.all, name)
}

// errEscapes has the words of os.Root.
var errEscapes = errors.New("path escapes from parent")

// Real returns a name without links, for what it leads to or would lead to. A link that leads out of the folder is an error.
func (c confined) Real(name string) (string, error) {
	if err := notDeep("open", name); err != nil {
		return "", err
	}
	left, at := strings.Split(name, "/"), "."
	for links := 0; len(left) > 0; {
		element := left[0]
		left = left[1:]
		if element == ".." && at == "." {
			return "", &fs.PathError{Op: "open", Path: name, Err: errEscapes}
		}
		next := path.Join(at, element) // element may be "..", and at has no links
		info, err := c.root.Lstat(next)
		if errors.Is(err, fs.ErrNotExist) { // the links before it count
			return path.Join(append([]string{next}, left...)...), nil
		}
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		to, err := c.root.Readlink(next)
		switch links++; {
		case err != nil:
			return "", err
		case links > maxLinks:
			return "", &fs.PathError{Op: "open", Path: name, Err: errTooManyLinks}
		case filepath.IsAbs(to):
			return "", &fs.PathError{Op: "open", Path: name, Err: errEscapes}
		}
		left = append(strings.Split(filepath.ToSlash(to), "/"), left...)
	}
	return at, nil
}

func notDeep(op, name string) error {
	if strings.Count(name, "/") < maxDepth {
		return nil
	}
	top, _, _ := strings.Cut(name, "/")
	return &fs.PathError{Op: op, Path: top + "/...", Err: ErrDeep}
}

// Link returns the first link on the way to a file, "" without one. The way begins at the folder base if the file is below
// it, and at the root otherwise. There, links of the system count only if they lead out of their own folder, such as
// /tmp -> /private/tmp does not; the file itself is never a link.
func Link(base, name string) string {
	at := base
	rest := name
	if filepath.IsAbs(name) {
		var below bool
		if rest, below = strings.CutPrefix(name, strings.TrimRight(base, separator)+separator); !below {
			at = filepath.VolumeName(name) + separator
			rest = strings.TrimPrefix(name, at)
		}
	}
	outside := at != base
	elements := strings.FieldsFunc(rest, func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) }) //nolint:gosec // ASCII
	for i, element := range elements {
		if element == ".." { // a link before it would have been found
			at = filepath.Dir(at)
			continue
		}
		at = filepath.Join(at, element)
		info, err := os.Lstat(at)
		switch {
		case err != nil:
			return "" // nothing is there yet
		case info.Mode()&fs.ModeSymlink == 0:
		case !outside || i == len(elements)-1 || LeadsOut(filepath.Dir(at), at):
			return at
		}
	}
	return ""
}

const separator = string(filepath.Separator)

// LeadsOut reports whether a link leads out of a folder, or nowhere.
func LeadsOut(folder, link string) bool {
	real, err := filepath.EvalSymlinks(link)
	if err != nil {
		return true
	}
	if folder, err = filepath.EvalSymlinks(folder); err != nil {
		return true
	}
	rel, err := filepath.Rel(folder, real)
	return err != nil || !filepath.IsLocal(rel)
}

// Standard is the name of standard input.
const Standard = "-"

// taken says that standard input has a reader.
var taken atomic.Bool

// Input opens a regular file that a user named, or standard input for "-", which has one reader.
func Input(name string) (io.ReadCloser, error) {
	if name != Standard {
		return Open(name)
	}
	if taken.Swap(true) {
		return nil, errors.New("standard input can be read only once, and something else is read from it already")
	}
	return io.NopCloser(os.Stdin), nil
}

// ReadInput reads what Input opens, at most limit bytes of it.
func ReadInput(name string, limit int64) ([]byte, error) {
	in, err := Input(name)
	if err != nil {
		return nil, err
	}
	defer in.Close() //nolint:errcheck // it was only read
	return readAll(in, name, limit)
}

// MaxPEM bounds a file of certificates or credentials, in bytes.
const MaxPEM = 1 << 20

// KeyPair reads a certificate and its key, in PEM form.
func KeyPair(cert, key string) (tls.Certificate, error) {
	public, err := ReadFile(cert, MaxPEM)
	if err != nil {
		return tls.Certificate{}, err
	}
	private, err := ReadFile(key, MaxPEM)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(public, private)
}

func readAll(in io.Reader, name string, limit int64) ([]byte, error) {
	tooLarge := fmt.Errorf("%s has more than %d bytes: %w", name, limit, ErrTooLarge)
	if file, ok := in.(interface{ Stat() (os.FileInfo, error) }); ok { // spares the memory for what is refused anyway
		if info, err := file.Stat(); err == nil && info.Size() > limit {
			return nil, tooLarge
		}
	}
	data, err := io.ReadAll(io.LimitReader(in, limit+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(data)) > limit: // it has grown
		return nil, tooLarge
	}
	return data, nil
}
