package job

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/journal"
)

// rescored is what a job that judges the answers of a run again keeps of what the user said, before that run had its say.
type rescored struct {
	within     string     // the run, when it has a selection: a new case is not in that
	ownService ownService // of the user
	ownSuites  bool       // the user named the suites
}

// LoadRescored loads a job that judges the answers of a run again, with the suites in files, or else those of that run
// as they are now. What is selected, what variables hold and where the service is are as they were there.
func LoadRescored(name string, files []string, f Flags, getenv func(string) string) (*Loaded, error) {
	run, err := rescorable(f.Dir, name)
	if err != nil {
		return nil, err
	}
	begun := *run.Flags
	kept := rescored{ownService: f.own(), ownSuites: len(files) > 0}
	f.Rescore = f.Dir.Path(name)
	f.AllowEnv = slices.Concat(begun.AllowEnv, f.AllowEnv)
	f.Cases, f.Tags, f.Arms, f.Shard, f.Repeats, f.Vars = begun.Cases, begun.Tags, begun.Arms, begun.Shard, begun.Repeats, begun.Vars
	if begun.Selected != nil {
		kept.within = f.Rescore
	}
	f.raceLike(run, &begun)
	if f.Untrusted { // the service is the user's own
		f.APIVersion = cmp.Or(f.APIVersion, run.Service.APIVersion)
	} else {
		f.serviceOf(run, begun)
	}
	f.allowLike(&begun)
	if len(files) == 0 {
		if files, err = f.suitesOf(run, &begun); err != nil {
			return nil, err
		}
	}
	if f.Interleave != "" && !kept.ownSuites && !f.Trust {
		if f.foreign, err = isForeign(f.Dir, name, getenv); err != nil {
			return nil, err
		}
	}
	l, err := Load(files, f, getenv)
	if err != nil {
		return nil, err
	}
	l.rescored = kept
	l.sendLike(begun.Services)
	return l, nil
}

// raceLike lets the arms of a run that raced race again on its answers, by their current scores. The order is the same, because an arm
// that left has answers to the first cases of that order only.
func (f *Flags) raceLike(run *eval.Run, begun *eval.Options) {
	if begun.Race == "" {
		return
	}
	f.Race, f.Seed, f.NoBaseline = begun.Race, run.RandomSeed, f.NoBaseline || begun.NoBaseline
	f.Rule.Alpha = cmp.Or(f.Rule.Alpha, begun.Rule.Alpha)
}

// sendLike has the named services that the suites still have be where those of a run were, unless the flags say
// otherwise.
func (l *Loaded) sendLike(begun map[string]string) {
	for _, s := range l.Suites {
		for _, one := range s.AllServices() {
			url := begun[one.Name]
			if url == "" || l.Flags.Services[one.Name] != "" || l.Flags.Untrusted || l.Flags.Emulator != "" {
				continue
			}
			if l.Flags.Services == nil {
				l.Flags.Services = map[string]string{}
			}
			l.Flags.Services[one.Name] = url
		}
	}
}

// rescorable reads the header of a run, whose answers can be judged again as far as that says.
func rescorable(dir rundir.Dir, name string) (*eval.Run, error) {
	run, err := journal.Header(dir.Path(name))
	switch {
	case errors.Is(err, journal.ErrNoRun):
		return nil, dir.NoRun(name)
	case err != nil:
		return nil, exit.BadInput("the run cannot be read: %w", err)
	case run.Flags == nil:
		return nil, exit.BadInput("%s was exported, without the answers: rescore the run itself", name)
	case run.Flags.Unreadable != nil:
		return nil, exit.BadInput("the run cannot be rescored: its flags cannot be read: %w", run.Flags.Unreadable)
	case run.Flags.NoContent:
		return nil, exit.BadInput("%s was run with --no-content: it keeps no answers that could be judged again", name)
	}
	return run, nil
}

// suitesOf are the files with the suites of a run, where they are now. Of the suite that ran next to an earlier version, that version is
// taken too.
func (f *Flags) suitesOf(run *eval.Run, begun *eval.Options) (files []string, err error) {
	for _, one := range run.Suites {
		file := suiteFile(f.Dir, one)
		if _, err := os.Stat(f.Dir.Join(file)); err != nil {
			return nil, exit.BadInput("the suite %s is not where it was: %w; name it by --suite FILE", one.Name, err)
		}
		files = append(files, file)
		if was, ref, err := begun.Interleaved(); err == nil && was == one.File {
			f.Interleave = file + "@" + ref
			if f.Rule.Margin == 0 && len(f.Rule.Metrics) == 0 {
				f.Rule.Margin, f.Rule.Metrics = begun.Rule.Margin, begun.Rule.Metrics
			}
		}
	}
	if len(files) == 0 {
		return nil, exit.BadInput("no suite is named")
	}
	return files, nil
}

// LikeFailed fills in what a command without a suite does not give, from the run of --failed-in: the suites, as they
// are now, the variables and the repeats, and whether the suites are untrusted.
func (f *Flags) LikeFailed() (files []string, err error) {
	run, err := journal.Header(f.Dir.Path(f.FailedIn))
	switch {
	case errors.Is(err, journal.ErrNoRun):
		return nil, f.Dir.NoRun(f.FailedIn)
	case err != nil:
		return nil, exit.BadInput("the run cannot be read: %w", err)
	}
	begun := run.Options()
	f.allowLike(begun)
	f.Repeats = cmp.Or(f.Repeats, begun.Repeats)
	for name, value := range begun.Vars {
		if _, given := f.Vars[name]; !given {
			if f.Vars == nil {
				f.Vars = map[string]string{}
			}
			f.Vars[name] = value
		}
	}
	for _, one := range run.Suites {
		file := suiteFile(f.Dir, one)
		if _, err := os.Stat(f.Dir.Join(file)); err != nil {
			return nil, exit.BadInput("the suite %s of the run %s is not where it was: %w; name the suite", one.Name, f.FailedIn, err)
		}
		files = append(files, file)
	}
	return files, nil
}

// serviceOf takes the service of a run where none is given. It gets requests only for embeddings, and for judges with
// --ask-judges.
func (f *Flags) serviceOf(run *eval.Run, begun eval.Options) {
	f.APIVersion = cmp.Or(f.APIVersion, run.Service.APIVersion) // it is a part of the request
	if f.BaseURL != "" || f.Emulator != "" {
		return
	}
	if f.Emulator = begun.Emulator; f.Emulator != "" {
		f.Seed = cmp.Or(f.Seed, begun.Seed)
		return
	}
	s := run.Service
	f.BaseURL, f.HeaderPrefix, f.Auth = s.BaseURL, cmp.Or(f.HeaderPrefix, s.HeaderPrefix), cmp.Or(f.Auth, s.Auth)
	f.Project, f.ScopeBase = cmp.Or(f.Project, s.Project), cmp.Or(f.ScopeBase, s.AuthScopeBase)
}

// suiteFile is where the suite of a run is, by the name that its user gave it if that is still good.
func suiteFile(dir rundir.Dir, one eval.RunSuite) string {
	there := filepath.Join(one.Dir, filepath.Base(one.Snapshot))
	if real, err := filepath.EvalSymlinks(dir.Join(one.File)); err == nil && dir.Abs(real) == there {
		return one.File
	}
	return there
}
