package flow

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/evalrun/evalrun/eval"
)

// LedgerConfig are the limits that a Ledger keeps. Zero is unlimited.
type LedgerConfig struct {
	RequestsPerMinute int
	TokensPerMinute   int
	BudgetCalls       int // HTTP attempts, those for metadata left out
	BudgetTokens      int
	// CountOutput asks the service how many tokens an answer has when it does not say
	// so itself and a limit on tokens is set.
	CountOutput bool
	// Stop ends waiting and forbids further calls once it is closed. Optional.
	Stop <-chan struct{}
	// Spent is what was spent before, by a run that is resumed.
	Spent eval.Spent
}

// Ledger keeps rates and budgets over all calls of a run. What a call may cost is reserved before it is
// sent and settled when it is over; a budget of calls is never overrun, one of tokens only
// by what a reservation fell short of.
type Ledger struct {
	cfg      LedgerConfig
	requests *rate.Limiter
	turn     chan struct{} // held by the one caller that waits for room, so that nobody is overtaken

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced when something was settled
	window   []*entry      // tokens of the last minute, oldest first
	inWindow int
	calls    int
	spent    int // tokens settled
	reserved int // tokens of calls under way
}

// entry is a call in the books. It counts for tokens in the window of the last minute
// until it leaves that.
type entry struct {
	at       time.Time
	reserved int
	tokens   int
}

// NewLedger makes a ledger.
func NewLedger(cfg LedgerConfig) *Ledger {
	l := &Ledger{cfg: cfg, calls: cfg.Spent.Calls, spent: cfg.Spent.Tokens, turn: make(chan struct{}, 1), changed: make(chan struct{})}
	if cfg.RequestsPerMinute > 0 {
		// A burst of one: a larger one would let more than the limit through in the first minute.
		l.requests = rate.NewLimiter(rate.Limit(float64(cfg.RequestsPerMinute)/60), 1)
	}
	return l
}

// Limit puts every attempt of next through the ledger.
func (l *Ledger) Limit(next Service) Service { return limited{next, l} }

// Spent is what was spent so far.
func (l *Ledger) Spent() eval.Spent {
	l.mu.Lock()
	defer l.mu.Unlock()
	return eval.Spent{Calls: l.calls, Tokens: l.spent, BudgetCalls: l.cfg.BudgetCalls, BudgetTokens: l.cfg.BudgetTokens}
}

// limitsTokens reports whether it matters how many tokens a call costs.
func (l *Ledger) limitsTokens() bool { return l.cfg.TokensPerMinute > 0 || l.cfg.BudgetTokens > 0 }

type limited struct {
	Service
	ledger *Ledger
}

func (s limited) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	held, err := s.ledger.acquire(ctx, &call.Timing, max(1, call.PromptTokens+call.OutputLimit))
	if err != nil {
		return nil, err
	}
	resp, err := s.Service.Generate(ctx, call)
	if err != nil {
		s.ledger.settle(held, costOf(eval.AsError(err), held.reserved))
		return nil, err
	}
	if resp.Usage == nil {
		resp.Usage = s.usage(ctx, call, resp)
	}
	s.ledger.settle(held, resp.Usage.TotalTokens)
	return resp, nil
}

// costOf is what a failed attempt is taken to have cost: nothing when the service
// refused or was not reached, all of the reservation when it may have answered.
func costOf(e *eval.Error, reserved int) int {
	switch e.Kind {
	case eval.KindTransport, eval.KindTimeout, eval.KindTruncated, eval.KindMalformed, eval.KindTooLarge, eval.KindCanceled:
		if !e.Unsent {
			return reserved
		}
	}
	return 0
}

func (s limited) CountTokens(ctx context.Context, call *eval.Call) (int, error) {
	held, err := s.ledger.acquire(ctx, &call.Timing, 0)
	if err != nil {
		return 0, err
	}
	defer s.ledger.settle(held, 0)
	return s.Service.CountTokens(ctx, call)
}

// Embed costs what its texts are estimated to be: the answer tells no usage.
func (s limited) Embed(ctx context.Context, call *eval.EmbedCall) ([]eval.Vector, error) {
	tokens := max(1, call.Tokens())
	held, err := s.ledger.acquire(ctx, &call.Timing, tokens)
	if err != nil {
		return nil, err
	}
	v, err := s.Service.Embed(ctx, call)
	if err != nil {
		tokens = costOf(eval.AsError(err), held.reserved)
	}
	s.ledger.settle(held, tokens)
	return v, err
}

