package files

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Git is a folder in a version of a git repository, as a file system.
type Git struct {
	Dir string // in the working tree
	Ref string // a version, such as main or v1.2
	// Filtered applies the filters of a checkout, such as line endings and LFS. The repository configures
	// them, and they may start programs.
	Filtered bool
}

// Commit returns the full hash of the version, which stays the same when a branch moves. Its error says why
// the version cannot be found.
func (g Git) Commit() (string, error) {
	out, err := git(g.Dir, nil, "rev-parse", "--verify", "--quiet", g.Ref+"^{commit}")
	if err != nil {
		return "", fmt.Errorf("there is no version %s in the git repository of %s%s", g.Ref, g.Dir, said(out))
	}
	return strings.TrimSpace(string(out)), nil
}

// IsOfRemote reports whether the version is a branch as it was fetched, which a checkout cannot change.
func (g Git) IsOfRemote() bool {
	out, err := git(g.Dir, nil, "rev-parse", "--symbolic-full-name", g.Ref)
	return err == nil && strings.HasPrefix(string(out), "refs/remotes/")
}

func git(dir string, env []string, args ...string) ([]byte, error) {
	cmd := exec.Command("git", append([]string{"-C", dir}, args...)...) //nolint:gosec // callers pass no user input as an option
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	if env != nil {
		cmd.Env = append(os.Environ(), env...)
	}
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

// Open reads a file from the repository.
func (g Git) Open(name string) (fs.File, error) {
	at, info, err := g.find("open", name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return info, nil
	}
	how := "blob"
	if g.Filtered {
		how = "--filters"
	}
	data, err := git(g.Dir, nil, "cat-file", how, g.Ref+":./"+at)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: gitError(err)}
	}
	info.Reader, info.size = bytes.NewReader(data), int64(len(data))
	return info, nil
}

// Stat implements fs.StatFS without reading the file.
func (g Git) Stat(name string) (fs.FileInfo, error) {
	_, info, err := g.find("stat", name)
	return info, err
}

// Lstat implements fs.ReadLinkFS.
func (g Git) Lstat(name string) (fs.FileInfo, error) {
	info, err := g.plainEntry("lstat", name)
	if err != nil {
		return nil, err
	}
	return info, nil
}

// ReadLink implements fs.ReadLinkFS.
func (g Git) ReadLink(name string) (string, error) {
	info, err := g.plainEntry("readlink", name)
	if err != nil {
		return "", err
	}
	if info.mode&fs.ModeSymlink == 0 {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	return g.target(name)
}

// plainEntry does not follow a link.
func (g Git) plainEntry(op, name string) (*memoryFile, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	info, err := g.entry(name)
	if err != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	return info, nil
}

// target returns the target of a link, which git stores as the content of a file.
func (g Git) target(link string) (string, error) {
	to, err := git(g.Dir, nil, "cat-file", "blob", g.Ref+":./"+link)
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: link, Err: gitError(err)}
	}
	return string(to), nil
}

// maxLinks bounds a chain of symbolic links, which may be circular.
const maxLinks = 10

var errTooManyLinks = errors.New("too many symbolic links")

// find follows symbolic links; at is the name of the file itself.
func (g Git) find(op, name string) (at string, info *memoryFile, err error) {
	at = name
	for range maxLinks {
		if !fs.ValidPath(at) {
			return "", nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
		}
		if info, err = g.entry(at); err != nil {
			return "", nil, &fs.PathError{Op: op, Path: name, Err: err}
		}
		if info.mode&fs.ModeSymlink == 0 {
			info.name = path.Base(name)
			return at, info, nil
		}
		to, err := g.target(at)
		if err != nil {
			return "", nil, err
		}
		at = path.Join(path.Dir(at), to)
	}
	return "", nil, &fs.PathError{Op: op, Path: name, Err: errTooManyLinks}
}

// Real returns the name of the file to which a link leads.
func (g Git) Real(name string) (string, error) {
	at, _, err := g.find("open", name)
	return at, err
}

func (g Git) entry(name string) (*memoryFile, error) {
	if name == "." {
		return newMemoryFile(name, fs.ModeDir|0o555, 0), nil
	}
	out, err := git(g.Dir, nil, "--literal-pathspecs", "ls-tree", "-z", "--long", g.Ref, "./"+name)
	if err != nil {
		return nil, gitError(err)
	}
	line, _, _ := strings.Cut(string(out), "\x00")
	if info := parseEntry(line); info != nil {
		return info, nil
	}
	return nil, fs.ErrNotExist
}

