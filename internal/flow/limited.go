package flow

import (
	"context"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/rates"
)

// Limit puts every attempt of next, the service of a name, through the limiter. counts: the service can count tokens.
func (l *Limiter) Limit(next Service, name string, counts bool) Service {
	return limited{next, l, name, counts}
}

type limited struct {
	Service
	limiter *Limiter
	name    string // of the service
	counts  bool
}

// Budget puts every attempt of next through the budgets of the limiter alone. It is for what runs on this machine: that
// takes neither a slot nor a part of the rates that are meant for a service. What calls models itself, within limits, costs
// nothing more, and does not begin when a budget is spent.
func (l *Limiter) Budget(next Service, callsModels bool) Service {
	return budgeted{next, l, callsModels}
}

type budgeted struct {
	Service
	limiter     *Limiter
	callsModels bool
}

func (s budgeted) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	l := s.limiter
	if s.callsModels {
		if err := l.begin(ctx, &call.Timing); err != nil {
			return nil, err
		}
		return s.Service.Generate(ctx, call)
	}
	c := &meteredCall{cost: l.price("", &eval.Usage{PromptTokens: call.PromptTokens})}
	if err := l.admit(ctx, c, &call.Timing); err != nil {
		return nil, err
	}
	resp, err := s.Service.Generate(ctx, call)
	if err != nil {
		l.fail(c, eval.AsError(err))
		return nil, err
	}
	resp.Usage = wire.Usage(call, resp)
	l.settle(c, l.price("", resp.Usage), 0)
	return resp, nil
}

// Booked books the calls of models that programs have made in another process, which asks here for no room: once they have spent a
// budget, no other program begins.
func (l *Limiter) Booked(next Service) Service { return booked{next, l} }

type booked struct {
	Service
	limiter *Limiter
}

func (s booked) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	resp, err := s.Service.Generate(ctx, call)
	made := resp
	if e := eval.AsError(err); e != nil {
		made = e.Answer
	}
	if made == nil {
		return resp, err
	}
	l := s.limiter
	for i := range made.Calls {
		one := &made.Calls[i]
		c := &meteredCall{to: peer{one.Service, one.Model}, cost: l.price(one.Model, &one.Usage), tokens: rates.Tokens{At: time.Now()}}
		l.end(func() {
			_ = l.written(c, c.cost) // the next call fails for the same reason
			l.budget.Take(c.cost)
			l.budget.Settle(c.cost, c.cost)
		})
	}
	return resp, err
}

// begin lets something begin that costs nothing itself.
func (l *Limiter) begin(ctx context.Context, timing *eval.Timing) error {
	if l.cfg.Waits.stopped() || ctx.Err() != nil {
		return errStopped()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if why := l.budget.Refusal(rates.Amount{Calls: 1, Tokens: 1, Money: 2 * rates.Dust}); why != "" {
		return eval.Errorf(eval.KindBudget, "%s", why)
	}
	if timing.StartedAt.IsZero() {
		timing.StartedAt = time.Now().UTC()
	}
	timing.Attempts++
	return nil
}

func (s limited) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	l, to := s.limiter, peer{call.Service, call.Model}
	c := &meteredCall{to: to, slot: true, meters: l.metersOf(to), cost: l.most(call, false)}
	if err := l.admit(ctx, c, &call.Timing); err != nil {
		return nil, err
	}
	resp, err := s.Service.Generate(ctx, call)
	if err != nil {
		l.leave(c)
		l.fail(c, eval.AsError(err))
		return nil, err
	}
	if resp.Usage == nil || resp.Usage.Source == "" {
		resp.Usage = s.usage(ctx, call, resp)
	}
	l.settle(c, l.price(call.Model, resp.Usage), 0)
	if p, _ := ctx.Value(heldSlotKey{}).(*heldSlot); p != nil {
		p.leave = func() { l.leave(c) }
	} else {
		l.leave(c)
	}
	return resp, nil
}

// heldSlot is the slot of a call whose answer is not written down yet.
type heldSlot struct{ leave func() }

type heldSlotKey struct{}

// Writing lets the call that is made with the context count as under way until written is called. A killed process
// loses what is not written down, and that must not be more than the calls that may be under way at once.
func Writing(ctx context.Context) (calling context.Context, written func()) {
	p := &heldSlot{}
	return context.WithValue(ctx, heldSlotKey{}, p), func() {
		if p.leave != nil {
			p.leave()
			p.leave = nil
		}
	}
}

// fail settles a call that failed, and holds up all processes for as long as the service wants. It costs nothing when the
// service refused or was not reached, and all that was reserved when the service may have answered.
func (l *Limiter) fail(c *meteredCall, e *eval.Error) {
	cost := rates.Amount{}
	switch e.Kind {
	case eval.KindTransport, eval.KindTimeout, eval.KindTruncated, eval.KindMalformed, eval.KindTooLarge, eval.KindCanceled:
		if !e.Unsent {
			cost = c.cost
		}
	}
	l.settle(c, cost, e.RetryAfter)
}

