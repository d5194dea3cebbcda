package ledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/evalrun/evalrun/internal/rates"
)

// book has the accounts and the open grants. Every change is an event in the file of the ledger. Applying
// the same events again leads to the same book.
type book struct {
	limits []accountLimits
	file   *ledgerFile
	now    func() time.Time

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced when something was settled
	accounts map[ModelAccount]*account
	grants   map[string]*grant    // the open ones, by their ids
	heard    map[string]time.Time // when a process was last heard
	left     map[string]time.Time // requests that were given up before they were granted, by their ids, and when
	swept    time.Time            // when expire last ran
}

type bookEvent struct {
	Type    eventKind       `json:"type"`
	At      time.Time       `json:"at"`
	ID      string          `json:"id,omitempty"` // of a grant
	Owner   string          `json:"owner,omitempty"`
	Account *ModelAccount   `json:"account,omitempty"`
	Cost    amount          `json:"cost,omitzero"`
	Until   time.Time       `json:"until,omitzero"`
	Balance *accountBalance `json:"balance,omitempty"` // settled grants only
}

type eventKind string

const (
	granted  eventKind = "grant"
	settled  eventKind = "settle"
	returned eventKind = "return" // the call was not sent
	refused  eventKind = "refuse"
	paused   eventKind = "pause" // by the service
	balanced eventKind = "balance"
	used     eventKind = "use"  // tokens of the last minute, of a grant that has ended
	paced    eventKind = "pace" // earliest time of the next request
)

func newBook(limits []accountLimits) *book {
	return &book{
		limits:   limits,
		now:      time.Now,
		changed:  make(chan struct{}),
		accounts: map[ModelAccount]*account{},
		grants:   map[string]*grant{},
		heard:    map[string]time.Time{},
		left:     map[string]time.Time{},
		swept:    time.Now(),
	}
}

// account adds an account when it is first named.
func (b *book) account(name ModelAccount) *account {
	a := b.accounts[name]
	if a == nil {
		a = newAccount(name, find(b.limits, name))
		b.accounts[name] = a
	}
	return a
}

// revive applies an event from the file. If the clock was set back since, it moves the event to now, so
// that nothing waits longer than intended.
func (b *book) revive(e *bookEvent) {
	now := b.now()
	if e.At.After(now) {
		e.Until = e.Until.Add(now.Sub(e.At))
		e.At = now
	}
	b.apply(e)
	if e.Type == granted { // gives its process time for a sign of life
		b.heard[e.Owner] = now
	}
}

func (b *book) apply(e *bookEvent) {
	switch e.Type {
	case granted:
		a := b.account(*e.Account)
		b.grants[e.ID] = &grant{e.Owner, a, e.Cost}
		a.take(e.Cost, e.At)
	case settled, returned:
		g := b.grants[e.ID]
		if g == nil {
			return
		}
		delete(b.grants, e.ID)
		if takesPlace(g.cost) {
			g.of.open--
		}
		if e.Type == returned {
			g.of.budget.Return(g.cost)
			return
		}
		g.of.budget.Settle(g.cost, e.Cost)
		g.of.meter.Count(&rates.Tokens{At: e.At, N: e.Cost.Tokens})
	case refused:
		b.account(*e.Account).refused.Add(e.Cost)
	case paused:
		a := b.account(*e.Account)
		if e.Until.After(a.held) {
			a.held = e.Until
		}
	case paced:
		b.account(*e.Account).meter.NotBefore(e.Until)
	case balanced: // earlier versions had several accounts for the spellings of one address
		a := b.account(e.Balance.ModelAccount)
		a.budget.Granted.Add(e.Balance.Granted)
		a.budget.Settled.Add(e.Balance.Settled)
		a.refused.Add(e.Balance.Refused)
	case used:
		b.account(*e.Account).meter.Count(&rates.Tokens{At: e.At, N: e.Cost.Tokens})
	}
}

