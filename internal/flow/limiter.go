package flow

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/evalrun/evalrun/eval"
)

// LimiterConfig are the limits that a Limiter keeps. Zero is unlimited.
type LimiterConfig struct {
	Rates
	Concurrency  int              // calls in progress at once, of all models and kinds together
	Models       map[string]Rates // additional rates by model; each service with the model has them separately
	Services     map[string]Share // by service; "" is the unnamed service, with applications
	BudgetCalls  int              // HTTP attempts, except those for metadata
	BudgetTokens int
	BudgetMoney  float64         // in the currency of Prices
	Prices       *eval.PriceList // optional
	// CountOutput has the service count the tokens of an answer that reports no usage, if tokens are limited.
	CountOutput bool
	// Stop ends waiting and forbids further calls once it is closed. Optional.
	Stop <-chan struct{}
	// Waits shows which calls wait. Optional.
	Waits *Waits
	// Spent is the spend of earlier sessions of a resumed run.
	Spent eval.Spent
	// Shared is the ledger of several processes. Optional.
	Shared Shared
	// Before are the last calls of a resumed run. Those of the last minute count towards the rates.
	Before []eval.Booking
}

// Share limits the calls to one service, in addition to the limits on all calls.
type Share struct {
	Rates
	Concurrency int // calls in progress at once
}

// limited reports whether any limit is set.
func (c *LimiterConfig) limited() bool {
	limited := c.Rates != Rates{} || c.BudgetCalls > 0 || c.BudgetTokens > 0 || c.BudgetMoney > 0
	for _, r := range c.Models {
		limited = limited || r != Rates{}
	}
	for _, s := range c.Services {
		limited = limited || s.Rates != Rates{}
	}
	return limited
}

// Limiter keeps rates and budgets over all calls of a run. It reserves the highest cost of a call before it is sent, and
// settles the actual cost when the call is over. A budget of calls is never exceeded; a budget of tokens only when a call
// costs more than was reserved for it.
type Limiter struct {
	cfg    LimiterConfig
	slots  chan struct{}            // holds a token for each call in progress; nil: unlimited
	shares map[string]chan struct{} // slots of each service with its own limit
	book   func(eval.Booking) error // writes down a call before it is sent; nil: nothing does
	meter  *meter                   // rates of all calls
	meters map[peer]*meter          // rates of services and of their models

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced whenever a call is settled
	waiters  int           // how many calls wait for changed
	calls    int           // attempts so far
	spent    amount        // by settled calls
	reserved amount        // for calls in progress
}

// peer is a model of a service, or the whole service if model is "".
type peer struct{ service, model string }

// amount is the cost of calls.
type amount struct {
	tokens int
	money  float64
}

func (a *amount) add(b amount) { a.tokens += b.tokens; a.money += b.money }
func (a *amount) sub(b amount) { a.tokens -= b.tokens; a.money -= b.money }

// NewLimiter makes a Limiter.
func NewLimiter(cfg LimiterConfig) *Limiter {
	l := &Limiter{
		cfg: cfg, calls: max(0, cfg.Spent.Attempts), spent: amount{max(0, cfg.Spent.Tokens), max(0, cfg.Spent.Money)},
		shares: map[string]chan struct{}{}, meter: newMeter(cfg.Rates), meters: map[peer]*meter{},
		changed: make(chan struct{}),
	}
	for name, share := range cfg.Services {
		if share.Rates != (Rates{}) {
			l.meters[peer{service: name}] = newMeter(share.Rates)
		}
		if share.Concurrency > 0 {
			l.shares[name] = make(chan struct{}, share.Concurrency)
		}
	}
	if cfg.Concurrency > 0 {
		l.slots = make(chan struct{}, cfg.Concurrency)
	}
	for _, b := range cfg.Before {
		if at, err := time.Parse(time.RFC3339Nano, b.At); err == nil && !b.Local {
			for _, m := range l.metersOf(peer{b.Service, b.Model}) {
				m.recall(at, b.Tokens)
			}
		}
	}
	return l
}

// Book makes the limiter write down every call before it is sent, if limits are set. When that fails the call is not
// sent. Book must be called before the first call.
func (l *Limiter) Book(write func(eval.Booking) error) {
	if l.cfg.limited() {
		l.book = write
	}
}

// Spent is the cost of all calls so far.
func (l *Limiter) Spent() eval.Spent {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := eval.Spent{Attempts: l.calls, Tokens: l.spent.tokens}
	out.BudgetCalls, out.BudgetTokens = l.cfg.BudgetCalls, l.cfg.BudgetTokens
	if p := l.cfg.Prices; p != nil {
		out.Money = l.spent.money
		out.BudgetMoney = l.cfg.BudgetMoney
		out.Currency = p.Currency
	}
	return out
}

