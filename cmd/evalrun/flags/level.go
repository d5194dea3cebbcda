package flags

import (
	"github.com/spf13/pflag"

	"github.com/evalrun/evalrun/cmd/evalrun/term"
	"github.com/evalrun/evalrun/reports"
)

// LevelFlags are -q and -v. With both, the terminal is quiet and tables in files are verbose.
type LevelFlags struct{ Quiet, Verbose bool }

// AddLevel adds both flags. verbose is the help of -v.
func (l *LevelFlags) AddLevel(fs *pflag.FlagSet, verbose string) {
	fs.BoolVarP(&l.Quiet, "quiet", "q", false, "print one line alone: how the run ended")
	fs.BoolVarP(&l.Verbose, "verbose", "v", false, verbose)
}

// Level is how much the run prints on the terminal while it runs.
func (l *LevelFlags) Level() term.Level {
	switch {
	case l.Quiet:
		return term.Quiet
	case l.Verbose:
		return term.Verbose
	}
	return term.Usual
}

// Arrange applies the flags to the reports that formats (-o) name. A report on standard output is complete, also under -q.
func (l *LevelFlags) Arrange(layout *reports.Options, formats []string) {
	layout.Verbose, layout.Quiet = l.Verbose, l.Quiet && !reports.ToStandard(formats)
}
