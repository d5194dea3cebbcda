package flow

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/rates"
)

// LimiterConfig are the limits that a Limiter keeps. Zero is unlimited.
type LimiterConfig struct {
	rates.Rates
	Concurrency  int                    // calls in progress at once, of all models and kinds together
	Models       map[string]rates.Rates // additional rates by model; each service with the model has them separately
	Services     map[string]Share       // by service; "" is the unnamed service, with applications
	BudgetCalls  int                    // HTTP attempts, except those for metadata
	BudgetTokens int
	BudgetMoney  float64         // in the currency of Prices
	Prices       *eval.PriceList // optional
	// CountOutput has the service count the tokens of an answer that reports no usage, if tokens are limited.
	CountOutput bool
	Waits       *Waits         // optional
	Spent       eval.Spent     // by earlier sessions of a resumed run
	Before      []eval.Booking // the last calls of a resumed run; those of the last minute count towards the rates
	Shared      Shared         // the ledger of several processes; optional
}

// Share limits the calls to one service, in addition to the limits on all calls.
type Share struct {
	rates.Rates
	Concurrency int // calls in progress at once
}

func (c *LimiterConfig) limited() bool {
	limited := c.Rates != rates.Rates{} || c.BudgetCalls > 0 || c.BudgetTokens > 0 || c.BudgetMoney > 0
	for _, r := range c.Models {
		limited = limited || r != rates.Rates{}
	}
	for _, s := range c.Services {
		limited = limited || s.Rates != rates.Rates{}
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

	mu      sync.Mutex
	changed chan struct{} // closed and replaced whenever a call is settled
	waiters int           // how many calls wait for changed
	budget  rates.Budget
	later   rates.Amount // what the budget reserves for batches: an earlier process may have reserved it, and a later one may settle it
}

// peer is a model of a service, or the whole service if model is "".
type peer struct{ service, model string }

type meter struct {
	rates.Meter
	turn chan struct{} // held by the one caller that waits for room, so that no other overtakes it
}

func newMeter(r rates.Rates) *meter {
	return &meter{rates.Meter{Rates: r}, make(chan struct{}, 1)}
}

// NewLimiter makes a Limiter.
func NewLimiter(cfg LimiterConfig) *Limiter {
	if cfg.Waits == nil {
		cfg.Waits = NewWaits(nil)
	}
	spent := rates.Amount{
		Calls: max(0, cfg.Spent.Attempts), Tokens: max(0, cfg.Spent.Tokens), Money: max(0, cfg.Spent.Money),
	}
	l := &Limiter{
		cfg: cfg, shares: map[string]chan struct{}{}, meter: newMeter(cfg.Rates), meters: map[peer]*meter{},
		changed: make(chan struct{}),
		budget: rates.Budget{
			Most:    rates.Amount{Calls: cfg.BudgetCalls, Tokens: cfg.BudgetTokens, Money: cfg.BudgetMoney},
			Granted: spent, Settled: spent,
		},
	}
	if cfg.Prices != nil {
		l.budget.Currency = cfg.Prices.Currency
	}
	for name, share := range cfg.Services {
		if share.Rates != (rates.Rates{}) {
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
			if now := time.Now(); at.After(now) { // the clock was set back since: nothing waits longer than intended
				at = now
			}
			for _, m := range l.metersOf(peer{b.Service, b.Model}) {
				m.NotBefore(at.Add(m.Interval()))
				m.count(&rates.Tokens{At: at, N: b.Tokens})
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
	out := eval.Spent{Attempts: l.budget.Granted.Calls - l.later.Calls, Tokens: l.budget.Settled.Tokens}
	out.BudgetCalls, out.BudgetTokens = l.cfg.BudgetCalls, l.cfg.BudgetTokens
	if p := l.cfg.Prices; p != nil {
		out.Money = l.budget.Settled.Money
		out.BudgetMoney = l.cfg.BudgetMoney
		out.Currency = p.Currency
	}
	return out
}

// limitsTokens reports whether it matters how many tokens a call costs.
func (l *Limiter) limitsTokens(to peer) bool {
	return l.cfg.BudgetTokens > 0 || l.cfg.BudgetMoney > 0 || l.cfg.Shared != nil && l.cfg.Shared.LimitsTokens() ||
		slices.ContainsFunc(l.metersOf(to), func(m *meter) bool { return m.TokensPerMinute > 0 })
}

// metersOf are the meters that count a call: of all calls, of the service and of its model, if limited.
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
func (l *Limiter) price(model string, u *eval.Usage) rates.Amount {
	possible := func(n int) int { return min(max(0, n), mostTokens) }
	c := eval.Usage{
		PromptTokens: possible(u.PromptTokens), OutputTokens: possible(u.OutputTokens),
		CachedTokens: possible(u.CachedTokens), ToolUseTokens: possible(u.ToolUseTokens),
		WrittenTokens: possible(u.WrittenTokens), HourTokens: possible(u.HourTokens), TotalTokens: possible(u.TotalTokens),
	}
	return rates.Amount{
		Calls:  1,
		Tokens: max(1, c.TotalTokens, c.PromptTokens+c.OutputTokens),
		Money:  l.cfg.Prices.Of(model, c.OfCall(u.Batch != nil)),
	}
}

// most is the highest price of a call before it is sent.
func (l *Limiter) most(call *eval.Call, batch bool) rates.Amount {
	u := (&eval.Usage{PromptTokens: call.PromptTokens, OutputTokens: call.OutputLimit}).OfCall(batch)
	cost, longest := l.price(call.Model, u), call.PromptTokens*21/20 // what is billed may differ a little from what was counted
	if !call.Counted {
		longest = wire.MostTokens(call.PromptTokens)
	}
	cost.Money = l.cfg.Prices.MostOf(call.Model, u, longest)
	return cost
}

// meteredCall is a call that waits for room, and then is in the books until it is settled.
type meteredCall struct {
	to     peer
	slot   bool         // it takes a slot; false: it runs on this machine, or its caller has one
	meters []*meter     // whose rates it counts for; none if it runs on this machine
	cost   rates.Amount // at most
	tokens rates.Tokens // that count for the last minute
	shared Settle       // reports the cost to the ledger of several processes; nil without one
}

// admit waits until a call can be made, and books it. Errors are of kind budget, or canceled if the run ends.
func (l *Limiter) admit(ctx context.Context, c *meteredCall, timing *eval.Timing) error {
	if l.cfg.Waits.stopped() || ctx.Err() != nil {
		return errStopped()
	}
	defer func(since time.Time) {
		queued(timing, since)
		if timing.StartedAt.IsZero() {
			timing.StartedAt = time.Now().UTC()
		}
	}(time.Now())
	if err := l.admitHere(ctx, c); err != nil {
		return err
	}
	if l.cfg.Shared != nil && c.to.model != "" { // last, so that the call leaves when it is granted; applications have no model
		var err error
		if c.shared, err = l.granted(ctx, c.to, c.cost); err != nil {
			l.end(func() { l.budget.Return(c.cost); c.tokens.N = 0 })
			l.leave(c)
			return err
		}
	}
	timing.Attempts++
	return nil
}

// admitHere is admit by the limits of this process.
func (l *Limiter) admitHere(ctx context.Context, c *meteredCall) error {
	if c.cost.Tokens > 0 && len(c.meters) > 0 {
		// Calls without tokens pass the calls that wait for tokens: one of them may be what lets an answer be settled,
		// and so ends the waiting.
		turn := c.meters[len(c.meters)-1].turn // a model that waits for its own limit holds up no other
		if !l.enter(ctx, turn) {
			return errStopped()
		}
		defer func() { <-turn }()
	}
	for _, own := range c.meters { // before a slot is taken, which calls to other models may use
		if own != l.meter && !l.paced(ctx, own) {
			return errStopped()
		}
	}
	for {
		if !l.takeSlot(ctx, c) {
			return errStopped()
		}
		if len(c.meters) > 0 && !l.paced(ctx, l.meter) { // with a slot, so that the call leaves when its time has come
			l.leave(c)
			return errStopped()
		}
		room, err := l.try(c)
		if err == nil && room == nil {
			return nil
		}
		l.leave(c)
		if err != nil {
			return err
		}
		if err := l.await(ctx, room); err != nil {
			return err
		}
	}
}

type limiterWait struct {
	wait    time.Duration // at least; 0: until something is settled
	changed <-chan struct{}
}

func (l *Limiter) await(ctx context.Context, r *limiterWait) error {
	why := "tokens per minute"
	if r.wait == 0 {
		why = "the part of the budget that calls in progress reserve"
	}
	waited := l.cfg.Waits.wait(ctx, why, r.wait, r.changed)
	l.mu.Lock()
	l.waiters--
	l.mu.Unlock()
	if !waited {
		return errStopped()
	}
	return nil
}

// paced waits until the meter allows the next call. It returns false if the run ends first.
func (l *Limiter) paced(ctx context.Context, m *meter) bool {
	if m.RequestsPerMinute == 0 {
		return true
	}
	l.mu.Lock()
	now := time.Now()
	m.NotBefore(now)
	at := m.Next
	m.Pace(now)
	l.mu.Unlock()
	return l.cfg.Waits.wait(ctx, "requests per minute", at.Sub(now), nil)
}

// try books the call, or returns what to wait for; the caller counts as a waiter from then on.
func (l *Limiter) try(c *meteredCall) (*limiterWait, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if why := l.budget.Refusal(c.cost); why != "" {
		return nil, eval.Errorf(eval.KindBudget, "%s", why)
	}
	if !l.budget.Fits(c.cost) {
		l.waiters++
		return &limiterWait{0, l.changed}, nil
	}
	for _, m := range c.meters {
		if at, _ := m.Room(c.cost.Tokens, 0, now); !at.IsZero() {
			l.waiters++
			return &limiterWait{at.Sub(now), l.changed}, nil
		}
	}
	c.tokens = rates.Tokens{At: now, N: c.cost.Tokens}
	if err := l.written(c, c.cost); err != nil {
		return nil, err
	}
	for _, m := range c.meters {
		m.count(&c.tokens)
	}
	l.budget.Take(c.cost)
	return nil, nil
}

// count counts tokens of a call for the last minute, where that is limited: a fast run makes half a million calls in a minute.
func (m *meter) count(tokens *rates.Tokens) {
	if m.TokensPerMinute > 0 {
		m.Count(tokens)
	}
}

// written has a call written down at a cost that is about to be booked.
func (l *Limiter) written(c *meteredCall, cost rates.Amount) error {
	if l.book == nil {
		return nil
	}
	b := eval.Booking{
		At: c.tokens.At.UTC().Format(time.RFC3339Nano), Model: c.to.model, Service: c.to.service, Tokens: cost.Tokens,
		Local: len(c.meters) == 0,
	}
	of := &l.budget
	b.Spent = eval.Spent{
		Attempts: of.Granted.Calls - l.later.Calls + cost.Calls,
		Tokens:   of.Settled.Tokens + of.Reserved.Tokens - l.later.Tokens + cost.Tokens,
	}
	if p := l.cfg.Prices; p != nil {
		b.Spent.Money, b.Spent.Currency = of.Settled.Money+of.Reserved.Money-l.later.Money+cost.Money, p.Currency
	}
	if err := l.book(b); err != nil {
		return eval.Errorf(eval.KindCanceled, "the call could not be written down: %s", err)
	}
	return nil
}

// settle records the actual cost of a call, and returns the rest of its reservation. pause is how long the service wants
// no further calls, of any process.
func (l *Limiter) settle(c *meteredCall, cost rates.Amount, pause time.Duration) {
	if c.shared != nil {
		c.shared(cost.Tokens, cost.Money, pause)
	}
	l.end(func() {
		if more := cost.Tokens - c.cost.Tokens; more > 0 && len(c.meters) > 0 { // the next process has to know the last minute
			_ = l.written(c, rates.Amount{Tokens: more}) // the next call fails for the same reason
		}
		cost.Calls = c.cost.Calls
		l.budget.Settle(c.cost, cost)
		c.tokens.N = cost.Tokens
	})
}

func (l *Limiter) end(book func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	book()
	if l.waiters > 0 { // usually none
		close(l.changed)
		l.changed = make(chan struct{})
	}
}

// enter takes a slot when one is free, or a turn in the same way. It returns false if the run ends first.
func (l *Limiter) enter(ctx context.Context, slots chan struct{}) bool {
	if slots == nil {
		return true
	}
	select {
	case slots <- struct{}{}:
		return true
	case <-ctx.Done():
	case <-l.cfg.Waits.stop:
	}
	return false
}

// takeSlot takes a slot of the service, and then one of all. Others may use the latter until then. It
// returns false if the run ends first.
func (l *Limiter) takeSlot(ctx context.Context, c *meteredCall) bool {
	if !c.slot {
		return true
	}
	own := l.shares[c.to.service]
	if !l.enter(ctx, own) {
		return false
	}
	if l.enter(ctx, l.slots) {
		return true
	}
	if own != nil {
		<-own
	}
	return false
}

func (l *Limiter) leave(c *meteredCall) {
	if !c.slot {
		return
	}
	for _, slots := range []chan struct{}{l.slots, l.shares[c.to.service]} {
		if slots != nil {
			<-slots
		}
	}
}
