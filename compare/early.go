package compare

import (
	"math"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/stats"
)

// earlyShare is the share of alpha for looking early. The rest is for the final tests, so that together
// they err at most as often as alpha.
const earlyShare = 0.2

// FinalAlpha is the part of a gate's alpha for the final tests: all of it, unless the gate stops early.
func FinalAlpha(alpha float64, stopEarly bool) float64 {
	if stopEarly {
		return alpha - alpha*earlyShare
	}
	return alpha
}

// bets is the number of mixed bets of the e-processes. failPart is the share of the margin that a loss must
// exceed to be reported early (docs/explanation/verdicts.md).
const (
	bets     = 24
	failPart = 0.5
)

// EarlyStop compares an arm with its baseline while units come in an order fixed before, and reports when the verdict is
// known: by two e-processes for each metric (stats.Betting). It depends only on the units that it was fed.
// docs/explanation/verdicts.md has its error rates.
type EarlyStop struct {
	metrics  []eval.MetricMargin
	bets     []*stats.Betting
	alpha    float64 // error spent on looking early
	verdicts int     // number over all arms and metrics, which divides alpha for "regressed"
	fed      int
}

// NewEarlyStop watches the metrics of an arm. alpha is the gate's, verdicts the number of metrics over all arms.
func NewEarlyStop(metrics []eval.MetricMargin, alpha float64, verdicts int) *EarlyStop {
	s := &EarlyStop{metrics: metrics, alpha: alpha * earlyShare, verdicts: verdicts}
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
func (s *EarlyStop) Feed(u Unit) *eval.KnownVerdict {
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
