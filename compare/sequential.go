package compare

import (
	"math"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/stats"
)

// EarlyShare is the share of alpha for looking early. The rest is for the final tests, so that together
// they err at most as often as alpha.
const EarlyShare = 0.2

// bets is the number of mixed bets of the e-processes. failPart is the share of the margin that a loss must
// exceed to be reported early (docs/explanation/verdicts.md).
const (
	bets     = 24
	failPart = 0.5
)

// Sequential watches an arm while its units come in the order of the schedule, and reports when the verdict is
// known. It depends only on the units that it was fed.
//
// Source: betting e-processes, Waudby-Smith and Ramdas 2024; docs/explanation/verdicts.md.
type Sequential struct {
	metrics  []eval.MetricMargin
	bets     []*stats.Betting
	alpha    float64 // error spent on looking early
	verdicts int     // number over all arms and metrics, which divides alpha for "regressed"
	fed      int
}

// NewSequential watches the metrics of an arm. alpha is the gate's, verdicts the number of metrics over all arms.
func NewSequential(metrics []eval.MetricMargin, alpha float64, verdicts int) *Sequential {
	s := &Sequential{metrics: metrics, alpha: alpha * EarlyShare, verdicts: verdicts}
	for _, m := range metrics {
		s.bets = append(s.bets, stats.NewBetting(m.Margin, failPart, bets))
	}
	return s
}

// Unit holds, by metric, the difference head minus base of an independent unit, NaN when there is none, and the
// same with each error of head at its worst value. The weight of a cluster is its size over the largest size.
type Unit struct {
	Differences, Worst []float64
	Weight             float64
}

// Feed adds the next unit. It returns a stop when the verdict is known, else nil.
func (s *Sequential) Feed(u Unit) *eval.KnownVerdict {
	s.fed++
	for i := range s.metrics {
		d, worst := u.Differences[i], u.Worst[i]
		if s.metrics[i].Name == eval.MetricBlocked { // more blocked answers is worse
			d, worst = -d, -worst
		}
		s.bets[i].Add(d, worst, u.Weight)
	}
	stop := &eval.KnownVerdict{
		StoppedArm: eval.StoppedArm{Units: s.fed}, Alpha: s.alpha, LogE: map[string]float64{},
	}
	all := true
	for i, m := range s.metrics {
		if e := s.bets[i].LogFail(); e >= math.Log(float64(s.verdicts)/s.alpha) {
			stop.Verdict, stop.Metric = eval.Regressed, m.Name
			stop.LogE = map[string]float64{m.Name: e}
			return stop
		}
		e := s.bets[i].LogNI()
		stop.LogE[m.Name] = e
		all = all && e >= math.Log(1/s.alpha)
	}
	if !all {
		return nil
	}
	stop.Verdict = eval.NotWorse
	return stop
}

// Of is the case's total for a metric.
func (c *CaseTotals) Of(s *Side, metric string) Sum {
	switch metric {
	case eval.MetricPass:
		return Sum{float64(c.Passed), c.Passed + c.Failed}
	case eval.MetricBlocked:
		return Sum{float64(c.Blocked), c.answered()}
	}
	if at := slices.Index(s.Metrics, metric); at >= 0 && at < len(c.Metrics) {
		return c.Metrics[at]
	}
	return Sum{}
}
