package reports

import (
	"cmp"
	"fmt"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/journal"
)

// ruleWords describes a rule that was applied, and its result.
func ruleWords(r journal.GateRule) string {
	// bestWords are verdicts on an arm that has to be among the best.
	bestWords := map[eval.Verdict]string{
		eval.NotWorse: "among the best", eval.Regressed: "NOT THE BEST", eval.Inconclusive: "CANNOT TELL YET whether it is the best",
	}

	bound := "at most"
	if r.RuleName.IsLeast() {
		bound = "at least"
	}
	where := r.Suite
	if r.Arm != "" {
		where += " on " + r.Arm
	}
	switch r.RuleName {
	case journal.RuleBest:
		return fmt.Sprintf("%s: %s: %s", where, cmp.Or(bestWords[r.Verdict()], "NO RANKING"), r.Why)
	case journal.RuleJudged:
		return where + ": " + r.Why
	case overview.RuleComplete:
		return r.Why
	}
	if r.Verdict() != "" {
		text := fmt.Sprintf("%s: %s against the baseline", where, verdictWords[r.Verdict()])
		if r.Why != "" {
			text += ": " + r.Why
		}
		return text
	}
	found := "nothing could be judged"
	if value, ok := r.Found.(journal.RuleValue); ok {
		found = fmt.Sprintf("it is %.4g", value)
	}
	return fmt.Sprintf("%s: %s %s %.4g; %s", where, r.RuleName, bound, r.Limit, found)
}

func allHold(n int) string {
	if n == 1 {
		return "1 rule holds"
	}
	return fmt.Sprintf("%d rules hold", n)
}
