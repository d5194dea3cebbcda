package ledger

import (
	"fmt"
	"time"
)

// A service counts a minute by the times at which calls reach it, which are later than those of their grants, and not
// always by the same. So the ledger's minute is a little longer.
const (
	minute      = time.Minute
	paceGuard   = 1200 * time.Millisecond // of requests: 2 % of the rate
	windowGuard = 500 * time.Millisecond  // of tokens, which count until their call is over and a minute has passed
	smallestLag = 100 * time.Millisecond  // that a request may catch up
)

// account is the state of an account.
type account struct {
	Balance
	limits   *AccountLimits
	reserved Amount          // of open grants
	open     int             // how many open grants count for the concurrency
	next     time.Time       // when the next request may be sent
	held     time.Time       // the service wants no call before
	window   []spent         // tokens of calls that are over, of the last minute, oldest first
	inWindow int             // their sum
	queue    []*GrantRequest // requests that wait for tokens, in order of arrival
}

// spent are tokens of a call that is over.
type spent struct {
	at     time.Time
	tokens int
}

// grant is a call that may be made.
type grant struct {
	owner string
	of    *account
	cost  Amount
}

// takesPlace reports whether a call counts for the concurrency. Counting tokens does not: a call may need that to be settled.
func takesPlace(cost Amount) bool { return cost.Tokens > 0 }

// refusal says why a budget has no room for a call and never will have. It is "" when there is room, or may be once a
// call in progress is over. Counting tokens does not wait for that, because a call may need it to be settled.
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

// dust is the rounding error that sums of fractions may have.
const dust = 1e-9

// room says what a call waits for: a time or, if that is zero, the end of another grant. why is "" when there is room.
type room struct {
	why string
	at  time.Time
}

// roomFor says what a call has to wait for at a time.
func (a *account) roomFor(cost Amount, now time.Time) room {
	l := a.limits
	switch {
	case a.held.After(now):
		return room{"the service, which wants a pause", a.held}
	case takesPlace(cost) && l.Concurrency > 0 && a.open >= l.Concurrency:
		return room{why: "a place among the calls in progress"}
	case l.Budget.Calls > 0 && cost.Calls > 0 && a.Granted.Calls+cost.Calls > l.Budget.Calls,
		l.Budget.Tokens > 0 && cost.Tokens > 0 && a.Settled.Tokens+a.reserved.Tokens+cost.Tokens > l.Budget.Tokens,
		l.Budget.Money > 0 && cost.Money > 0 && a.Settled.Money+a.reserved.Money+cost.Money > l.Budget.Money+dust:
		return room{why: "the part of the budget that calls in progress reserve"}
	}
	if wait := a.tokenRoom(cost.Tokens, now); wait.why != "" {
		return wait
	}
	if l.RequestsPerMinute > 0 && a.next.After(now) {
		return room{"requests per minute", a.next}
	}
	return room{}
}

// tokenRoom is roomFor as to the tokens of the last minute. A call that is larger than the limit goes alone.
func (a *account) tokenRoom(tokens int, now time.Time) room {
	limit := a.limits.TokensPerMinute
	if limit == 0 || tokens == 0 {
		return room{}
	}
	a.forget(now)
	over := a.inWindow + a.reserved.Tokens + tokens - limit
	if over <= 0 || a.inWindow+a.reserved.Tokens == 0 {
		return room{}
	}
	for _, one := range a.window {
		if over -= one.tokens; over <= 0 {
			return room{"tokens per minute", one.at.Add(minute + windowGuard)}
		}
	}
	if a.reserved.Tokens > 0 {
		return room{why: "tokens per minute"}
	}
	return room{"tokens per minute", a.window[len(a.window)-1].at.Add(minute + windowGuard)}
}

// forget drops tokens that are older than a minute.
func (a *account) forget(now time.Time) {
	for len(a.window) > 0 && now.Sub(a.window[0].at) >= minute+windowGuard {
		a.inWindow -= a.window[0].tokens
		a.window = a.window[1:]
	}
}

// pace notes that a request is sent, and so when the next one may be. Requests are evenly spaced; who comes late may
// catch up by what the guard leaves, so that over any minute no more than the limit are granted.
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

// take books a grant.
func (a *account) take(cost Amount, now time.Time) {
	a.Granted.add(cost)
	a.reserved.add(cost)
	if takesPlace(cost) {
		a.open++
	}
	a.pace(now)
}

// settle books the end of a grant.
func (a *account) settle(reserved, cost Amount, now time.Time) {
	a.release(reserved)
	a.Settled.add(cost)
	if cost.Tokens > 0 {
		a.window = append(a.window, spent{now, cost.Tokens})
		a.inWindow += cost.Tokens
	}
}

// giveBack undoes a grant.
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
