// Package rundir knows where runs, baselines, history and cache are: below .evalrun of the folder in which a command
// works. It finds and names runs there, and writes files as a whole or not at all.
package rundir

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/regular"
	"github.com/evalrun/evalrun/journal"
)

// Dir is a folder in which evalrun works: relative paths begin there. The zero value is the working directory of the
// process, whose paths stay as the user wrote them.
type Dir struct{ path string }

// At is the folder at a path; "" is the working directory of the process.
func At(path string) Dir {
	if path == "" {
		return Dir{}
	}
	if abs, err := filepath.Abs(path); err == nil { // what was joined once can be joined again
		path = abs
	}
	return Dir{path}
}

// Join is the path of a file that the user named. Standard input and output keep their name.
func (d Dir) Join(name string) string {
	if d.path == "" || name == "" || name == regular.Standard || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(d.path, name)
}

// Abs is Join made absolute; "" is the folder itself.
func (d Dir) Abs(name string) string {
	path := d.Join(name)
	if name == "" {
		path = d.path
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path // the working directory is gone
}

// own holds what the user named no place for; Runs is the part of it with runs.
const own = ".evalrun"

// Runs holds the runs without a directory of their own, relative to the folder.
const Runs = own + string(filepath.Separator) + "runs"

// Cache holds the answers that --cache keeps.
func (d Dir) Cache() string { return d.Join(filepath.Join(own, "cache")) }

// Lock is a file below .evalrun by which processes take turns; the name says at what.
func (d Dir) Lock(name string) (string, error) {
	if err := ignoreByGit(d.Join(own)); err != nil {
		return "", err
	}
	return d.Join(filepath.Join(own, name+".lock")), nil
}

// NewID is a time, for people, and a random part, since two runs may begin in the same
// second.
func NewID(now time.Time) string {
	var b [3]byte
	_, _ = rand.Read(b[:]) // it never fails
	return now.Format("20060102-150405.000-") + hex.EncodeToString(b[:])
}

// idInPath becomes the id of the run in the name of a run directory, so that one name is good for many runs.
const idInPath = "{id}"

// Make is the directory for a new run: the one that the user named, or one below .evalrun/runs.
func (d Dir) Make(named, id string) (string, error) {
	if named != "" {
		return d.Join(strings.ReplaceAll(named, idInPath, id)), nil
	}
	if err := ignoreByGit(d.Join(own)); err != nil {
		return "", exit.BadInput("the run directory cannot be made: %w", err)
	}
	return filepath.Join(d.Join(Runs), id), nil
}

// Check says why a run directory could not be made, before anything is sent. named "" is the default.
func (d Dir) Check(named string) error {
	dir := d.Join(strings.ReplaceAll(named, idInPath, "new"))
	if named == "" {
		dir = filepath.Join(d.Join(Runs), "new")
	} else if _, err := os.Stat(filepath.Join(dir, journal.FileName)); err == nil {
		return exit.BadInput(
			"%s holds a run already: name another folder with --out; `evalrun resume %s` continues that one", named, named,
		)
	}
	at, info, err := nearest(dir)
	if err != nil {
		return exit.BadInput("the run directory cannot be made: %w", err)
	}
	if !info.IsDir() {
		return exit.BadInput("the run directory cannot be made: %s is not a folder", at)
	}
	if err := Writable(filepath.Join(at, ".evalrun-probe")); err != nil {
		return exit.BadInput("the run directory cannot be made in %s: %w", at, err)
	}
	return nil
}

// nearest is the path itself if it exists, or else the lowest existing folder above it.
func nearest(path string) (at string, info os.FileInfo, err error) {
	for at = filepath.Clean(path); ; at = filepath.Dir(at) {
		if info, err = os.Stat(at); err == nil || filepath.Dir(at) == at {
			return at, info, err
		}
	}
}

// Open opens a run by its directory, its file, its id below .evalrun/runs, `latest` or `latest~1`. Its gate is not applied.
func (d Dir) Open(name string) (*journal.Document, error) {
	doc, err := journal.Open(d.Path(name))
	if errors.Is(err, journal.ErrNoRun) {
		return nil, d.NoRun(name)
	}
	if err != nil {
		return nil, exit.BadInput("the run cannot be read: %w", err)
	}
	return doc, nil
}

// Path is where a run is that was named by its directory, its file, its id, `latest`, `latest~1`, or a Selector, of
// whose runs it is the newest.
func (d Dir) Path(name string) string {
	path := d.Join(name)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	if s, ok := ParseSelector(name); ok {
		if found := d.Select([]Selector{s}); len(found) > 0 {
			return found[len(found)-1]
		}
		return filepath.Join(d.Join(Runs), "no such run")
	}
	if strings.ContainsAny(name, `/\`) {
		return path
	}
	if back, ok := fromLatest(name); ok {
		name = cmp.Or(d.latest(back), "no such run")
	}
	return filepath.Join(d.Join(Runs), name)
}

// latest names the newest run below .evalrun/runs, and latest~1 the one before it.
const latest = "latest"

// fromLatest is how many runs before the newest a name means; ok is false for any other name of a run.
func fromLatest(name string) (back int, ok bool) {
	if name == latest {
		return 0, true
	}
	count, ok := strings.CutPrefix(name, latest+"~")
	if !ok {
		return 0, false
	}
	back, err := strconv.Atoi(count)
	return back, err == nil && back >= 0
}

// NoRun is the error of a name without a run, with the newest run as a hint.
func (d Dir) NoRun(name string) error {
	if s, ok := ParseSelector(name); ok {
		return exit.BadInput("there is no run %s below %s%s", name, Runs, d.selectorHint(s))
	}
	if back, ok := fromLatest(name); ok && back > 0 {
		return exit.BadInput("%s", d.tooFew(name))
	}
	return exit.BadInput("there is no run %s%s", name, d.hint())
}

// tooFew is the error of a name like latest~9 where there are fewer runs.
func (d Dir) tooFew(name string) string {
	return fmt.Sprintf("there is no run %s: %s has %s", name, Runs, diag.Count(len(d.IDs()), "run"))
}

func (d Dir) hint() string {
	if id := d.latest(0); id != "" {
		return fmt.Sprintf("; the latest below %s is %s", Runs, id)
	}
	return fmt.Sprintf("; there is none below %s: a run with --out is named by its folder", Runs)
}

// IsLatest reports whether `latest` names a run.
func (d Dir) IsLatest(dir string) bool {
	id := d.latest(0)
	return id != "" && d.Join(dir) == d.Join(filepath.Join(Runs, id))
}

// latest is the id of the newest run, or of one that many runs before it, "" when there is none. Ids begin with the time.
func (d Dir) latest(back int) string {
	if ids := d.IDs(); len(ids) > back {
		return ids[len(ids)-1-back]
	}
	return ""
}

// IDs lists the ids of the runs below .evalrun/runs, the oldest first.
func (d Dir) IDs() []string {
	runs := d.Join(Runs)
	entries, err := os.ReadDir(runs)
	if err != nil {
		return nil
	}
	var ids []string
	for _, e := range entries {
		if _, err := os.Stat(filepath.Join(runs, e.Name(), journal.FileName)); err == nil {
			ids = append(ids, e.Name())
		}
	}
	return ids
}

// ignoreByGit keeps run directories, which hold prompts and answers, out of commits.
func ignoreByGit(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	path := filepath.Join(dir, ".gitignore")
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	return os.WriteFile(path, []byte("*\n"), 0o600)
}
