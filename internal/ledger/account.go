package ledger

import (
	"fmt"
	"time"
)

// A service counts a minute from the times at which calls reach it. These are later than the grants, by
// varying delays. So the ledger's minute is a little longer.
const (
	minute      = time.Minute
	paceGuard   = 1200 * time.Millisecond // for requests: 2 % of the rate
	windowGuard = 500 * time.Millisecond  // for tokens, which count until a minute after the end of their call
	smallestLag = 100 * time.Millisecond  // by which a late request may catch up
)

// account is the state of an Account.
type account struct {
	Balance
	limits   *AccountLimits
	reserved Amount          // of open grants
	open     int             // how many open grants count for the concurrency
	next     time.Time       // when the next request may be sent
	held     time.Time       // the service wants no call before
	window   []spent         // tokens of calls that are over, of the last minute, oldest first
	inWindow int             // their sum
	queue    []*GrantRequest // calls that wait for tokens, in order of arrival
}

// spent has the tokens of a call that ended.
type spent struct {
	at     time.Time
	tokens int
}

// grant is a call that a process may send.
type grant struct {
	owner string
	of    *account
	cost  Amount
}

// takesPlace reports whether a call counts for the concurrency. Requests to count tokens do not, because
// settling another call may need one.
func takesPlace(cost Amount) bool { return cost.Tokens > 0 }

// refusal says why the budget can never pay for a call. It is "" if the budget can, or may be able to once
// calls in progress end. Requests to count tokens do not wait for that, because settling a call may need
// one.
func (a *account) refusal(cost Amount) string {
	b := a.limits.Budget
	switch {
	case b.Calls > 0 && cost.Calls > 0 && a.Granted.Calls+cost.Calls > b.Calls && !takesPlace(cost),
		b.Calls > 0 && cost.Calls > 0 && a.Settled.Calls+cost.Calls > b.Calls:
		return fmt.Sprintf("the budget of %d calls is spent", b.Calls)
	case b.Tokens > 0 && cost.Tokens > 0 && a.Settled.Tokens+cost.Tokens > b.Tokens:
		return fmt.Sprintf(
			"the budget of %d tokens is spent: %d are left, and the call may cost %d", b.Tokens, max(0, b.Tokens-a.Settled.Tokens), cost.Tokens,
		)
	case b.Money > 0 && cost.Money > 0 && a.Settled.Money+cost.Money > b.Money+dust:
		return fmt.Sprintf(
			"the budget of money, %g, is spent: %.4f are left, and the call may cost %.4f", b.Money, max(0, b.Money-a.Settled.Money), cost.Money,
		)
	}
	return ""
}

// dust is the rounding error of sums of fractions.
const dust = 1e-9

// accountWait says what a call waits for: a time or, if that is zero, the end of another grant. why is "" if the
// call need not wait.
type accountWait struct {
	why string
	at  time.Time
}

func (a *account) roomFor(cost Amount, now time.Time) accountWait {
	l := a.limits
	switch {
	case a.held.After(now):
		return accountWait{"the service, which wants a pause", a.held}
	case takesPlace(cost) && l.Concurrency > 0 && a.open >= l.Concurrency:
		return accountWait{why: "a place among the calls in progress"}
	case l.Budget.Calls > 0 && cost.Calls > 0 && a.Granted.Calls+cost.Calls > l.Budget.Calls,
		l.Budget.Tokens > 0 && cost.Tokens > 0 && a.Settled.Tokens+a.reserved.Tokens+cost.Tokens > l.Budget.Tokens,
		l.Budget.Money > 0 && cost.Money > 0 && a.Settled.Money+a.reserved.Money+cost.Money > l.Budget.Money+dust:
		return accountWait{why: "the part of the budget that calls in progress reserve"}
	}
	if wait := a.tokenRoom(cost.Tokens, now); wait.why != "" {
		return wait
	}
	if l.RequestsPerMinute > 0 && a.next.After(now) {
		return accountWait{"requests per minute", a.next}
	}
	return accountWait{}
}

// tokenRoom is roomFor for tokens per minute. A call above the limit waits until it is the only one.
func (a *account) tokenRoom(tokens int, now time.Time) accountWait {
	limit := a.limits.TokensPerMinute
	if limit == 0 || tokens == 0 {
		return accountWait{}
	}
	a.forget(now)
	over := a.inWindow + a.reserved.Tokens + tokens - limit
	if over <= 0 || a.inWindow+a.reserved.Tokens == 0 {
		return accountWait{}
	}
	for _, one := range a.window {
		if over -= one.tokens; over <= 0 {
			return accountWait{"tokens per minute", one.at.Add(minute + windowGuard)}
		}
	}
	if a.reserved.Tokens > 0 {
		return accountWait{why: "tokens per minute"}
	}
	return accountWait{"tokens per minute", a.window[len(a.window)-1].at.Add(minute + windowGuard)}
}

// forget drops tokens of calls that ended more than a minute ago.
func (a *account) forget(now time.Time) {
	for len(a.window) > 0 && now.Sub(a.window[0].at) >= minute+windowGuard {
		a.inWindow -= a.window[0].tokens
		a.window = a.window[1:]
	}
}

// pace sets the earliest time of the next request. Requests are evenly spaced. A late one may catch up by
// what the guard allows, so that no minute has more requests than the limit.
func (a *account) pace(now time.Time) {
	if a.limits == nil || a.limits.RequestsPerMinute == 0 {
		return
	}
	interval := (minute + paceGuard) / time.Duration(a.limits.RequestsPerMinute)
	late := max(0, min(max(interval, smallestLag), paceGuard-interval))
	if earliest := now.Add(-late); a.next.Before(earliest) {
		a.next = earliest
	}
	a.next = a.next.Add(interval)
}

// take adds an open grant.
func (a *account) take(cost Amount, now time.Time) {
	a.Granted.add(cost)
	a.reserved.add(cost)
	if takesPlace(cost) {
		a.open++
	}
	a.pace(now)
}

// settle ends a grant at its actual cost.
func (a *account) settle(reserved, cost Amount, now time.Time) {
	a.release(reserved)
	a.Settled.add(cost)
	if cost.Tokens > 0 {
		a.window = append(a.window, spent{now, cost.Tokens})
		a.inWindow += cost.Tokens
	}
}

// giveBack removes a grant for a call that was not sent.
func (a *account) giveBack(reserved Amount) {
	a.release(reserved)
	a.Granted.sub(reserved)
}

func (a *account) release(reserved Amount) {
	a.reserved.sub(reserved)
	if takesPlace(reserved) {
		a.open--
	}
}
