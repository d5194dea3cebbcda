package session

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/suite"
)

// LoadCopies loads the suites of a run from the copies in its directory, so that their judges can be used.
func LoadCopies(of *journal.Document, options Options) (*Loaded, error) {
	l := noSuites(options)
	l.copied = true
	begun := of.Run.Options()
	options.allowLike(begun)
	own := options.Trust || options.signed(of)
	l.Options.foreign = !own
	if own {
		l.Options.AllowFile = slices.Concat(begun.AllowFile, options.AllowFile)
	}
	if !options.Untrusted {
		if err := l.Options.projectOf(&of.Run, filepath.Dir(of.Path())); err != nil {
			return nil, err
		}
	}
	services := l.projectServices(suite.Options{Getenv: options.Env, AllowEnv: options.AllowEnv, Can: Can})
	for i, recorded := range of.Run.Suites {
		opts := options.ofSuites()
		opts.Vars, opts.Repeats, opts.MaxTrials = begun.Vars, begun.Repeats, begun.MaxTrials
		opts.OwnBaseline, opts.Services = true, services
		if own {
			opts.Dir = recorded.Dir
		}
		s, err := l.loadCopy(filepath.Dir(of.Path()), i, &recorded, opts)
		if err != nil {
			return nil, eval.BadInput(
				"%s has no copy of its suite, which names the judge: name one with --suite FILE", of.Run.ID,
			)
		}
		l.Suites = append(l.Suites, s)
	}
	return l, nil
}

// loadCopy loads the i-th suite from the copies of a run, with its other files from opts.Dir, which may be "".
func (l *Loaded) loadCopy(run string, i int, recorded *eval.RunSuite, opts suite.Options) (*suite.Suite, error) {
	root, at, err := rundir.SuiteCopies(run, rundir.CopyDir(i, false), recorded.Copy)
	if err != nil {
		return nil, err
	}
	copies := files.Within{Project: l.Options.noting(root, recorded.File), At: at, Copies: true}
	l.dirs, l.ats = append(l.dirs, opts.Dir), append(l.ats, copies.At)
	opts.Expected = copies
	opts.Programs.Read(opts.Expected)
	return l.take(l.Options.overFolder(copies, opts.Dir, recorded.File), filepath.Base(recorded.Copy), recorded.File, opts), nil
}

// loadForeign loads the i-th suite of the run that Options.copies names, which somebody else made.
func (l *Loaded) loadForeign(i int, opts suite.Options) (*suite.Suite, error) {
	one := &l.Options.copies.Suites[i]
	if l.Options.Untrusted && suite.AllowsPrograms(l.Options.Allow) { // they start in the folder, and can read any file
		opts.Dir = one.Dir
	}
	s, err := l.loadCopy(l.Options.Rescore, i, one, opts)
	if err != nil {
		return nil, eval.BadInput(
			"the run %s was not signed by you, and it has no copy of its suite: name the suite by --suite FILE, or add --trust",
			l.Options.Rescore,
		)
	}
	l.copied = true
	l.Diags.Warnf(
		diag.Pos{File: filepath.ToSlash(one.File)}, "--suite FILE uses another file",
		"the run was not signed by you, so the copy of the suite in it is used",
	)
	return s, nil
}

type recordedRun struct {
	*eval.Run
	dir string
}

// readPrograms finds the run that has what programs wrote, if there is one.
func (f *Options) readPrograms() error {
	name := cmp.Or(f.ProgramsFrom, f.Extend)
	if name == "" || f.outputOf != nil {
		return nil
	}
	dir := f.In().Path(name)
	run, err := journal.Header(dir)
	if _, lacks := os.Stat(filepath.Join(dir, "suites")); errors.Is(err, journal.ErrNoRun) && lacks == nil {
		run, err = &eval.Run{}, nil // of KeepPrograms
	}
	switch {
	case err == nil:
		f.outputOf = &recordedRun{run, dir}
	case f.ProgramsFrom == "": // openExtended says what is wrong with it
	case errors.Is(err, journal.ErrNoRun):
		return f.In().NoRun(name)
	default:
		return eval.BadInput("--programs-from: the run cannot be read: %w", err)
	}
	return nil
}

// takesCells returns a filter of the prompts that programs write; nil where the selection depends on all of them.
func (f *Options) takesCells() func(*suite.Case, suite.Arm) bool {
	if len(f.Cases)+len(f.Tags)+len(f.Arms) == 0 || f.FailedIn+f.ChangedSince != "" || f.Selected != nil {
		return nil
	}
	return filterOf(f, nil).Takes
}

// programsOf says where the output of the programs of a suite, or of its earlier version, comes from.
func (f *Options) programsOf(file string, earlier bool) suite.Programs {
	out := f.outputs
	if f.outputOf == nil {
		return out
	}
	i, recorded, copied := max(0, slices.Index(f.Suites, file)), f.outputOf.Suites, ""
	if len(recorded) > 0 {
		if i >= len(recorded) || recorded[i].File != filepath.ToSlash(file) {
			i = max(0, slices.IndexFunc(recorded, func(s eval.RunSuite) bool { return filepath.Base(s.File) == filepath.Base(file) }))
		}
		copied = recorded[i].Copy
	}
	root, at, err := rundir.SuiteCopies(f.outputOf.dir, rundir.CopyDir(i, earlier), copied)
	if err != nil { // the run may have none
		return out
	}
	defer root.Close() //nolint:errcheck // it was only read
	out.Read(files.Within{Project: files.FS(root), At: at, Copies: true})
	return out
}

