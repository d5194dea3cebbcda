package reports

import (
	"fmt"
	"slices"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
)

// takenTable shows what a trial of each arm costs.
type takenTable struct {
	priced bool // an arm has a price, so tokens are not shown
}

func newTakenTable(arms []compare.Priced) takenTable {
	return takenTable{slices.ContainsFunc(arms, func(a compare.Priced) bool { return a.Cost != nil })}
}

func (t takenTable) columns() []gridColumn {
	header := "tokens"
	if t.priced {
		header = "cost"
	}
	return []gridColumn{{Header: header, Optional: 2}, {Header: "p50", Optional: 3}, {Header: "p95", Optional: 2}}
}

func (t takenTable) cells(a *compare.Taken) []string {
	amount := numberOr(a.Tokens, "%.0f")
	if t.priced {
		amount = numberOr(a.Cost, "%.3g")
	}
	return []string{amount, millis(a.LatencyP50Ms), millis(a.LatencyP95Ms)}
}

// cheapestWords say which of the arms that may be the best is cheapest.
func cheapestWords(c *compare.Cheap) string {
	return diag.CleanLine(fmt.Sprintf("cheapest of the best: %s (%.2g of the %s of %s)", c.Arm, c.Ratio, c.By, c.Against))
}
