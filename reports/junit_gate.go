package reports

import (
	"io"
	"slices"

	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/journal"
)

// JUnitGate writes what JUnit writes, with what the gate came to. On an arm whose rules all hold, a case that failed
// or could not be scored is marked as skipped. CI systems turn red for one failed case, but a gate may accept
// some.
func JUnitGate(w io.Writer, d *journal.Document, o Options) error {
	return writeJUnit(w, d, o, func(suite, arm string) bool { return accepted(d, suite, arm) })
}

// accepted reports whether a suite states a gate whose rules for an arm all hold. In an unfinished run no rule
// holds.
func accepted(d *journal.Document, suite, arm string) bool {
	if d.Running || d.Partial() || d.Run.Plan.Shard != nil {
		return false
	}
	about := func(r journal.GateRule) bool { return r.Suite == suite && (r.Arm == "" || r.Arm == arm) }
	broken := func(r journal.GateRule) bool { return about(r) && !r.Standing.Holds() }
	return slices.ContainsFunc(overview.Rules(d), about) && !slices.ContainsFunc(overview.Rules(d), broken)
}
