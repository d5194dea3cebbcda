// Package rates keeps budgets and rates per minute, for the limiter of a run and for the ledger that several runs share.
// It has neither a clock nor a lock: the caller passes the time, and lets one goroutine in at once.
package rates

import (
	"fmt"
	"strconv"
	"time"

	"github.com/evalrun/evalrun/diag"
)

// Amount is a cost.
type Amount struct {
	Calls  int     `json:"calls"` // HTTP attempts, except those for metadata
	Tokens int     `json:"tokens"`
	Money  float64 `json:"money"` // in the currency of the price lists
}

// Add adds b to a.
func (a *Amount) Add(b Amount) {
	a.Calls += b.Calls
	a.Tokens += b.Tokens
	a.Money += b.Money
}

// Sub takes b from a.
func (a *Amount) Sub(b Amount) {
	a.Calls -= b.Calls
	a.Tokens -= b.Tokens
	a.Money -= b.Money
}

// Dust is the rounding error of sums of fractions.
const Dust = 1e-9

// Budget bounds what calls cost together. The highest cost of a call is reserved before it is sent, and its actual cost
// is settled when it is over.
type Budget struct {
	Most     Amount // zero is unlimited
	Currency string // of the money, "" if messages name none

	Granted  Amount // so far, at what was reserved
	Settled  Amount // of that, what is over, at its cost
	Reserved Amount // for calls in progress
}

// Refusal says why the budget can never pay for a call. It is "" if the budget can, or may be able to once calls in
// progress end. Requests to count tokens, which cost none, do not wait for that: settling a call may need one.
func (b *Budget) Refusal(cost Amount) string {
	most := b.Most
	switch {
	case most.Calls > 0 && cost.Calls > 0 && b.Granted.Calls+cost.Calls > most.Calls && cost.Tokens == 0,
		most.Calls > 0 && cost.Calls > 0 && b.Settled.Calls+cost.Calls > most.Calls:
		return fmt.Sprintf("the budget of %s is spent", diag.Count(most.Calls, "call"))
	case most.Tokens > 0 && cost.Tokens > 0 && b.Settled.Tokens+cost.Tokens > most.Tokens:
		left := max(0, most.Tokens-b.Settled.Tokens)
		return fmt.Sprintf("the budget of %s is spent: %d %s left, and the call may cost %d",
			diag.Count(most.Tokens, "token"), left, diag.Verb(left, "is", "are"), cost.Tokens)
	case most.Money > 0 && cost.Money > 0 && b.Settled.Money+cost.Money > most.Money+Dust:
		what := strconv.FormatFloat(most.Money, 'f', -1, 64)
		if b.Currency != "" {
			what += " " + b.Currency
		} else {
			what = "money, " + what + ","
		}
		return fmt.Sprintf("the budget of %s is spent: %.4f are left, and the call may cost %.4f",
			what, max(0, most.Money-b.Settled.Money), cost.Money)
	}
	return ""
}

// Fits reports whether the budget has room for a call next to those in progress.
func (b *Budget) Fits(cost Amount) bool {
	most := b.Most
	return (most.Calls == 0 || cost.Calls == 0 || b.Granted.Calls+cost.Calls <= most.Calls) &&
		(most.Tokens == 0 || cost.Tokens == 0 || b.Settled.Tokens+b.Reserved.Tokens+cost.Tokens <= most.Tokens) &&
		(most.Money == 0 || cost.Money == 0 || b.Settled.Money+b.Reserved.Money+cost.Money <= most.Money+Dust)
}

// Take reserves the cost of a call.
func (b *Budget) Take(cost Amount) {
	b.Granted.Add(cost)
	b.Reserved.Add(cost)
}

// Settle ends a call at its actual cost.
func (b *Budget) Settle(reserved, cost Amount) {
	b.Reserved.Sub(reserved)
	b.Settled.Add(cost)
}

// Return ends a call that was not sent.
func (b *Budget) Return(reserved Amount) {
	b.Reserved.Sub(reserved)
	b.Granted.Sub(reserved)
}

// Rates are limits per minute. Zero is unlimited.
type Rates struct {
	RequestsPerMinute int
	TokensPerMinute   int
}

// Meter keeps Rates.
type Meter struct {
	Rates
	PaceGuard   time.Duration // by which a minute of requests is longer, because they arrive after varying delays
	WindowGuard time.Duration // the same for tokens

	Next   time.Time // when the next request may be sent
	Window []*Tokens // of the last minute, oldest first
}

// Tokens are what a call counts for. The number may change while the call is in progress.
type Tokens struct {
	At time.Time
	N  int
}

// Interval is the time between two requests. They are evenly spaced: a burst would let more than the limit through in the
// first minute.
func (m *Meter) Interval() time.Duration {
	if m.RequestsPerMinute == 0 {
		return 0
	}
	return (time.Minute + m.PaceGuard) / time.Duration(m.RequestsPerMinute)
}

// smallestLag is the least by which a late request may catch up, if the guard allows that.
const smallestLag = 100 * time.Millisecond

// Pace counts a request, and sets the earliest time of the next one. A late one may catch up by what the guard allows, so
// that no minute has more requests than the limit.
func (m *Meter) Pace(now time.Time) {
	interval := m.Interval()
	if interval == 0 {
		return
	}
	late := max(0, min(max(interval, smallestLag), m.PaceGuard-interval))
	m.NotBefore(now.Add(-late))
	m.Next = m.Next.Add(interval)
}

// NotBefore lets no request through before a time.
func (m *Meter) NotBefore(at time.Time) {
	if m.Next.Before(at) {
		m.Next = at
	}
}

// Count counts tokens of a call for a minute from then on.
func (m *Meter) Count(tokens *Tokens) {
	m.Forget(tokens.At)
	if tokens.N > 0 {
		m.Window = append(m.Window, tokens)
	}
}

// Room says when the last minute has room for the tokens of a call; the zero time is now. reserved are tokens of calls in
// progress that are not counted yet. If free is false, there is no room until one of these is. A call above the
// limit goes alone.
func (m *Meter) Room(tokens, reserved int, now time.Time) (at time.Time, free bool) {
	if m.TokensPerMinute == 0 || tokens == 0 {
		return time.Time{}, true
	}
	m.Forget(now)
	counted := reserved
	for _, one := range m.Window {
		counted += one.N
	}
	if counted == 0 || counted+tokens <= m.TokensPerMinute {
		return time.Time{}, true
	}
	for _, one := range m.Window {
		if counted -= one.N; counted == 0 || counted+tokens <= m.TokensPerMinute {
			return one.At.Add(time.Minute + m.WindowGuard), true
		}
	}
	return time.Time{}, false
}

// Forget drops what is older than a minute from the window.
func (m *Meter) Forget(now time.Time) {
	for len(m.Window) > 0 && now.Sub(m.Window[0].At) >= time.Minute+m.WindowGuard {
		m.Window = m.Window[1:]
	}
}
