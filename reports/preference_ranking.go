package reports

import (
	"fmt"
	"io"
	"strings"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/text"
)

// Preferences writes for people how a judge's preferences rank the arms of a run, with a table per suite.
func Preferences(w io.Writer, p *compare.Preferences, o Options) error {
	t := newScreen(nil, o)
	t.line("%s", diag.CleanLine(sideName(&p.Run)+" ranked by preference"))
	for i := range p.Suites {
		t.preferences(&p.Suites[i])
	}
	t.preferenceJudge(p.By.Judge, &p.By.PreferenceJudge, &p.By.PreferenceCalls)
	return t.writeTo(w)
}

func (t *screen) preferences(s *compare.SuitePreferences) {
	t.out.WriteString("\n")
	head := fmt.Sprintf("%s, %s", s.Suite, diag.Count(s.Units, "independent case"))
	if s.Invalid != "" {
		head += ": " + t.paint(text.Alarm, "NO RANKING")
	}
	t.line("%s", diag.CleanLine(head))
	if s.Invalid != "" {
		t.wrapped("  ", s.Invalid)
	} else {
		t.ranked(&s.PreferenceRanking)
	}
	t.preferenceCounts(s)
	for _, warning := range s.Warnings {
		t.wrapped("  ", "warning: "+warning)
	}
}

// ranked shows the arms in order, and the preferences between each two.
func (t *screen) ranked(p *compare.PreferenceRanking) {
	t.grid(preferenceColumns(p), preferenceRows(p))
	best := p.Best()
	switch {
	case p.Why != "":
		t.wrapped("  ", p.Why)
	case len(best) == 1:
		t.wrapped("  ", fmt.Sprintf("* the most preferred arm, %.0f %% sure", 100*p.Level))
	default:
		t.wrapped(
			"  ",
			fmt.Sprintf("* the %d arms that cannot be ruled out as the most preferred, %.0f %% sure", len(best), 100*p.Level),
		)
	}
	if len(p.Separated) > 0 {
		t.paragraph("won or lost all comparisons with some of the others, so that their strengths are bounded by the prior only: " +
			strings.Join(p.Separated, ", "))
	}
	t.preferenceMatrix(p)
}

func preferenceColumns(p *compare.PreferenceRanking) []gridColumn {
	columns := []gridColumn{
		{Header: ""},
		{Header: "#"},
		{Header: "arm", Least: 20},
		{Header: "preferred"},
		{Header: fmt.Sprintf("%.0f %% interval", 100*p.Level)},
		{Header: "strength", Optional: 4},
		{Header: "won", Optional: 1},
		{Header: "lost", Optional: 1},
		{Header: "tied", Optional: 1},
	}
	return append(columns, takenTable{p.Currency}.columns()...)
}

func preferenceRows(p *compare.PreferenceRanking) (rows [][]string) {
	taken := takenTable{p.Currency}
	for i, a := range p.Arms {
		mark, preferred, interval, strength := "", "-", "-", "-"
		if a.Best {
			mark = "*"
		}
		if a.Preference != nil {
			preferred, strength = diag.Percent(*a.Preference), fmt.Sprintf("%+.2f", *a.Strength)
		}
		if a.Interval != nil {
			interval = fmt.Sprintf("%.1f to %.1f", 100*a.Interval[0], 100*a.Interval[1])
		}
		rows = append(rows, []string{
			mark, fmt.Sprint(i + 1), diag.CleanLine(a.Arm), preferred, interval, strength,
			caseCount(a.Wins), caseCount(a.Losses), caseCount(a.Ties),
		})
		rows[i] = append(rows[i], taken.cells(&a.Taken)...)
	}
	return rows
}

// preferenceMatrix shows for each pair of arms how far the row's arm is preferred, if there is room for a column
// per arm.
func (t *screen) preferenceMatrix(p *compare.PreferenceRanking) {
	k := len(p.Arms)
	const label, cell = 4, 4
	if k < 3 || label+k*cell > t.o.Width {
		return
	}
	of := map[[2]string]string{}
	for _, pair := range p.Pairs {
		share := 100 * (pair.Wins + pair.Ties/2) / (pair.Wins + pair.Losses + pair.Ties)
		of[[2]string{pair.First, pair.Second}] = fmt.Sprintf("%.0f", share)
		of[[2]string{pair.Second, pair.First}] = fmt.Sprintf("%.0f", 100-share)
	}
	t.out.WriteString("\n")
	t.wrapped("  ", "how far the arm of the row is preferred to that of the column, in %, where a tie is half:")
	line := strings.Repeat(" ", label)
	for i := range p.Arms {
		line += fmt.Sprintf("%*d", cell, i+1)
	}
	t.line("%s", line)
	for i, a := range p.Arms {
		line = fmt.Sprintf("%*d", label, i+1)
		for j, b := range p.Arms {
			text := of[[2]string{a.Arm, b.Arm}]
			if i == j {
				text = "."
			} else if text == "" {
				text = "-"
			}
			line += fmt.Sprintf("%*s", cell, text)
		}
		t.line("%s", line)
	}
	t.out.WriteString("\n")
}

// preferenceCounts says what the judge preferred, over all pairs of arms.
func (t *screen) preferenceCounts(s *compare.SuitePreferences) {
	c := &s.AnswerPairs
	t.wrapped("  ", fmt.Sprintf(
		"%s of answers: %d tied (%d the same answer), unjudged %d; ties are %.0f %% of the judged",
		diag.Count(c.Pairs, "pair"), c.Ties, c.Same, c.Unjudged, 100*s.Ties,
	))
	if f := c.FirstPlace; f.Of > 0 {
		t.wrapped("  ", firstPlace(&f, 1-2*eval.DefaultAlpha))
	}
	if c.Contradicted > 0 {
		t.wrapped("  ", orderDecided(c.Contradicted, c.Pairs-c.Same-c.Unjudged))
	}
	t.unjudged(c.Why)
}

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
			"preference for head: %s, %.0f %% interval %.1f to %.1f", diag.Percent(*c.Share), 100*c.Level, 100*c.Interval[0],
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

func (t *screen) preferenceJudge(name string, j *compare.PreferenceJudge, calls *compare.PreferenceCalls) {
	t.out.WriteString("\n")
	t.wrapped(
		"",
		fmt.Sprintf(
			"the judge %s (%s) chose: %s, %s", name, j.Model, diag.Count(calls.Attempts, "call"), diag.Count(calls.Tokens, "token"),
		),
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
