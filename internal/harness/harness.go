// Package harness carries out a run from suites to its run file. It loads suites, settles where to send them and
// within which limits, wires the client with its decorators, and runs a plan into a journal. It resumes and rescores
// runs too, and gets the vectors of texts (Session.Embed).
//
// The consumer loop in run.go is the one place that appends to the journal, moves the progress and decides to stop.
//
// The usual order: Load, Settle, Connect, Session.Plan, Session.Run. A rescore begins with LoadRescored, a resumed run
// with Reopen. Package verdict applies the gate, and package output writes reports.
package harness

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/evalrun/evalrun/internal/dialect"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/flow"
	"github.com/evalrun/evalrun/internal/layers"
	"github.com/evalrun/evalrun/internal/project"
	"github.com/evalrun/evalrun/internal/regular"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// Flags are the choices of a command that go beyond the suites.
type Flags struct {
	eval.Options
	Dir     rundir.Dir    // where relative paths begin
	Scorers scorers.Table // custom kinds of a program, in addition to the built-in ones

	// Trust says that a run which others made may send the key to its address and start its programs.
	Trust bool
	// Reading is called with the path of each file before a suite reads it; nil is fine.
	Reading func(suite, path string)
	// Listing is called with each glob before a suite lists what matches it, and with what does so at the time; nil is fine.
	Listing func(suite, glob string, matches func() []string)
	// Executor makes the attempts of calls; nil: this process makes them.
	Executor flow.Executor
	// Ledger is the one that this process shares with others; it is never part of a run file.
	Ledger LedgerOptions
	// NoHistory leaves the run out of the history.
	NoHistory bool

	ProjectFile *project.File // the project file in use; nil without one
	advice      diag.List     // about the project file

	foreign bool                // the suites are where a run of somebody else says
	getenv  func(string) string // where a project file is in use
}

// defaults are what the project file says, zero without one.
func (f *Flags) defaults() *eval.Options {
	if f.Defaults == nil {
		return &eval.Options{}
	}
	return f.Defaults
}

// absolute makes the paths among the flags good in any working directory, for a run that is resumed.
func (f *Flags) absolute() {
	for _, path := range []*string{&f.Prices, &f.Record, &f.Replay, &f.ReplayOr, &f.Answers, &f.Rescore, &f.Emulator} {
		if *path == "" || *path == standard || path == &f.Emulator && *path == eval.DemoScript {
			continue
		}
		*path = f.Dir.Abs(*path)
	}
}

// standard stands for standard input or standard output where a file is named.
const standard = regular.Standard

// maxInput bounds the files that a command names, such as scripts and price lists, in bytes.
const maxInput = 64 << 20

// ownBaseline reports whether the user said what is compared.
func (f *Flags) ownBaseline() bool { return f.Baseline != "" || f.NoBaseline }

// Files are YAML files that were read: suites, an emulator's script, a price list.
type Files struct {
	Diags   diag.List
	sources map[string][]byte // for the source lines of messages
}

// Keep remembers what a file holds, for the source lines of messages.
func (f *Files) Keep(file string, src []byte) {
	if f.sources == nil {
		f.sources = map[string][]byte{}
	}
	f.sources[file] = src
}

// BadFiles is the error of files with problems, which Tell shows.
type BadFiles struct{ *Files }

func (m *BadFiles) Error() string { return m.Diags.Err().Error() }

// Job is suites and the settings by which they run. Load makes it, Settle settles it; from there on it can be planned, and connected to the
// service.
type Job struct {
	Files
	Suites   []*suite.Suite
	Flags    Flags
	Settings Settings // zero before Settle

	only      *string        // the one service that is called, by name; nil: all that are needed
	copied    bool           // the suites are copies of a run's
	chosen    []*suite.Judge // that are called although no scorer names them
	dirs      []string       // the folders of the suites, absolute
	checkouts []checkout     // of earlier versions of them
	kinds     scorers.Table  // nil: the built-in ones
	getenv    func(string) string
	rescored  rescored
}

// Dir is the folder of the i-th suite, absolute.
func (j *Job) Dir(i int) string { return j.dirs[i] }

// NewJob is a job without suites.
func NewJob(flags Flags, getenv func(string) string) *Job {
	return &Job{Files: Files{sources: map[string][]byte{}}, Flags: flags, getenv: getenv}
}

// Nothing is the error of a selection without trials; remedy follows what the options select.
func (j *Job) Nothing(remedy string) error {
	return exit.Incomplete("no trial is selected%s%s", j.Hint(), remedy)
}

// Bad is the error of problems in the files; nil when there are none.
func (j *Job) Bad() error {
	if j.Diags.HasErrors() {
		return &BadFiles{&j.Files}
	}
	return nil
}

// table are the kinds of scorers that the suites can name.
func (j *Job) table() scorers.Table {
	if j.kinds == nil {
		return scorers.Builtin()
	}
	return j.kinds
}

