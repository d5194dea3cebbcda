package flow

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/estimate"
)

// LedgerConfig are the limits that a Ledger keeps. Zero is unlimited.
type LedgerConfig struct {
	Rates
	Concurrency  int              // calls under way at once, those of all models and kinds together
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

// Rates are limits per minute. Zero is unlimited.
type Rates struct {
	RequestsPerMinute int
	TokensPerMinute   int
}

// meter keeps Rates.
type meter struct {
	interval time.Duration // between two calls; 0: any
	next     time.Time     // when the next call may be made
	turn     chan struct{} // held by the one caller that waits for room, so that nobody is overtaken
	tokens   int           // per minute
	window   []*entry      // of the last minute, oldest first
	inWindow int           // tokens
}

func newMeter(r Rates) *meter {
	m := &meter{tokens: r.TokensPerMinute, turn: make(chan struct{}, 1)}
	if r.RequestsPerMinute > 0 {
		// Evenly spaced: a burst would let more than the limit through in the first minute.
		m.interval = time.Minute / time.Duration(r.RequestsPerMinute)
	}
	return m
}

// recall takes up a call that was made by an earlier process.
func (m *meter) recall(at time.Time, tokens int) {
	if next := at.Add(m.interval); m.interval > 0 && next.After(m.next) {
		m.next = next
	}
	if m.tokens > 0 && tokens > 0 {
		m.window = append(m.window, &entry{at: at, tokens: tokens})
		m.inWindow += tokens
	}
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
	if cfg.Concurrency > 0 {
		l.slots = make(chan struct{}, cfg.Concurrency)
	}
	for _, b := range cfg.Before {
		if at, err := time.Parse(time.RFC3339Nano, b.At); err == nil {
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
	held, err := s.ledger.acquire(
		ctx, call.Model, &call.Timing,
		s.ledger.price(call.Model, &eval.Usage{PromptTokens: call.PromptTokens, OutputTokens: call.OutputLimit}),
	)
	if err != nil {
		return nil, err
	}
	resp, err := s.Service.Generate(ctx, call)
	if err != nil {
		s.ledger.leave()
		s.ledger.settle(held, costOf(eval.AsError(err), held.reserved))
		return nil, err
	}
	if resp.Usage == nil || resp.Usage.Source == "" {
		resp.Usage = s.usage(ctx, call, resp)
	}
	s.ledger.settle(held, s.ledger.price(call.Model, resp.Usage))
	if p, _ := ctx.Value(placeKey{}).(*place); p != nil {
		p.leave = s.ledger.leave
	} else {
		s.ledger.leave()
	}
	return resp, nil
}

// place is the slot of a call whose answer is not written down yet.
type place struct{ leave func() }

type placeKey struct{}

// Writing lets the call that is made with the context count as under way until written is called: a process that is killed loses what is
// not written down, and that is to be no more than the calls that may be under way at once.
func Writing(ctx context.Context) (calling context.Context, written func()) {
	p := &place{}
	return context.WithValue(ctx, placeKey{}, p), func() {
		if p.leave != nil {
			p.leave()
			p.leave = nil
		}
	}
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
	return s.count(ctx, call, true)
}

// count counts tokens, with a slot or for a caller that has one.
func (s limited) count(ctx context.Context, call *eval.Call, slot bool) (int, error) {
	held, err := s.ledger.admit(ctx, call.Model, &call.Timing, amount{}, slot)
	if err != nil {
		return 0, err
	}
	n, err := s.Service.CountTokens(ctx, call)
	if slot {
		s.ledger.leave()
	}
	s.ledger.settle(held, amount{})
	return n, err
}

// Embed costs what its texts are estimated to be: the answer tells no usage.
func (s limited) Embed(ctx context.Context, call *eval.EmbedCall) ([]eval.Vector, error) {
	cost := s.ledger.price(call.Model, &eval.Usage{PromptTokens: estimate.Texts(call.Texts)})
	held, err := s.ledger.acquire(ctx, call.Model, &call.Timing, cost)
	if err != nil {
		return nil, err
	}
	v, err := s.Service.Embed(ctx, call)
	s.ledger.leave()
	if err != nil {
		cost = costOf(eval.AsError(err), held.reserved)
	}
	s.ledger.settle(held, cost)
	return v, err
}

// usage counts or estimates what the service did not report of an answer's cost.
func (s limited) usage(ctx context.Context, call *eval.Call, resp *eval.Response) *eval.Usage {
	u := estimate.Usage(call, resp)
	if s.ledger.cfg.CountOutput && s.ledger.limitsTokens(call.Model) && u.OutputTokens > 0 {
		ask := &eval.Call{Request: eval.Request{Model: call.Model, APIVersion: call.APIVersion}, TrialID: call.TrialID}
		for _, c := range resp.Candidates {
			ask.Contents = append(ask.Contents, eval.Content{Role: eval.RoleUser, Parts: []eval.Part{{Text: c.Text}}})
		}
		if n, err := s.count(ctx, ask, false); err == nil { // without it the estimate stands
			u.OutputTokens, u.Source = n, eval.UsageCounted
			u.TotalTokens = u.PromptTokens + u.OutputTokens + u.ToolUseTokens
		}
	}
	return u
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
	for _, own := range meters[1:] { // before a slot is taken, which calls to other models may use
		if !l.paced(ctx, own) {
			return nil, errStopped()
		}
	}
	for {
		if slot && !l.enter(ctx) {
			return nil, errStopped()
		}
		leave := func() {
			if slot {
				l.leave()
			}
		}
		if !l.paced(ctx, l.meter) { // with a slot, so that the call leaves when its time has come
			leave()
			return nil, errStopped()
		}
		held, wait, changed, err := l.try(model, meters, cost) // a caller that has to wait counts as a waiter from then on
		if held != nil {
			timing.Attempts++
			return held, nil
		}
		leave()
		if err != nil {
			return nil, err
		}
		why := "tokens per minute"
		if wait == 0 {
			why = "what calls under way leave of the budget"
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

// enter takes a slot; false when the run ends meanwhile.
func (l *Ledger) enter(ctx context.Context) bool {
	if l.slots == nil {
		return true
	}
	select {
	case l.slots <- struct{}{}:
		return true
	case <-ctx.Done():
	case <-l.cfg.Stop:
	}
	return false
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

// try books the call when there is room for it. Otherwise it says how long to wait at least, or until
// what changes; wait 0 means until something is settled.
func (l *Ledger) try(model string, meters []*meter, cost amount) (held *entry, wait time.Duration, changed chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if b := l.cfg.BudgetCalls; b > 0 && l.calls >= b {
		return nil, 0, nil, eval.Errorf(eval.KindBudget, "the budget of %d calls is spent", b)
	}
	tokens := cost.tokens
	if b := l.cfg.BudgetTokens; b > 0 && tokens > 0 {
		if l.spent.tokens+tokens > b {
			return nil, 0, nil, eval.Errorf(
				eval.KindBudget, "the budget of %d tokens is spent: %d are left, and the call may cost %d", b,
				max(0, b-l.spent.tokens), tokens,
			)
		}
		if l.spent.tokens+l.reserved.tokens+tokens > b {
			l.waiters++
			return nil, 0, l.changed, nil
		}
	}
	const dust = 1e-9 // of adding up fractions
	if b := l.cfg.BudgetMoney; b > 0 && cost.money > 0 {
		if l.spent.money+cost.money > b+dust {
			return nil, 0, nil, eval.Errorf(
				eval.KindBudget, "the budget of %g %s is spent: %.4f are left, and the call may cost %.4f", b,
				l.cfg.Prices.Currency, max(0, b-l.spent.money), cost.money,
			)
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
	if err := l.written(now, model, cost); err != nil {
		return nil, 0, nil, err
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

// written has a call written down that is about to be booked.
func (l *Ledger) written(now time.Time, model string, cost amount) error {
	if l.book == nil {
		return nil
	}
	b := eval.Booking{At: now.UTC().Format(time.RFC3339Nano), Model: model, Tokens: cost.tokens}
	b.Spent = eval.Spent{Calls: l.calls + 1, Tokens: l.spent.tokens + l.reserved.tokens + cost.tokens}
	if p := l.cfg.Prices; p != nil {
		b.Spent.Money, b.Spent.Currency = l.spent.money+l.reserved.money+cost.money, p.Currency
	}
	if err := l.book(b); err != nil {
		return eval.Errorf(eval.KindCanceled, "the call could not be written down: %s", err)
	}
	return nil
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
