package reports

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/journal"
)

// Cases writes the wanted trials in full, and reports whether there are any. With o.Verbose it adds harmless safety ratings,
// the tools that a model may call, and raw answers.
func Cases(w io.Writer, d *journal.Document, wanted Wanted, o Options) (bool, error) {
	found := false
	for row := range d.Rows() {
		if !wanted.Case.Match(row.Case) {
			continue
		}
		for r, err := range d.Read(row) {
			if err != nil {
				return found, err
			}
			if !wanted.Match(r) {
				continue
			}
			found = true
			c := caseReport{screen: screen{d: d, o: o}, indent: plainIndent, label: plainLabel}
			c.trial(r)
			if _, err := w.Write(c.out.Bytes()); err != nil {
				return found, err
			}
		}
	}
	return found, nil
}

type caseReport struct {
	screen
	indent string // for texts and facts
	label  int    // columns for the label of a text
}

func (c *caseReport) printf(format string, args ...any) { fmt.Fprintf(&c.out, format, args...) }

// note writes a sentence. In a terminal it is wrapped, with later lines indented.
func (c *caseReport) note(indent, format string, args ...any) {
	lines := []string{diag.CleanLine(fmt.Sprintf(format, args...))}
	if c.o.Width > 0 {
		lines = foldedLines(lines[0], max(20, c.o.Width-len(indent)-2), noteLines)
	}
	for i, line := range lines {
		if i == 1 {
			indent += "  "
		}
		c.printf("%s%s\n", indent, line)
	}
}

// noteLines is the most lines for a sentence; the last one holds the rest.
const noteLines = 100

func (c *caseReport) trial(r *eval.Result) {
	c.printf(
		"%s %s / %s on %s, repeat %d\n", c.paint(text.ToneOf(r.Outcome()), diag.CleanLine(strings.ToUpper(string(r.Outcome())))),
		diag.CleanLine(r.Suite), diag.CleanLine(r.Case), diag.CleanLine(r.Arm), r.Repeat,
	)
	target := c.d.Run.Target(r.Suite, r.Target)
	c.note("  ", "trial %s, case %s, %s", r.ID, r.CaseID, tested(r.Model, target))
	for _, lead := range leads(r) {
		c.note("  ", "%s", lead)
	}
	if r.SkipReason() != "" {
		c.note("  ", "not run: %s", r.SkipReason())
	}
	if r.Err() != nil {
		c.note("  ", "error %s: %s", r.Err().Kind, r.Err().Error())
	}
	c.request(r, target)
	c.turns(r)
	c.modelCalls(r)
	c.response(r.Response)
	if r.Changes != "" {
		c.printf("  changed files\n")
		c.indent += "  "
		c.block("", r.Changes)
		c.indent = strings.TrimSuffix(c.indent, "  ")
	}
	for _, s := range r.Scores {
		c.score(s)
	}
	c.judgePrompts(r.Judgements)
	for _, name := range slices.Sorted(maps.Keys(r.Metrics)) {
		c.printf("  metric %s: %.3g\n", diag.CleanLine(name), r.Metrics[name])
	}
	c.cost(r)
	c.printf("\n")
}

func (c *caseReport) ratings(of string, ratings []eval.SafetyRating) {
	if len(ratings) == 0 {
		return
	}
	var words []string
	harmless := 0
	for _, r := range ratings {
		if !c.o.Verbose && !r.Blocked && r.Probability == eval.Probabilities[0] {
			harmless++
			continue
		}
		one := strings.TrimPrefix(r.Category, "HARM_CATEGORY_") + " " + r.Probability
		if r.Blocked {
			one += " (blocked)"
		}
		words = append(words, one)
	}
	if harmless > 0 {
		words = append(words, fmt.Sprintf("%d of %d %s", harmless, len(ratings), eval.Probabilities[0]))
	}
	c.note(c.indent, "safety of the %s: %s", of, strings.Join(words, ", "))
}

func (c *caseReport) score(s eval.Score) {
	mark, outcome := "passed", eval.Pass
	shown := "-"
	value, scored := s.Value()
	switch {
	case !scored:
		mark, outcome = "unscored", eval.Err
	case !s.Passed():
		mark, outcome = "failed", eval.Fail
	}
	if scored {
		shown = fmt.Sprintf("%.3g", value)
	}
	start := c.out.Len()
	c.note("  ", "%s %s (%s): %s", mark, text.ScoreName(s), shown, s.Reason)
	line := strings.Replace(string(c.out.Bytes()[start:]), mark, c.paint(text.ToneOf(outcome), mark), 1)
	c.out.Truncate(start)
	c.out.WriteString(line)
	if s.Diff != "" {
		for _, line := range strings.Split(s.Diff, "\n") {
			c.printf("    %s\n", diag.CleanLine(line))
		}
	}
	c.rulings(s.Judged)
}

// rulings shows each ruling of a panel, or of a judge with several repeats.
func (c *caseReport) rulings(j *eval.Judged) {
	if j == nil || len(j.Rulings) < 2 {
		return
	}
	nth := map[string]int{}
	for _, r := range j.Rulings {
		judge := cmp.Or(r.Judge, j.Judge)
		nth[judge]++
		c.note("    ", "judge %s, repeat %d: %s (%.3g): %s", judge, nth[judge], r.Choice, r.Value, r.Reason)
	}
}

// judgePrompts shows the prompts to judges, each text once.
func (c *caseReport) judgePrompts(all []eval.Judgement) {
	for _, j := range all {
		if j.Prompt == "" {
			continue
		}
		c.printf("  the judge %s was sent\n", diag.CleanLine(j.Judge))
		c.block("prompt", j.Prompt)
	}
}
