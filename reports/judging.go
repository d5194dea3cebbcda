package reports

import (
	"cmp"
	"fmt"
	"math"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/overview"
)

// judging shows the cost of judges, and how far they agree with themselves and with each other.
func (t *screen) judging() {
	j := overview.JudgingOf(t.d)
	if j == nil {
		return
	}
	t.line("judging: %s, %d tokens in addition", diag.Count(j.Attempts, "call"), j.Tokens.Total)
	for _, a := range j.Agreement {
		text := fmt.Sprintf(
			"%s on %s: %d replies of the judge %s to each of %s agree on %.1f %%", a.Scorer, a.Arm, a.Repeats, a.Judge,
			diag.Count(a.Answers, "answer"), 100*a.Agreement,
		)
		if a.Panel > 0 {
			text = fmt.Sprintf(
				"%s on %s: the %d judges %s agree on %.1f %% over %s", a.Scorer, a.Arm, a.Panel, a.Judge, 100*a.Agreement,
				diag.Count(a.Answers, "answer"),
			)
		}
		if len(t.d.Run.Suites) > 1 {
			text = a.Suite + ": " + text
		}
		if a.Kappa != nil {
			text += fmt.Sprintf(", kappa %.3f", math.Round(1000**a.Kappa)/1000+0) // adding 0 avoids -0.000
		}
		t.wrapped("", text)
	}
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
