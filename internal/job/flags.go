package job

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/flow"
	"github.com/evalrun/evalrun/internal/project"
	"github.com/evalrun/evalrun/internal/regular"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// Flags are the choices of a command that go beyond the suites.
type Flags struct {
	eval.Options
	Dir     rundir.Dir    // where relative paths begin
	Scorers scorers.Table // custom kinds of a program, in addition to the built-in ones

	// Trust says that a run which others made may send the key to its address and start its programs.
	Trust bool
	// Reading is called with the path of each file before a suite reads it; nil is fine.
	Reading func(suite, path string)
	// Listing is called with each glob before a suite lists what matches it, and with what does so at the time; nil is fine.
	Listing func(suite, glob string, matches func() []string)
	// Executor makes the attempts of calls; nil: this process makes them.
	Executor flow.Executor
	// Ledger is the one that this process shares with others; it is never part of a run file.
	Ledger LedgerOptions
	// NoHistory leaves the run out of the history.
	NoHistory bool

	ProjectFile *project.File // the project file in use; nil without one
	advice      diag.List     // about the project file

	foreign bool                // the suites are where a run of somebody else says
	getenv  func(string) string // where a project file is in use
}

// LedgerOptions say which ledger a process shares with others.
type LedgerOptions struct {
	URL  string        // "" for that of EVALRUN_LEDGER, or none
	CA   string        // file with certificates to trust in addition
	Wait time.Duration // how long it may be away; 0 for the usual time

	Lost func(reason string) // is called, instead of the end of the run, when nothing will be granted any more; optional
}

// ByProject are what the project file says, zero without one.
func (f *Flags) ByProject() *eval.Options {
	if f.Defaults == nil {
		return &eval.Options{}
	}
	return f.Defaults
}

// Absolute makes the paths among the flags good in any working directory, for a run that is resumed.
func (f *Flags) Absolute() {
	for _, path := range []*string{&f.Prices, &f.Record, &f.Replay, &f.ReplayOr, &f.Answers, &f.Rescore, &f.Emulator} {
		if *path == "" || *path == standard || path == &f.Emulator && *path == eval.DemoScript {
			continue
		}
		*path = f.Dir.Abs(*path)
	}
}

// ownBaseline reports whether the user said what is compared.
func (f *Flags) ownBaseline() bool { return f.Baseline != "" || f.NoBaseline }

// CheckRace says which flag does not go with a race.
func (f *Flags) CheckRace() error {
	d := f.ByProject()
	for _, other := range []struct {
		name  string
		given bool
		why   string
	}{
		{"--shard", f.Shard != eval.Shard{}, "a race needs the answers of all arms to a case, and a shard has some of them"},
		{"--stop-early", f.Rule.StopEarly || d.Rule.StopEarly, "a race ends by itself, arm by arm"},
		{"--baseline", f.Baseline != "" || d.Baseline != "" && !f.NoBaseline, "arms that leave a race have nothing to compare"},
		{"--interleave", f.Interleave != "", "arms that leave a race have nothing to compare"},
	} {
		if f.Race != "" && other.given {
			return exit.BadInput("--race does not go with %s: %s", other.name, other.why)
		}
	}
	return nil
}

// checkAllow wants what untrusted suites may do to be known, and the suites to be untrusted: otherwise they may do anything.
func (f *Flags) checkAllow() error {
	for _, value := range f.Allow {
		if err := suite.CheckAllow(value); err != nil {
			return exit.BadInput("--allow %s: %w", value, err)
		}
	}
	if len(f.Allow) > 0 && !f.Untrusted {
		return exit.BadInput("--allow lifts what --untrusted refuses: add --untrusted, or leave --allow out")
	}
	return nil
}

// allowLike adds what the suites of a run were allowed when it began, unless these flags declare them untrusted.
func (f *Flags) allowLike(begun *eval.Options) {
	if !f.Untrusted && begun.Untrusted {
		f.Untrusted, f.Allow = true, slices.Concat(begun.Allow, f.Allow)
	}
}

// standard names standard input or standard output where a file is named.
const standard = regular.Standard

// maxInput bounds the files that a command names, such as suites and price lists, in bytes.
const maxInput = 64 << 20

// below are the files of a suite's folder.
func (f *Flags) below(root *os.Root, suite string) fs.FS {
	if f.Reading == nil {
		return regular.FS(root)
	}
	path := func(name string) string { return filepath.Join(root.Name(), filepath.FromSlash(name)) }
	notes := regular.Notes{
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
	return regular.Noting(root, notes)
}
