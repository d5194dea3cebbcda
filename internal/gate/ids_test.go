package gate

import (
	"testing"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// Runs of 0.1 do not record the hash of variables: cases with an id of their own are counted, those whose id is the hash are not.
func TestCasesPairedByIDAloneAreCounted(t *testing.T) {
	t.Parallel()
	old := &compare.Side{Cases: []*compare.CaseTotals{{ID: "own"}, {ID: "hash"}, {ID: "gone"}}}
	recorded := &compare.Side{Cases: []*compare.CaseTotals{{ID: "own", Vars: "a"}, {ID: "hash", Vars: "hash"}}}
	head := &compare.Side{Cases: []*compare.CaseTotals{{ID: "own", Vars: "a"}, {ID: "hash", Vars: "hash"}, {ID: "new", Vars: "b"}}}
	expect.Same(t, "cases against an old run", compare.PairedByIDAlone(old, head), 1)
	expect.Same(t, "cases against a new run", compare.PairedByIDAlone(recorded, head), 0)
}
