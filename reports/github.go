package reports

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/journal"
)

// maxArmsListed is the most arms of a case that an annotation names.
const maxArmsListed = 5

// writeGitHub writes workflow commands for GitHub Actions: the gate, and the unpassed cases at their lines of the suite. They are
// warnings where a gate holds, and in quarantine. Against a baseline only new failures are annotated; the others are counted.
func writeGitHub(w io.Writer, d *journal.Document, _ Options) error {
	g := github{d: d, problem: "warning", failures: overview.NewFailures(d)}
	if !overview.HasPassed(d) && d.Waits() == nil {
		g.problem = "error"
	}
	g.gate()
	if err := g.cases(); err != nil {
		return err
	}
	var lines []string
	if d.Run.Emulator {
		lines = append(lines, command("notice", "evalrun", "", overview.FromEmulator(&d.Run)))
	}
	if words := overview.IntegrityOf(d.Summary.Integrity); words != "" {
		lines = append(lines, command("notice", "evalrun: integrity of programs' trials", "", words))
	}
	if c := d.Comparison(); c != nil && c.Coverage != "" {
		lines = append(lines, command("notice", "evalrun: not all cases are compared", "", c.Coverage))
	}
	if c := d.Comparison(); c != nil && overview.HasPassed(d) { // else they are with the broken rule
		for _, note := range c.AllNotes() {
			lines = append(lines, command("notice", "evalrun: baseline", "", note))
		}
	}
	for _, list := range []*annotations{&g.errors, &g.warnings} {
		lines = append(lines, list.shown...)
		if left := list.left; left.Total() > 0 {
			lines = append(lines, command(list.level, "evalrun: more cases", "", fmt.Sprintf(
				"%s: %d failed, %d could not be judged; the other reports of the run name them",
				diag.Count(left.Total(), "more case"), left.Fail, left.Error)))
		}
	}
	if g.old > 0 {
		lines = append(lines, command("notice", "evalrun: not new", "", diag.Count(g.old, "case")+" failed in the baseline too"))
	}
	return writeLines(w, lines)
}

func writeLines(w io.Writer, lines []string) error {
	_, err := io.WriteString(w, strings.Join(append(lines, ""), "\n"))
	return err
}

type github struct {
	old              int // cases that failed in the baseline too: this change did not break them
	d                *journal.Document
	problem          string // level for cases that count
	errors, warnings annotations
	failures         overview.Failures
}

// annotations are the first annotations of a level, and counts of the rest.
type annotations struct {
	level string
	shown []string
	left  eval.Counts // cases
}

func (g *github) list(level string) *annotations {
	list := &g.warnings
	if level == "error" {
		list = &g.errors
	}
	list.level = level
	return list
}

// gate adds one annotation at the suite with the rules that do not hold.
func (g *github) gate() {
	where := ""
	if len(g.d.Run.Suites) == 1 {
		where = g.d.Run.Suites[0].File
	}
	if g.d.Gate() == nil {
		list := g.list("error")
		list.shown = append(list.shown, command("error", "evalrun: "+overview.NotGated, where, overview.NotApplied))
		return
	}
	if g.d.End.Waits() {
		list := g.list("warning")
		list.shown = append(list.shown, command("warning", "evalrun: waiting (exit 5)", where, overview.Progress(g.d)+"\n"+
			overview.Collect(g.d)+" collects the answers"))
		return
	}
	broken, warned := g.rules()
	if g.d.Gate().Exit != eval.CodeOK {
		list := g.list("error")
		list.shown = append(list.shown, command(
			"error", fmt.Sprintf("evalrun: the gate does not hold (exit %d)", g.d.Gate().Exit), where,
			cmp.Or(strings.Join(broken, "\n"), "there are trials that failed or could not be judged"),
		))
	}
	if len(warned) > 0 {
		list := g.list("warning")
		list.shown = append(list.shown, command("warning", "evalrun: the gate holds with a warning", where, strings.Join(warned, "\n")))
	}
}

func (g *github) rules() (broken, warned []string) {
	if g.d.Partial() && g.d.Gate().Exit != eval.CodeOK {
		broken = append(broken, "not every trial of the plan was judged")
	}
	for _, r := range g.d.Gate().Rules {
		switch r.Standing {
		case journal.RuleBroken:
			broken = append(broken, verdictLines(g.d, &r)...)
		case journal.RuleWarned:
			warned = append(warned, verdictLines(g.d, &r)...)
		case journal.RuleHolds:
		}
	}
	if len(broken) == 0 && g.d.Comparison() != nil { // else they are next to the broken rules
		warned = append(warned, g.d.Comparison().AllNotes()...)
	}
	return broken, append(warned, overview.OriginNotes(g.d)...)
}