// limitsTokens reports whether it matters how many tokens a call costs.
func (l *Limiter) limitsTokens(to peer) bool {
	return l.cfg.BudgetTokens > 0 || l.cfg.BudgetMoney > 0 || l.cfg.Shared != nil && l.cfg.Shared.LimitsTokens() ||
		slices.ContainsFunc(l.metersOf(to), func(m *meter) bool { return m.tokens > 0 })
}

// metersOf are the meters that count a call: that of all calls, and those of the service and of its model which have
// limits.
func (l *Limiter) metersOf(to peer) []*meter {
	out := []*meter{l.meter}
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := l.meters[peer{service: to.service}]; m != nil {
		out = append(out, m)
	}
	rates, limited := l.cfg.Models[to.model]
	if !limited || to.model == "" {
		return out
	}
	m := l.meters[to]
	if m == nil {
		m = newMeter(rates)
		l.meters[to] = m
	}
	return append(out, m)
}

// mostTokens is more than any call can cost. Sums of costs below it stay in range.
const mostTokens = 1 << 40

// price is the cost of a call with a usage: at least one token, since no call is free. A number that cannot be true, from
// a service or another process, refills no budget.
func (l *Limiter) price(model string, u *eval.Usage) amount {
	possible := func(n int) int { return min(max(0, n), mostTokens) }
	c := eval.Usage{
		PromptTokens: possible(u.PromptTokens), OutputTokens: possible(u.OutputTokens),
		CachedTokens: possible(u.CachedTokens), ToolUseTokens: possible(u.ToolUseTokens),
	}
	return amount{max(1, possible(u.TotalTokens), c.PromptTokens+c.OutputTokens), l.cfg.Prices.Of(model, &c)}
}

// acquire takes a slot when a call of at most this cost can be made, and counts it. The error is of kind
// budget if it never can, and of kind canceled if the run ends first.
func (l *Limiter) acquire(ctx context.Context, to peer, timing *eval.Timing, cost amount) (*meteredCall, error) {
	return l.admit(ctx, to, timing, cost, true)
}

// admit is acquire, with a slot or for a caller that has one.
func (l *Limiter) admit(ctx context.Context, to peer, timing *eval.Timing, cost amount, slot bool) (*meteredCall, error) {
	if isClosed(l.cfg.Stop) {
		return nil, errStopped()
	}
	defer queued(timing, time.Now())
	held, err := l.admitHere(ctx, to, cost, slot)
	if err == nil && l.cfg.Shared != nil && to.model != "" { // last, so that the call leaves when it is granted; applications have no model
		if held.shared, err = l.granted(ctx, to, 1, cost); err != nil {
			l.undo(held)
			if slot {
				l.leave(to)
			}
		}
	}
	if err != nil {
		return nil, err
	}
	timing.Attempts++
	return held, nil
}

// admitHere is admit by the limits of this process.
func (l *Limiter) admitHere(ctx context.Context, to peer, cost amount, slot bool) (*meteredCall, error) {
	meters := l.metersOf(to)
	if cost.tokens > 0 {
		// Calls without tokens pass the calls that wait for tokens: one of them may be what lets an answer be settled,
		// and so ends the waiting.
		turn := meters[len(meters)-1].turn // a model that waits for its own limit holds up no other
		if !l.enter(ctx, turn) {
			return nil, errStopped()
		}
		defer func() { <-turn }()
	}
	for _, own := range meters[1:] { // before a slot is taken, which calls to other models may use
		if !l.paced(ctx, own) {
			return nil, errStopped()
		}
	}
	for {
		if held, err := l.attempt(ctx, to, meters, cost, slot); held != nil || err != nil {
			return held, err
		}
	}
}

// afford waits until the budgets have room for a call that takes no slot and counts for no rate, and counts it.
func (l *Limiter) afford(ctx context.Context, timing *eval.Timing, cost amount) (*meteredCall, error) {
	if isClosed(l.cfg.Stop) || ctx.Err() != nil {
		return nil, errStopped()
	}
	defer queued(timing, time.Now())
	for {
		held, room, err := l.try(peer{}, nil, cost)
		if held != nil {
			timing.Attempts++
		}
		if held != nil || err != nil {
			return held, err
		}
		if err := l.await(ctx, room); err != nil {
			return nil, err
		}
	}
}

// queued fills in how long a call has waited since it began to, and when it leaves.
func queued(timing *eval.Timing, since time.Time) {
	timing.QueuedMs += eval.Milliseconds(time.Since(since))
	if timing.StartedAt.IsZero() {
		timing.StartedAt = time.Now().UTC()
	}
}

// attempt books a call. With neither a call nor an error it has waited for room, and the caller tries again.
func (l *Limiter) attempt(ctx context.Context, to peer, meters []*meter, cost amount, slot bool) (*meteredCall, error) {
	if slot && !l.takeSlot(ctx, to) {
		return nil, errStopped()
	}
	held, room, err := l.pacedTry(ctx, to, meters, cost) // with a slot, so that the call leaves when its time has come
	if held != nil {
		return held, nil
	}
	if slot {
		l.leave(to)
	}
	if err != nil {
		return nil, err
	}
	return nil, l.await(ctx, room)
}

