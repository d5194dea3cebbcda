package reports

import (
	"fmt"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/journal"
)

// maxExplained bounds what is said of one case, in code points.
const maxExplained = 6_000

// Explain says what became of a case on an arm, its repeats folded. It writes the outcome and, unless that is a pass,
// why in one line, then where the case is written. The scores, differences and answers of each repeat with that outcome
// follow. Each of those lines begins with a bar, so that no answer can look like a line of the caller; control
// characters are escaped, and long texts are cut.
func Explain(repeats []*eval.Result) (eval.Outcome, string) {
	var counts eval.Counts
	for _, r := range repeats {
		counts.Add(r.Outcome)
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

// explained is why repeats have an outcome: the reason of the first, and what became of each.
func explained(repeats []*eval.Result, outcome eval.Outcome) (message, rest string) {
	var text strings.Builder
	for _, r := range repeats {
		if r.Outcome != outcome {
			continue
		}
		if message == "" {
			message = overview.Why(r)
		}
		if outcome != eval.Skip {
			account(&text, r, len(repeats))
		}
	}
	return message, strings.TrimRight(text.String(), "\n")
}