// gitError turns a failure of git into fs.ErrNotExist. Any other error means that git could not be started.
func gitError(err error) error {
	if _, failed := errors.AsType[*exec.ExitError](err); failed {
		return fs.ErrNotExist
	}
	return fmt.Errorf("git cannot be run: %w", err)
}

// parseEntry parses a line of ls-tree --long. It returns nil for other lines.
func parseEntry(line string) *memoryFile {
	what, file, ok := strings.Cut(line, "\t")
	fields := strings.Fields(what) // mode, kind, object, size
	if !ok || len(fields) < 4 {
		return nil
	}
	size, _ := strconv.ParseInt(fields[3], 10, 64) // folders have no size
	return newMemoryFile(path.Base(file), modeOf(fields[0]), size)
}

func modeOf(mode string) fs.FileMode {
	switch mode {
	case "100755":
		return 0o555
	case "120000":
		return fs.ModeSymlink | 0o444
	case "040000", "160000": // a submodule counts as an empty folder
		return fs.ModeDir | 0o555
	}
	return 0o444
}

// ReadDir implements fs.ReadDirFS.
func (g Git) ReadDir(name string) ([]fs.DirEntry, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrInvalid}
	}
	out, err := git(g.Dir, nil, "--literal-pathspecs", "ls-tree", "-z", "--long", g.Ref, "./"+name+"/")
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	var entries []fs.DirEntry
	for line := range strings.SplitSeq(string(out), "\x00") {
		if one := parseEntry(line); one != nil {
			one.mode &^= fs.ModeSymlink // because Open follows links
			entries = append(entries, fs.FileInfoToDirEntry(one))
		}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// Files lists the files below the folder, by their paths in it, with slashes; none where git cannot list them.
func (g Git) Files() []string {
	out, err := git(g.Dir, nil, "ls-tree", "-r", "-z", "--name-only", g.Ref)
	if err != nil {
		return nil
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
}

// Prefix returns the path of the folder in the repository, "" for the root.
func (g Git) Prefix() (string, error) {
	out, err := git(g.Dir, nil, "rev-parse", "--show-prefix")
	if err != nil {
		return "", fmt.Errorf("git cannot find where %s is in its repository%s", g.Dir, said(out))
	}
	return filepath.FromSlash(strings.TrimSpace(string(out))), nil
}

// Checkout writes all files of the version into a new folder. It changes neither the index nor the working
// tree.
func (g Git) Checkout(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	top, err := git(g.Dir, nil, "rev-parse", "--show-toplevel")
	if err != nil {
		return fmt.Errorf("git cannot find the repository of %s%s", g.Dir, said(top))
	}
	root := strings.TrimSpace(string(top))
	index := dir + ".index" // a temporary index next to the folder
	defer os.Remove(index)  //nolint:errcheck // it may not exist
	env := []string{"GIT_INDEX_FILE=" + index}
	for _, args := range [][]string{
		{"read-tree", g.Ref},
		{"checkout-index", "--all", "--quiet", "--prefix=" + filepath.ToSlash(dir) + "/"},
	} {
		if out, err := git(root, env, args...); err != nil {
			return fmt.Errorf("git cannot check out %s: %w%s", g.Ref, err, said(out))
		}
	}
	return nil
}

// Changed reports whether a file of the work tree is another one in the version, or git keeps it and the version does not have
// it.
func (g Git) Changed(name string) bool {
	was, err := git(g.Dir, nil, "rev-parse", "--verify", "--quiet", g.Ref+":./"+name)
	if err != nil {
		_, err := git(g.Dir, nil, "--literal-pathspecs", "ls-files", "--error-unmatch", "--", "./"+name)
		return err == nil
	}
	args := []string{"hash-object", "./" + name}
	if !g.Filtered {
		args = slices.Insert(args, 1, "--no-filters")
	}
	is, err := git(g.Dir, nil, args...)
	return err != nil || !bytes.Equal(was, is)
}

type memoryFile struct {
	*bytes.Reader
	name string
	mode fs.FileMode
	size int64
}

func newMemoryFile(name string, mode fs.FileMode, size int64) *memoryFile {
	return &memoryFile{bytes.NewReader(nil), name, mode, size}
}

func (f *memoryFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f *memoryFile) Close() error               { return nil }
func (f *memoryFile) Name() string               { return f.name }
func (f *memoryFile) Mode() fs.FileMode          { return f.mode }
func (f *memoryFile) ModTime() time.Time         { return time.Time{} }
func (f *memoryFile) IsDir() bool                { return f.mode.IsDir() }
func (f *memoryFile) Size() int64                { return f.size }
func (f *memoryFile) Sys() any                   { return nil }
