package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/stats"
)

// Flags of a metric's verdict.
const (
	worseWithinMargin = "worse_within_margin" // not worse by the margin, and worse all the same
	beyondMargin      = "beyond_margin"       // worse by more than the margin
)

// Decide gives the verdicts: of every gated metric, of every arm, and of the whole. An arm is not worse only when all
// its gated metrics are; that one of them regressed is told with Holm's correction over all metrics of all arms.
func Decide(arms []eval.ArmComparison, o Options) eval.Verdict {
	var gated []*eval.MetricComparison
	var worse []float64
	for i := range arms {
		a := &arms[i]
		for j := range a.Metrics {
			if m := &a.Metrics[j]; m.Gated && a.Why == "" {
				gated = append(gated, m)
				worse = append(worse, orOne(m.PWorse))
			}
		}
	}
	for i, p := range stats.Holm(worse) {
		decide(gated[i], p, o.Alpha)
	}
	whole := eval.Verdict("")
	for i := range arms {
		a := &arms[i]
		if a.Verdict = ""; len(o.Gated) == 0 {
			if len(a.Metrics) == 0 && a.Why != "" { // nothing to show
				a.Verdict, whole = eval.Invalid, eval.Invalid
			}
			continue
		}
		if a.Why != "" {
			a.Verdict = eval.Invalid
		}
		for j := range a.Metrics {
			if m := &a.Metrics[j]; m.Gated {
				switch {
				case a.Why != "":
					m.Verdict = eval.Invalid
				case a.Stopped != nil:
					stopped(m, a.Stopped)
				}
				advise(m, a, o.Alpha)
				a.Verdict = Worse(a.Verdict, m.Verdict)
			}
		}
		whole = Worse(whole, a.Verdict)
	}
	return whole
}

// stopped gives a metric the verdict that was known early. It is final, whatever the tests at the end would say of the
// cases that were used.
func stopped(m *eval.MetricComparison, stop *eval.Stop) {
	switch {
	case stop.Verdict == eval.NotWorse:
		m.Verdict = eval.NotWorse
	case stop.Verdict == eval.Inconclusive:
		m.Verdict, m.Flags, m.Test = eval.Inconclusive, nil, "not asked to the end: the gate's pass rate could not be reached any more"
		return
	case stop.Metric == m.Name:
		m.Verdict = eval.Regressed
	default:
		return
	}
	m.Test, m.Flags = "betting e-process; the interval is that of a fixed number of cases", nil
}

func orOne(p *float64) float64 {
	if p == nil {
		return 1
	}
	return *p
}

// decide is the rule for one metric: by tests, each of which errs in one of 1/alpha cases at most.
func decide(m *eval.MetricComparison, worse, alpha float64) {
	var flags []string
	switch ni := orOne(m.PNonInferior); {
	case m.N == 0:
		m.Verdict = eval.Invalid
	case ni <= alpha && orOne(m.PBetter) <= alpha:
		m.Verdict = eval.Improved
	case ni <= alpha:
		m.Verdict = eval.NotWorse
		if orOne(m.PWorse) <= alpha {
			flags = []string{worseWithinMargin}
		}
	case worse <= alpha:
		m.Verdict = eval.Regressed
		if slices.Contains(m.Flags, beyondMargin) {
			flags = []string{beyondMargin}
		}
	default:
		m.Verdict = eval.Inconclusive
	}
	m.Flags = flags
}

// order is from the best verdict to the worst.
var order = []eval.Verdict{"", eval.Improved, eval.NotWorse, eval.Inconclusive, eval.Regressed, eval.Invalid}

// Worse is the worse of two verdicts.
func Worse(a, b eval.Verdict) eval.Verdict {
	if slices.Index(order, a) > slices.Index(order, b) {
		return a
	}
	return b
}

// power is the share of the cases in which an equal candidate is told to be not worse, for which suites are sized.
const power = 0.8

// advise says what it would take to know, for a metric that is not decided.
func advise(m *eval.MetricComparison, a *eval.ArmComparison, alpha float64) {
	if m.Verdict != eval.Inconclusive || m.Margin == nil || a.Stopped != nil {
		return
	}
	if eval.IsRatio(m.Name) {
		m.Advice = fmt.Sprintf("the interval reaches beyond %g: more cases would shorten it", *m.Margin)
		return
	}
	loss := m.Estimate
	if m.Name == eval.MetricBlocked {
		loss = -loss
	}
	need := needed(m, *m.Margin, alpha)
	if m.MoreCases = max(0, need-m.N); m.MoreCases > 0 {
		more := float64(m.MoreCases)
		m.Advice = fmt.Sprintf(
			"%d more cases, %d in all (about %.0f calls and %.0f tokens more), would tell with a power of %.0f %% if nothing changed",
			m.MoreCases, need, more*a.Cases.CallsPerCase, more*a.Cases.TokensPerCase, 100*power,
		)
		switch {
		case m.Repeats < 0:
			m.Advice += "; more repeats cannot resolve this, more cases can"
		case m.Repeats > 0:
			m.Advice += fmt.Sprintf("; so would %d repeats of each case", m.Repeats)
		}
		return
	}
	room := math.Abs(*m.Margin + loss)
	words := []string{fmt.Sprintf("the suite is large enough; the candidate looks worse by %.3f", -loss)}
	if room > 1e-3 {
		if n := needed(m, room, alpha); n > m.N {
			m.MoreCases = n - m.N
			words = append(words, fmt.Sprintf("%d cases would tell on which side of the margin that is", n))
		}
	}
	m.Advice = strings.Join(words, "; ")
}

// needed is how many cases it takes to show a difference of d, given how much the cases of m differ (docs/verdicts.md).
func needed(m *eval.MetricComparison, d, alpha float64) int {
	variance := stats.Discordance(m.N, m.Gained, m.Regressed)
	if strings.HasPrefix(m.Test, "t ") && m.Interval != nil { // the half width of a t interval tells the standard deviation
		t := stats.StudentTQuantile(1-alpha, float64(m.N-1))
		sd := (m.Interval[1] - m.Interval[0]) / 2 / t * math.Sqrt(float64(m.N))
		variance = sd * sd
	} else if m.Name == eval.MetricChoose { // whose differences are halves
		variance /= 4
	}
	return stats.CasesNeeded(variance, d, alpha, power)
}