// cases annotates each failed case, new failures first, then each case that could not be scored.
func (g *github) cases() error {
	for _, standing := range overview.Standings() {
		if err := g.casesOf(eval.Fail, standing); err != nil {
			return err
		}
	}
	return g.casesOf(eval.Err, "")
}

func (g *github) casesOf(wanted eval.Outcome, standing overview.Standing) error {
	for row := range g.d.Rows() {
		if journal.Fold(row.Counts) != wanted || wanted == eval.Fail && g.standing(row) != standing {
			continue
		}
		if wanted == eval.Fail && g.standing(row) == overview.AlsoFailed {
			g.old++
			continue
		}
		level := g.problem
		if row.Quarantined() {
			level = "warning"
		}
		list := g.list(level)
		if len(list.shown) >= maxAnnotations-1 { // the last line counts the rest
			list.left.Add(wanted)
			continue
		}
		line, err := g.caseName(row, level)
		if err != nil {
			return err
		}
		list.shown = append(list.shown, line)
	}
	return nil
}

// standing is how a failed case did in the baseline.
func (g *github) standing(row journal.Row) overview.Standing {
	return g.failures.OfRow(row, g.d.Summary.Suite(row.Suite).Arms)
}

// caseName is the annotation of a case, with one line per arm.
func (g *github) caseName(row journal.Row, level string) (string, error) {
	var lines []string
	at, more := "", 0
	for cell, name := range onArms(g.d, row) {
		outcome := journal.Fold(cell.Counts)
		switch {
		case outcome != eval.Fail && outcome != eval.Err:
			continue
		case len(lines) == maxArmsListed:
			more++
			continue
		}
		r, err := g.first(cell, outcome)
		if err != nil {
			return "", err
		}
		if q := r.Quarantine; q != nil && len(lines) == 0 && row.Quarantined() {
			lines = append(lines, fmt.Sprintf("in quarantine until %s (%s): %s", q.Until, q.Owner, q.Reason))
		}
		at = r.At
		if standing := g.failures.OfTrial(r); standing != "" {
			name += " (" + string(standing) + ")"
		}
		lines = append(lines, name+": "+shorten(text.Why(r), maxAnnotationText/maxArmsListed))
	}
	if more > 0 {
		lines = append(lines, "and on "+diag.Count(more, "more arm"))
	}
	word := failedWords(g.standing(row))
	if journal.Fold(row.Counts) == eval.Err {
		word = "could not be judged"
	}
	return command(
		level, fmt.Sprintf("%s: %s (%s)", row.Case, word, tally(row.Counts)), cmp.Or(at, g.d.Run.Suite(row.Suite).File),
		strings.Join(lines, "\n"),
	), nil
}

// failedWords says that a case failed, and how it did in the baseline.
func failedWords(s overview.Standing) string {
	switch s {
	case overview.NewlyFailing, overview.AlsoFailed:
		return string(s)
	case overview.NotInBaseline, overview.Changed:
		return "failed, " + string(s)
	}
	return "failed"
}

func (g *github) first(cell journal.Row, outcome eval.Outcome) (*eval.Result, error) {
	for r, err := range g.d.Read(cell) {
		if err != nil || r.Outcome() == outcome {
			return r, err
		}
	}
	return nil, fmt.Errorf("case %s has changed while it was read", cell.Case)
}

// GitHub shows ten errors and ten warnings per step; further ones are counted.
const (
	maxAnnotations    = 10
	maxAnnotationText = 2000 // code points
)

// position splits file:line:col and file:line.
var position = regexp.MustCompile(`^(.*?):(\d{1,9})(?::(\d{1,9}))?$`)

// command is a workflow command. No text in it can end it or begin another.
func command(level, title, at, message string) string {
	var properties []string
	if at != "" {
		file, line, col := at, "", ""
		if m := position.FindStringSubmatch(at); m != nil {
			file, line, col = m[1], m[2], m[3]
		}
		properties = append(properties, "file="+property(path.Clean(strings.ReplaceAll(file, `\`, "/"))))
		if line != "" {
			properties = append(properties, "line="+line)
		}
		if col != "" {
			properties = append(properties, "col="+col)
		}
	}
	properties = append(properties, "title="+property(shorten(title, 200)))
	lines := strings.Split(shorten(message, maxAnnotationText), "\n")
	for i := range lines {
		lines[i] = data(lines[i])
	}
	return "::" + level + " " + strings.Join(properties, ",") + "::" + strings.Join(lines, "%0A")
}

// data escapes a line of a command's message.
func data(s string) string { return strings.ReplaceAll(diag.CleanLine(s), "%", "%25") }

func property(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(data(s))
}
