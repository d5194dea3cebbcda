package flow

import (
	"context"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/rates"
)

// Reserve reserves the highest cost of a call that goes into a batch. Rates per minute are not for batches. The error is of kind
// budget if the budget can never pay for the call, and of kind waiting if it may once other calls are settled.
func (l *Limiter) Reserve(call *eval.Call) (rates.Amount, error) {
	cost := l.most(call, true)
	l.mu.Lock()
	defer l.mu.Unlock()
	if why := l.budget.Refusal(cost); why != "" {
		return cost, eval.Errorf(eval.KindBudget, "%s", why)
	}
	if !l.budget.Fits(cost) {
		return cost, eval.Errorf(eval.KindWaiting, "the call waits for the part of the budget that other calls reserve")
	}
	l.budget.Take(cost)
	l.later.Add(cost)
	return cost, nil
}

// Reserved takes over what an earlier process reserved for a batch.
func (l *Limiter) Reserved(cost rates.Amount) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.budget.Take(cost)
	l.later.Add(cost)
}

// Release gives back what was reserved for calls in a batch that cost nothing.
func (l *Limiter) Release(cost rates.Amount) {
	l.end(func() {
		l.budget.Return(cost)
		l.later.Sub(cost)
	})
}

// Came settles a call whose reply came with a batch. With a nil usage, of a reply that cannot be read, it costs what was reserved.
func (l *Limiter) Came(call *eval.Call, reserved rates.Amount, usage *eval.Usage) {
	c := &meteredCall{to: peer{call.Service, call.Model}, tokens: rates.Tokens{At: time.Now()}}
	cost := reserved
	if usage != nil {
		cost = l.price(call.Model, usage)
	}
	l.end(func() {
		l.later.Sub(reserved)
		l.budget.Settle(reserved, cost)
		_ = l.written(c, rates.Amount{}) // the next call fails for the same reason
	})
}

// repeat makes an attempt that is no call of a model, such as submitting a batch, and repeats it after transient failures.
func repeat(ctx context.Context, p RetryPolicy, once func(context.Context) error) error {
	r := &retry{policy: p, quota: quotaSize}
	return r.do(ctx, &attempt{method: describe, timing: &eval.Timing{}, send: once})
}
