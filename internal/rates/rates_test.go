package rates

import (
	"testing"
	"time"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// A budget refuses what it can never pay for, and has no room for what calls in progress may cost.
func TestABudgetRefusesOrHasNoRoom(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		budget  Budget
		cost    Amount
		refusal string
		fits    bool
	}{
		"unlimited":       {Budget{Settled: Amount{9, 9, 9}}, Amount{1, 1, 1}, "", true},
		"the last call":   {Budget{Most: Amount{Calls: 2}, Granted: Amount{Calls: 1}}, Amount{1, 5, 0}, "", true},
		"calls reserved":  {Budget{Most: Amount{Calls: 2}, Granted: Amount{Calls: 2}}, Amount{1, 5, 0}, "", false},
		"counting tokens": {Budget{Most: Amount{Calls: 2}, Granted: Amount{Calls: 2}}, Amount{Calls: 1}, "the budget of 2 calls is spent", false},
		"tokens reserved": {Budget{Most: Amount{Tokens: 10}, Reserved: Amount{Tokens: 6}}, Amount{1, 5, 0}, "", false},
		"tokens spent": {
			Budget{Most: Amount{Tokens: 10}, Settled: Amount{Tokens: 6}},
			Amount{1, 5, 0},
			"the budget of 10 tokens is spent: 4 are left, and the call may cost 5", false,
		},
		"money in a currency": {
			Budget{Most: Amount{Money: 0.3}, Currency: "EUR", Settled: Amount{Money: 0.1 + 0.2}},
			Amount{1, 1, 0.5},
			"the budget of 0.3 EUR is spent: 0.0000 are left, and the call may cost 0.5000", false,
		},
	} {
		expect.Same(t, name, test.budget.Refusal(test.cost), test.refusal)
		expect.Same(t, name+": fits", test.budget.Fits(test.cost), test.fits)
	}
}

// A minute has room once enough of it is over. A call above the limit goes alone.
func TestAMinuteHasRoomOnceEnoughIsOver(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	m := Meter{Rates: Rates{TokensPerMinute: 100}}
	for i := range 3 {
		m.Count(&Tokens{At: now.Add(time.Duration(i) * time.Second), N: 30})
	}
	for _, test := range []struct {
		tokens, reserved int
		at               time.Time
		free             bool
	}{
		{10, 0, time.Time{}, true},
		{20, 0, now.Add(time.Minute), true},
		{60, 0, now.Add(time.Minute + time.Second), true},
		{500, 0, now.Add(time.Minute + 2*time.Second), true},
		{10, 90, time.Time{}, true},
		{20, 90, time.Time{}, false},
	} {
		if test.reserved > 0 {
			m.Window = nil
		}
		at, free := m.Room(test.tokens, test.reserved, now.Add(3*time.Second))
		expect.Same(t, "the time", at, test.at)
		expect.Same(t, "free", free, test.free)
	}
}
