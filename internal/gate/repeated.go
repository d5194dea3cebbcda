package gate

import (
	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/journal"
)

// ApplyIn is Apply, and notes which suites the runs of a folder have compared with the same baseline before. A gate
// that runs again until it holds will hold by luck in the end.
func ApplyIn(in rundir.Dir, d *journal.Document) {
	Apply(d)
	if d.Comparison() == nil {
		return
	}
	for i, nth := range in.Comparisons(d) {
		if one := &d.Run.Suites[i]; nth > 1 {
			repeated := compare.Repeated{Suite: one.Name, Base: one.Gate.Baseline.RunID(), Nth: nth}
			d.Comparison().Repeated = append(d.Comparison().Repeated, repeated)
		}
	}
}
