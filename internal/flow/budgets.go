package flow

import "github.com/evalrun/evalrun/eval"

// affords reports whether the budgets have room for a call. It is false while calls in progress hold what this one may
// cost; the error says that there never will be room.
func (l *Limiter) affords(cost amount) (bool, error) {
	if b := l.cfg.BudgetCalls; b > 0 && l.calls >= b {
		return false, eval.Errorf(eval.KindBudget, "the budget of %d calls is spent", b)
	}
	if ok, err := l.affordsTokens(cost.tokens); !ok {
		return false, err
	}
	return l.affordsMoney(cost.money)
}

func (l *Limiter) affordsTokens(tokens int) (bool, error) {
	b := l.cfg.BudgetTokens
	if b <= 0 || tokens <= 0 {
		return true, nil
	}
	if l.spent.tokens+tokens > b {
		return false, eval.Errorf(
			eval.KindBudget, "the budget of %d tokens is spent: %d are left, and the call may cost %d", b,
			max(0, b-l.spent.tokens), tokens,
		)
	}
	return l.spent.tokens+l.reserved.tokens+tokens <= b, nil
}

func (l *Limiter) affordsMoney(money float64) (bool, error) {
	const dust = 1e-9 // of adding up fractions
	b := l.cfg.BudgetMoney
	if b <= 0 || money <= 0 {
		return true, nil
	}
	if l.spent.money+money > b+dust {
		return false, eval.Errorf(
			eval.KindBudget, "the budget of %g %s is spent: %.4f are left, and the call may cost %.4f", b,
			l.cfg.Prices.Currency, max(0, b-l.spent.money), money,
		)
	}
	return l.spent.money+l.reserved.money+money <= b+dust, nil
}
