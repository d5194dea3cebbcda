package files

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"strings"
)

// Overlay looks for each file in several file systems. The first one with the file counts.
type Overlay []fs.FS

// firstOf is what the first file system gives that has the file.
func firstOf[T any](o Overlay, get func(layer fs.FS) (T, error)) (out T, err error) {
	for _, layer := range o {
		if out, err = get(layer); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return out, err
}

// Open opens a file in the first file system that has it.
func (o Overlay) Open(name string) (fs.File, error) {
	return firstOf(o, func(layer fs.FS) (fs.File, error) { return layer.Open(name) })
}

// Stat implements fs.StatFS.
func (o Overlay) Stat(name string) (fs.FileInfo, error) {
	return firstOf(o, func(layer fs.FS) (fs.FileInfo, error) { return fs.Stat(layer, name) })
}

// Lstat implements fs.ReadLinkFS.
func (o Overlay) Lstat(name string) (fs.FileInfo, error) {
	return firstOf(o, func(layer fs.FS) (fs.FileInfo, error) { return fs.Lstat(layer, name) })
}

// ReadLink implements fs.ReadLinkFS.
func (o Overlay) ReadLink(name string) (target string, err error) {
	for _, layer := range o {
		if target, err = fs.ReadLink(layer, name); err == nil {
			break
		}
	}
	return target, err
}

// ReadDir lists the entries of a folder in all file systems together.
func (o Overlay) ReadDir(name string) (out []fs.DirEntry, err error) {
	found := false
	for _, layer := range o {
		entries, e := fs.ReadDir(layer, name)
		if e != nil {
			err = e
			continue
		}
		found = true
		for _, entry := range entries {
			if !slices.ContainsFunc(out, func(other fs.DirEntry) bool { return other.Name() == entry.Name() }) {
				out = append(out, entry)
			}
		}
	}
	if !found {
		return nil, err
	}
	slices.SortFunc(out, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return out, nil
}

// With is a file system with one additional file.
type With struct {
	fs.FS
	Name string
	Text []byte
}

// Open returns Text for Name, and otherwise the file in FS.
func (f With) Open(name string) (fs.File, error) {
	if name == f.Name {
		return &memoryFile{bytes.NewReader(f.Text), name, 0o444, int64(len(f.Text))}, nil
	}
	return f.FS.Open(name)
}

// Lstat implements fs.ReadLinkFS.
func (f With) Lstat(name string) (fs.FileInfo, error) {
	if name == f.Name {
		return fs.Stat(f, name)
	}
	return fs.Lstat(f.FS, name)
}

// ReadLink implements fs.ReadLinkFS.
func (f With) ReadLink(name string) (string, error) { return fs.ReadLink(f.FS, name) }

// ReadDir does not list the additional file.
func (f With) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(f.FS, name) }
