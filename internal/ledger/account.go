package ledger

import (
	"slices"
	"time"

	"github.com/evalrun/evalrun/internal/rates"
)

// A service counts a minute from the times at which calls reach it. These are later than the grants, by
// varying delays. So the ledger's minute is a little longer.
const (
	paceGuard   = 1200 * time.Millisecond // for requests: 2 % of the rate
	windowGuard = 500 * time.Millisecond  // for tokens, which count until a minute after the end of their call
)

type account struct {
	name    ModelAccount
	budget  rates.Budget
	meter   rates.Meter
	refused amount
	most    int             // calls in progress at once; 0 is unlimited
	open    int             // how many open grants count for that
	held    time.Time       // the service wants no call before
	queue   []*grantRequest // calls that wait for tokens, in order of arrival
}

// newAccount makes an account; without limits if the entry is nil, for what the file of the ledger has of it.
func newAccount(name ModelAccount, limits *accountLimits) *account {
	a := &account{name: name, meter: rates.Meter{PaceGuard: paceGuard, WindowGuard: windowGuard}}
	if limits != nil {
		a.budget.Most, a.meter.Rates, a.most = limits.Budget, limits.Rates, limits.Concurrency
	}
	return a
}

func (a *account) balance() accountBalance {
	return accountBalance{a.name, a.budget.Granted, a.budget.Settled, a.refused}
}

// grant is a call that a process may send.
type grant struct {
	owner string
	of    *account
	cost  amount
}

// takesPlace is false for requests to count tokens, which settling another call may need.
func takesPlace(cost amount) bool { return cost.Tokens > 0 }

// accountWait is what a call waits for: a time, or the end of another grant. why is "" for no wait.
type accountWait struct {
	why string
	at  time.Time
}

func (a *account) roomFor(cost amount, now time.Time) accountWait {
	switch {
	case a.held.After(now):
		return accountWait{"the service, which wants a pause", a.held}
	case takesPlace(cost) && a.most > 0 && a.open >= a.most:
		return accountWait{why: "a place among the calls in progress"}
	case !a.budget.Fits(cost):
		return accountWait{why: "the part of the budget that calls in progress reserve"}
	}
	if at, free := a.meter.Room(cost.Tokens, a.budget.Reserved.Tokens, now); !free || !at.IsZero() {
		return accountWait{"tokens per minute", at}
	}
	if a.meter.RequestsPerMinute > 0 && a.meter.Next.After(now) {
		return accountWait{"requests per minute", a.meter.Next}
	}
	return accountWait{}
}

func (a *account) take(cost amount, now time.Time) {
	a.budget.Take(cost)
	a.meter.Pace(now)
	if takesPlace(cost) {
		a.open++
	}
}

// turn reports whether a call is next. Calls with tokens keep their order, so that small ones cannot
// overtake a large one forever. Other calls do not wait, because settling an answer may need one.
func (a *account) turn(ask *grantRequest) bool {
	if !takesPlace(ask.Cost) {
		return true
	}
	if a.place(ask.ID) < 0 {
		a.queue = append(a.queue, ask)
	}
	return a.queue[0].ID == ask.ID
}

// place returns the place of a call in the queue, -1 without one.
func (a *account) place(id string) int {
	return slices.IndexFunc(a.queue, func(other *grantRequest) bool { return other.ID == id })
}
