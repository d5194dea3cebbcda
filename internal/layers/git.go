package layers

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Check says why there is no such version.
func (g Git) Check() error {
	if out, err := git(g.Dir, "rev-parse", "--verify", "--quiet", g.Ref+"^{commit}"); err != nil {
		return fmt.Errorf("there is no version %s in the git repository of %s%s", g.Ref, g.Dir, said(out))
	}
	return nil
}

func git(dir string, args ...string) ([]byte, error) {
	cmd := exec.Command("git", append([]string{"-C", dir}, args...)...) //nolint:gosec // the arguments are no options
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return complaint.Bytes(), err
	}
	return out, nil
}

func said(complaint []byte) string {
	if text := strings.TrimSpace(string(complaint)); text != "" {
		return ": " + text
	}
	return ""
}

// Git are the files of a folder in a version.
type Git struct {
	Dir string // of the working tree
	Ref string // the version, such as main or v1.2
}

// Open reads a file out of the repository.
func (g Git) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	data, err := git(g.Dir, "show", g.Ref+":./"+filepath.ToSlash(name))
	var failed *exec.ExitError
	switch {
	case errors.As(err, &failed):
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	case err != nil:
		return nil, fmt.Errorf("git cannot be run: %w", err)
	}
	mode := fs.FileMode(0o444)
	if bytes.HasPrefix(data, []byte("tree "+g.Ref+":")) { // what git shows of a folder
		mode |= fs.ModeDir
	}
	return &memoryFile{bytes.NewReader(data), path.Base(name), mode}, nil
}

// ReadDir lists a folder, for globs.
func (g Git) ReadDir(name string) ([]fs.DirEntry, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrInvalid}
	}
	out, err := git(g.Dir, "ls-tree", "-z", g.Ref, "./"+name+"/")
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	var entries []fs.DirEntry
	for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		what, file, _ := strings.Cut(line, "\t")
		one := &memoryFile{bytes.NewReader(nil), path.Base(file), 0o444}
		if strings.Contains(what, " tree ") {
			one.mode |= fs.ModeDir
		}
		if file != "" {
			entries = append(entries, fs.FileInfoToDirEntry(one))
		}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// memoryFile is a file that was read already, which is its own description.
type memoryFile struct {
	*bytes.Reader
	name string
	mode fs.FileMode
}

func (f *memoryFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f *memoryFile) Close() error               { return nil }
func (f *memoryFile) Name() string               { return f.name }
func (f *memoryFile) Mode() fs.FileMode          { return f.mode }
func (f *memoryFile) ModTime() time.Time         { return time.Time{} }
func (f *memoryFile) IsDir() bool                { return f.mode.IsDir() }
func (f *memoryFile) Sys() any                   { return nil }
