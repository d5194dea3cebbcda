package flow

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/evalrun/evalrun/eval"
)

// LedgerConfig are the limits that a Ledger keeps. Zero is unlimited.
type LedgerConfig struct {
	Rates
	Models       map[string]Rates // by model, beside those of all calls
	BudgetCalls  int              // HTTP attempts, those for metadata left out
	BudgetTokens int
	BudgetMoney  float64      // in the currency of Prices
	Prices       *eval.Prices // Optional
	// CountOutput asks the service how many tokens an answer has when it does not say
	// so itself and a limit on tokens is set.
	CountOutput bool
	// Stop ends waiting and forbids further calls once it is closed. Optional.
	Stop <-chan struct{}
	// Waits is told who waits. Optional.
	Waits *Waits
	// Spent is what was spent before, by a run that is resumed.
	Spent eval.Spent
}

// Rates are limits per minute. Zero is unlimited.
type Rates struct {
	RequestsPerMinute int
	TokensPerMinute   int
}

// meter keeps Rates.
type meter struct {
	requests *rate.Limiter
	turn     chan struct{} // held by the one caller that waits for room, so that nobody is overtaken
	tokens   int           // per minute
	window   []*entry      // of the last minute, oldest first
	inWindow int           // tokens
}

func newMeter(r Rates) *meter {
	m := &meter{tokens: r.TokensPerMinute, turn: make(chan struct{}, 1)}
	if r.RequestsPerMinute > 0 {
		// A burst of one: a larger one would let more than the limit through in the first minute.
		m.requests = rate.NewLimiter(rate.Limit(float64(r.RequestsPerMinute)/60), 1)
	}
	return m
}

// Ledger keeps rates and budgets over all calls of a run. What a call may cost is reserved before it is
// sent and settled when it is over; a budget of calls is never overrun, one of tokens only
// by what a reservation fell short of.
type Ledger struct {
	cfg    LedgerConfig
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

// entry is a call in the books. It counts for tokens in the window of the last minute
// until it leaves that.
type entry struct {
	at       time.Time
	reserved amount
	tokens   int
	meters   []*meter // in whose windows it is
}

// NewLedger makes a ledger.
func NewLedger(cfg LedgerConfig) *Ledger {
	l := &Ledger{cfg: cfg, calls: cfg.Spent.Calls, spent: amount{cfg.Spent.Tokens, cfg.Spent.Money}, changed: make(chan struct{})}
	l.meter, l.models = newMeter(cfg.Rates), map[string]*meter{}
	for model, r := range cfg.Models {
		l.models[model] = newMeter(r)
	}
	return l
}

// Limit puts every attempt of next through the ledger.
func (l *Ledger) Limit(next Service) Service { return limited{next, l} }

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

type limited struct {
	Service
	ledger *Ledger
}

func (s limited) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	held, err := s.ledger.acquire(ctx, call.Model, &call.Timing, s.ledger.price(call.Model, &eval.Usage{PromptTokens: call.PromptTokens, OutputTokens: call.OutputLimit}))
	if err != nil {
		return nil, err
	}
	resp, err := s.Service.Generate(ctx, call)
	if err != nil {
		s.ledger.settle(held, costOf(eval.AsError(err), held.reserved))
		return nil, err
	}
	if resp.Usage == nil || resp.Usage.Source == "" {
		resp.Usage = s.usage(ctx, call, resp)
	}
	s.ledger.settle(held, s.ledger.price(call.Model, resp.Usage))
	return resp, nil
}

// price is what a call with a usage costs: one token at least, since no call is for nothing.
func (l *Ledger) price(model string, u *eval.Usage) amount {
	return amount{max(1, u.TotalTokens, u.PromptTokens+u.OutputTokens), l.cfg.Prices.Of(model, u)}
}

// costOf is what a failed attempt is taken to have cost: nothing when the service
// refused or was not reached, all of the reservation when it may have answered.
func costOf(e *eval.Error, reserved amount) amount {
	switch e.Kind {
	case eval.KindTransport, eval.KindTimeout, eval.KindTruncated, eval.KindMalformed, eval.KindTooLarge, eval.KindCanceled:
		if !e.Unsent {
			return reserved
		}
	}
	return amount{}
}

func (s limited) CountTokens(ctx context.Context, call *eval.Call) (int, error) {
	held, err := s.ledger.acquire(ctx, call.Model, &call.Timing, amount{})
	if err != nil {
		return 0, err
	}
	defer s.ledger.settle(held, amount{})
	return s.Service.CountTokens(ctx, call)
}

// Embed costs what its texts are estimated to be: the answer tells no usage.
func (s limited) Embed(ctx context.Context, call *eval.EmbedCall) ([]eval.Vector, error) {
	cost := s.ledger.price(call.Model, &eval.Usage{PromptTokens: call.Tokens()})
	held, err := s.ledger.acquire(ctx, call.Model, &call.Timing, cost)
	if err != nil {
		return nil, err
	}
	v, err := s.Service.Embed(ctx, call)
	if err != nil {
		cost = costOf(eval.AsError(err), held.reserved)
	}
	s.ledger.settle(held, cost)
	return v, err
}

