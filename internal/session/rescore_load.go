package session

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/suite"
)

// rescored keeps the user's own choices for a job that rescores a run, before the settings of that run fill the gaps.
type rescored struct {
	within     string     // path of the run if it ran a selection, so that new cases stay out; otherwise ""
	ownService ownService // from options and environment
	given      eval.Options
	ownSuites  bool         // the user named the suites
	ledger     *eval.Ledger // granted the calls of the run; nil without one
}

// loadRescored loads a job that rescores a run, with Suites or the run's current suites. Selection and service are the run's.
func loadRescored(f Options) (*Loaded, error) {
	name := f.Rescore
	run, err := rescorable(f.In(), name)
	if err != nil {
		return nil, err
	}
	begun := *run.Options()
	if flag := f.changesSelection(run, &begun); flag != "" {
		return nil, eval.BadInput("%s differs from what the run %s began with, and a rescore keeps that: leave it out", flag, name)
	}
	f.Rescore = f.In().Path(name)
	if f.ProgramsFrom != "" {
		return nil, eval.BadInput("--programs-from: the run %s has what its programs wrote: leave it out", name)
	}
	f.outputOf = &recordedRun{run, f.Rescore}
	kept := rescored{ownService: f.own(), given: f.Options, ownSuites: len(f.Suites) > 0, ledger: run.Ledger}
	f.AllowEnv = slices.Concat(begun.AllowEnv, f.AllowEnv)
	f.Cases = begun.Cases
	f.Tags = begun.Tags
	f.Arms = begun.Arms
	f.Shard = begun.Shard
	f.Repeats = begun.Repeats
	f.MaxTrials = begun.MaxTrials
	f.Vars = begun.Vars
	if begun.Selected != nil {
		kept.within = f.Rescore
	}
	f.raceLike(run, &begun)
	foreign, err := f.isForeign(name)
	if err != nil {
		return nil, err
	}
	if !foreign {
		f.AllowFile = slices.Concat(begun.AllowFile, f.AllowFile)
	}
	if f.Untrusted { // the service is the user's own
		f.APIVersion = cmp.Or(f.APIVersion, run.Service.APIVersion)
	} else {
		f.serviceOf(run, &begun)
	}
	f.allowLike(&begun)
	switch {
	case kept.ownSuites:
	case foreign:
		f.Suites, err = f.copiesOf(run, &begun)
	default:
		f.Suites, err = f.suitesOf(run, &begun)
	}
	if err != nil {
		return nil, err
	}
	l, err := loadFiles(f)
	if err != nil {
		return nil, err
	}
	l.rescored = kept
	l.sendLike(begun.Services)
	return l, nil
}

// granted refuses a rescore that calls judges or embeds texts without the ledger of its run.
func (j *Job) granted() error {
	by, s := j.rescored.ledger, &j.Settings
	calls := j.Options.AskJudges || slices.ContainsFunc(j.Suites, (*suite.Suite).Embeds)
	if by == nil || s.Ledger.URL != "" || s.Ledger.None || !calls {
		return nil
	}
	return eval.BadInput(
		"a ledger grants the calls of the run %s: add %s, or --no-ledger to send without grants",
		j.Options.Rescore, text.ShellWords(by.Flags()),
	)
}

// changesSelection is the flag by which the options select other trials than those of a run, "" if none does.
func (f *Options) changesSelection(run *eval.Run, begun *eval.Options) string {
	if begun.Race != "" { // the race is run again
		race := eval.Options{GateOptions: eval.GateOptions{Race: f.Race}, Seed: f.Seed}
		was := eval.Options{GateOptions: eval.GateOptions{Race: begun.Race}, Seed: run.RandomSeed}
		if flag := changed(&race, &was, keeps); flag != "" {
			return flag
		}
	}
	return changed(&f.Options, begun, selects)
}

// raceLike repeats the race of a run on its recorded answers, with their current scores. It keeps the order of cases,
// because an arm that left the race has answers to the first cases of that order only.
func (f *Options) raceLike(run *eval.Run, begun *eval.Options) {
	if begun.Race == "" {
		return
	}
	f.Race = begun.Race
	f.Seed = run.RandomSeed
	if begun.NoBaseline() {
		f.Baseline = cmp.Or(f.Baseline, begun.Baseline)
	}
	f.Rule.Alpha = cmp.Or(f.Rule.Alpha, begun.Rule.Alpha)
}

// sendLike gives named services the addresses that they had in a run, unless options give other ones. The map begun has
// those addresses by name. Services that the suites no longer have are left out.
func (l *Loaded) sendLike(begun map[string]string) {
	for _, s := range l.Suites {
		for _, named := range s.AllServices() {
			url := begun[named.Name]
			if url == "" || l.Options.Services[named.Name] != "" || l.Options.Untrusted || l.Options.Emulator != "" {
				continue
			}
			if l.Options.Services == nil {
				l.Options.Services = map[string]string{}
			}
			l.Options.Services[named.Name] = url
		}
	}
}

