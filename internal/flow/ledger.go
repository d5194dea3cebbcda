package flow

import (
	"context"
	"sync"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/pricing"
)

// LedgerConfig are the limits that a Ledger keeps. Zero is unlimited.
type LedgerConfig struct {
	Rates
	Concurrency  int              // calls under way at once, those of all models and kinds together
	Models       map[string]Rates // by model, beside those of all calls
	BudgetCalls  int              // HTTP attempts, those for metadata left out
	BudgetTokens int
	BudgetMoney  float64       // in the currency of Prices
	Prices       *pricing.List // Optional
	// CountOutput asks the service how many tokens an answer has when it does not say
	// so itself and a limit on tokens is set.
	CountOutput bool
	// Stop ends waiting and forbids further calls once it is closed. Optional.
	Stop <-chan struct{}
	// Waits is told who waits. Optional.
	Waits *Waits
	// Spent is what was spent before, by a run that is resumed.
	Spent eval.Spent
	// Before are the last calls of a run that is resumed: those of the last minute count for the rates.
	Before []eval.Booking
}

// limited reports whether any limit is set.
func (c *LedgerConfig) limited() bool {
	limited := c.Rates != Rates{} || c.BudgetCalls > 0 || c.BudgetTokens > 0 || c.BudgetMoney > 0
	for _, r := range c.Models {
		limited = limited || r != Rates{}
	}
	return limited
}

// Ledger keeps rates and budgets over all calls of a run. What a call may cost is reserved before it is
// sent and settled when it is over; a budget of calls is never overrun, one of tokens only
// by what a reservation fell short of.
type Ledger struct {
	cfg    LedgerConfig
	slots  chan struct{} // holds a token for each call under way; nil: unlimited
	book   func(eval.Booking) error
	meter  *meter            // of all calls
	models map[string]*meter // of the calls to a model

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced when something was settled
	waiters  int           // for that
	calls    int
	spent    amount // settled
	reserved amount // of calls under way
}

// amount is what a call costs, or may cost.
type amount struct {
	tokens int
	money  float64
}

func (a *amount) add(b amount) { a.tokens += b.tokens; a.money += b.money }
func (a *amount) sub(b amount) { a.tokens -= b.tokens; a.money -= b.money }

// NewLedger makes a ledger.
func NewLedger(cfg LedgerConfig) *Ledger {
	l := &Ledger{cfg: cfg, calls: cfg.Spent.Calls, spent: amount{cfg.Spent.Tokens, cfg.Spent.Money}, changed: make(chan struct{})}
	l.meter, l.models = newMeter(cfg.Rates), map[string]*meter{}
	for model, r := range cfg.Models {
		l.models[model] = newMeter(r)
	}
	if cfg.Concurrency > 0 {
		l.slots = make(chan struct{}, cfg.Concurrency)
	}
	for _, b := range cfg.Before {
		if at, err := time.Parse(time.RFC3339Nano, b.At); err == nil && !b.Local {
			for _, m := range l.metersOf(b.Model) {
				m.recall(at, b.Tokens)
			}
		}
	}
	return l
}

// Book has every call written down before it is sent, where limits are set. A call that cannot be is not sent. It is called before the
// first call.
func (l *Ledger) Book(write func(eval.Booking) error) {
	if l.cfg.limited() {
		l.book = write
	}
}

// Spent is what was spent so far.
func (l *Ledger) Spent() eval.Spent {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := eval.Spent{Calls: l.calls, Tokens: l.spent.tokens, BudgetCalls: l.cfg.BudgetCalls, BudgetTokens: l.cfg.BudgetTokens}
	if p := l.cfg.Prices; p != nil {
		out.Money, out.BudgetMoney, out.Currency = l.spent.money, l.cfg.BudgetMoney, p.Currency
	}
	return out
}

// limitsTokens reports whether it matters how many tokens a call costs.
func (l *Ledger) limitsTokens(model string) bool {
	m := l.models[model]
	return l.cfg.TokensPerMinute > 0 || l.cfg.BudgetTokens > 0 || l.cfg.BudgetMoney > 0 || m != nil && m.tokens > 0
}

// metersOf are the meters that count a call to a model.
func (l *Ledger) metersOf(model string) []*meter {
	if m := l.models[model]; m != nil {
		return []*meter{l.meter, m}
	}
	return []*meter{l.meter}
}

// price is what a call with a usage costs: one token at least, since no call is for nothing.
func (l *Ledger) price(model string, u *eval.Usage) amount {
	return amount{max(1, u.TotalTokens, u.PromptTokens+u.OutputTokens), l.cfg.Prices.Of(model, u)}
}

// acquire takes a slot when a call that may cost so many tokens can be made, and counts it. The error
// is of kind budget when it never can, of kind canceled when the run ends meanwhile.
func (l *Ledger) acquire(ctx context.Context, model string, timing *eval.Timing, cost amount) (*entry, error) {
	return l.admit(ctx, model, timing, cost, true)
}

// admit is acquire, with a slot or for a caller that has one.
func (l *Ledger) admit(ctx context.Context, model string, timing *eval.Timing, cost amount, slot bool) (*entry, error) {
	if isClosed(l.cfg.Stop) {
		return nil, errStopped()
	}
	defer queued(timing, time.Now())
	meters := l.metersOf(model)
	if cost.tokens > 0 {
		// Calls without tokens pass those that wait for tokens: one of them may be what lets an
		// answer be settled, and so ends the waiting.
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
		held, err := l.attempt(ctx, model, meters, cost, slot)
		if held != nil {
			timing.Attempts++
		}
		if held != nil || err != nil {
			return held, err
		}
	}
}