// usage counts or estimates what the service did not report of an answer's cost.
func (s limited) usage(ctx context.Context, call *eval.Call, resp *eval.Response) *eval.Usage {
	u := call.Usage(resp)
	if s.ledger.cfg.CountOutput && s.ledger.limitsTokens(call.Model) && u.OutputTokens > 0 {
		ask := &eval.Call{Request: eval.Request{Model: call.Model, APIVersion: call.APIVersion}, TrialID: call.TrialID}
		for _, c := range resp.Candidates {
			ask.Contents = append(ask.Contents, eval.Content{Role: eval.RoleUser, Parts: []eval.Part{{Text: c.Text}}})
		}
		if n, err := s.CountTokens(ctx, ask); err == nil { // without it the estimate stands
			u.OutputTokens, u.Source = n, eval.UsageCounted
			u.TotalTokens = u.PromptTokens + u.OutputTokens + u.ToolUseTokens
		}
	}
	return u
}

// acquire waits until a call that may cost so many tokens can be made, and counts it. The error
// is of kind budget when it never can, of kind canceled when the run ends meanwhile.
func (l *Ledger) acquire(ctx context.Context, model string, timing *eval.Timing, cost amount) (*entry, error) {
	if isClosed(l.cfg.Stop) {
		return nil, errStopped()
	}
	started := time.Now()
	defer func() {
		timing.QueuedMs += eval.Milliseconds(time.Since(started))
		if timing.StartedAt.IsZero() {
			timing.StartedAt = time.Now().UTC()
		}
	}()
	meters := l.metersOf(model)
	if cost.tokens > 0 {
		// Calls without tokens pass those that wait for tokens: one of them may be what lets an
		// answer be settled, and so ends the waiting.
		turn := meters[len(meters)-1].turn // a model that waits for its own limit holds up no other
		select {
		case turn <- struct{}{}:
		case <-ctx.Done():
			return nil, errStopped()
		case <-l.cfg.Stop:
			return nil, errStopped()
		}
		defer func() { <-turn }()
	}
	for _, m := range meters {
		if err := l.paced(ctx, m); err != nil {
			return nil, err
		}
	}
	for {
		held, wait, changed, err := l.try(meters, cost) // somebody who has to wait counts as a waiter from then on
		why := "tokens per minute"
		if wait == 0 {
			why = "what calls under way leave of the budget"
		}
		if err != nil || held != nil {
			if held != nil {
				timing.Attempts++
			}
			return held, err
		}
		slept := l.sleep(ctx, why, wait, changed)
		l.mu.Lock()
		l.waiters--
		l.mu.Unlock()
		if !slept {
			return nil, errStopped()
		}
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

// paced waits for the next slot of the requests per minute.
func (l *Ledger) paced(ctx context.Context, m *meter) error {
	if m.requests == nil {
		return nil
	}
	slot := m.requests.Reserve()
	if !l.sleep(ctx, "requests per minute", slot.Delay(), nil) {
		slot.Cancel()
		return errStopped()
	}
	return nil
}

// try books the call when there is room for it. Otherwise it says how long to wait at least, or until
// what changes; wait 0 means until something is settled.
func (l *Ledger) try(meters []*meter, cost amount) (held *entry, wait time.Duration, changed chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if b := l.cfg.BudgetCalls; b > 0 && l.calls >= b {
		return nil, 0, nil, eval.Errorf(eval.KindBudget, "the budget of %d calls is spent", b)
	}
	tokens := cost.tokens
	if b := l.cfg.BudgetTokens; b > 0 && tokens > 0 {
		if l.spent.tokens+tokens > b {
			return nil, 0, nil, eval.Errorf(eval.KindBudget, "the budget of %d tokens is spent: %d are left, and the call may cost %d", b, max(0, b-l.spent.tokens), tokens)
		}
		if l.spent.tokens+l.reserved.tokens+tokens > b {
			l.waiters++
			return nil, 0, l.changed, nil
		}
	}
	const dust = 1e-9 // of adding up fractions
	if b := l.cfg.BudgetMoney; b > 0 && cost.money > 0 {
		if l.spent.money+cost.money > b+dust {
			return nil, 0, nil, eval.Errorf(eval.KindBudget, "the budget of %g %s is spent: %.4f are left, and the call may cost %.4f", b, l.cfg.Prices.Currency, max(0, b-l.spent.money), cost.money)
		}
		if l.spent.money+l.reserved.money+cost.money > b+dust {
			l.waiters++
			return nil, 0, l.changed, nil
		}
	}
	for _, m := range meters {
		if m.tokens == 0 || tokens == 0 {
			continue
		}
		m.forget(now)
		// A call that is larger than the limit goes alone.
		if m.inWindow > 0 && m.inWindow+tokens > m.tokens {
			l.waiters++
			return nil, m.window[0].at.Add(time.Minute).Sub(now), l.changed, nil
		}
	}
	held = &entry{at: now, reserved: cost, tokens: tokens}
	for _, m := range meters {
		if m.tokens > 0 && tokens > 0 {
			m.window = append(m.window, held)
			m.inWindow += tokens
			held.meters = append(held.meters, m)
		}
	}
	l.calls++
	l.reserved.add(cost)
	return held, 0, nil, nil
}

// forget drops what is older than a minute from the window.
func (m *meter) forget(now time.Time) {
	for len(m.window) > 0 && now.Sub(m.window[0].at) >= time.Minute {
		old := m.window[0]
		m.inWindow -= old.tokens
		old.meters = slices.DeleteFunc(old.meters, func(other *meter) bool { return other == m })
		m.window = m.window[1:]
	}
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
