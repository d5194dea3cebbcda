package session

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

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
	copies, err := rundir.Copies(run, copyDir(i))
	if err != nil {
		return nil, err
	}
	l.dirs = append(l.dirs, opts.Dir)
	opts.Expected = files.FS(copies)
	opts.Programs = suite.Programs{Kept: opts.Expected}
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

// recordedRun is a run and its directory.
type recordedRun struct {
	*eval.Run
	dir string
}

// programsOf says where the output of the programs of a suite comes from. folder is where runs copy that version of the suite.
func (f *Options) programsOf(file string, folder func(int) string) suite.Programs {
	out := f.outputs
	if f.outputOf == nil {
		return out
	}
	i := slices.IndexFunc(f.outputOf.Suites, func(s eval.RunSuite) bool { return filepath.Base(s.File) == filepath.Base(file) })
	if copies, err := rundir.Copies(f.outputOf.dir, folder(max(0, i))); err == nil { // the run may have no output of programs
		out.Kept = files.FS(copies)
	}
	return out
}

// Copied reports whether the suites come from the copies in a run directory.
func (r *inputs) Copied() bool { return r.copied }

// overFolder completes the copies of a suite by the files of its folder, which has images and large data. The folder is ""
// for a run of somebody else, since its header could name any one.
func (f *Options) overFolder(copies *os.Root, dir, suite string) fs.FS {
	over := files.Overlay{f.noting(copies, suite, false)}
	if folder, err := os.OpenRoot(dir); dir != "" && err == nil { // it may be gone
		over = append(over, f.noting(folder, suite, f.Untrusted))
	}
	return over
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

func copyDir(i int) string { return fmt.Sprintf("suites/%d/", i) }

// earlierDir is the same for the earlier version of the i-th suite, with --interleave.
func earlierDir(i int) string { return fmt.Sprintf("suites/%d.earlier/", i) }

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
		for name, data := range s.Sources() {
			copies[copyDir(i)+name] = data
		}
		if base, _ := s.BaseVersion(); base != nil {
			for name, data := range base.Sources() {
				copies[earlierDir(i)+name] = data
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
	for key, value := range f.Labels {
		run.Labels[key] = value
	}
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
