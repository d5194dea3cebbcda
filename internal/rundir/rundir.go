// Package rundir keeps the folder .evalrun: it knows the paths of runs, baselines, history and cache, and names,
// finds and prunes runs. It puts runs into the history (Dir.Remember) and can make the history again
// (Dir.RebuildHistory). Files are replaced as a whole.
//
// Everything begins with At, which returns the Dir of a folder.
package rundir

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/journal"
)

// Dir is the folder in which evalrun works, to which relative paths refer. The zero Dir is the working
// directory of the process, and leaves paths as the user wrote them.
type Dir struct {
	path      string
	untrusted bool // links in the folder could be those of an untrusted author
}

// Untrusted returns the folder for a command on untrusted suites, which follows no link in it.
func (d Dir) Untrusted() Dir {
	d.untrusted = true
	return d
}

// At returns the folder at a path; "" means the working directory of the process.
func At(path string) Dir {
	if path == "" {
		return Dir{}
	}
	if abs, err := filepath.Abs(path); err == nil { // absolute, so that joining twice is harmless
		path = abs
	}
	return Dir{path: path}
}

// Links checks what a run writes: .evalrun with its parts, and paths. With untrusted suites a link on the way to them is an
// error. Otherwise the notices name the links that lead out of the folder.
func (d Dir) Links(paths ...string) (notices []string, err error) {
	at := d.Abs("")
	kept := []string{own, Runs, filepath.Join(own, "cache"), expectedRuns, filepath.Join(own, ".gitignore")}
	for _, end := range []string{"", "-wal", "-shm", ".lock"} {
		kept = append(kept, historyPath+end)
	}
	for _, name := range append(kept, paths...) {
		link := files.Link(at, d.Join(name))
		if link == "" {
			continue
		}
		shown := link
		if rel, err := filepath.Rel(at, link); err == nil && filepath.IsLocal(rel) {
			shown = rel
		}
		notice := shown + " is a link that leads out of this folder"
		switch {
		case d.untrusted:
			return nil, eval.BadInput(
				"%s is a link, and with --untrusted nothing is written through links: remove it, or name another folder", shown,
			)
		case files.LeadsOut(at, link) && !slices.Contains(notices, notice):
			notices = append(notices, notice)
		}
	}
	return notices, nil
}

// Join returns the path of a file that the user named; standard input and output keep their name.
func (d Dir) Join(name string) string {
	if d.path == "" || name == "" || name == files.Standard || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(d.path, name)
}