// rescorable reads the header of a run, and refuses one that cannot be rescored.
func rescorable(dir rundir.Dir, name string) (*eval.Run, error) {
	run, err := journal.Header(dir.Path(name))
	switch {
	case errors.Is(err, journal.ErrNoRun):
		return nil, dir.NoRun(name)
	case err != nil:
		return nil, eval.BadInput("the run cannot be read: %w", err)
	case run.CommandOptions == nil || run.Exported:
		return nil, eval.BadInput("%s was exported, without the answers: rescore the run itself", name)
	case run.UnreadableOptions() != nil:
		return nil, eval.BadInput("the run cannot be rescored: its flags cannot be read: %w", run.UnreadableOptions())
	case run.CommandOptions.NoContent:
		return nil, eval.BadInput("%s was run with --no-content: it keeps no answers that could be scored again", name)
	}
	return run, nil
}

// copiesOf makes Load read the copies in a run that somebody else made, whose header could name any files. It returns the
// names of the suites.
func (f *Options) copiesOf(run *eval.Run, begun *eval.Options) (files []string, err error) {
	if begun.Interleave != "" {
		return nil, eval.BadInput(
			"the run %s was not signed by you, and its header names a version of a suite in git: name the suite by --suite FILE, or add "+
				"--trust",
			run.ID,
		)
	}
	f.copies = run
	for _, one := range run.Suites {
		files = append(files, one.File)
	}
	return files, nil
}

// suitesOf returns the current suite files of a run. If one of them ran next to an earlier version, it sets Interleave, so
// that this version is loaded again.
func (f *Options) suitesOf(run *eval.Run, begun *eval.Options) (files []string, err error) {
	for _, one := range run.Suites {
		file := suiteFile(f.In(), one)
		if _, err := os.Stat(f.In().Join(file)); err != nil {
			return nil, eval.BadInput("the suite %s is not where it was: %w; name it by --suite FILE", one.Name, err)
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
		return nil, eval.BadInput("no suite is named")
	}
	return files, nil
}

// Like completes options from the run of --failed-in, if they have no suite, or of --extend.
func (f *Options) Like(name string) error {
	run, err := journal.Header(f.In().Path(name))
	switch {
	case errors.Is(err, journal.ErrNoRun):
		return f.In().NoRun(name)
	case err != nil:
		return eval.BadInput("the run cannot be read: %w", err)
	}
	if foreign, err := f.isForeign(name); err != nil || foreign {
		return cmp.Or(err, eval.BadInput("the run %s was not signed by you, so its header could name any file: name the suite", name))
	}
	begun := run.Options()
	if f.Extend != "" {
		f.continues(begun)
	}
	f.allowLike(begun)
	f.AllowFile = slices.Concat(begun.AllowFile, f.AllowFile)
	f.Repeats = cmp.Or(f.Repeats, begun.Repeats)
	f.MaxTrials = cmp.Or(f.MaxTrials, begun.MaxTrials)
	for name, value := range begun.Vars {
		if _, given := f.Vars[name]; !given {
			if f.Vars == nil {
				f.Vars = map[string]string{}
			}
			f.Vars[name] = value
		}
	}
	if len(f.Suites) > 0 {
		return nil
	}
	for _, one := range run.Suites {
		file := suiteFile(f.In(), one)
		if _, err := os.Stat(f.In().Join(file)); err != nil {
			return eval.BadInput(
				"the suite %s of the run %s is not where it was: %w; name the suite", one.Name, name, err,
			)
		}
		f.Suites = append(f.Suites, file)
	}
	return nil
}

// continues takes the selection and the rule of an extended run where options say nothing else.
func (f *Options) continues(begun *eval.Options) {
	if len(f.Cases)+len(f.Tags)+len(f.Arms) == 0 {
		f.Cases, f.Tags, f.Arms = begun.Cases, begun.Tags, begun.Arms
	}
	f.Seed = cmp.Or(f.Seed, begun.Seed)
	f.Baseline = cmp.Or(f.Baseline, begun.Baseline)
	f.Interleave = cmp.Or(f.Interleave, begun.Interleave)
	if reflect.ValueOf(f.Rule).IsZero() {
		f.Rule = begun.Rule
	}
}

// serviceOf uses the service of a run where flags give none. Only embeddings, and judges with --ask-judges, are sent to it.
func (f *Options) serviceOf(run *eval.Run, begun *eval.Options) {
	f.APIVersion = cmp.Or(f.APIVersion, run.Service.APIVersion) // part of every request
	if f.BaseURL != "" || f.Emulator != "" {
		return
	}
	if f.Emulator = begun.Emulator; f.Emulator != "" {
		f.Seed = cmp.Or(f.Seed, begun.Seed)
		return
	}
	f.useService(&run.Service, true)
}

// suiteFile returns the path of a run's suite: as the user wrote it if that still leads to the file, and absolute
// otherwise.
func suiteFile(dir rundir.Dir, one eval.RunSuite) string {
	there := filepath.Join(one.Dir, filepath.Base(one.Copy))
	if real, err := filepath.EvalSymlinks(dir.Join(one.File)); err == nil && dir.Abs(real) == there {
		return one.File
	}
	return there
}
