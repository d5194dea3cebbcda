// Package session prepares runs and carries them out. It merges options, the project file, the environment and suites, connects
// to services, and runs, resumes and rescores.
//
// The usual order is Load, Loaded.Settle, Connect, Session.Plan, Session.Run. Load also begins a rescore (Options.Rescore);
// to resume a run, begin with Reopen; to use a judge of a recorded run, with LoadCopies.
package session

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/gate"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// Loaded holds suites, which may have problems, and the options of a command. Settle turns it into a Job.
type Loaded struct{ inputs }

// Job holds suites without problems and the settings to run them with. It can be planned, and connected to its services.
type Job struct {
	inputs
	Settings runSettings
	Only     *string // name of the one service to call, "" for the unnamed one; nil for all that the plan needs
}

// inputs is the part that Loaded and Job share: the suites, and the options and environment of the command.
type inputs struct {
	Files
	Suites  []*suite.Suite
	Options Options

	copied    bool           // the suites come from the copies in a run directory
	chosen    []*suite.Judge // judges to call although no scorer names them
	dirs      []string       // absolute folder of each suite
	ats       []string       // the same folders in their projects, or in the copies of a run; with slashes
	checkouts []checkout     // of the suites' earlier versions, with --interleave
	origins   []*gate.Origin // of --gate-of, for each suite; nil for none
	kinds     scorers.Table  // kinds of scorers; nil for the built-in ones
	rescored  rescored
}

// Dir returns the absolute folder of the i-th suite.
func (r *inputs) Dir(i int) string { return r.dirs[i] }

// Bad returns the problems of the files as a *BadFiles, or nil.
func (r *inputs) Bad() error {
	if r.Diags.HasErrors() {
		return &BadFiles{&r.Files}
	}
	return nil
}

// table returns the kinds of scorers that the suites can use.
func (r *inputs) table() scorers.Table {
	if r.kinds == nil {
		return scorers.Builtin()
	}
	return r.kinds
}

// noSuites returns a Loaded without suites, for commands that need a service only.
func noSuites(options Options) *Loaded {
	return &Loaded{inputs{Files: Files{sources: map[string][]byte{}}, Options: options}}
}

// Load reads the project file and the suites (there may be none), or the run to rescore. Every command and program
// loads by it. Problems in the suites go to Diags; the error is for invalid options and for files that cannot be read.
func Load(options Options) (*Loaded, error) {
	if err := options.Shard.Check(); err != nil {
		return nil, eval.BadInput("%w", err)
	}
	if err := cmp.Or(options.CheckExtend(), options.UseProject()); err != nil {
		return nil, err
	}
	if options.Rescore != "" {
		return loadRescored(options)
	}
	return loadFiles(options)
}

// loadFiles loads suites, and then, if they have no problems and RunPrograms is set, again with what their programs write.
func loadFiles(options Options) (*Loaded, error) {
	if err := options.readPrograms(); err != nil {
		return nil, err
	}
	options.outputs.Takes = options.takesCells()
	l, err := loadOnce(options)
	if err != nil || l.Unwritten() == (suite.Unwritten{}) || l.Diags.HasErrors() {
		return l, err
	}
	switch {
	case options.ProgramsFrom != "":
		return nil, eval.BadInput(
			"--programs-from %s: %s, and the run has not all of it: leave the flag out to run the programs",
			options.ProgramsFrom, l.Unwritten(),
		)
	case !options.RunPrograms || options.Rescore != "":
		return l, nil
	}
	options.outputs.Run, options.outputs.Keys, options.outputs.Stop = true, l.KeyVariables(), options.StopPrograms
	written, err := loadOnce(options)
	if err == nil {
		written.origins = l.origins
		for i := range written.Suites {
			written.repeatAsOrigin(i)
		}
	}
	return written, err
}

// Unwritten returns what the suites lack because their programs did not run.
func (r *inputs) Unwritten() (all suite.Unwritten) {
	for _, s := range r.Suites {
		for _, version := range s.Versions() {
			all.Add(version.Unwritten())
		}
	}
	return all
}

// UnwrittenNotice says what comes from programs that did not run, and how to run them; "" when nothing does.
func (r *inputs) UnwrittenNotice() string {
	if u := r.Unwritten(); u != (suite.Unwritten{}) {
		return u.String() + " that did not run; add --run-programs"
	}
	return ""
}

func loadOnce(options Options) (*Loaded, error) {
	l := noSuites(options)
	opts := options.ofSuites()
	opts.Race = options.Race != "" && !options.NoBaseline()
	if err := cmp.Or(options.checkAllow(), options.checkGateOf(), options.CheckRace()); err != nil {
		return nil, err
	}
	opts.Services = l.projectServices(opts)
	var err error
	if l.kinds, err = scorers.Builtin().With(options.Scorers); err != nil {
		return nil, eval.BadInput("%w", err)
	}
	names, trials := map[string]string{}, 0
	interleave, ref, err := options.interleavedAmong()
	if err != nil {
		return nil, err
	}
	for i, file := range options.Suites {
		refOf := ""
		if file == interleave {
			refOf = ref
		}
		var s *suite.Suite
		if options.copies != nil {
			s, err = l.loadForeign(i, opts)
		} else {
			s, err = l.load(file, refOf, opts)
		}
		if err != nil {
			return nil, err
		}
		if other, twice := names[s.Name]; twice && s.Name != "" {
			l.Diags.Errorf(diag.Pos{File: file}, "rename one of them", "the suite name `%s` is taken by %s", s.Name, other)
		}
		names[s.Name] = file
		l.Suites = append(l.Suites, s)
		if !options.outputs.Run { // else loadFiles has them
			of, err := l.origin(i, s, opts)
			if err != nil {
				return nil, err
			}
			l.origins = append(l.origins, of)
		}
		l.repeatAsOrigin(i)
		trials += s.Planned()
		if problem, hint := eval.TooManyTrials(trials, options.MaxTrials); problem != "" && !l.Diags.HasErrors() {
			return nil, eval.BadInput("the suites have %s together: %s", problem, hint)
		}
	}
	return l, nil
}

