// Package layers has the file systems that suites are read from: several on top of each other, the versions of a git
// repository, and a folder with one more file.
package layers

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"strings"
)

// Overlay is several file systems. The first that has a file gives it.
type Overlay []fs.FS

// Open opens a file of the first file system that has it.
func (o Overlay) Open(name string) (file fs.File, err error) {
	for _, layer := range o {
		if file, err = layer.Open(name); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return file, err
}

// Stat describes a file of the first file system that has it.
func (o Overlay) Stat(name string) (info fs.FileInfo, err error) {
	for _, layer := range o {
		if info, err = fs.Stat(layer, name); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return info, err
}

// Lstat describes a file or a link of the first file system that has it.
func (o Overlay) Lstat(name string) (info fs.FileInfo, err error) {
	for _, layer := range o {
		if info, err = fs.Lstat(layer, name); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return info, err
}

// ReadLink is where a link of the first file system that has it leads.
func (o Overlay) ReadLink(name string) (target string, err error) {
	for _, layer := range o {
		if target, err = fs.ReadLink(layer, name); err == nil {
			break
		}
	}
	return target, err
}

// ReadDir lists what any of the file systems has in a folder.
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

// With is a file system with one more file.
type With struct {
	fs.FS
	Name string
	Text []byte
}

// Open opens a file, or that one.
func (f With) Open(name string) (fs.File, error) {
	if name == f.Name {
		return &memoryFile{bytes.NewReader(f.Text), name, 0o444, int64(len(f.Text))}, nil
	}
	return f.FS.Open(name)
}

// Lstat describes a file or a link.
func (f With) Lstat(name string) (fs.FileInfo, error) {
	if name == f.Name {
		return fs.Stat(f, name)
	}
	return fs.Lstat(f.FS, name)
}

// ReadLink is where a link leads.
func (f With) ReadLink(name string) (string, error) { return fs.ReadLink(f.FS, name) }

// ReadDir lists a folder, for globs.
func (f With) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(f.FS, name) }
