package session

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/suite"
)

// LoadCopies loads the suites of a run from the copies in its directory, so that their judges can be used.
func LoadCopies(of *journal.Document, options Options) (*Loaded, error) {
	l := NoSuites(options)
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
		copies, err := copiesIn(filepath.Dir(of.Path()), CopyDir(i))
		if err != nil {
			return nil, eval.BadInput(
				"%s has no copy of its suite, which names the judge: name one with --suite FILE", of.Run.ID,
			)
		}
		dir := ""
		if own {
			dir = recorded.Dir
		}
		l.dirs = append(l.dirs, dir)
		opts := options.ofSuites()
		opts.Vars, opts.Repeats, opts.MaxTrials = begun.Vars, begun.Repeats, begun.MaxTrials
		opts.OwnBaseline, opts.Dir, opts.Services = true, dir, services
		l.Suites = append(l.Suites, l.take(l.Options.overFolder(copies, dir, recorded.File), filepath.Base(recorded.Copy), recorded.File, opts))
	}
	return l, nil
}

// loadCopy loads the i-th suite of the run that Options.copies names from the copy in the run's directory.
func (l *Loaded) loadCopy(i int, opts suite.Options) (*suite.Suite, error) {
	run := l.Options.copies
	one := &run.Suites[i]
	copies, err := copiesIn(l.Options.Rescore, CopyDir(i))
	if err != nil {
		return nil, eval.BadInput(
			"the run %s was not signed by you, and it has no copy of its suite: name the suite by --suite FILE, or add --trust",
			l.Options.Rescore,
		)
	}
	if l.Options.Untrusted && suite.AllowsPrograms(l.Options.Allow) { // they start in the folder, and can read any file
		opts.Dir = one.Dir
	}
	l.copied = true
	l.dirs = append(l.dirs, opts.Dir)
	opts.Expected = files.FS(copies)
	l.Diags.Warnf(
		diag.Pos{File: filepath.ToSlash(one.File)}, "--suite FILE uses another file",
		"the run was not signed by you, so the copy of the suite in it is used",
	)
	return l.take(l.Options.overFolder(copies, opts.Dir, one.File), filepath.Base(one.Copy), one.File, opts), nil
}

// Copied reports whether the suites come from the copies in a run directory.
func (r *inputs) Copied() bool { return r.copied }

// copiesIn opens a folder of copies in a run directory. No link leads out of the directory.
func copiesIn(run, folder string) (*os.Root, error) {
	root, err := os.OpenRoot(run)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // the folder of copies stays open
	return root.OpenRoot(filepath.Clean(filepath.FromSlash(folder)))
}

// overFolder completes the copies of a suite by the files of its folder, which has images and large data. The folder is ""
// for a run of somebody else, since its header could name any one.
func (f *Options) overFolder(copies *os.Root, dir, suite string) fs.FS {
	over := files.Overlay{f.noting(copies, suite, false)}
	if folder, err := os.OpenRoot(dir); dir != "" && err == nil { // it may be gone
		over = append(over, f.noting(folder, suite, f.Untrusted))
	}
	return over
}

// PricesOf returns the price list for the calls of a recorded run: the one of the options, or else of the run's suites.
// It is nil when neither has one, and when the run keeps no copies of its suites.
func PricesOf(d *journal.Document, options Options) (*eval.PriceList, error) {
	m := merger{defaults: options.ByProject()}
	if options.Prices == "" {
		l, err := LoadCopies(d, options)
		if err != nil || l.Bad() != nil {
			return nil, nil //nolint:nilerr // tokens are shown instead
		}
		m.suites, m.defaults = l.Suites, l.Options.ByProject()
	}
	return m.prices(options.Prices)
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

// CopyDir is the folder for copies of the i-th suite's files, relative to the run directory.
func CopyDir(i int) string { return fmt.Sprintf("suites/%d/", i) }

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
			copies[CopyDir(i)+name] = data
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
	head := files.Of(dir)
	run.Commit, run.Branch = head.Commit, head.Branch
	if f.project != nil {
		run.ProjectFile, run.ProjectHash = f.project.Path, f.project.Hash()
	}
}
