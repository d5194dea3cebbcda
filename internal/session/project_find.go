package session

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
)

// maxFile bounds a project file, in bytes.
const maxFile = 1 << 20

// findProject returns the project file of a folder: its own, or that of the nearest folder above it. It searches
// up to the root of the repository or the home folder. Outside both it looks only in dir, because files
// further up may belong to others. It returns "" when there is none.
func findProject(dir, home string) string {
	for _, at := range within(dir, home) {
		path := filepath.Join(at, FileName)
		if _, err := os.Lstat(path); err == nil {
			return path
		}
	}
	return ""
}

func within(dir, home string) []string {
	out := []string{dir}
	for at := dir; ; at = filepath.Dir(at) {
		if at != dir {
			out = append(out, at)
		}
		if _, err := os.Lstat(filepath.Join(at, files.Repository)); err == nil || home != "" && same(at, home) {
			return out
		}
		if filepath.Dir(at) == at {
			return out[:1]
		}
	}
}

// same follows links, so that a home folder is recognized under another path.
func same(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// readProject reads a project file. A file that was found must belong to the user, since its author chooses where
// the key is sent; readProject warns when other users may change it. A file that the user named is not checked.
func (f *Options) readProject(path, shown string, diags *diag.List) (*projectFile, error) {
	named := !f.ProjectFound
	in, err := files.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && named:
		return nil, eval.BadInput("there is no project file %s", shown)
	case err != nil:
		return nil, eval.BadInput("the project file %s cannot be read: %w; --no-config runs without", shown, err)
	}
	defer in.Close() //nolint:errcheck // only read
	info, err := in.Stat()
	if err != nil {
		return nil, eval.BadInput("the project file %s cannot be read: %w", shown, err)
	}
	if !named {
		if err := own(path, shown, info, diags); err != nil {
			return nil, err
		}
	}
	text, err := files.ReadFile(path, maxFile)
	if err != nil {
		return nil, eval.BadInput("the project file %s cannot be read: %w", shown, err)
	}
	return LoadProject(path, shown, text, f.formats, diags), nil
}

// own refuses a file of another user. Files that others may change are a warning: some CI runners check out that way.
func own(path, shown string, info fs.FileInfo, diags *diag.List) error {
	const elsewhere = "and it could send your key elsewhere"
	if !owned(info) {
		return eval.BadInput(
			"the project file %s belongs to another user, %s: --config %[1]s uses it, --no-config runs without", shown, elsewhere,
		)
	}
	pos := diag.Pos{File: shown, Line: 1, Col: 1}
	if changeable(info) {
		diags.Warnf(pos, "run `chmod go-w "+shown+"`", "other users may change the project file (%s), %s", info.Mode(), elsewhere)
		return nil
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
		if i == 0 { // the path as the user would type it
			dir = filepath.Dir(shown)
		}
		diags.Warnf(
			pos, "run `chmod go-w "+dir+"`", "other users may replace the project file, since they may change its folder %s (%s), %s",
			dir, folder.Mode(), elsewhere,
		)
		return nil
	}
	return nil
}