// pacedTry is try, once the meter of all calls lets the next one through.
func (l *Limiter) pacedTry(ctx context.Context, to peer, meters []*meter, cost amount) (*meteredCall, limiterWait, error) {
	if !l.paced(ctx, l.meter) {
		return nil, limiterWait{}, errStopped()
	}
	return l.try(to, meters, cost)
}

// limiterWait says what a call waits for until it has room.
type limiterWait struct {
	wait    time.Duration // at least; 0: until something is settled
	changed <-chan struct{}
}

// await waits for room. The caller counts as a waiter until then.
func (l *Limiter) await(ctx context.Context, r limiterWait) error {
	why := "tokens per minute"
	if r.wait == 0 {
		why = "the part of the budget that calls in progress reserve"
	}
	slept := l.sleep(ctx, why, r.wait, r.changed)
	l.mu.Lock()
	l.waiters--
	l.mu.Unlock()
	if !slept {
		return errStopped()
	}
	return nil
}

func errStopped() error {
	return eval.Errorf(eval.KindCanceled, "the run was stopped before this call")
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// paced waits until the meter allows the next call. It returns false if the run ends first.
func (l *Limiter) paced(ctx context.Context, m *meter) bool {
	if m.interval == 0 {
		return true
	}
	l.mu.Lock()
	now := time.Now()
	at := m.next
	if at.Before(now) {
		at = now
	}
	m.next = at.Add(m.interval)
	l.mu.Unlock()
	return l.sleep(ctx, "requests per minute", at.Sub(now), nil)
}

// try books the call when there is room for it. Otherwise it says what to wait for, and the caller counts as a waiter
// from then on.
func (l *Limiter) try(to peer, meters []*meter, cost amount) (*meteredCall, limiterWait, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	affordable, err := l.affords(cost)
	if err != nil {
		return nil, limiterWait{}, err
	}
	var wait time.Duration
	if affordable {
		wait = longWait(meters, cost.tokens, now)
	}
	if !affordable || wait != 0 {
		l.waiters++
		return nil, limiterWait{wait, l.changed}, nil
	}
	held := &meteredCall{to: to, at: now, reserved: cost, tokens: cost.tokens}
	if err := l.written(held, cost, l.calls+1, len(meters) == 0); err != nil {
		return nil, limiterWait{}, err
	}
	for _, m := range meters {
		m.take(held)
	}
	l.calls++
	l.reserved.add(cost)
	return held, limiterWait{}, nil
}

// longWait is how long the first meter without room for a call has it wait.
func longWait(meters []*meter, tokens int, now time.Time) time.Duration {
	for _, m := range meters {
		if wait := m.wait(tokens, now); wait != 0 {
			return wait
		}
	}
	return 0
}

// written has a call written down at a cost that is about to be booked. calls are the attempts with it.
func (l *Limiter) written(held *meteredCall, cost amount, calls int, local bool) error {
	if l.book == nil {
		return nil
	}
	b := eval.Booking{
		At: held.at.UTC().Format(time.RFC3339Nano), Model: held.to.model, Service: held.to.service, Tokens: cost.tokens,
		Local: local,
	}
	b.Spent = eval.Spent{Attempts: calls, Tokens: l.spent.tokens + l.reserved.tokens + cost.tokens}
	if p := l.cfg.Prices; p != nil {
		b.Spent.Money, b.Spent.Currency = l.spent.money+l.reserved.money+cost.money, p.Currency
	}
	if err := l.book(b); err != nil {
		return eval.Errorf(eval.KindCanceled, "the call could not be written down: %s", err)
	}
	return nil
}

// settle records the actual cost of a call and returns the rest of its reservation.
func (l *Limiter) settle(held *meteredCall, cost amount) {
	if held.shared != nil {
		held.shared.Settle(cost.tokens, cost.money, held.pause)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if more := cost.tokens - held.tokens; more > 0 && len(held.meters) > 0 { // the next process has to know the last minute
		_ = l.written(held, amount{tokens: more}, l.calls, false) // the next call fails for the same reason
	}
	l.reserved.sub(held.reserved)
	l.spent.add(cost)
	for _, m := range held.meters {
		m.inWindow += cost.tokens - held.tokens
	}
	held.tokens = cost.tokens
	if l.waiters > 0 { // usually none
		close(l.changed)
		l.changed = make(chan struct{})
	}
}

// sleep waits for d, or for a change if d is 0 or a channel is given. It returns false if the run ends
// first.
func (l *Limiter) sleep(ctx context.Context, why string, d time.Duration, changed <-chan struct{}) bool {
	if d <= 0 && changed == nil {
		return true
	}
	if l.cfg.Waits != nil {
		defer l.cfg.Waits.begin(why, d)()
	}
	return pause(ctx, l.cfg.Stop, d, changed)
}
