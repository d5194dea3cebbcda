package session

import (
	"cmp"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/suite"
)

// Options are the options of a run, with what loading adds to them: what a run file records, and what its caller brings.
type Options struct {
	eval.Options
	runner.Caller

	formats []string     // names of report formats; nil: those in a project file are not checked
	project *projectFile // the project file in use; nil without one
	advice  diag.List    // warnings about the project file

	// RunPrograms runs the programs that write prompts, and StopPrograms ends them when it is closed.
	RunPrograms  bool
	StopPrograms <-chan struct{}

	given    []byte         // stands for what is on standard input; nil reads that
	outputs  suite.Programs // of the suites that load next
	outputOf *recordedRun   // the run that has the output of programs; nil when they run
	foreign  bool           // paths in the project file come from a run that somebody else made
	copies   *eval.Run      // the run of Rescore if its copies are read instead of the suite files; nil otherwise
}

// OptionsOf returns options as Load and Reopen take them. formats are the names of report formats, which a project file may have.
func OptionsOf(recorded eval.Options, caller runner.Caller, formats []string) Options {
	f := Options{Options: recorded, Caller: caller, formats: formats}
	f.Labels = maps.Clone(f.Labels)
	if f.Selected != nil { // a part of a run is not compared
		f.Baseline = eval.NoBaseline{}
	}
	dir := rundir.At(f.Dir)
	for _, path := range []*string{&f.Prices, &f.Record, &f.Replay, &f.ReplayOr, &f.Answers, &f.Ledger.CA} {
		*path = dir.Join(*path)
	}
	return f
}

// In is the folder that relative paths refer to.
func (f *Options) In() rundir.Dir {
	if f.Untrusted {
		return rundir.At(f.Dir).Untrusted()
	}
	return rundir.At(f.Dir)
}

// Env is the value of a variable of the environment.
func (f *Options) Env(name string) string {
	if f.Getenv == nil {
		return os.Getenv(name)
	}
	return f.Getenv(name)
}

// ledger are the options of the ledger, with the address of the environment if they have none. "" is no ledger then.
func (f *Options) ledger() (runner.LedgerOptions, error) {
	o := f.Ledger
	named := o.URL != "" || o.CA != "" || o.Wait != 0
	switch {
	case o.None && named:
		return o, eval.BadInput("--no-ledger sends without grants, and --ledger URL has calls granted: choose one")
	case o.None:
		return o, nil
	}
	if o.URL = cmp.Or(o.URL, strings.TrimSpace(f.Env("EVALRUN_LEDGER"))); o.URL == "" && named {
		return o, eval.BadInput("--ledger-ca and --ledger-wait are for --ledger URL, which is missing")
	}
	return o, nil
}

// ByProject returns the defaults of the project file, or zero options without one.
func (f *Options) ByProject() *eval.Options {
	if f.project == nil {
		return &eval.Options{}
	}
	return &f.project.Defaults
}

// WithDefaults returns the options together with the defaults of the project file.
func (f *Options) WithDefaults() *eval.WithDefaults {
	return &eval.WithDefaults{Options: f.Options, Defaults: *f.ByProject()}
}

// Absolute makes the paths among the options absolute, so that the run can be resumed from any working directory.
func (f *Options) Absolute() {
	for _, path := range []*string{&f.Prices, &f.Record, &f.Replay, &f.ReplayOr, &f.Answers, &f.Rescore, &f.Extend, &f.Emulator} {
		if *path == "" || *path == standard || path == &f.Emulator && *path == eval.DemoScript {
			continue
		}
		*path = f.In().Abs(*path)
	}
}

// checkGateOf returns an error for options by which the author of an untrusted suite would choose how much worse it may be.
func (f *Options) checkGateOf() error {
	switch {
	case f.AcceptSuiteChanges && f.GateOf == "":
		return eval.BadInput("--accept-suite-changes is for --gate-of RUN, FILE or @REF, which is missing")
	case f.Untrusted && f.GateOf == "" && f.BaselineName() != "":
		return eval.BadInput(
			"--untrusted with --baseline needs --gate-of RUN, FILE or @REF, since the suite could widen its own margin; " +
				"--no-baseline compares nothing",
		)
	}
	return nil
}

