package reports

import (
	"fmt"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
)

// preference shows a judge's preferences between the answers of two arms.
func (t *screen) preference(a *compare.ArmComparison) {
	c := a.Preference
	if c == nil {
		return
	}
	t.wrapped("  ", fmt.Sprintf(
		"choose: head is preferred in %s, base in %d, tie in %d (%d the same answer), unjudged %d",
		diag.Count(c.Wins, "pair"), c.Losses, c.Ties, c.Same, c.Unjudged,
	))
	if c.Share != nil {
		t.wrapped("  ", fmt.Sprintf(
			"preference for head: %.1f %%, %.0f %% interval %.1f to %.1f", 100**c.Share, 100*c.Level, 100*c.Interval[0],
			100*c.Interval[1],
		))
	}
	if c.FirstPlace.Of > 0 {
		t.wrapped("  ", firstPlace(&c.FirstPlace, c.Level))
	}
	if c.Contradicted > 0 {
		t.wrapped("  ", orderDecided(c.Contradicted, c.Pairs-c.Same-c.Unjudged))
	}
	if c.Unreliable != "" && c.Unreliable != a.Why { // the verdict does not depend on the preference
		t.wrapped("  ", "warning: "+c.Unreliable)
	}
	t.unjudged(c.Why)
}

// firstPlace says how often the judge preferred the first answer.
func firstPlace(f *compare.FirstPlace, level float64) string {
	return fmt.Sprintf(
		"the answer that stood first was chosen in %d of %s (%.0f %%)%s", f.Preferred, diag.Count(f.Of, "ruling"),
		100*float64(f.Preferred)/float64(f.Of), overCases(f.Interval, level),
	)
}

// orderDecided says for how many pairs of different answers the order decided the preference.
func orderDecided(contradicted, of int) string {
	return fmt.Sprintf("the order decided in %d of %s of different answers, which are ties", contradicted, diag.Count(of, "pair"))
}

// unjudged shows why pairs were not judged.
func (t *screen) unjudged(why []compare.PairProblem) {
	for _, p := range why {
		t.wrapped("  ", fmt.Sprintf("unjudged, %s: %s", diag.Count(p.Pairs, "pair"), p.Problem))
	}
}

// overCases is the interval of a share, as words to append; "" without an interval.
func overCases(interval *[2]float64, level float64) string {
	if interval == nil {
		return ""
	}
	return fmt.Sprintf(", %.0f %% interval over cases %.1f to %.1f", 100*level, 100*interval[0], 100*interval[1])
}

// preferenceJudge shows the judge and the cost of its preferences.
func (t *screen) preferenceJudge(name string, j *compare.PreferenceJudge, calls *compare.PreferenceCalls) {
	t.out.WriteString("\n")
	t.wrapped(
		"",
		fmt.Sprintf("the judge %s (%s) chose: %s, %s", name, j.Model, diag.Count(calls.Attempts, "call"), diag.Count(calls.Tokens, "token")),
	)
	if j.Criteria != "" {
		t.wrapped("  ", "by: "+j.Criteria)
	}
	if j.Emulator {
		t.wrapped("  ", "the judge is evalrun's emulator: its replies come from a script, not from a model")
	}
	if calls.Incomplete != "" {
		t.wrapped("  ", "INCOMPLETE: "+calls.Incomplete)
	}
}