func (s limited) CountTokens(ctx context.Context, call *eval.Call) (int, error) {
	return s.count(ctx, call, true)
}

// count counts tokens, with a slot or for a caller that has one.
func (s limited) count(ctx context.Context, call *eval.Call, slot bool) (n int, err error) {
	to := peer{call.Service, call.Model}
	c := &meteredCall{to: to, slot: slot, meters: s.limiter.metersOf(to), cost: rates.Amount{Calls: 1}}
	err = s.limiter.send(ctx, c, &call.Timing, func() error {
		n, err = s.Service.CountTokens(ctx, call)
		return err
	})
	return n, err
}

// Embed costs what its texts are estimated to be: the answer has no usage.
func (s limited) Embed(ctx context.Context, call *eval.EmbedCall) (out [][]float64, err error) {
	to := peer{call.Service, call.Model}
	cost := s.limiter.price(call.Model, &eval.Usage{PromptTokens: wire.Texts(call.Texts)})
	c := &meteredCall{to: to, slot: true, meters: s.limiter.metersOf(to), cost: cost}
	err = s.limiter.send(ctx, c, &call.Timing, func() error {
		out, err = s.Service.Embed(ctx, call)
		return err
	})
	return out, err
}

// send makes a call whose cost is known before.
func (l *Limiter) send(ctx context.Context, c *meteredCall, timing *eval.Timing, attempt func() error) error {
	if err := l.admit(ctx, c, timing); err != nil {
		return err
	}
	err := attempt()
	l.leave(c)
	if err != nil {
		l.fail(c, eval.AsError(err))
		return err
	}
	l.settle(c, c.cost, 0)
	return nil
}

// Model requests metadata, which counts for the rates of the shared ledger, and for no budget.
func (s limited) Model(ctx context.Context, apiVersion, id string) (*eval.Model, error) {
	if s.limiter.cfg.Shared == nil {
		return s.Service.Model(ctx, apiVersion, id)
	}
	settle, err := s.limiter.granted(ctx, peer{s.name, id}, rates.Amount{})
	if err != nil {
		return nil, err
	}
	m, err := s.Service.Model(ctx, apiVersion, id)
	var pause time.Duration
	if e := eval.AsError(err); e != nil {
		pause = e.RetryAfter
	}
	settle(0, 0, pause)
	return m, err
}

// usage counts or estimates what the service did not report of an answer's cost.
func (s limited) usage(ctx context.Context, call *eval.Call, resp *eval.Response) *eval.Usage {
	u := wire.Usage(call, resp)
	if call.To != nil || !s.limiter.cfg.CountOutput || !s.counts || u.OutputTokens == 0 ||
		!s.limiter.limitsTokens(peer{call.Service, call.Model}) {
		return u
	}
	output := &eval.Call{TrialID: call.TrialID, Request: eval.Request{
		Model: call.Model, APIVersion: call.APIVersion, Service: call.Service, Protocol: call.Protocol,
	}}
	for _, c := range resp.Candidates {
		if len(c.Pieces) > 0 { // calls and other parts can only be estimated
			return u
		}
		if c.Text != "" {
			output.Contents = append(output.Contents,
				eval.Content{Role: eval.RoleUser, Parts: []eval.Part{eval.TextPart{Text: c.Text}}})
		}
	}
	if n, err := s.count(ctx, output, false); err == nil { // without it the estimate remains
		u.OutputTokens, u.Source = n, eval.UsageCounted
		u.TotalTokens = u.PromptTokens + u.OutputTokens + u.ToolUseTokens
	}
	return u
}

// Shared is a ledger whose limits several processes keep together.
type Shared interface {
	// Grant waits until a call of at most this cost may be sent. The error is an *eval.Error: of kind budget if it never
	// may, and of kind canceled if the run ends first.
	Grant(ctx context.Context, service, model string, cost rates.Amount) (Settle, error)
	// LimitsTokens reports whether it matters how many tokens a call costs.
	LimitsTokens() bool
}

// Settle reports the cost of a call that was granted, and how long the service wants no further calls.
type Settle func(tokens int, money float64, retryAfter time.Duration)

// granted has a call granted by the shared ledger.
func (l *Limiter) granted(ctx context.Context, to peer, cost rates.Amount) (Settle, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // waiting ends with the run
		select {
		case <-l.cfg.Waits.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	defer l.cfg.Waits.begin("the ledger", 0)()
	return l.cfg.Shared.Grant(ctx, to.service, to.model, cost)
}