// CheckRace returns an error for a flag that cannot be combined with --race.
func (f *Options) CheckRace() error {
	d := f.ByProject()
	for _, other := range []struct {
		name  string
		given bool
		why   string
	}{
		{"--shard", f.Shard != eval.Shard{}, "a race needs the answers of all arms to a case, and a shard has some of them"},
		{"--stop-early", f.Rule.StopEarly || d.Rule.StopEarly, "a race ends by itself, arm by arm"},
		{
			"--baseline",
			f.BaselineName() != "" || d.BaselineName() != "" && !f.NoBaseline(),
			"arms that leave a race have nothing to compare",
		},
		{"--interleave", f.Interleave != "", "arms that leave a race have nothing to compare"},
	} {
		if f.Race != "" && other.given {
			return eval.BadInput("--race does not go with %s: %s", other.name, other.why)
		}
	}
	return nil
}

func (f *Options) source() (eval.Source, error) {
	from, err := f.Source()
	if err != nil {
		return nil, eval.BadInput("%w", err)
	}
	switch {
	case f.NoContent && f.Cache:
		return nil, eval.BadInput("--no-content keeps answers out of files, and --cache keeps them: choose one")
	case f.NoContent && f.Record+f.ReplayOr != "":
		return nil, eval.BadInput("--no-content keeps answers out of files, and recording keeps them: choose one")
	}
	return from, nil
}

// checkAllow refuses unknown permissions in --allow, and --allow without --untrusted: trusted suites may do anything already.
func (f *Options) checkAllow() error {
	for _, value := range f.Allow {
		if err := suite.CheckAllow(value); err != nil {
			return eval.BadInput("--allow %s: %w", value, err)
		}
	}
	if len(f.Allow) > 0 && !f.Untrusted {
		return eval.BadInput("--allow lifts what --untrusted refuses: add --untrusted, or leave --allow out")
	}
	return nil
}

// allowLike keeps the suites of an untrusted run untrusted, with the permissions that it began with. Options that say
// --untrusted themselves replace those permissions.
func (f *Options) allowLike(begun *eval.Options) {
	if !f.Untrusted && begun.Untrusted {
		f.Untrusted, f.Allow = true, slices.Concat(begun.Allow, f.Allow)
	}
}

const standard = files.Standard

// maxInput is the largest file, in bytes, that a command line may name as a suite or a price list.
const maxInput = 64 << 20

// unlinked returns an error if a link is on the way to a file that the user named. The author of an untrusted suite could
// have made the link.
func (f *Options) unlinked(name string) error {
	if !f.Untrusted || name == "" || name == standard {
		return nil
	}
	link := files.Link(f.In().Abs(""), f.In().Join(name))
	if link == "" { // a folder of recorded answers has many files
		_ = filepath.WalkDir(f.In().Join(name), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type()&fs.ModeSymlink != 0 {
				link = path
				return fs.SkipAll
			}
			return nil
		})
	}
	if link == "" {
		return nil
	}
	return eval.BadInput(
		"%s cannot be used with --untrusted: %s is a link, which the author of the suite could lead to any file; name the file itself",
		name, f.shown(link),
	)
}

// Caches reports whether the answers in the cache count. Those of an untrusted suite could come with it.
func (f *Options) Caches() bool { return f.Cache && !f.Untrusted }

// namedFiles returns an error for the files that the options name, as unlinked does.
func (f *Options) namedFiles() error {
	script := f.Emulator
	if script == eval.DemoScript {
		script = ""
	}
	return cmp.Or(
		f.unlinked(f.Prices), f.unlinked(script), f.unlinked(f.Answers), f.unlinked(f.Replay), f.unlinked(f.ReplayOr), f.unlinked(f.Record),
	)
}

// noting is the file system of a folder. It reports what the suite reads and lists to Reading and Listing.
func (f *Options) noting(root *os.Root, suite string) fs.FS {
	if f.Reading == nil {
		return files.FS(root)
	}
	path := func(name string) string { return filepath.Join(root.Name(), filepath.FromSlash(name)) }
	notes := files.Notes{
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
	return files.Noting(root, notes)
}