// afford waits until the budgets have room for a call that takes no slot and counts for no rate, and counts it.
func (l *Ledger) afford(ctx context.Context, timing *eval.Timing, cost amount) (*entry, error) {
	if isClosed(l.cfg.Stop) || ctx.Err() != nil {
		return nil, errStopped()
	}
	defer queued(timing, time.Now())
	for {
		held, room, err := l.try("", nil, cost)
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

// attempt books a call. With neither an entry nor an error it has waited for room, and the caller tries again.
func (l *Ledger) attempt(ctx context.Context, model string, meters []*meter, cost amount, slot bool) (*entry, error) {
	if slot && !l.enter(ctx, l.slots) {
		return nil, errStopped()
	}
	held, room, err := l.pacedTry(ctx, model, meters, cost) // with a slot, so that the call leaves when its time has come
	if held != nil {
		return held, nil
	}
	if slot {
		l.leave()
	}
	if err != nil {
		return nil, err
	}
	return nil, l.await(ctx, room)
}

// pacedTry is try, once the meter of all calls lets the next one through.
func (l *Ledger) pacedTry(ctx context.Context, model string, meters []*meter, cost amount) (*entry, room, error) {
	if !l.paced(ctx, l.meter) {
		return nil, room{}, errStopped()
	}
	return l.try(model, meters, cost)
}

// enter takes a slot, when one is free; false when the run ends meanwhile.
func (l *Ledger) enter(ctx context.Context, slots chan struct{}) bool {
	if slots == nil {
		return true
	}
	select {
	case slots <- struct{}{}:
		return true
	case <-ctx.Done():
	case <-l.cfg.Stop:
	}
	return false
}

// room is what a caller waits for until its call has room.
type room struct {
	wait    time.Duration // at least; 0: until something is settled
	changed <-chan struct{}
}

// await waits for room. The caller counts as a waiter until then.
func (l *Ledger) await(ctx context.Context, r room) error {
	why := "tokens per minute"
	if r.wait == 0 {
		why = "what calls under way leave of the budget"
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

// leave gives a slot back.
func (l *Ledger) leave() {
	if l.slots != nil {
		<-l.slots
	}
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

// paced waits until the meter lets the next call through; false when the run ends meanwhile.
func (l *Ledger) paced(ctx context.Context, m *meter) bool {
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
func (l *Ledger) try(model string, meters []*meter, cost amount) (*entry, room, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	affordable, err := l.affords(cost)
	if err != nil {
		return nil, room{}, err
	}
	var wait time.Duration
	if affordable {
		wait = longWait(meters, cost.tokens, now)
	}
	if !affordable || wait != 0 {
		l.waiters++
		return nil, room{wait, l.changed}, nil
	}
	if err := l.written(now, model, cost, len(meters) == 0); err != nil {
		return nil, room{}, err
	}
	held := &entry{at: now, reserved: cost, tokens: cost.tokens}
	for _, m := range meters {
		m.take(held)
	}
	l.calls++
	l.reserved.add(cost)
	return held, room{}, nil
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

// affords reports whether the budgets have room for a call. It is false while calls under way hold what this one may
// cost; the error says that there never will be room.
func (l *Ledger) affords(cost amount) (bool, error) {
	if b := l.cfg.BudgetCalls; b > 0 && l.calls >= b {
		return false, eval.Errorf(eval.KindBudget, "the budget of %d calls is spent", b)
	}
	if ok, err := l.affordsTokens(cost.tokens); !ok {
		return false, err
	}
	return l.affordsMoney(cost.money)
}

func (l *Ledger) affordsTokens(tokens int) (bool, error) {
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

func (l *Ledger) affordsMoney(money float64) (bool, error) {
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

// written has a call written down that is about to be booked.
func (l *Ledger) written(now time.Time, model string, cost amount, local bool) error {
	if l.book == nil {
		return nil
	}
	b := eval.Booking{At: now.UTC().Format(time.RFC3339Nano), Model: model, Tokens: cost.tokens, Local: local}
	b.Spent = eval.Spent{Calls: l.calls + 1, Tokens: l.spent.tokens + l.reserved.tokens + cost.tokens}
	if p := l.cfg.Prices; p != nil {
		b.Spent.Money, b.Spent.Currency = l.spent.money+l.reserved.money+cost.money, p.Currency
	}
	if err := l.book(b); err != nil {
		return eval.Errorf(eval.KindCanceled, "the call could not be written down: %s", err)
	}
	return nil
}

// settle books what a call has cost and gives back the rest of its reservation.
func (l *Ledger) settle(held *entry, cost amount) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reserved.sub(held.reserved)
	l.spent.add(cost)
	for _, m := range held.meters {
		m.inWindow += cost.tokens - held.tokens
	}
	held.tokens = cost.tokens
	if l.waiters > 0 { // mostly nobody does
		close(l.changed)
		l.changed = make(chan struct{})
	}
}

// sleep waits for d, or for a change when d is 0 or a channel is given; false when the run
// ends meanwhile.
func (l *Ledger) sleep(ctx context.Context, why string, d time.Duration, changed <-chan struct{}) bool {
	if d <= 0 && changed == nil {
		return true
	}
	if l.cfg.Waits != nil {
		defer l.cfg.Waits.begin(why, d)()
	}
	return pause(ctx, l.cfg.Stop, d, changed)
}
