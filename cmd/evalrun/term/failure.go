package term

import (
	"slices"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/text"
)

// Bounds of the failures that a run lists while it is in progress.
const (
	mostFailures = 20
	longestField = 200 // columns
)

type failures struct {
	listed []string // by suite, case and arm: repeats of a case are one failure
	more   int      // failed trials of other cases
}

// fail prints a failed case once, with its input. Failures beyond mostFailures are counted.
func (p *ProgressBar) fail(r *eval.Result) {
	key := r.Suite + "\x00" + r.Case + "\x00" + r.Arm
	switch {
	case slices.Contains(p.failures.listed, key):
	case len(p.failures.listed) == mostFailures:
		p.failures.more++
	default:
		p.failures.listed = append(p.failures.listed, key)
		fields := p.failure(r)
		line := strings.Join(fields, "  ")
		if p.columns != nil && displaywidth.String("FAIL "+line) > p.columns() {
			line = strings.Join(fields, "\n     ")
		}
		p.print(p.paint(eval.Fail, "FAIL") + " " + line)
	}
}

// failure names the case and its arm, the input, and what was wrong with the answer.
func (p *ProgressBar) failure(r *eval.Result) []string {
	name := r.Case
	if p.Suites > 1 {
		name = r.Suite + ": " + name
	}
	fields := []string{field(name) + " on " + field(r.Arm)}
	if in := input(r); in != "" {
		fields = append(fields, field(in))
	}
	var wrong []string
	for _, s := range r.Scores {
		wanted, compared := strings.CutPrefix(s.Reason, "expected ")
		switch {
		case s.Passed():
		case compared && strings.Contains(wanted, ", got "):
			wrong = append(wrong, "want "+wanted)
		default:
			wrong = append(wrong, text.ScoreName(s)+": "+s.Reason)
		}
	}
	if len(wrong) == 0 {
		wrong = []string{text.Why(r)}
	}
	return append(fields, field(strings.Join(wrong, "; ")))
}

func field(s string) string {
	return displaywidth.TruncateString(diag.CleanLine(s), longestField, "...")
}

// input is what was asked in the case, on one line.
func input(r *eval.Result) string {
	fields := text.Input(r)
	if len(fields) == 1 {
		return quoted(fields[0].Value)
	}
	var out []string
	for _, f := range fields {
		out = append(out, f.Name+" "+quoted(f.Value))
	}
	return strings.Join(out, ", ")
}

// quoted is a text in quotes, shortened inside of them; "" for no text.
func quoted(s string) string {
	if s == "" {
		return ""
	}
	return `"` + displaywidth.TruncateString(diag.CleanLine(s), longestField-len(`""`), "...") + `"`
}
