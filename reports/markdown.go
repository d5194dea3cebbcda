package reports

import (
	"cmp"
	"fmt"
	"html"
	"io"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/journal"
)

// Limits of a comment, in bytes: then it has at most as many characters, whatever they are.
const (
	maxMarkdown   = 60_000
	markdownSpare = 400 // reserved for the note on what was left out
	maxMdArms     = 40
	maxMdRules    = 20
	maxMdNames    = 10
	maxMdInline   = 160 // code points
	maxMdReason   = 400
	maxMdBlock    = 2500
)

// Markdown writes the run for a pull request or a step summary, in at most 60,000 characters; it says what it leaves out.
// Every text of the run is in code, so that no renderer finds a link, a mention, an emoji or HTML in it. The report begins
// with Marker, by which the next run finds its comment.
func Markdown(w io.Writer, d *journal.Document, o Options) error {
	m := markdown{d: d, failures: overview.NewFailures(d), listed: map[armCase]bool{}}
	m.add("%s\n", Marker(&d.Run))
	if err := m.head(o.Links); err != nil {
		return err
	}
	m.gate()
	m.race()
	m.arms()
	for _, r := range slices.Concat(d.Ranking(), d.Standings()) {
		m.ranking(&r)
	}
	m.classifications()
	if d.NotCompared() {
		m.add("Not compared with the baseline (`--no-baseline`).\n\n")
	}
	if c := d.Comparison(); c != nil {
		if err := m.comparison(c); err != nil {
			return err
		}
	}
	if err := m.cases(); err != nil {
		return err
	}
	m.closing()
	_, err := io.WriteString(w, m.out.String())
	return err
}

type markdown struct {
	d    *journal.Document
	out  strings.Builder
	left []string // what did not fit

	failures overview.Failures
	listed   map[armCase]bool // cases already listed as newly failing
}

// add writes a whole piece; false when it does not fit.
func (m *markdown) add(format string, args ...any) bool {
	text := fmt.Sprintf(format, args...)
	if m.out.Len()+len(text) > maxMarkdown-markdownSpare {
		return false
	}
	m.out.WriteString(text)
	return true
}

// missing records how many items were left out.
func (m *markdown) missing(n int, noun string) {
	if n > 0 {
		m.left = append(m.left, diag.Count(n, noun))
	}
}

func (m *markdown) head(links []Link) error {
	d, c := m.d, m.d.Summary.Counts
	m.add("## evalrun: %s\n\n", overview.HeadlineOf(d).Word)
	m.links(links)
	m.headline()
	if c := d.Comparison(); c != nil {
		m.sent(c)
		if err := m.worse(c); err != nil {
			return err
		}
	}
	var names []string
	for i := range d.Run.Suites {
		names = append(names, d.Run.Suites[i].Name)
	}
	cases := 0
	quarantined := 0
	note := ""
	for _, s := range d.Summary.Suites {
		cases += s.Cases
		quarantined += s.Quarantined
	}
	if quarantined > 0 {
		note = fmt.Sprintf(" (%d in quarantine)", quarantined)
	}
	m.add("%s: %s%s, %s: %d passed, %d failed, %d could not be judged, %d skipped; %s.\n\n",
		someCode(names), diag.Count(cases, "case"), note, diag.Count(c.Total(), "trial"),
		c.Pass, c.Fail, c.Error, c.Skip, diag.Count(d.Summary.Tokens.Total, "token"))
	for _, tag := range overview.FailingTags(d) {
		m.add("%s\n\n", codeOf(tag.String(), maxMdReason))
	}
	if words := overview.CutAnswers(&d.Summary); words != "" {
		m.add("%s.\n\n", words)
	}
	for _, line := range overview.Origins(&d.Run, code) {
		m.add("%s.\n\n", text.Sentence(line))
	}
	m.progress()
	if shard := d.Run.Plan.Shard; shard != nil {
		m.add("Shard %d of %d; the gate is applied when all are merged.\n\n", shard.Index, shard.Of)
	}
	if n := len(d.Damaged); n > 0 {
		m.add("The run file is damaged in %s.\n\n", diag.Count(n, "place"))
	}
	return nil
}

