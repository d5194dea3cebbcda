package flags

import (
	"github.com/spf13/pflag"

	"github.com/evalrun/evalrun/cmd/evalrun/term"
	"github.com/evalrun/evalrun/reports"
)

// LevelFlags are -q and -v. A run may have both, for example -v with `quiet: true` in the project file. It is then
// quiet on the terminal, and its tables in files are verbose.
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

// Arrange applies the flags to the layout of the reports that formats (-o) name. A report that -o sends to
// standard output is complete there, also under -q.
func (l *LevelFlags) Arrange(layout *reports.Options, formats []string) {
	layout.Verbose, layout.Quiet = l.Verbose, l.Quiet && !toStandard(formats)
}