// Abs is Join with an absolute result; "" is the folder itself.
func (d Dir) Abs(name string) string {
	path := d.Join(name)
	if name == "" {
		path = d.path
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path // there is no working directory
}

// own is the folder for everything that the user gave no path for.
const own = ".evalrun"

// Runs is the default folder for runs, relative to the Dir.
const Runs = own + string(filepath.Separator) + "runs"

// Cache returns the folder of the answers that --cache keeps.
func (d Dir) Cache() string { return d.Join(filepath.Join(own, "cache")) }

// Lock returns the path of a lock file below .evalrun. name is what the processes take turns at.
func (d Dir) Lock(name string) (string, error) {
	if err := ignoreByGit(d.Join(own)); err != nil {
		return "", err
	}
	return d.Join(filepath.Join(own, name+".lock")), nil
}

// NewID combines the time with random digits, since two runs may begin at the same time.
func NewID(now time.Time) string {
	var b [3]byte
	_, _ = rand.Read(b[:]) // never fails
	return now.Format("20060102-150405.000-") + hex.EncodeToString(b[:])
}

// idInPath is replaced by the id of the run in --out, so that one command can make many runs.
const idInPath = "{id}"

// Make returns the directory for a new run: the one that the user named, or one below .evalrun/runs.
func (d Dir) Make(named, id string) (string, error) {
	if named != "" {
		return d.Join(strings.ReplaceAll(named, idInPath, id)), nil
	}
	if err := ignoreByGit(d.Join(own)); err != nil {
		return "", eval.BadInput("the run directory cannot be made: %w", err)
	}
	return filepath.Join(d.Join(Runs), id), nil
}

// Check returns an error if a run directory could not be created, so that the user learns it before the
// first request. "" is the default directory.
func (d Dir) Check(named string) error {
	dir := d.Join(strings.ReplaceAll(named, idInPath, "new"))
	if named == "" {
		dir = filepath.Join(d.Join(Runs), "new")
	} else if _, err := os.Stat(filepath.Join(dir, journal.FileName)); err == nil {
		words := []string{"resume", named}
		if run, err := journal.Header(dir); err == nil {
			words = append(words, run.Ledger.Flags()...)
		}
		return eval.BadInput(
			"%s holds a run already: name another folder with --out; `evalrun %s` continues that one", named, text.ShellWords(words),
		)
	}
	at, info, err := nearest(dir)
	if err != nil {
		return eval.BadInput("the run directory cannot be made: %w", err)
	}
	if !info.IsDir() {
		return eval.BadInput("the run directory cannot be made: %s is not a folder; name another one with --out", at)
	}
	if err := files.Writable(filepath.Join(at, ".evalrun-probe")); err != nil {
		return eval.BadInput("the run directory cannot be made in %s: %w", at, err)
	}
	return nil
}

// nearest returns the path itself if it exists, or else the nearest existing folder above it.
func nearest(path string) (at string, info os.FileInfo, err error) {
	for at = filepath.Clean(path); ; at = filepath.Dir(at) {
		if info, err = os.Stat(at); err == nil || filepath.Dir(at) == at {
			return at, info, err
		}
	}
}

// Open opens a run by its directory, its file, its id below .evalrun/runs, `latest` or `latest~1`. It does
// not apply the gate.
func (d Dir) Open(name string, how ...journal.Reading) (*journal.Document, error) {
	doc, err := journal.Open(d.Path(name), how...)
	if errors.Is(err, journal.ErrNoRun) {
		return nil, d.NoRun(name)
	}
	if err != nil {
		return nil, eval.BadInput("the run cannot be read: %w", err)
	}
	return doc, nil
}

// Path returns the path of a run: by its directory, its file, its id, `latest`, `latest~1`, or an eval.Selector,
// which means the newest of its runs.
func (d Dir) Path(name string) string {
	path := d.Join(name)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	if s, ok := eval.ParseSelector(name); ok {
		if found := d.Select([]eval.Selector{s}); len(found) > 0 {
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

// latest is the name of the newest run below .evalrun/runs, and latest~1 of the one before it.
const latest = "latest"

// fromLatest returns how many runs before the newest a name means. ok is false for other names.
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

// NoRun returns the error for an unknown name, with the newest run as a hint.
func (d Dir) NoRun(name string) error {
	if s, ok := eval.ParseSelector(name); ok {
		return eval.BadInput("there is no run %s below %s%s", name, Runs, d.selectorHint(s))
	}
	if back, ok := fromLatest(name); ok && back > 0 {
		return eval.BadInput("there is no run %s: %s has %s", name, Runs, diag.Count(len(d.IDs()), "run"))
	}
	return eval.BadInput("there is no run %s%s", name, d.hint())
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

// latest returns the id of the run `back` before the newest, "" if there is none. Ids sort by time.
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

// ignoreByGit adds a .gitignore, because run directories contain prompts and answers.
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

// SignRun signs the header of a run that is about to be made in dir.
func (k *Keys) SignRun(run *eval.Run, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { // its place is signed, with the links that lead to it
		return err
	}
	header, err := journal.Signable(run)
	if err != nil {
		return err
	}
	run.Signature = k.Sign(header, dir)
	return nil
}

// Signed reports whether the header of a run was signed here, or with the key that machines share.
func (k *Keys) Signed(d *journal.Document) bool {
	if d.Run.Signature == "" {
		return false
	}
	header, err := d.Signable()
	return err == nil && k.Verify(d.Run.Signature, header, d.Dir)
}

// Intact wants the copies of the suites to be those with which the run began.
func Intact(d *journal.Document) error {
	if err := d.CheckCopies(); err != nil {
		return eval.BadInput("the run %s can no longer be used: %w; restore the file, or run the suite again", d.Dir, err)
	}
	return nil
}

// Copies opens a folder of copies in a run directory. No link leads out of the directory.
func Copies(run, folder string) (*os.Root, error) {
	root, err := os.OpenRoot(run)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // the folder of copies stays open
	return root.OpenRoot(filepath.Clean(filepath.FromSlash(folder)))
}

// CopyDir is the folder with the copies of the i-th suite in a run directory, or of its earlier version.
func CopyDir(i int, earlier bool) string {
	if earlier {
		return fmt.Sprintf("suites/%d.earlier/", i)
	}
	return fmt.Sprintf("suites/%d/", i)
}

// SuiteCopies opens such a folder. copied is the path of the suite's copy in the run directory, and at its folder in this one: a
// suite that reads files above its folder is as deep in it as it was in its project.
func SuiteCopies(run, folder, copied string) (root *os.Root, at string, err error) {
	root, err = Copies(run, folder)
	at = "."
	if below, inside := strings.CutPrefix(path.Clean(copied), folder); inside {
		at = path.Dir(below)
	}
	return root, at, err
}