// links writes the links to further reading on one line.
func (m *markdown) links(all []Link) {
	var shown []string
	for _, l := range all {
		shown = append(shown, fmt.Sprintf("[%s](<%s>)", escapeText.Replace(inline(l.Text, maxMdInline)), escapeURL.Replace(l.URL)))
	}
	if len(shown) > 0 {
		m.add("%s\n\n", strings.Join(shown, " · "))
	}
}

// progress says how far an incomplete run is.
func (m *markdown) progress() {
	switch line := overview.Progress(m.d); {
	case line == "":
	case m.d.Running || m.d.End == nil:
		m.add("%s.\n\n", text.Sentence(line))
	default: // the reason may contain words of a service
		m.add("The run is not complete: %s\n\n", code(line))
		if command := overview.Collect(m.d); command != "" {
			m.add("%s collects the answers.\n\n", code(command))
		}
	}
}

// gate lists the rules that do not hold, and counts the rest.
func (m *markdown) gate() {
	if m.d.Gate() == nil {
		m.add("%s.\n\n", text.Sentence(overview.NotApplied))
		return
	}
	rules := m.d.Gate().Rules
	if len(rules) == 0 {
		return
	}
	var held, shown, left int
	m.drift()
	for _, r := range rules {
		if r.RuleName.IsDrift() {
			continue
		}
		if r.Standing == journal.RuleHolds {
			held++
			continue
		}
		word := "does not hold"
		if r.Standing == journal.RuleWarned {
			word = "warning"
		}
		if shown == maxMdRules || !m.add("- **%s**: %s\n", word, codeOf(ruleWords(r), maxMdReason)) {
			left++
			continue
		}
		shown++
	}
	if held > 0 && !m.add("- %s\n", allHold(held)) {
		left += held
	}
	for _, line := range overview.GateNotes(m.d) {
		if !m.add("- %s\n", codeOf(line, maxMdReason)) {
			left++
		}
	}
	m.add("\n")
	m.missing(left, "rule")
}

// race says what a race saved, and which arms stayed. The ranking shows who left.
func (m *markdown) race() {
	r := overview.RaceOf(m.d)
	if r == nil {
		return
	}
	m.add("%s.\n\n", text.Sentence(r.Words()))
	if words := r.Rates(); words != "" {
		m.add("%s.\n\n", text.Sentence(words))
	}
	for i := range r.Suites {
		m.add("- %s\n", codeOf(r.Suites[i].Stayed(len(r.Suites) > 1), maxMdReason))
	}
	m.add("\n")
}

func (m *markdown) arms() {
	several := len(m.d.Summary.Suites) > 1
	table := m.add(
		"| arm | pass | fail | error | skip | pass rate | 90 %% interval | tokens | latency |\n|---|--:|--:|--:|--:|--:|---|--:|--:|\n",
	)
	shown, left := 0, 0
	for s, a := range m.d.Summary.Arms {
		row := armRow(a)
		row[0] = cellCode(a.Name)
		if several {
			row[0] = cellCode(s.Name) + " " + row[0]
		}
		if !table || shown == maxMdArms || !m.add("| %s |\n", strings.Join(row, " | ")) {
			left++
			continue
		}
		shown++
	}
	m.add("\n")
	m.missing(left, "arm")
}

// failedTitles are the headings of failures, by how they did in the baseline.
var failedTitles = map[overview.Standing]string{
	overview.NewlyFailing: "Newly failing", overview.NotInBaseline: "Failed, not in the baseline",
	overview.Changed: "Failed, changed since the baseline", "": "Failed", overview.AlsoFailed: "Also failed in the baseline",
}

// cases shows failed cases, then unscored ones, on each arm.
func (m *markdown) cases() error {
	failed := 0
	for _, standing := range overview.Standings() {
		left, err := m.casesOf(eval.Fail, standing, failed > 0)
		if err != nil {
			return err
		}
		failed += left
	}
	m.missing(failed, "failed trial")
	unscored, err := m.casesOf(eval.Err, "", false)
	if err != nil {
		return err
	}
	m.missing(unscored, "unjudged trial")
	return nil
}

