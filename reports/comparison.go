package reports

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/internal/text"
)

// Limits of a comparison; the rest is counted.
const (
	maxFlips = 10
	maxNames = 5 // names of arms
)

// Comparison writes a comparison of two runs for people: the verdicts, a line per metric, and the cases that changed.
func Comparison(w io.Writer, c *compare.Comparison, o Options) error {
	t := newScreen(nil, o)
	t.comparison(c)
	return t.writeTo(w)
}

func (t *screen) verdict(v eval.Verdict) string {
	return t.paint(toneOf(compare.State(v)), verdictWords[v])
}

func (t *screen) comparison(c *compare.Comparison) {
	t.wrapped("", compared(c))
	t.headline(c)
	for _, warning := range c.Warnings {
		t.wrapped("  ", "warning: "+warning)
	}
	for i := range c.Arms {
		t.armComparison(&c.Arms[i], len(c.Arms) > 1)
	}
	if p := c.Preferences; p != nil {
		t.preferenceJudge(p.Judge, &p.PreferenceJudge, &p.PreferenceCalls)
	}
	if _, _, ok := twoArms(c); ok && c.Verdict == eval.Inconclusive && c.Head.Name != "" {
		t.line("which of them is best is another question: evalrun compare %s --rank", diag.CleanLine(text.ShellWord(c.Head.Name)))
	}
}

// headline shows which cases are compared, if not all, and what happened in a sentence, with its notes.
func (t *screen) headline(c *compare.Comparison) {
	if c.Coverage != "" {
		t.wrapped("", c.Coverage)
	}
	lines := []string{diag.CleanLine(c.Headline)}
	if !t.piped || c.Headline == "" {
		lines = foldedLines(c.Headline, max(20, t.o.Width), maxHeadline)
	}
	for i, line := range lines {
		if n := len(c.Words); i == 0 && n <= len(line) {
			line = t.paint(toneOf(c.State), line[:n]) + line[n:]
		}
		t.out.WriteString(line + "\n")
	}
	for _, note := range c.AllNotes() {
		t.paragraph(note)
	}
	if c.Next != "" && !t.o.Quiet {
		t.paragraph("next: " + c.Next)
	}
}

// maxHeadline is the most lines of a headline.
const maxHeadline = 8

// twoArms are the two arms of one run that are compared; ok is false for any other comparison.
func twoArms(c *compare.Comparison) (base, head string, ok bool) {
	if c.Base.Run == "" || c.Base.Run != c.Head.Run || len(c.Arms) == 0 {
		return "", "", false
	}
	base, head = c.Arms[0].BaseArm, c.Arms[0].HeadArm
	same := !slices.ContainsFunc(c.Arms, func(a compare.ArmComparison) bool { return a.BaseArm != base || a.HeadArm != head })
	return base, head, same && base != "" && base != head
}

// compared names both sides: two runs, or two arms of one run.
func compared(c *compare.Comparison) string {
	if base, head, ok := twoArms(c); ok {
		return fmt.Sprintf("%s compared with %s, both in %s", head, base, sideName(&c.Head))
	}
	words := "compared with " + sideName(&c.Base)
	if c.Head.Name != "" && c.Head.Name != c.Head.Run {
		words = sideName(&c.Head) + " " + words
	}
	return words
}

// armComparison shows an arm; its headline only when it is one of several.
func (t *screen) armComparison(a *compare.ArmComparison, several bool) {
	t.out.WriteString("\n")
	t.armVerdict(a)
	if several {
		t.paragraph(a.Headline)
	}
	r := overview.ComparisonWordsOf(a)
	for _, line := range r.Cases {
		t.paragraph(line)
	}
	t.metricTable(a.Metrics)
	for _, line := range r.Metrics {
		t.paragraph(line)
	}
	for i := range a.Metrics {
		t.advice(&a.Metrics[i])
	}
	if t.o.Verbose {
		for _, line := range r.Tests {
			t.paragraph(line)
		}
	}
	t.preference(a)
	t.flips(a.Flips, r.Changes)
	t.slices(a.Slices)
	t.safety(a.Safety)
}

func (t *screen) armVerdict(a *compare.ArmComparison) {
	name := a.HeadArm
	if a.BaseArm != a.HeadArm && a.BaseArm != "" {
		name = a.BaseArm + " -> " + a.HeadArm
	}
	head := diag.CleanLine(a.Suite + " on " + name)
	if a.Verdict != "" {
		head += ": " + t.verdict(a.Verdict)
	}
	t.line("%s", head)
}

func (t *screen) metricTable(metrics []compare.MetricComparison) {
	var body [][]string
	for i := range metrics {
		row := metricRow(&metrics[i])
		if v := metrics[i].Verdict; v != "" {
			row[len(row)-1] = t.verdict(v)
		}
		body = append(body, row)
	}
	if len(body) == 0 {
		return
	}
	levels := levelsOf(metrics)
	interval := "interval"
	if len(levels) == 1 {
		interval = overview.Level(&metrics[0]) + " interval"
	}
	t.grid([]gridColumn{
		{Header: "metric"},
		{Header: "base", Optional: 1},
		{Header: "head", Optional: 2},
		{Header: "difference"},
		{Header: interval},
		{Header: "n", Optional: 3},
		{Header: "verdict"},
	}, body)
	if len(levels) > 1 {
		t.paragraph("levels of the intervals: " + strings.Join(levels, ", "))
	}
}

