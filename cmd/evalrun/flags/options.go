package flags

import (
	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/internal/session"
)

// RunOptions are the flags of a run as package evalrun takes them. Without -o they have the table. The command adds what
// is its own: where reports go, how they look, and who watches.
func RunOptions(suites []string, f *session.Options) evalrun.Options {
	out := evalrun.Options{
		Suites:    suites,
		Service:   f.ServiceOptions,
		Emulator:  f.Emulator,
		Limits:    f.LimitOptions,
		Selection: f.SelectionOptions,
		Sources:   f.SourceOptions,
		Gate:      f.GateOptions,
		Ledger:    evalrun.LedgerOptions(f.Ledger),
		Vars:      f.Vars,
		Seed:      f.Seed,
		Out:       f.Out,
		Reports:   WithTable(f.Reports),
		Untrusted: f.Untrusted,
		Allow:     f.Allow,
		Trust:     f.Trust,
		NoContent: f.NoContent,
		Name:      f.Name,
		Labels:    f.Labels,
	}
	if f.ProjectFile != nil {
		out.ProjectFile = f.ProjectFile.Path
	}
	return out
}