// Load reads suites; there may be none. Problems are in Diags; the error is about files that cannot be reached at all.
func Load(files []string, flags Flags, getenv func(string) string) (*Job, error) {
	j := NewJob(flags, getenv)
	opts := suite.Options{
		Vars:           flags.Vars,
		Repeats:        flags.Repeats,
		DefaultRepeats: flags.defaults().Repeats,
		Getenv:         getenv,
		Untrusted:      flags.Untrusted,
		Allow:          flags.Allow,
		OwnBaseline:    flags.ownBaseline(),
		AllowEnv:       flags.AllowEnv,
		Can:            dialect.Can,
		Race:           flags.Race != "" && !flags.NoBaseline,
	}
	if err := cmp.Or(flags.checkAllow(), flags.CheckRace()); err != nil {
		return nil, err
	}
	opts.Services = j.projectServices(opts)
	var err error
	if j.kinds, err = scorers.Builtin().With(flags.Scorers); err != nil {
		return nil, exit.BadInput("%w", err)
	}
	names := map[string]string{}
	interleave, ref, err := flags.Interleaved()
	if err != nil {
		return nil, err
	}
	if interleave != "" && !slices.Contains(files, interleave) {
		return nil, exit.BadInput("--interleave names %s, which is not among the suites of this command", interleave)
	}
	for _, file := range files {
		refOf := ""
		if file == interleave {
			refOf = ref
		}
		s, err := j.load(flags.Dir, file, refOf, opts)
		if err != nil {
			return nil, err
		}
		if other, twice := names[s.Name]; twice && s.Name != "" {
			j.Diags.Errorf(diag.Pos{File: file}, "rename one of them", "the suite name `%s` is taken by %s", s.Name, other)
		}
		names[s.Name] = file
		j.Suites = append(j.Suites, s)
	}
	return j, nil
}

// CheckRace says which flag does not go with a race.
func (f *Flags) CheckRace() error {
	d := f.defaults()
	for _, other := range []struct {
		name  string
		given bool
		why   string
	}{
		{"--shard", f.Shard != "", "a race needs the answers of all arms to a case, and a shard has some of them"},
		{"--stop-early", f.Rule.StopEarly || d.Rule.StopEarly, "a race ends by itself, arm by arm"},
		{"--baseline", f.Baseline != "" || d.Baseline != "" && !f.NoBaseline, "arms that leave a race have nothing to compare"},
		{"--interleave", f.Interleave != "", "arms that leave a race have nothing to compare"},
	} {
		if f.Race != "" && other.given {
			return exit.BadInput("--race does not go with %s: %s", other.name, other.why)
		}
	}
	return nil
}

// load loads a suite, with an earlier version of it when ref names one.
func (j *Job) load(in rundir.Dir, file, ref string, opts suite.Options) (*suite.Suite, error) {
	if file == standard {
		return j.standardInput(in, opts)
	}
	path := in.Join(file)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		folder, _ := os.ReadDir(filepath.Dir(path)) // only for the hint
		return nil, exit.BadInput("there is no file %s%s", file, diag.NearestFile(filepath.Base(path), folder))
	case err != nil:
		return nil, exit.BadInput("%s cannot be read: %w", file, err)
	case info.IsDir():
		return nil, exit.BadInput("%s is a folder; name the suite files in it", file)
	}
	// The root confines everything that the suite names, symbolic links included.
	// The suite itself is the user's word, and may be a link to somewhere else.
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, exit.BadInput("%s cannot be read: %w", file, err)
	}
	dir, err := filepath.Abs(filepath.Dir(real))
	if err != nil {
		return nil, exit.BadInput("%s cannot be read: %w", file, err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, exit.BadInput("%s cannot be read: %w", file, err)
	}
	j.dirs = append(j.dirs, dir)
	if ref != "" {
		v := versionOf{filepath.Base(real), file, ref, layers.Git{Dir: dir, Ref: ref, Filtered: !j.Flags.Untrusted && !j.Flags.foreign}}
		if opts.Base, err = j.earlier(v, opts); err != nil {
			return nil, err
		}
	}
	opts.Dir = dir // programs run there
	return j.take(j.Flags.below(root, file), filepath.Base(real), file, opts), nil
}

// below are the files of a suite's folder.
func (f *Flags) below(root *os.Root, suite string) fs.FS {
	if f.Reading == nil {
		return regular.FS(root)
	}
	path := func(name string) string { return filepath.Join(root.Name(), filepath.FromSlash(name)) }
	notes := regular.Notes{
		Read: func(name string) { f.Reading(suite, path(name)) },
		List: func(string, func() []string) {},
	}
	if f.Listing != nil {
		notes.List = func(glob string, matches func() []string) {
			f.Listing(suite, path(glob), func() []string {
				names := matches()
				for i := range names {
					names[i] = path(names[i])
				}
				return names
			})
		}
	}
	return regular.Noting(root, notes)
}

// standardInput loads the suite that is on standard input, whose folder is the working directory.
func (j *Job) standardInput(in rundir.Dir, opts suite.Options) (*suite.Suite, error) {
	text, err := regular.ReadInput(standard, maxInput)
	if err != nil {
		return nil, exit.BadInput("the suite cannot be read: %w", err)
	}
	dir := in.Abs("")
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, exit.BadInput("%s cannot be read: %w", dir, err)
	}
	j.dirs = append(j.dirs, dir)
	opts.Dir = dir
	return j.take(layers.With{FS: regular.FS(root), Name: standard, Text: text}, standard, standard, opts), nil
}

// take loads a suite out of a file system, shown being how its user named it.
func (j *Job) take(fsys fs.FS, base, shown string, opts suite.Options) *suite.Suite {
	opts.Shown = filepath.ToSlash(shown)
	s := suite.Load(fsys, base, j.table(), opts, &j.Diags)
	for name, text := range s.Sources() {
		if bytes.HasPrefix(text, []byte("\x1f\x8b")) { // gzip: no lines to show
			continue
		}
		if name == base {
			j.sources[s.File] = text
		} else {
			j.sources[s.Shown(name)] = text
		}
	}
	return s
}

// Tell writes problems and warnings with their source lines.
func (f *Files) Tell(w io.Writer, color bool) error {
	return diag.Renderer{Source: func(file string) []byte { return f.sources[file] }, Color: color}.Render(w, &f.Diags)
}