// usage counts or guesses what an answer cost.
func (s limited) usage(ctx context.Context, call *eval.Call, resp *eval.Response) *eval.Usage {
	u := &eval.Usage{PromptTokens: call.PromptTokens, OutputTokens: eval.EstimateOutput(resp), Source: eval.UsageEstimated}
	if s.ledger.cfg.CountOutput && s.ledger.limitsTokens() && u.OutputTokens > 0 {
		ask := &eval.Call{Request: eval.Request{Model: call.Model, APIVersion: call.APIVersion}, TrialID: call.TrialID}
		for _, c := range resp.Candidates {
			ask.Contents = append(ask.Contents, eval.Content{Role: eval.RoleUser, Parts: []eval.Part{{Text: c.Text}}})
		}
		if n, err := s.CountTokens(ctx, ask); err == nil { // without it the estimate stands
			u.OutputTokens, u.Source = n, eval.UsageCounted
		}
	}
	u.TotalTokens = u.PromptTokens + u.OutputTokens
	return u
}

// acquire waits until a call that may cost so many tokens can be made, and counts it. The error
// is of kind budget when it never can, of kind canceled when the run ends meanwhile.
func (l *Ledger) acquire(ctx context.Context, timing *eval.Timing, tokens int) (*entry, error) {
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
	if tokens > 0 {
		// Calls without tokens pass those that wait for tokens: one of them may be what lets an
		// answer be settled, and so ends the waiting.
		select {
		case l.turn <- struct{}{}:
		case <-ctx.Done():
			return nil, errStopped()
		case <-l.cfg.Stop:
			return nil, errStopped()
		}
		defer func() { <-l.turn }()
	}
	if err := l.paced(ctx); err != nil {
		return nil, err
	}
	for {
		held, wait, changed, err := l.try(tokens)
		if err != nil || held != nil {
			if held != nil {
				timing.Attempts++
			}
			return held, err
		}
		if !l.sleep(ctx, wait, changed) {
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
func (l *Ledger) paced(ctx context.Context) error {
	if l.requests == nil {
		return nil
	}
	slot := l.requests.Reserve()
	if !l.sleep(ctx, slot.Delay(), nil) {
		slot.Cancel()
		return errStopped()
	}
	return nil
}

// try books the call when there is room for it. Otherwise it says how long to wait at least, or until
// what changes; wait 0 means until something is settled.
func (l *Ledger) try(tokens int) (held *entry, wait time.Duration, changed chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if b := l.cfg.BudgetCalls; b > 0 && l.calls >= b {
		return nil, 0, nil, eval.Errorf(eval.KindBudget, "the budget of %d calls is spent", b)
	}
	if b := l.cfg.BudgetTokens; b > 0 && tokens > 0 {
		if l.spent+tokens > b {
			return nil, 0, nil, eval.Errorf(eval.KindBudget, "the budget of %d tokens is spent: %d are left, and the call may cost %d", b, max(0, b-l.spent), tokens)
		}
		if l.spent+l.reserved+tokens > b {
			return nil, 0, l.changed, nil
		}
	}
	if limit := l.cfg.TokensPerMinute; limit > 0 && tokens > 0 {
		l.forget(now)
		// A call that is larger than the limit goes alone.
		if l.inWindow > 0 && l.inWindow+tokens > limit {
			return nil, l.window[0].at.Add(time.Minute).Sub(now), l.changed, nil
		}
	}
	held = &entry{now, tokens, tokens}
	if l.cfg.TokensPerMinute > 0 && tokens > 0 {
		l.window = append(l.window, held)
		l.inWindow += tokens
	}
	l.calls++
	l.reserved += tokens
	return held, 0, nil, nil
}

// forget drops what is older than a minute from the window.
func (l *Ledger) forget(now time.Time) {
	for len(l.window) > 0 && now.Sub(l.window[0].at) >= time.Minute {
		l.inWindow -= l.window[0].tokens
		l.window[0].tokens = 0
		l.window = l.window[1:]
	}
}

// settle books what a call has cost and gives back the rest of its reservation.
func (l *Ledger) settle(held *entry, tokens int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reserved -= held.reserved
	l.spent += tokens
	if l.cfg.TokensPerMinute > 0 && held.reserved > 0 && time.Since(held.at) < time.Minute {
		l.inWindow += tokens - held.tokens
		held.tokens = tokens
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

// sleep waits for d, or for a change when d is 0 or a channel is given; false when the run
// ends meanwhile.
func (l *Ledger) sleep(ctx context.Context, d time.Duration, changed <-chan struct{}) bool {
	if d <= 0 && changed == nil {
		return true
	}
	var expired <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case <-expired:
	case <-changed:
	case <-ctx.Done():
		return false
	case <-l.cfg.Stop:
		return false
	}
	return true
}