// Copied reports whether the suites come from the copies in a run directory.
func (r *inputs) Copied() bool { return r.copied }

// overFolder completes the copies of a suite by the files of its folder, which has images and large data. The folder is ""
// for a run of somebody else, since its header could name any one.
func (f *Options) overFolder(copies files.Within, dir, suite string) fs.FS {
	if dir == "" {
		return copies
	}
	folder, err := f.within(dir, suite)
	if err != nil { // it may be gone
		return copies
	}
	return files.Overlay{copies, folder}
}

// PricesOf returns the price list of the options, or of the run's suites; nil without either, or without copies.
func PricesOf(d *journal.Document, options Options) (*eval.PriceList, error) {
	m := merger{defaults: options.ByProject()}
	if options.Prices == "" {
		l, err := LoadCopies(d, options)
		if err != nil || l.Bad() != nil {
			return nil, nil //nolint:nilerr // tokens are shown instead
		}
		m.suites, m.defaults = l.Suites, l.Options.ByProject()
	}
	list, _, err := m.prices(options.Prices)
	return list, err
}

// SettleLike settles a job, with the service of a recorded run where neither options nor environment name one. A run that
// somebody else made may not redirect requests: its addresses need --trust. doing names the task in the error.
func (l *Loaded) SettleLike(d *journal.Document, doing string) (*Job, error) {
	f := &l.Options
	own, given := f.own(), f.Options
	vetted := f.Trust || f.Emulator != "" // serviceOf may set f.Emulator from the run
	if f.Env("EVALRUN_BASE_URL") == "" {
		f.serviceOf(&d.Run, d.Run.Options())
	}
	j, err := l.Settle()
	if err != nil {
		return nil, err
	}
	s := &j.Settings
	if vetted || s.trust.Signed(d) {
		return j, nil
	}
	c := claims{run: d, files: f.files(&given)}
	if f.Emulator == "" {
		c.address = s.elsewhere(own.settle(f))
	}
	if j.copied && f.Emulator == "" {
		calls := j.Called()
		c.services = servicesOf(s, own.named, calls)
		c.programs = loginsOf(s, calls)
	}
	if err := c.check(doing); err != nil {
		return nil, err
	}
	return j, nil
}

// KeepPrograms writes what the programs of the suites wrote into a folder, as run directories have it.
func (r *inputs) KeepPrograms(dir string) error {
	for i, s := range r.Suites {
		to := filepath.Join(dir, filepath.FromSlash(rundir.CopyDir(i, false)))
		err := os.MkdirAll(to, 0o700)
		if data := s.Written(); err == nil && len(data) > 0 {
			err = os.WriteFile(filepath.Join(to, suite.OutputsFile), data, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// copyAt is the folder of the i-th suite among its copies: the one in its project if a file above it is copied, so that the names
// in the suite lead to the copies.
func (j *Job) copyAt(i int, s *suite.Suite) string {
	versions := []*suite.Suite{s}
	if base, _ := s.BaseVersion(); base != nil {
		versions = append(versions, base)
	}
	for _, version := range versions {
		for name := range version.Sources() {
			if strings.HasPrefix(path.Clean(name), "../") {
				return j.ats[i]
			}
		}
	}
	return "."
}

// Copies returns the copies that a run directory keeps, by their paths in it: the project file, and the files of the
// suites and their earlier versions. With --no-content it is the project file alone.
func (j *Job) Copies() map[string][]byte {
	copies := map[string][]byte{}
	if j.Options.project != nil {
		copies[projectCopy] = j.Options.project.Text
	}
	if j.Options.NoContent {
		return copies
	}
	for i, s := range j.Suites {
		at := j.copyAt(i, s)
		for name, data := range s.Sources() {
			copies[path.Join(rundir.CopyDir(i, false), at, name)] = data
		}
		if base, _ := s.BaseVersion(); base != nil {
			for name, data := range base.Sources() {
				copies[path.Join(rundir.CopyDir(i, true), at, name)] = data
			}
		}
	}
	return copies
}

// projectCopy is the path of the project file's copy, relative to the run directory.
const projectCopy = "suites/project/" + FileName

// Identify fills in the identity of a run: its name and labels, the commit and branch of the first suite's folder, and the
// project file.
func (j *Job) Identify(run *eval.Run) {
	f := &j.Options
	run.Name = f.Name
	run.Labels = map[string]string{}
	maps.Copy(run.Labels, f.Labels)
	dir := f.In().Abs("")
	if len(j.dirs) > 0 && !j.copied {
		dir = j.dirs[0]
	}
	head := files.HeadOf(dir)
	run.Commit, run.Branch = head.Commit, head.Branch
	if f.project != nil {
		run.ProjectFile, run.ProjectHash = f.project.Path, f.project.Hash()
	}
}