// record applies an event and adds it to the file. The event is safe once file.wait(place) returns.
func (b *book) record(e *bookEvent) (place int64) {
	b.apply(e)
	return b.file.add(e)
}

func (b *book) wake() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// refusal is the error of a call that will never be granted.
type refusal struct {
	Budget  bool         // the account has limits, and they are spent
	Account ModelAccount // whose call it is
	reason  string
}

func (r *refusal) Error() string { return r.reason }

func noEntry(a ModelAccount) *refusal {
	return &refusal{Account: a, reason: fmt.Sprintf("no entry of the ledger's `accounts` matches %s", a)}
}

// needs returns what a process must know about calls of an account.
func (b *book) needs(a ModelAccount) (CallTerms, error) {
	l := find(b.limits, a)
	if l == nil {
		return CallTerms{}, noEntry(a)
	}
	return l.needs(), nil
}

// grant waits until a call may be sent and the grant is in the file. It returns a *refusal, or the error of
// ctx with what the call waited for. After a deadline the call keeps its place in the queue.
func (b *book) grant(ctx context.Context, ask *grantRequest) (waited string, err error) {
	defer func() {
		if !errors.Is(err, context.DeadlineExceeded) {
			b.leave(ask)
		}
	}()
	for ctx.Err() == nil { // a caller that has gone gets no grant
		if err := b.file.wait(ctx, 0); err != nil {
			return "", err
		}
		wait, changed, place, err := b.try(ask)
		if err != nil {
			return "", err
		}
		if wait.why == "" {
			return "", b.file.wait(ctx, place)
		}
		if !pause(ctx, wait.at.Sub(b.now()), !wait.at.IsZero(), changed) {
			return wait.why, ctx.Err()
		}
	}
	return "", ctx.Err()
}

// pause waits until d has passed, if timed is set, or until changed. It returns false when ctx ends.
func pause(ctx context.Context, d time.Duration, timed bool, changed <-chan struct{}) bool {
	var over <-chan time.Time
	if timed {
		timer := time.NewTimer(max(0, d))
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-over:
	case <-changed:
	case <-ctx.Done():
		return false
	}
	return true
}

// try grants a call if there is room for it. Otherwise it returns what to wait for.
func (b *book) try(ask *grantRequest) (wait accountWait, changed <-chan struct{}, place int64, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	b.heard[ask.Owner] = now
	if _, gone := b.left[ask.ID]; gone { // the message that the caller gave up came first
		return accountWait{}, nil, 0, context.Canceled
	}
	if g := b.grants[ask.ID]; g != nil { // the reply to an earlier request was lost
		return accountWait{}, nil, b.file.end(), nil
	}
	if find(b.limits, ask.Account) == nil {
		return accountWait{}, nil, 0, noEntry(ask.Account)
	}
	a := b.account(ask.Account)
	if why := a.budget.Refusal(ask.Cost); why != "" {
		b.record(&bookEvent{Type: refused, At: now, Account: &ask.Account, Cost: ask.Cost})
		return accountWait{}, nil, 0, &refusal{Budget: true, Account: ask.Account, reason: "the ledger of the team: " + why}
	}
	if !a.turn(ask) {
		return accountWait{why: "tokens per minute"}, b.changed, 0, nil
	}
	if wait := a.roomFor(ask.Cost, now); wait.why != "" {
		return wait, b.changed, 0, nil
	}
	place = b.record(&bookEvent{Type: granted, At: now, ID: ask.ID, Owner: ask.Owner, Account: &ask.Account, Cost: ask.Cost})
	b.leaveQueue(a, ask.ID) // before the file is safe, so that both grants can be written together
	return accountWait{}, nil, place, nil
}

func (b *book) leave(ask *grantRequest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if a := b.accounts[ask.Account]; a != nil {
		b.leaveQueue(a, ask.ID)
	}
}

func (b *book) leaveQueue(a *account, id string) {
	if at := a.place(id); at >= 0 {
		a.queue = slices.Delete(a.queue, at, at+1)
		b.wake()
	}
}