func (l *Loaded) load(file, ref string, opts suite.Options) (*suite.Suite, error) {
	if file == standard {
		return l.standardInput(opts)
	}
	path := l.Options.In().Join(file)
	if err := l.Options.unlinked(file); err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		folder, _ := os.ReadDir(filepath.Dir(path)) // only for the hint
		return nil, eval.BadInput("there is no file %s%s", file, diag.NearestFile(filepath.Base(path), folder))
	case err != nil:
		return nil, eval.BadInput("%s cannot be read: %w", file, err)
	case info.IsDir():
		return nil, eval.BadInput("%s is a folder; name the suite files in it", file)
	}
	// The suite itself is the user's word, and may be a link to somewhere else if it is trusted.
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, eval.BadInput("%s cannot be read: %w", file, err)
	}
	dir, err := filepath.Abs(filepath.Dir(real))
	if err != nil {
		return nil, eval.BadInput("%s cannot be read: %w", file, err)
	}
	sources, err := l.Options.within(dir, file)
	if err != nil {
		return nil, eval.BadInput("%s cannot be read: %w", file, err)
	}
	l.dirs, l.ats = append(l.dirs, dir), append(l.ats, sources.At)
	if ref != "" {
		v := versionOf{
			base:  filepath.Base(real),
			shown: file,
			ref:   ref,
			git:   files.Git{Dir: dir, Ref: ref, Filtered: !l.Options.Untrusted},
		}
		opts.Programs = l.Options.programsOf(file, true)
		if opts.Base, err = l.earlier(v, opts); err != nil {
			return nil, err
		}
		opts.OwnScorers = l.Options.ownScorers()
	}
	opts.Dir = dir // programs run there
	opts.Programs = l.Options.programsOf(file, false)
	return l.take(sources, filepath.Base(real), file, opts), nil
}

// standardInput loads the suite on standard input. The working directory counts as its folder.
func (l *Loaded) standardInput(opts suite.Options) (*suite.Suite, error) {
	if text := l.Options.given; text != nil { // of no folder, since none of its programs runs
		l.dirs, l.ats = append(l.dirs, ""), append(l.ats, "")
		return l.take(files.With{FS: embed.FS{}, Name: standard, Text: text}, standard, standard, opts), nil
	}
	text, err := files.ReadInput(standard, maxInput)
	if err != nil {
		return nil, eval.BadInput("the suite cannot be read: %w", err)
	}
	dir := l.Options.In().Abs("")
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	sources, err := l.Options.within(dir, standard)
	if err != nil {
		return nil, eval.BadInput("%s cannot be read: %w", dir, err)
	}
	l.dirs, l.ats = append(l.dirs, dir), append(l.ats, sources.At)
	opts.Dir = dir
	opts.Programs = l.Options.programsOf(standard, false)
	return l.take(files.With{FS: sources, Name: standard, Text: text}, standard, standard, opts), nil
}

func (f *Options) ofSuites() suite.Options {
	return suite.Options{
		Vars:           f.Vars,
		Repeats:        f.Repeats,
		DefaultRepeats: f.ByProject().Repeats,
		MaxTrials:      f.MaxTrials,
		Getenv:         f.Env,
		Untrusted:      f.Untrusted,
		Allow:          f.Allow,
		OwnBaseline:    f.BaselineName() != "" || f.NoBaseline() || f.GateOf != "",
		AllowEnv:       f.AllowEnv,
		BaseURL:        cmp.Or(f.BaseURL, f.Env("EVALRUN_BASE_URL"), f.ByProject().BaseURL),
		Can:            Can,
	}
}

// interleavedAmong is Interleaved, whose file must be one of the suites.
func (f *Options) interleavedAmong() (file, ref string, err error) {
	file, ref, err = f.Interleaved()
	if err == nil && file != "" && !slices.Contains(f.Suites, file) {
		err = eval.BadInput("--interleave names %s, which is not among the suites of this command: name it with them", file)
	}
	return file, ref, err
}

// take loads the suite in the file base of fsys; messages name it shown. It keeps the sources to quote them.
func (l *Loaded) take(fsys fs.FS, base, shown string, opts suite.Options) *suite.Suite {
	opts.Shown = filepath.ToSlash(shown)
	s := suite.Load(fsys, base, l.table(), opts, &l.Diags)
	for name, text := range s.Sources() {
		if bytes.HasPrefix(text, []byte("\x1f\x8b")) { // gzip: no lines to show
			continue
		}
		if name == base {
			l.sources[s.File] = text
		} else {
			l.sources[s.Shown(name)] = text
		}
	}
	return s
}