// casesOf shows the cases with an outcome and a standing, and counts the trials that do not fit. If earlier cases
// did not fit (full), it only counts, so that the report shows the beginning.
func (m *markdown) casesOf(outcome eval.Outcome, standing overview.Standing, full bool) (left int, err error) {
	title := "### " + failedTitles[standing] + "\n\n" // cleared once written
	if outcome == eval.Err {
		title = "### Could not be judged\n\n"
	}
	for cell, arm := range m.cells(outcome) {
		if outcome == eval.Fail && !m.isListedAs(standing, cell, arm) {
			continue
		}
		trials := tallied(cell.Counts, outcome)
		if full || left > 0 {
			left += trials
			continue
		}
		block, err := m.caseName(cell, arm, outcome)
		if err != nil {
			return 0, err
		}
		if m.add("%s%s", title, block) {
			title = ""
		} else {
			left = trials
		}
	}
	return left, nil
}

// isListedAs reports whether a failed case has this standing and is not listed yet.
func (m *markdown) isListedAs(standing overview.Standing, cell journal.Row, arm string) bool {
	return m.failures.Of(cell.Suite, arm, cell.Case) == standing && !m.listed[armCase{cell.Suite, arm, cell.Case}]
}

// cells yields the cases on arms that have this outcome and count.
func (m *markdown) cells(outcome eval.Outcome) iter.Seq2[journal.Row, string] {
	return func(yield func(journal.Row, string) bool) {
		for row := range m.d.Rows() {
			if row.Counts.Pass == row.Counts.Total() || row.Quarantined() {
				continue
			}
			for cell, arm := range onArms(m.d, row) {
				if journal.Fold(cell.Counts) == outcome && !yield(cell, arm) {
					return
				}
			}
		}
	}
}

// caseName is a case on an arm, folded.
func (m *markdown) caseName(row journal.Row, arm string, outcome eval.Outcome) (string, error) {
	reason := ""
	var body strings.Builder
	for r, err := range m.d.Read(row) {
		if err != nil {
			return "", err
		}
		if r.Outcome() != outcome {
			continue
		}
		if reason == "" {
			reason = text.Why(r)
		}
		if account(&body, r, row.Counts.Total()); body.Len() > maxMdBlock*utf8.UTFMax {
			break // nothing further is shown
		}
	}
	summary := htmlCode(row.Case) + " on " + htmlCode(arm)
	if row.Counts.Total() > 1 {
		summary += ": " + tally(row.Counts)
	}
	return details(summary+": "+htmlCode(reason), fenced("", body.String())), nil
}

func (m *markdown) closing() {
	if len(m.left) > 0 {
		m.out.WriteString("Left out: " + strings.Join(m.left, ", ") + ". The other reports of the run have them.\n")
	}
}

// details is a folded block; the summary is HTML, the body Markdown.
func details(summary, body string) string {
	return "<details><summary>" + summary + "</summary>\n\n" + body + "\n</details>\n\n"
}

// inline cuts a text to one line, without invisible characters.
func inline(s string, most int) string {
	s = strings.TrimSpace(diag.CleanLine(text.CutText(s, (most+1)*utf8.UTFMax)))
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most]) + "..."
	}
	return cmp.Or(s, "(empty)")
}

// code is a code span with a text of the run, whatever backticks it contains.
func code(s string) string { return codeOf(s, maxMdInline) }

func codeOf(s string, most int) string {
	s = inline(s, most)
	mark := strings.Repeat("`", longestRun(s)+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return mark + s + mark
}

// cellCode is code in a table, where a bar ends the cell even inside code.
func cellCode(s string) string { return code(strings.ReplaceAll(s, "|", "¦")) }

func htmlCode(s string) string {
	return "<code>" + html.EscapeString(inline(s, maxMdInline)) + "</code>"
}

func someCode(names []string) string {
	var out []string
	for i, name := range names {
		if i == maxMdNames {
			out = append(out, fmt.Sprintf("%d more", len(names)-i))
			break
		}
		out = append(out, code(name))
	}
	return strings.Join(out, ", ")
}

// fenced is a code block that no content can end.
func fenced(language, text string) string {
	text = shorten(diag.Clean(strings.ReplaceAll(strings.TrimRight(text, "\r\n"), "\r\n", "\n")), maxMdBlock)
	mark := strings.Repeat("`", max(3, longestRun(text)+1))
	return mark + language + "\n" + text + "\n" + mark + "\n"
}

func longestRun(s string) int {
	longest, run := 0, 0
	for _, r := range s {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}
