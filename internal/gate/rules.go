package gate

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/suite"
)

// RateOutlook is what a rule about the pass rate of an arm can be expected to do.
type RateOutlook struct {
	Suite string `json:"suite"`
	Arm   string `json:"arm"`
	compare.RateOutlook
	// Alpha is that of a rule whose limit has to be shown, else 0.
	Alpha float64 `json:"alpha,omitempty"`
	// Units is the number of independent units, and Needs how many of them show the limit if all of them pass. MostFailures is
	// how many units may fail, where each is a case with one trial; -1 where none may.
	Units        int  `json:"units"`
	Needs        int  `json:"needs,omitempty"`
	MostFailures *int `json:"mostFailures,omitempty"`
}

// BestOutlook is what a rule about the best arm can be expected to do.
type BestOutlook struct {
	Suite  string  `json:"suite"`
	Arm    string  `json:"arm"`
	Metric string  `json:"metric"`
	Arms   int     `json:"arms"`
	Units  int     `json:"units"` // independent units of the arm
	Needs  int     `json:"needs"` // units below which there is no ranking
	Within float64 `json:"within,omitempty"`
	// Rows are the units that show that the arm is within the margin of the best, if all arms are alike.
	Rows []bestRow `json:"rows,omitempty"`
}

// bestRow is the number of units needed where two arms differ in this share of the cases.
type bestRow struct {
	Flips  float64 `json:"flips"`
	Needed int     `json:"needed"`
}

// Rules is what is known of the rules about pass rates, and about the best arm, before the run.
func (c *Checks) Rules(suites []*suite.Suite) (rates []RateOutlook, best []BestOutlook, err error) {
	if c.Plan.Shard() != nil || c.Plan.Size() == 0 { // merging applies the gate
		return nil, nil, nil
	}
	for i, one := range suites {
		g, _, err := c.gate(i, one)
		if err != nil {
			return nil, nil, err
		}
		if g == nil || g.PassRateMin == nil && g.Best == nil {
			continue
		}
		sides, order := plannedSides(c.Plan, one.Name, time.Now().UTC().Format(time.RFC3339))
		for _, arm := range order {
			if g.PassRateMin != nil && !strings.Contains(arm, "@") {
				rates = append(rates, rateOutlook(sides[arm], g))
			}
			if g.Best != nil && g.Best.Arm == arm && len(order) > 1 {
				best = append(best, bestOutlook(sides[arm], g.Best, len(order)))
			}
		}
	}
	return rates, best, nil
}

func rateOutlook(s *compare.Side, g *eval.GateConfig) RateOutlook {
	p := compare.NewPreview(s, s, nil)
	o := RateOutlook{Suite: s.Suite, Arm: s.Arm, RateOutlook: compare.NewRateOutlook(s, *g.PassRateMin), Units: p.Units}
	if g.PassRateBound == nil {
		return o
	}
	o.Alpha = g.PassRateBound.Alpha
	o.Needs = int(math.Ceil(math.Log(o.Alpha)/math.Log(o.Min) - 1e-9))
	if p.Single {
		o.MostFailures = new(compare.MostFailures(p.Units, o.Min, o.Alpha))
	}
	return o
}

// Words says what the rule can be expected to do.
func (o *RateOutlook) Words() string {
	text := fmt.Sprintf("passRate of %s on %s: at least %.4g", o.Suite, o.Arm, o.Min)
	if o.Alpha == 0 {
		return text + fmt.Sprintf(", %s: an arm that passes %.4g %% of such cases fails this in %.0f %% of the runs, and one that passes "+
			"%.4g %% holds it in %.0f %%", diag.Count(o.Cases, "case"), 100*o.Min, 100*o.Fails, 100*o.Lower, 100*o.Holds)
	}
	text += fmt.Sprintf(" at an error rate of %g, %s: ", o.Alpha, diag.Count(o.Units, "independent case"))
	switch most := o.MostFailures; {
	case o.Units < o.Needs:
		return text + fmt.Sprintf("never: it takes %d that all pass", o.Needs)
	case most == nil:
		return text + fmt.Sprintf("it takes %d that all pass", o.Needs)
	default:
		return text + fmt.Sprintf("it holds with %s at most", diag.Count(*most, "failed case"))
	}
}

func bestOutlook(s *compare.Side, rule *eval.BestRule, arms int) BestOutlook {
	p := compare.NewPreview(s, s, nil)
	o := BestOutlook{
		Suite: s.Suite, Arm: s.Arm, Metric: rule.Metric, Arms: arms, Within: rule.Within,
		Units: p.Effective, Needs: compare.Needs(arms, rule.Alpha),
	}
	if rule.Within > 0 {
		for _, flips := range []float64{0.05, 0.1, 0.2} {
			counted := p.Single && slices.Contains([]string{eval.MetricPass, eval.MetricBlocked}, rule.Metric)
			o.Rows = append(o.Rows, bestRow{flips, compare.CasesWithin(arms, rule.Within, rule.Alpha, flips, counted)})
		}
	}
	return o
}

// Words says what the rule can be expected to do.
func (o *BestOutlook) Words() string {
	text := fmt.Sprintf("best of %s: %s among %d arms by %s, %s", o.Suite, o.Arm, o.Arms, o.Metric, diag.Count(o.Units, "independent case"))
	if o.Units < o.Needs {
		return text + fmt.Sprintf(": never: a ranking of %d arms takes %d", o.Arms, o.Needs)
	}
	for i, row := range o.Rows {
		if i == 0 {
			text += fmt.Sprintf(": to show that it is within %g of the best, if all arms are alike, it takes", o.Within)
		} else {
			text += ","
		}
		text += fmt.Sprintf(" %d cases where two arms differ in %.0f %% of them", row.Needed, 100*row.Flips)
	}
	return text
}