// settle records the end of grants, and returns once it is in the file. It ignores grants that are not
// open: they have expired, or were settled before.
func (b *book) settle(ctx context.Context, all []settlement) error {
	b.mu.Lock()
	now := b.now()
	for i := range all {
		b.settleOne(&all[i], now)
	}
	b.wake()
	b.mu.Unlock()
	return b.file.wait(ctx, b.file.end())
}

func (b *book) settleOne(s *settlement, now time.Time) {
	g := b.grants[s.ID]
	if g == nil && s.Unsent {
		b.left[s.ID] = now
		for _, a := range b.accounts {
			b.leaveQueue(a, s.ID)
		}
	}
	if g == nil {
		return
	}
	b.heard[g.owner] = now
	if s.RetryAfter > 0 {
		until := now.Add(time.Duration(s.RetryAfter) * time.Millisecond)
		b.record(&bookEvent{Type: paused, At: now, Account: &g.of.name, Until: until})
	}
	if s.Unsent {
		b.record(&bookEvent{Type: returned, At: now, ID: s.ID})
		return
	}
	b.record(&bookEvent{Type: settled, At: now, ID: s.ID, Cost: amount{Calls: g.cost.Calls, Tokens: s.Tokens, Money: s.Money}})
}

func (b *book) hear(owner string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.heard[owner] = b.now()
}

// slept is the least time between two calls of expire, one a second, after which the ledger itself was away.
const slept = 5 * time.Second

// expire settles the grants of dead processes at their full cost, because the calls may have been sent. After a sleep of
// the ledger itself all processes count as just heard: their signs of life may have been lost.
func (b *book) expire() {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, any := b.now(), false
	if elapsed(b.swept, now) > slept {
		for owner := range b.heard {
			b.heard[owner] = now
		}
	}
	b.swept = now
	dead := func(owner string) bool { return now.Sub(b.heard[owner]) > lifetime }
	for id, g := range b.grants {
		if dead(g.owner) {
			b.record(&bookEvent{Type: settled, At: now, ID: id, Cost: g.cost})
			any = true
		}
	}
	for _, a := range b.accounts {
		waiting := len(a.queue)
		a.queue = slices.DeleteFunc(a.queue, func(ask *grantRequest) bool { return dead(ask.Owner) })
		any = any || len(a.queue) < waiting
	}
	for _, seen := range []map[string]time.Time{b.heard, b.left} {
		maps.DeleteFunc(seen, func(_ string, at time.Time) bool { return now.Sub(at) > lifetime })
	}
	if any {
		b.wake()
	}
}

// balances returns the state of all accounts, sorted by name.
func (b *book) balances() []accountBalance {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]accountBalance, 0, len(b.accounts))
	for _, a := range b.accounts {
		out = append(out, a.balance())
	}
	slices.SortFunc(out, func(x, y accountBalance) int { return strings.Compare(x.String(), y.String()) })
	return out
}

// events returns the fewest events that lead to this book.
func (b *book) events(now time.Time) (out []*bookEvent) {
	for _, a := range b.accounts {
		whole := a.balance()
		whole.Granted.Sub(a.budget.Reserved) // the events of its grants follow
		out = append(out, &bookEvent{Type: balanced, At: now, Balance: &whole})
		if a.held.After(now) {
			out = append(out, &bookEvent{Type: paused, At: now, Account: &a.name, Until: a.held})
		}
		if a.meter.Next.After(now) {
			out = append(out, &bookEvent{Type: paced, At: now, Account: &a.name, Until: a.meter.Next})
		}
		a.meter.Forget(now)
		for _, one := range a.meter.Window {
			out = append(out, &bookEvent{Type: used, At: one.At, Account: &a.name, Cost: amount{Tokens: one.N}})
		}
	}
	for id, g := range b.grants {
		out = append(out, &bookEvent{Type: granted, At: now, ID: id, Owner: g.owner, Account: &g.of.name, Cost: g.cost})
	}
	return out
}
