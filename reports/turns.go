package reports

import (
	"cmp"
	"fmt"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
)

// turns writes how each turn of a live chat ended. Its texts are in the request, but for the last, which is the answer.
func (c *caseReport) turns(turns []eval.Turn) {
	if len(turns) == 0 {
		return
	}
	c.printf("  turns\n")
	for i := range turns {
		t := &turns[i]
		how := "no answer"
		if reason := t.PromptBlock(); reason != "" {
			how = "the prompt was blocked: " + reason
		} else if len(t.Candidates) > 0 {
			how = "finish reason " + cmp.Or(t.Candidates[0].FinishReason, "unknown")
		}
		u := t.Usage
		c.printf(
			"    %d: %s, %.0f ms service, %s, %d + %d tokens (%s)\n", i+1, diag.CleanLine(how), t.Timing.LatencyMs,
			diag.Count(t.Timing.Attempts, "attempt"), u.PromptTokens, u.OutputTokens, diag.CleanLine(string(u.Source)),
		)
		if i == len(turns)-1 {
			break // the ratings of the last are with the answer
		}
		for _, candidate := range t.Candidates[:min(1, len(t.Candidates))] {
			c.ratings(fmt.Sprintf("answer in turn %d", i+1), candidate.SafetyRatings)
		}
	}
}
