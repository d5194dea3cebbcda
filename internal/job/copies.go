package job

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/dialect"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/githead"
	"github.com/evalrun/evalrun/internal/layers"
	"github.com/evalrun/evalrun/internal/project"
	"github.com/evalrun/evalrun/internal/regular"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/pricing"
	"github.com/evalrun/evalrun/suite"
)

// LoadCopies loads the suites of a run from the copies in its directory, so that their judges can be used.
func LoadCopies(of *journal.Document, flags Flags, getenv func(string) string) (*Loaded, error) {
	l := NoSuites(flags, getenv)
	l.copied = true
	begun := of.Run.Options()
	flags.allowLike(begun)
	if !flags.Untrusted {
		if err := l.Flags.projectOf(&of.Run, filepath.Dir(of.Path())); err != nil {
			return nil, err
		}
	}
	services := l.projectServices(suite.Options{Getenv: getenv, AllowEnv: flags.AllowEnv, Can: dialect.Can})
	for i, recorded := range of.Run.Suites {
		snapshot, err := os.OpenRoot(filepath.Join(filepath.Dir(of.Path()), filepath.FromSlash(SnapshotDir(i))))
		if err != nil {
			return nil, exit.BadInput(
				"%s has no copy of its suite, which names the judge: name one with --suite FILE", of.Run.ID,
			)
		}
		files := layers.Overlay{regular.FS(snapshot)}
		if folder, err := os.OpenRoot(recorded.Dir); recorded.Dir != "" && err == nil {
			files = append(files, regular.FS(folder))
		}
		l.dirs = append(l.dirs, recorded.Dir)
		opts := suite.Options{
			Vars:        begun.Vars,
			Repeats:     begun.Repeats,
			Getenv:      getenv,
			Untrusted:   flags.Untrusted,
			Allow:       flags.Allow,
			AllowEnv:    flags.AllowEnv,
			Can:         dialect.Can,
			OwnBaseline: true,
			Dir:         recorded.Dir,
			Services:    services,
		}
		l.Suites = append(l.Suites, l.take(files, filepath.Base(recorded.Copy), recorded.File, opts))
	}
	return l, nil
}

// PricesOf returns the price list for the calls of a recorded run: the one of the flags, or else of the run's suites.
// It is nil when neither has one, and when the run keeps no copies of its suites.
func PricesOf(d *journal.Document, flags Flags, getenv func(string) string) (*pricing.PriceList, error) {
	m := merger{defaults: flags.ByProject()}
	if flags.Prices == "" {
		l, err := LoadCopies(d, flags, getenv)
		if err != nil || l.Bad() != nil {
			return nil, nil //nolint:nilerr // tokens are shown instead
		}
		m.suites, m.defaults = l.Suites, l.Flags.ByProject()
	}
	return m.prices(flags.Prices)
}

// SettleLike settles a job, with the service of a recorded run where neither flags nor environment name one. A run that
// somebody else made may not redirect requests: its addresses need --trust. doing names the task in the error.
func (l *Loaded) SettleLike(d *journal.Document, doing string) (*Job, error) {
	f := &l.Flags
	own := f.own()
	vetted := f.Trust || f.Emulator != "" // serviceOf may set f.Emulator from the run
	if l.Getenv("EVALRUN_BASE_URL") == "" {
		f.serviceOf(&d.Run, *d.Run.Options())
	}
	j, err := l.Settle()
	if err != nil {
		return nil, err
	}
	s := &j.Settings
	if vetted || s.Service.BaseURL == emulatorURL || s.trust.Signed(d) {
		return j, nil
	}
	c := claims{run: d, address: s.elsewhere(own.settle(j.Getenv))}
	if j.copied {
		calls := j.Called()
		c.services = servicesOf(s, own.named, calls)
		c.programs = loginsOf(s, calls)
	}
	if err := c.check(doing); err != nil {
		return nil, err
	}
	return j, nil
}

// SnapshotDir is the folder for copies of the i-th suite's files, relative to the run directory.
func SnapshotDir(i int) string { return fmt.Sprintf("suites/%d/", i) }

// earlierDir is the same for the earlier version of the i-th suite, with --interleave.
func earlierDir(i int) string { return fmt.Sprintf("suites/%d.earlier/", i) }

// Snapshots returns the copies that a run directory keeps, by their paths in it: the project file, and the files of the
// suites and their earlier versions. With --no-content it is the project file alone.
func (j *Job) Snapshots() map[string][]byte {
	copies := map[string][]byte{}
	if j.Flags.ProjectFile != nil {
		copies[projectCopy] = j.Flags.ProjectFile.Text
	}
	if j.Flags.NoContent {
		return copies
	}
	for i, s := range j.Suites {
		for name, data := range s.Sources() {
			copies[SnapshotDir(i)+name] = data
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
const projectCopy = "suites/project/" + project.FileName

// Identify fills in the identity of a run: its name and labels, the commit and branch of the first suite's folder, and the
// project file.
func (j *Job) Identify(run *eval.Run) {
	f := &j.Flags
	run.Name = f.Name
	run.Labels = map[string]string{}
	for key, value := range f.Labels {
		run.Labels[key] = value
	}
	dir := f.Dir.Abs("")
	if len(j.dirs) > 0 {
		dir = j.dirs[0]
	}
	head := githead.Of(dir)
	run.Commit, run.Branch = head.Commit, head.Branch
	if f.ProjectFile != nil {
		run.ProjectFile, run.ProjectHash = f.ProjectFile.Path, f.ProjectFile.Hash()
	}
}
