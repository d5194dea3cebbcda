package flow

import (
	"context"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

// Limit puts every attempt of next, the service of a name, through the limiter.
func (l *Limiter) Limit(next Service, name string) Service { return limited{next, l, name, true} }

// LimitUncounted is Limit for a service that cannot count tokens.
func (l *Limiter) LimitUncounted(next Service, name string) Service {
	return limited{next, l, name, false}
}

type limited struct {
	Service
	limiter *Limiter
	name    string // of the service
	counts  bool   // the service can count tokens
}

// Budget puts every attempt of next through the budgets of the limiter alone. It is for what runs on this machine: that
// takes neither a slot nor a part of the rates that are meant for a service.
func (l *Limiter) Budget(next Service) Service { return budgeted{next, l} }

type budgeted struct {
	Service
	limiter *Limiter
}

func (s budgeted) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	held, err := s.limiter.afford(ctx, &call.Timing, s.limiter.price("", &eval.Usage{PromptTokens: call.PromptTokens}))
	if err != nil {
		return nil, err
	}
	resp, err := s.Service.Generate(ctx, call)
	if err != nil {
		s.limiter.settle(held, costOf(eval.AsError(err), held.reserved))
		return nil, err
	}
	resp.Usage = wire.Usage(call, resp)
	s.limiter.settle(held, s.limiter.price("", resp.Usage))
	return resp, nil
}

func (s limited) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	to := peer{call.Service, call.Model}
	held, err := s.limiter.acquire(
		ctx, to, &call.Timing,
		s.limiter.price(call.Model, &eval.Usage{PromptTokens: call.PromptTokens, OutputTokens: call.OutputLimit}),
	)
	if err != nil {
		return nil, err
	}
	resp, err := s.Service.Generate(ctx, call)
	if err != nil {
		s.limiter.leave(to)
		s.limiter.fail(held, eval.AsError(err))
		return nil, err
	}
	if resp.Usage == nil || resp.Usage.Source == "" {
		resp.Usage = s.usage(ctx, call, resp)
	}
	s.limiter.settle(held, s.limiter.price(call.Model, resp.Usage))
	if p, _ := ctx.Value(heldSlotKey{}).(*heldSlot); p != nil {
		p.leave = func() { s.limiter.leave(to) }
	} else {
		s.limiter.leave(to)
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

// costOf is the assumed cost of a failed attempt: nothing when the service
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
	to := peer{call.Service, call.Model}
	held, err := s.limiter.admit(ctx, to, &call.Timing, amount{}, slot)
	if err != nil {
		return 0, err
	}
	n, err := s.Service.CountTokens(ctx, call)
	if slot {
		s.limiter.leave(to)
	}
	if err != nil {
		s.limiter.fail(held, eval.AsError(err))
		return 0, err
	}
	s.limiter.settle(held, amount{})
	return n, nil
}

// Embed costs what its texts are estimated to be: the answer has no usage.
func (s limited) Embed(ctx context.Context, call *eval.EmbedCall) ([][]float64, error) {
	cost := s.limiter.price(call.Model, &eval.Usage{PromptTokens: wire.Texts(call.Texts)})
	to := peer{call.Service, call.Model}
	held, err := s.limiter.acquire(ctx, to, &call.Timing, cost)
	if err != nil {
		return nil, err
	}
	v, err := s.Service.Embed(ctx, call)
	s.limiter.leave(to)
	if err != nil {
		s.limiter.fail(held, eval.AsError(err))
		return nil, err
	}
	s.limiter.settle(held, cost)
	return v, nil
}

// usage counts or estimates what the service did not report of an answer's cost.
func (s limited) usage(ctx context.Context, call *eval.Call, resp *eval.Response) *eval.Usage {
	u := wire.Usage(call, resp)
	if call.To == nil && s.limiter.cfg.CountOutput && s.counts && s.limiter.limitsTokens(peer{call.Service, call.Model}) &&
		u.OutputTokens > 0 {
		ask := &eval.Call{TrialID: call.TrialID, Request: eval.Request{
			Model: call.Model, APIVersion: call.APIVersion, Service: call.Service, Protocol: call.Protocol,
		}}
		for _, c := range resp.Candidates {
			if len(c.Pieces) > 0 { // calls and other parts can only be estimated
				return u
			}
			if c.Text != "" {
				ask.Contents = append(ask.Contents, eval.Content{Role: eval.RoleUser, Parts: []eval.Part{eval.TextPart{Text: c.Text}}})
			}
		}
		if n, err := s.count(ctx, ask, false); err == nil { // without it the estimate remains
			u.OutputTokens, u.Source = n, eval.UsageCounted
			u.TotalTokens = u.PromptTokens + u.OutputTokens + u.ToolUseTokens
		}
	}
	return u
}
