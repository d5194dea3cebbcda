package project

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/githead"
	"github.com/evalrun/evalrun/internal/regular"
)

// maxFile bounds a project file, in bytes.
const maxFile = 1 << 20

// Find is the project file of a folder: its own, or that of the nearest folder above it, up to the root of the
// repository or the home folder. Outside both it is the folder's own alone: what lies further up may be anybody's. It
// is "" when there is none.
func Find(dir, home string) string {
	for _, at := range within(dir, home) {
		path := filepath.Join(at, FileName)
		if _, err := os.Lstat(path); err == nil {
			return path
		}
	}
	return ""
}

// within lists a folder and those above it up to the bound.
func within(dir, home string) []string {
	out := []string{dir}
	for at := dir; ; at = filepath.Dir(at) {
		if at != dir {
			out = append(out, at)
		}
		if _, err := os.Lstat(filepath.Join(at, githead.Repository)); err == nil || home != "" && same(at, home) {
			return out
		}
		if filepath.Dir(at) == at {
			return out[:1]
		}
	}
}

// same reports whether two folders are one.
func same(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// Read reads a project file. One that was found must belong to the user, and nobody else may change it, since its author
// chooses where the key goes. One that the user named is read as it is.
func Read(path, shown string, named bool, diags *diag.List) (*File, error) {
	in, err := regular.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && named:
		return nil, exit.BadInput("there is no project file %s", shown)
	case err != nil:
		return nil, exit.BadInput("the project file %s cannot be read: %w; --no-config runs without", shown, err)
	}
	defer in.Close() //nolint:errcheck // it was only read
	info, err := in.Stat()
	if err != nil {
		return nil, exit.BadInput("the project file %s cannot be read: %w", shown, err)
	}
	if !named {
		if err := own(path, shown, info); err != nil {
			return nil, err
		}
	}
	text, err := regular.ReadFile(path, maxFile)
	if err != nil {
		return nil, exit.BadInput("the project file %s cannot be read: %w", shown, err)
	}
	return Load(path, shown, text, diags), nil
}

// own wants a file that nobody but its user, and the system's, has written or may replace.
func own(path, shown string, info fs.FileInfo) error {
	const elsewhere = "and it could send your key elsewhere"
	ways := "--config " + shown + " uses it, --no-config runs without"
	if !owned(info) {
		return exit.BadInput("the project file %s belongs to another user, %s: %s", shown, elsewhere, ways)
	}
	if changeable(info) {
		return exit.BadInput("other users may change the project file %s (%s), %s: run `chmod go-w %[1]s`; %[4]s",
			shown, info.Mode(), elsewhere, ways)
	}
	dirs := []string{filepath.Dir(path)}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		dirs = append(dirs, filepath.Dir(real))
	}
	for i, dir := range dirs {
		folder, err := os.Stat(dir)
		if err != nil || !replaceable(folder) {
			continue
		}
		if i == 0 { // as the user would name it
			dir = filepath.Dir(shown)
		}
		return exit.BadInput(
			"other users may replace the project file %s, since they may change its folder %s (%s), %s: run `chmod go-w %[2]s`; %[5]s",
			shown, dir, folder.Mode(), elsewhere, ways,
		)
	}
	return nil
}
