package harness

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// interleaved reads --interleave: a suite file and the version of it, as git names it, whose arms are asked beside the suite's own.
func interleaved(text string) (file, ref string, err error) {
	if text == "" {
		return "", "", nil
	}
	at := strings.LastIndexByte(text, '@')
	if at <= 0 || !plainRef.MatchString(text[at+1:]) {
		return "", "", exit.BadInput("--interleave takes SUITE@REF, such as suite.yaml@main, and not %s", text)
	}
	return text[:at], text[at+1:], nil
}

// plainRef is a version that git cannot take for an option or a range.
var plainRef = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./~^-]*$`)

// earlier loads an earlier version of a suite out of the repository in whose folder it stands.
func earlier(dir, base, ref string, opts suite.Options) (*suite.Suite, error) {
	if out, err := git(dir, "rev-parse", "--verify", "--quiet", ref+"^{commit}"); err != nil {
		return nil, exit.BadInput("--interleave: there is no version %s in the git repository of %s%s", ref, dir, said(out))
	}
	return loadEarlier(gitFiles{dir, ref}, base, ref, opts)
}

// loadEarlier loads an earlier version of a suite. Its mistakes are one error: nobody can repair them any more.
func loadEarlier(files fs.FS, base, ref string, opts suite.Options) (*suite.Suite, error) {
	opts.Expected = noFiles{} // its answers are judged by the suite itself
	var diags diag.List
	s := suite.Load(files, base, base+"@"+ref, scorers.Builtin(), opts, &diags)
	if diags.HasErrors() {
		return nil, exit.BadInput("--interleave: the version %s of %s cannot be used: %w", ref, base, diags.Err())
	}
	return s, nil
}

// noFiles is an empty folder.
type noFiles struct{}

// Open finds nothing.
func (noFiles) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
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

// gitFiles are the files of a folder as they were in a version.
type gitFiles struct{ dir, ref string }

// Open reads a file out of the repository.
func (g gitFiles) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	data, err := git(g.dir, "show", g.ref+":./"+filepath.ToSlash(name))
	var failed *exec.ExitError
	switch {
	case errors.As(err, &failed):
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	case err != nil:
		return nil, fmt.Errorf("git cannot be run: %w", err)
	}
	mode := fs.FileMode(0o444)
	if bytes.HasPrefix(data, []byte("tree "+g.ref+":")) { // what git shows of a folder
		mode |= fs.ModeDir
	}
	return &memoryFile{bytes.NewReader(data), path.Base(name), mode}, nil
}

// ReadDir lists a folder, for globs.
func (g gitFiles) ReadDir(name string) ([]fs.DirEntry, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrInvalid}
	}
	out, err := git(g.dir, "ls-tree", "-z", g.ref, "./"+name+"/")
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
