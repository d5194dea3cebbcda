package eval

// Verdict is the result of comparing a metric. The zero Verdict is none: the suite has no margin.
type Verdict string

// The verdicts.
const (
	Improved     Verdict = "improved"     // better than the baseline
	NotWorse     Verdict = "not_worse"    // by less than the margin worse, if at all
	Regressed    Verdict = "regressed"    // worse than the baseline
	Inconclusive Verdict = "inconclusive" // too few cases to tell
	Invalid      Verdict = "invalid"      // not comparable
)
