package reports

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/journal"
)

// Cases writes the trials that are wanted in full. That is the request as it was sent, answers, scores, safety ratings and
// timing. o.Verbose adds the tools that a model may call, and answers as they came. It reports whether it
// found any.
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
			c := caseReport{tableReport: tableReport{d: d, o: o}, indent: plainIndent, label: plainLabel}
			c.trial(r)
			if _, err := w.Write(c.out.Bytes()); err != nil {
				return found, err
			}
		}
	}
	return found, nil
}

// caseReport writes one trial with its whole texts.
type caseReport struct {
	tableReport
	indent string // of texts and facts
	label  int    // columns of the label of a text
}

func (c *caseReport) printf(format string, args ...any) { fmt.Fprintf(&c.out, format, args...) }

func (c *caseReport) trial(r *eval.Result) {
	c.printf(
		"%s %s / %s on %s, repeat %d\n", c.paint(r.Outcome, diag.CleanLine(strings.ToUpper(string(r.Outcome)))),
		diag.CleanLine(r.Suite), diag.CleanLine(r.Case), diag.CleanLine(r.Arm), r.Repeat,
	)
	target := c.d.Run.Target(r.Suite, r.Target)
	c.printf("  trial %s, case %s, %s\n", diag.CleanLine(r.ID), diag.CleanLine(r.CaseID), diag.CleanLine(tested(r.Model, target)))
	for _, lead := range leads(r) {
		c.printf("  %s\n", diag.CleanLine(lead))
	}
	if r.SkipReason != "" {
		c.printf("  not run: %s\n", diag.CleanLine(r.SkipReason))
	}
	if r.Error != nil {
		c.printf("  error %s: %s\n", diag.CleanLine(string(r.Error.Kind)), diag.CleanLine(r.Error.Error()))
	}
	c.request(r, target)
	c.turns(r)
	c.response(r.Response)
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

// shownText is a text, or what is kept of one that is withheld.
func shownText(text string, w *eval.Withheld) string {
	if w == nil {
		return text
	}
	return fmt.Sprintf("[%d bytes, not kept, sha256 %.12s]", w.Bytes, w.SHA256)
}

func (c *caseReport) ratings(of string, ratings []eval.SafetyRating) {
	if len(ratings) == 0 {
		return
	}
	var b bytes.Buffer
	for i, r := range ratings {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %s", strings.TrimPrefix(r.Category, "HARM_CATEGORY_"), r.Probability)
		if r.Blocked {
			b.WriteString(" (blocked)")
		}
	}
	c.printf("%ssafety of the %s: %s\n", c.indent, of, diag.CleanLine(b.String()))
}

func (c *caseReport) score(s eval.Score) {
	mark, outcome := "passed", eval.Pass
	value := "-"
	switch {
	case s.Value == nil:
		mark, outcome = "unscored", eval.Err
	case !s.Passed:
		mark, outcome = "failed", eval.Fail
	}
	if s.Value != nil {
		value = fmt.Sprintf("%.3g", *s.Value)
	}
	c.printf("  %s %s (%s): %s\n", c.paint(outcome, mark), diag.CleanLine(overview.ScoreName(s)), value, diag.CleanLine(s.Reason))
	if s.Diff != "" {
		for _, line := range strings.Split(s.Diff, "\n") {
			c.printf("    %s\n", diag.CleanLine(line))
		}
	}
	c.rulings(s.Judged)
}
