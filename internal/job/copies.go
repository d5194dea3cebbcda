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

// LoadCopies loads the suites of a run from the copies in its directory, for a judge of theirs.
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
	for i, one := range of.Run.Suites {
		snapshot, err := os.OpenRoot(filepath.Join(filepath.Dir(of.Path()), filepath.FromSlash(SnapshotDir(i))))
		if err != nil {
			return nil, exit.BadInput("%s has no copy of its suite, which names the judge: name one with --suite FILE", of.Run.ID)
		}
		files := layers.Overlay{regular.FS(snapshot)}
		if folder, err := os.OpenRoot(one.Dir); one.Dir != "" && err == nil {
			files = append(files, regular.FS(folder))
		}
		l.dirs = append(l.dirs, one.Dir)
		opts := suite.Options{
			Vars:        begun.Vars,
			Repeats:     begun.Repeats,
			Getenv:      getenv,
			Untrusted:   flags.Untrusted,
			Allow:       flags.Allow,
			AllowEnv:    flags.AllowEnv,
			Can:         dialect.Can,
			OwnBaseline: true,
			Dir:         one.Dir,
			Services:    services,
		}
		l.Suites = append(l.Suites, l.take(files, filepath.Base(one.Snapshot), one.File, opts))
	}
	return l, nil
}

// PricesOf is the price list for what a run took: that of the flags, or else of its suites; nil without one, and for a run without copies
// of its suites.
func PricesOf(d *journal.Document, flags Flags, getenv func(string) string) (*pricing.List, error) {
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

// SettleLike settles a job that sends to the service of a run where neither flags nor environment name one. That address has to be the
// user's own, or that of a run that the user made; doing is what it is used for.
func (l *Loaded) SettleLike(d *journal.Document, doing string) (*Job, error) {
	f := &l.Flags
	own, vetted := f.own(), f.Trust || f.Emulator != ""
	if l.Getenv("EVALRUN_BASE_URL") == "" {
		f.serviceOf(&d.Run, *d.Run.Options())
	}
	j, err := l.Settle()
	if err != nil {
		return nil, err
	}
	s := &j.Settings
	if vetted || s.Service.BaseURL == EmulatorURL || s.trust.Signed(d) {
		return j, nil
	}
	c := claims{run: d, address: s.elsewhere(own.settle(j.Getenv))}
	if j.copied {
		calls := j.Called()
		c.services, c.programs = servicesOf(s, own.named, calls), loginsOf(s, calls)
	}
	if err := c.check(doing); err != nil {
		return nil, err
	}
	return j, nil
}

// SnapshotDir is where the files of the i-th suite are copied to, inside the run directory.
func SnapshotDir(i int) string { return fmt.Sprintf("suites/%d/", i) }

// earlierDir is where the files of the earlier version of the i-th suite are copied to.
func earlierDir(i int) string { return fmt.Sprintf("suites/%d.earlier/", i) }

// Snapshots are copies of the files that make up the suites.
func (j *Job) Snapshots() map[string][]byte {
	out := map[string][]byte{}
	if j.Flags.ProjectFile != nil {
		out[projectCopy] = j.Flags.ProjectFile.Text
	}
	if j.Flags.NoContent {
		return out
	}
	for i, one := range j.Suites {
		for name, data := range one.Sources() {
			out[SnapshotDir(i)+name] = data
		}
		if base, _ := one.BaseVersion(); base != nil {
			for name, data := range base.Sources() {
				out[earlierDir(i)+name] = data
			}
		}
	}
	return out
}

// projectCopy is where the project file is copied to, inside the run directory.
const projectCopy = "suites/project/" + project.FileName

// Identify writes down who the run is: its name, its labels, what git has checked out, and its project file.
func (j *Job) Identify(run *eval.Run) {
	f := &j.Flags
	run.Name, run.Labels = f.Name, map[string]string{}
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
