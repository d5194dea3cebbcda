package scorers

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/yaml"
	"github.com/evalrun/evalrun/suite"
)

// verifier is a folder with files that are copied over what an agent left, so that it cannot have changed them.
type verifier struct {
	dir, name, digest string
	files             fs.FS
	names             []string // of its files, with slashes
}

func readVerifier(n yaml.Node, s *suite.Suite) verifier {
	v := verifier{name: n.Str()}
	if n.IsZero() || s == nil {
		return verifier{}
	}
	var err error
	if v.files, err = s.Folder(v.name); err == nil {
		v.digest, err = files.Digest(v.files)
	}
	if err == nil {
		err = fs.WalkDir(v.files, ".", func(name string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				v.names = append(v.names, name)
			}
			return err
		})
	}
	if err != nil {
		n.Errorf("name a folder of the project, such as tests", "the verifier `%s` cannot be used: %s", v.name, err)
	}
	v.dir = s.Dir()
	return v
}

// found are the arguments of a command that runs in the copy. What names a file of the verifier is that file, and what names another
// one of the project is this one: never one that an agent has put there.
func (v verifier) found(args []string) []string {
	out := slices.Clone(args)
	for i, word := range out {
		local := filepath.FromSlash(word)
		if word == "" || filepath.IsAbs(local) || v.files == nil {
			continue
		}
		if _, err := fs.Lstat(v.files, path.Clean(word)); err == nil && filepath.IsLocal(local) {
			continue
		}
		if info, err := os.Lstat(filepath.Join(v.dir, local)); err == nil && info.Mode().IsRegular() {
			out[i] = filepath.Join(v.dir, local)
		}
	}
	return out
}

type checkPlace struct {
	base, dir string   // dir is in base, and has what the program under test left, with the verifier over it
	env       []string // what keeps programs from loading what an agent left instead of the verifier's files
}

// place makes the place in which the program runs, with an environment of its own. remove ends it.
func (v verifier) place(workspace string, env []string) (at checkPlace, remove func(), err error) {
	parent := ""
	if workspace != "" {
		parent = filepath.Dir(workspace)
	}
	if at.base, err = os.MkdirTemp(parent, "check-"); err != nil {
		return at, nil, err
	}
	remove = func() { _ = files.Remove(at.base) }
	at.dir = filepath.Join(at.base, "work")
	if err = os.Mkdir(at.dir, 0o700); err == nil && workspace != "" {
		if err = files.CopyKnown(os.DirFS(workspace), at.dir); err != nil {
			err = fmt.Errorf("the workspace cannot be copied: %w", err)
		}
	}
	if err == nil {
		err = v.shadows(at.dir)
	}
	if err == nil {
		if err = v.copyTo(at.dir); err != nil {
			err = fmt.Errorf("the verifier %s cannot be copied: %w", v.name, err)
		}
	}
	if err == nil {
		at.env, err = v.guard(at, env)
	}
	if err != nil {
		remove()
		return at, nil, err
	}
	return at, remove, nil
}

func (v verifier) copyTo(dir string) error {
	digest, err := files.CopyOver(v.files, dir)
	if err == nil && digest != v.digest {
		err = errors.New("it has changed since the suite was read: run the suite again")
	}
	if err != nil {
		return err
	}
	return v.unlink(dir)
}

// shadows removes what programs load instead of the verifier's files: compiled modules, and what is found before them.
func (v verifier) shadows(dir string) error {
	var gone []string
	for _, name := range v.names {
		for _, other := range foundBefore(name) {
			other = filepath.Join(dir, filepath.FromSlash(other))
			if info, err := os.Lstat(other); err == nil && !info.IsDir() {
				gone = append(gone, other)
			}
		}
	}
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == "__pycache__" {
			gone = append(gone, name)
			return filepath.SkipDir
		}
		return err
	})
	for _, name := range gone {
		err = errors.Join(err, os.RemoveAll(name))
	}
	return err
}

// foundBefore are the names under which make, Perl and the require of Node find another file before one.
func foundBefore(name string) []string {
	dir, base := path.Split(name)
	switch ext := path.Ext(base); {
	case base == "Makefile":
		return []string{dir + "GNUmakefile", dir + "makefile"}
	case base == "makefile":
		return []string{dir + "GNUmakefile"}
	case ext == ".pm":
		return []string{name + "c"}
	case ext == ".js" || ext == ".cjs" || ext == ".json" || ext == ".node":
		return []string{strings.TrimSuffix(name, ext)}
	}
	return nil
}

//go:embed verifier_guard.py
var pythonGuard string

// pytestFiles are where pytest looks for its settings, in this order.
var pytestFiles = []string{"pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"}

// guard is the environment in which Python and pytest find the verifier's files first and the agent's last. env is the scorer's own.
func (v verifier) guard(at checkPlace, env []string) ([]string, error) {
	dir := filepath.Join(at.base, "python")
	top, _ := json.Marshal(at.dir) // never fails
	own, _ := json.Marshal(slices.Concat([]string{}, v.names))
	err := os.Mkdir(dir, 0o700)
	for name, text := range map[string]string{
		"sitecustomize.py": "TOP, OWN = " + string(top) + ", " + string(own) + "\n" + pythonGuard, "pytest.ini": "[pytest]\n",
	} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	options := []string{"-c", filepath.Join(dir, "pytest.ini"), "--rootdir", at.dir, "--confcutdir", at.dir}
	for _, name := range pytestFiles {
		if slices.Contains(v.names, name) {
			options = []string{"-c", filepath.Join(at.dir, name)}
			break
		}
	}
	for i, word := range options {
		options[i] = "'" + strings.ReplaceAll(word, "'", `'"'"'`) + "'"
	}
	return []string{
		before(env, "PYTHONPATH", dir, string(filepath.ListSeparator)),
		before(env, "PYTEST_ADDOPTS", strings.Join(options, " "), " "),
	}, err
}

// before is a variable whose value begins with one, before what it has already.
func before(env []string, name, value, between string) string {
	old, _ := os.LookupEnv(name)
	for _, entry := range env {
		if rest, ok := strings.CutPrefix(entry, name+"="); ok {
			old = rest
		}
	}
	if old != "" {
		value += between + old
	}
	return name + "=" + value
}

// unlink removes the links that an agent has left to what the verifier has: the right answer would be its answer.
func (v verifier) unlink(dir string) error {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	var links []string
	err = filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type()&fs.ModeSymlink == 0 || v.has(dir, name) {
			return err
		}
		if real, err := filepath.EvalSymlinks(name); err == nil && v.has(dir, real) {
			links = append(links, name)
		}
		return nil
	})
	for _, name := range links {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}

// has reports whether what is below a folder is the verifier's, or is a folder that it has too.
func (v verifier) has(dir, name string) bool {
	rel, err := filepath.Rel(dir, name)
	if err != nil {
		return false
	}
	_, err = fs.Lstat(v.files, filepath.ToSlash(rel))
	return err == nil
}
