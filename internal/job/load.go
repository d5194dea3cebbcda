// Package job says what is to be done: which suites, where they are sent, and within which limits. It merges what flags, the project
// file, the environment and the suites say, and reads the suites of earlier runs again. It sends nothing.
//
// The usual order: Load, Job.Settle, Job.Plan. A run whose answers are judged again begins with LoadRescored, a run that is continued
// with Reopen, a judge of a run's suites with LoadCopies.
package job

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/dialect"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/layers"
	"github.com/evalrun/evalrun/internal/regular"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// Job is suites and the settings by which they run. Load makes it, Settle settles it; from there on it can be planned, and connected to the
// service.
type Job struct {
	Files
	Suites   []*suite.Suite
	Flags    Flags
	Settings Settings // zero before Settle

	Only      *string        // the one service that is called, by name; nil: all that are needed
	copied    bool           // the suites are copies of a run's
	chosen    []*suite.Judge // that are called although no scorer names them
	dirs      []string       // the folders of the suites, absolute
	checkouts []checkout     // of earlier versions of them
	kinds     scorers.Table  // nil: the built-in ones
	Getenv    func(string) string
	rescored  rescored
}

// Dir is the folder of the i-th suite, absolute.
func (j *Job) Dir(i int) string { return j.dirs[i] }

// NewJob is a job without suites.
func NewJob(flags Flags, getenv func(string) string) *Job {
	return &Job{Files: Files{sources: map[string][]byte{}}, Flags: flags, Getenv: getenv}
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
		DefaultRepeats: flags.ByProject().Repeats,
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
