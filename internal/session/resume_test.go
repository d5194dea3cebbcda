package session

import (
	"testing"

	"github.com/evalrun/evalrun/eval"
)

type lastSpent struct {
	progressWatcher
	spent eval.Spent
}

func (p *lastSpent) Done(_ *eval.Result, spent eval.Spent) { p.spent = spent }

// The progress of a resumed run reports what came since then, costs as trials; budgets stay those of the run.
func TestResumedProgressReportsWhatCameSince(t *testing.T) {
	t.Parallel()
	var shown lastSpent
	p := &resumedProgress{&shown, eval.Spent{Attempts: 3, Tokens: 100, Money: 0.5}}
	p.Done(&eval.Result{}, eval.Spent{Attempts: 5, Tokens: 114, BudgetTokens: 200, Money: 0.75, Currency: "USD"})
	if want := (eval.Spent{Attempts: 2, Tokens: 14, BudgetTokens: 200, Money: 0.25, Currency: "USD"}); shown.spent != want {
		t.Errorf("%+v, want %+v", shown.spent, want)
	}
}
