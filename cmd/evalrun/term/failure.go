package term

import (
	"maps"
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

// failures are the cases that failed so far.
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

// input is what differs between the prompts of cases: the variables that the prompt has, else those that are not what the
// answer is compared with, else the last message; "" under --no-content.
func input(r *eval.Result) string {
	said := lastMessage(r.Request)
	all := slices.Sorted(maps.Keys(r.Vars))
	isSent := func(name string) bool {
		value := strings.TrimSuffix(r.Vars[name], "...") // long values are cut
		return value != "" && strings.Contains(said, value)
	}
	sent := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !isSent(name) })
	if len(sent) == 0 && said == "" { // an application has variables without a message
		sent = all
	}
	switch len(sent) {
	case 0:
		return quoted(said)
	case 1:
		return quoted(r.Vars[sent[0]])
	}
	for i, name := range sent {
		sent[i] = name + " " + quoted(r.Vars[name])
	}
	return strings.Join(sent, ", ")
}

// quoted is a text in quotes, shortened inside of them; "" for no text.
func quoted(s string) string {
	if s == "" {
		return ""
	}
	return `"` + displaywidth.TruncateString(diag.CleanLine(s), longestField-len(`""`), "...") + `"`
}

func lastMessage(r *eval.Request) string {
	if r == nil || len(r.Contents) == 0 {
		return ""
	}
	var b strings.Builder
	for _, part := range r.Contents[len(r.Contents)-1].Parts {
		if t, ok := part.(eval.TextPart); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}
