package gate

import (
	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// TakenBy returns the average cost of a trial of an arm, without the calls of judges. prices is nil without
// a price list.
func TakenBy(d *journal.Document, arm *compare.Side, prices *eval.PriceList) compare.Taken {
	t := compare.Taken{Cost: costOf(d, arm, prices)}
	var tokens compare.Sum
	for _, c := range arm.Cases.AllUnnamed() {
		if !c.Quarantined {
			tokens.Total, tokens.N = tokens.Total+c.Tokens.Total, tokens.N+c.Tokens.N
		}
	}
	if x, ok := tokens.Mean(); ok && x > 0 {
		t.Tokens = &x
	}
	if v, ok := d.LatencyQuantile(arm.Suite, arm.Arm, 0.5); ok {
		t.LatencyP50Ms = &v
	}
	if v, ok := d.LatencyQuantile(arm.Suite, arm.Arm, 0.95); ok {
		t.LatencyP95Ms = &v
	}
	return t
}

// costOf is the mean cost of the arm's scored trials; nil where the list does not name the model of one, or its tokens are unknown.
func costOf(d *journal.Document, arm *compare.Side, prices *eval.PriceList) *float64 {
	if prices == nil {
		return nil
	}
	var cost compare.Sum
	for i := range d.Len() {
		k := d.Indexed(i)
		if k.Suite != arm.Suite || k.Arm != arm.Arm || k.Outcome != eval.Pass && k.Outcome != eval.Fail {
			continue
		}
		r, err := d.Trial(i)
		if err != nil || r.Usage == nil || !prices.Knows(r.Model) {
			return nil
		}
		cost.Add(prices.Of(r.Model, r.Usage))
	}
	if x, ok := cost.Mean(); ok {
		return &x
	}
	return nil
}