func levelsOf(metrics []compare.MetricComparison) (out []string) {
	var order []string
	names := map[string][]string{}
	for i := range metrics {
		level := overview.Level(&metrics[i])
		if names[level] == nil {
			order = append(order, level)
		}
		names[level] = append(names[level], metrics[i].Name)
	}
	for _, level := range order {
		out = append(out, fmt.Sprintf("%s (%s)", level, strings.Join(names[level], ", ")))
	}
	return out
}

// advice says what it would take to get a verdict.
func (t *screen) advice(m *compare.MetricComparison) {
	if m.Gated && m.Advice != "" && !m.Advisory {
		t.paragraph("to know more: " + m.Advice + " (evalrun help verdicts#what-to-do-about-cannot-tell)")
	}
}

// flips counts the cases whose outcome changed, and shows them with both answers. The report of a run already
// lists the failing ones among its failures.
func (t *screen) flips(flips []compare.Flip, changes string) {
	if changes != "" {
		t.paragraph(changes)
	}
	if t.d != nil {
		flips = slices.DeleteFunc(slices.Clone(flips), func(f compare.Flip) bool { return f.Worse() })
	}
	single := slices.ContainsFunc(flips, func(f compare.Flip) bool { return f.SingleSample })
	for i, f := range flips {
		if i == maxFlips {
			t.line("  and %s whose outcome changed", diag.Count(len(flips)-i, "more case"))
			break
		}
		word, tone, note := "newly passing", text.Good, flipNote(&f)
		if f.Worse() {
			word, tone = "newly failing", text.Bad
		}
		if f.SingleSample { // which is said once, below
			note = ""
		}
		t.line(
			"  %s %s: %d/%d, was %d/%d%s", t.paint(tone, word), diag.CleanLine(f.Case), f.HeadPassed, f.HeadScored,
			f.BasePassed, f.BaseScored, note,
		)
		if f.BaseAnswer != "" || f.HeadAnswer != "" {
			t.answers(f.BaseAnswer, f.HeadAnswer)
		}
	}
	if single {
		t.paragraph("one sample each: no such change is evidence by itself")
	}
}

// answers shows a line diff of two answers.
func (t *screen) answers(base, head string) {
	switch {
	case base == head:
		t.line("      the same answer: %s", diag.CleanLine(head))
		return
	case base == "" || head == "": // exported baselines have no answers
		t.line("      the answer: %s", diag.CleanLine(base+head))
		return
	}
	for _, line := range answerDiff(base, head) {
		t.line("      %s", diag.CleanLine(line))
	}
}

// slices shows the tags whose cases differ from the rest.
func (t *screen) slices(all []compare.Slice) {
	for _, s := range all {
		if s.Significant {
			t.wrapped("  ", fmt.Sprintf(
				"tag %s looks worse: %+.3f (%s), n=%d; one of %d tags looked at, a hint and no verdict", s.Tag, s.Estimate,
				bounds(s.Interval, "%+.3f"), s.N, len(all),
			))
		}
	}
}

// safety shows the categories whose ratings or blocks changed.
func (t *screen) safety(all []compare.CategoryComparison) {
	for _, c := range all {
		if c.BaseHigh != c.HeadHigh || c.BaseBlocked != c.HeadBlocked {
			t.wrapped("  ", fmt.Sprintf(
				"%s: rated MEDIUM or higher in %s of %d answers, was %s of %d; blocked %s, was %s",
				c.Category, diag.Percent(c.HeadHigh), c.HeadRated, diag.Percent(c.BaseHigh), c.BaseRated, diag.Percent(c.HeadBlocked),
				diag.Percent(c.BaseBlocked),
			))
		}
	}
}

// maxDiffLines is the most lines of a diff of two answers.
const maxDiffLines = 8

// answerDiff is a line diff of two texts: - before, + after.
func answerDiff(base, head string) []string {
	const most = 1 << 16 // no reader needs more, and comparing is slow
	base, head = text.CutText(base, most), text.CutText(head, most)
	diff := udiff.Unified("", "", base+"\n", head+"\n")
	var out []string
	for _, line := range strings.Split(diff, "\n") {
		if !isChange(line) {
			continue
		}
		if len(out) == maxDiffLines {
			return append(out, "...")
		}
		out = append(out, line[:1]+" "+line[1:])
	}
	return out
}

// isChange reports whether a line of a unified diff is an added or removed one.
func isChange(line string) bool {
	heading := strings.HasPrefix(line, "---") || strings.HasPrefix(line, "+++")
	return !heading && (strings.HasPrefix(line, "+") || strings.HasPrefix(line, "-"))
}

func toneOf(s compare.State) text.Tone {
	return cmp.Or(map[compare.State]text.Tone{
		compare.State(eval.Improved): text.Good, compare.State(eval.NotWorse): text.Good, compare.State(eval.Regressed): text.Bad,
		compare.State(eval.Invalid): text.Alarm,
	}[s], text.Neutral)
}
