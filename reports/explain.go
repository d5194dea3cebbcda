package reports

import (
	"fmt"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/journal"
)

// maxExplained bounds the text for one case, in code points.
const maxExplained = 6_000

// Explain returns the outcome of a case on an arm and, unless it passed, a text: the reason, then the position of the case
// and the repeats with that outcome in full. Each line after the first begins with a bar, so that no answer can look like the
// caller's output; control characters are escaped, and long texts are cut.
func Explain(repeats []*eval.Result) (eval.Outcome, string) {
	var counts eval.Counts
	for _, r := range repeats {
		counts.Add(r.Outcome())
	}
	outcome := journal.Fold(counts)
	if outcome == eval.Pass {
		return outcome, ""
	}
	message, rest := explained(repeats, outcome)
	if len(repeats) > 1 {
		message = fmt.Sprintf("%s: %s", tally(counts), message)
	}
	var out strings.Builder
	out.WriteString(diag.CleanLine(shorten(message, 500)))
	if at := repeats[0].At; at != "" {
		out.WriteString("\n| " + diag.CleanLine(at))
	}
	if rest != "" {
		for line := range strings.SplitSeq(shorten(rest, maxExplained), "\n") {
			out.WriteString("\n| " + diag.Clean(strings.TrimSuffix(line, "\r")))
		}
	}
	return outcome, out.String()
}

// explained says why repeats have an outcome: the first one's reason, then a description of each.
func explained(repeats []*eval.Result, outcome eval.Outcome) (message, rest string) {
	var body strings.Builder
	for _, r := range repeats {
		if r.Outcome() != outcome {
			continue
		}
		if message == "" {
			message = text.Why(r)
		}
		if outcome != eval.Skip {
			account(&body, r, len(repeats))
		}
	}
	return message, strings.TrimRight(body.String(), "\n")
}
