package gate

import (
	"testing"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// Runs of 0.1 do not record the hash of variables: cases with an id of their own are counted, those whose id is the hash are not.
func TestCasesPairedByIDAloneAreCounted(t *testing.T) {
	t.Parallel()
	old := &compare.Side{Cases: casesOf(compare.CaseTotals{ID: "own"}, compare.CaseTotals{ID: "hash"}, compare.CaseTotals{ID: "gone"})}
	recorded := &compare.Side{Cases: casesOf(compare.CaseTotals{ID: "own", Vars: "a"}, compare.CaseTotals{ID: "hash", Vars: "hash"})}
	head := &compare.Side{Cases: casesOf(
		compare.CaseTotals{ID: "own", Vars: "a"}, compare.CaseTotals{ID: "hash", Vars: "hash"}, compare.CaseTotals{ID: "new", Vars: "b"},
	)}
	expect.Same(t, "cases against an old run", compare.PairedByIDAlone(old, head), 1)
	expect.Same(t, "cases against a new run", compare.PairedByIDAlone(recorded, head), 0)
}

// casesOf collects the given cases.
func casesOf(all ...compare.CaseTotals) compare.Cases {
	var c compare.Cases
	for i := range all {
		c.Add(&all[i])
	}
	return c
}
