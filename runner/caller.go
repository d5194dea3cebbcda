package runner

import (
	"os"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/scorers"
)

// Caller is what the process that starts, resumes or rescores a run brings, and no run file records.
type Caller struct {
	// Dir is the folder in which relative paths begin and which has .evalrun, with runs, history and cache. "" is the
	// working directory.
	Dir string
	// Suites are suite files. They may be left out to rescore a run, which takes the suites of that run, and with
	// ProjectFile, which takes the suites that it names. A resumed run keeps its own.
	Suites []string
	// ProjectFile names a project file. Its settings apply where the options, the environment and the suites set nothing.
	// "" is none, and untrusted suites take none. Its settings of reports, the run directory and recorded answers are for
	// the command alone.
	ProjectFile string
	// ProjectFound says that ProjectFile was looked for, not named by the user. It must then belong to the user.
	ProjectFound bool
	// Root is the folder whose files the suites in it may read. "" is the folder of ProjectFile, else the top of the git
	// checkout. Suites outside of it read their own folder, and so do untrusted ones.
	Root string

	// Scorers are custom kinds, in addition to the built-in ones.
	Scorers []scorers.Kind
	// ProgramsFrom is a run directory, or a folder of evalrun.Job.KeepPrograms, with what the programs of the suites wrote. They
	// do not run then.
	ProgramsFrom string
	// Executor makes the attempts of calls, for example in other processes. nil: this process makes them.
	Executor eval.Executor
	Ledger   LedgerOptions

	// Trust allows a run that somebody else made to name the service and start programs, when it is resumed or rescored.
	Trust bool
	// RetryErrors makes a resume send the errors of a complete run again. Other runs ignore it.
	RetryErrors bool
	// NoHistory leaves the run out of the history of Dir.
	NoHistory bool
	// Notify is a program with its arguments, split at blanks, which gets the verdict of the run as JSON on standard input when the
	// run before had another one, or none. It gets none of the keys. That it fails is a Problem, and no error.
	Notify string
	// Version is recorded in the run file and sent as user agent.
	Version string

	// Interrupt ends a run early. After the first value no new call is made, and calls in progress may finish; the second
	// value abandons them. Canceling the context abandons them at once. Either way a resume continues the run.
	Interrupt <-chan os.Signal
	// Getenv replaces os.Getenv for the EVALRUN_* variables.
	Getenv func(name string) string
	// Reading receives the name of a suite file and the path of each file that the suite is about to read, from any goroutine.
	Reading func(suite, path string)
	// Listing receives the name of a suite file, a glob of files that the suite is about to list, and a function. The
	// function lists the paths that match the glob now. It needs Reading.
	Listing func(suite, glob string, matches func() []string)
}

// LedgerOptions name the server (`evalrun ledger`) whose limits this process shares with others. The token of the ledger is in
// EVALRUN_LEDGER_TOKEN.
type LedgerOptions struct {
	URL  string        // "" takes the address in EVALRUN_LEDGER, if any
	CA   string        // a file with certificates to trust in addition
	Wait time.Duration // how long the ledger may be away before the run ends; 0 for ten minutes
	None bool          // use none, although EVALRUN_LEDGER or the run to resume names one

	// Lost is for an Executor, which has no run to end. It is called once, when the ledger was away for Wait or grants
	// nothing to this process. From then on calls fail with an error that is Unsent and eval.FromProcess. Optional.
	Lost func(reason string)
}
