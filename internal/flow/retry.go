package flow

import (
	"cmp"
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/evalrun/evalrun/eval"
)

// Back-off of the n-th retry: a random time up to min(maxBackoff, firstBackoff*2^n), "full
// jitter" (Brooker, Exponential Backoff and Jitter, 2015).
const (
	firstBackoff = time.Second
	maxBackoff   = 60 * time.Second
)

// RetryPolicy says how often an attempt is repeated.
type RetryPolicy struct {
	Attempts int // at most, the first included
	// Stop ends waiting and forbids further attempts once it is closed. Optional.
	Stop <-chan struct{}
	// Notice is called before each wait. Optional.
	Notice func(err *eval.Error, attempt, most int, wait time.Duration)
	// Quota bounds the retries of all calls together. Optional.
	Quota *RetryQuota
	// Waits shows who waits. Optional.
	Waits *Waits
}

// Quota of retries over a run, as AWS's clients keep it: a bucket from which each retry takes and to which each
// answer gives. When the service has trouble for long, calls fail at once instead of making it worse.
const (
	quotaSize     = 500
	quotaRetry    = 14
	quotaThrottle = 5 // of a 429, where the service itself requests a retry
)

// RetryQuota bounds the retries of a run.
type RetryQuota struct {
	mu   sync.Mutex
	left int
}

// NewRetryQuota makes a full bucket.
func NewRetryQuota() *RetryQuota { return &RetryQuota{left: quotaSize} }

// take pays for a retry after e; false when there is not enough left.
func (q *RetryQuota) take(e *eval.Error) bool {
	if q == nil {
		return true
	}
	cost := quotaRetry
	if e.Status == 429 {
		cost = quotaThrottle
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.left < cost {
		return false
	}
	q.left -= cost
	return true
}

// give returns to the quota what a success without retries earns.
func (q *RetryQuota) give() {
	if q == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.left = min(quotaSize, q.left+1)
}

// Retry repeats attempts after transient failures. It never repeats a request because of what its result says: blocks,
// empty texts and failed scores are results.
func Retry(next Service, p RetryPolicy) Service { return retry{next, p} }

type retry struct {
	next   Service
	policy RetryPolicy
}

func (r retry) Generate(ctx context.Context, call *eval.Call) (out *eval.Response, err error) {
	policy := r
	policy.policy.Attempts = cmp.Or(call.Attempts, r.policy.Attempts)
	err = policy.do(ctx, &call.Timing, func() error {
		out, err = r.next.Generate(ctx, call)
		return err
	})
	return out, err
}

func (r retry) CountTokens(ctx context.Context, call *eval.Call) (out int, err error) {
	err = r.do(ctx, &call.Timing, func() error {
		out, err = r.next.CountTokens(ctx, call)
		return err
	})
	return out, err
}

func (r retry) Embed(ctx context.Context, call *eval.EmbedCall) (out [][]float64, err error) {
	err = r.do(ctx, &call.Timing, func() error {
		out, err = r.next.Embed(ctx, call)
		return err
	})
	return out, err
}

func (r retry) Model(ctx context.Context, apiVersion, id string) (out *eval.Model, err error) {
	err = r.do(ctx, &eval.Timing{}, func() error {
		out, err = r.next.Model(ctx, apiVersion, id)
		return described(err)
	})
	return out, err
}

func (r retry) Models(ctx context.Context, apiVersion string) (out []eval.Model, err error) {
	err = r.do(ctx, &eval.Timing{}, func() error {
		out, err = r.next.Models(ctx, apiVersion)
		return described(err)
	})
	return out, err
}

// described makes a malformed answer about models final: a server without metadata answers every address with the same
// page, and a run must not wait for it. A request whose answer was cut off is repeated.
func described(err error) error {
	if e := eval.AsError(err); e != nil && e.Kind == eval.KindMalformed {
		final := *e
		final.Retry = eval.RetryNever
		return &final
	}
	return err
}

func (r retry) do(ctx context.Context, timing *eval.Timing, attempt func() error) error {
	var before error // why the attempt before failed
	for n := 1; ; n++ {
		err := attempt()
		if err == nil {
			if n == 1 {
				r.policy.Quota.give()
			}
			return nil
		}
		e := eval.AsError(err)
		if before != nil && (e.Kind == eval.KindCanceled || e.Kind == eval.KindBudget) {
			return before // there was no further attempt
		}
		before = err
		if !r.waitToRetry(ctx, timing, e, n) {
			return err
		}
	}
}

// waitToRetry waits for the next attempt; false when there is none.
func (r retry) waitToRetry(ctx context.Context, timing *eval.Timing, e *eval.Error, n int) bool {
	if n >= r.policy.Attempts || !passing(e) || r.stopped() || !r.policy.Quota.take(e) {
		return false
	}
	wait := backoff(n-1, e.RetryAfter)
	if r.policy.Notice != nil {
		r.policy.Notice(e, n, r.policy.Attempts, wait)
	}
	return r.sleep(ctx, timing, wait)
}

// passing reports whether a later attempt may go better.
func passing(e *eval.Error) bool {
	if e.Retry == eval.RetryNever {
		return false
	}
	switch e.Kind {
	case eval.KindTransport, eval.KindTimeout, eval.KindTruncated, eval.KindMalformed, eval.KindQuota, eval.KindProgram:
		return true
	case eval.KindAuth:
		return e.Retry == eval.RetryWithLogin
	case eval.KindStatus:
		return passingStatus(e.Status)
	}
	return false
}

// passingStatus reports whether an HTTP status is of a transient fault. These are request timeout, internal error, bad
// gateway, unavailable, gateway timeout, and the statuses of a content network that does not reach the service. Some
// services use 529 to say that they are overloaded.
func passingStatus(status int) bool {
	switch status {
	case 408, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529:
		return true
	}
	return false
}

// backoff draws the wait before retry n, from 0. What the service requests is the least, with up to a tenth on top so
// that workers do not come back at once.
func backoff(n int, least time.Duration) time.Duration {
	ceiling := min(maxBackoff, firstBackoff<<min(n, 6))
	wait := rand.N(ceiling + 1) //nolint:gosec // jitter needs no secrecy
	if least > 0 {
		wait = max(wait, least+rand.N(least/10+1)) //nolint:gosec // as above
	}
	return wait
}

// sleep waits and counts the wait. It returns false if the run ends first.
func (r retry) sleep(ctx context.Context, timing *eval.Timing, d time.Duration) bool {
	started := time.Now()
	defer func() { timing.QueuedMs += eval.Milliseconds(time.Since(started)) }()
	if r.policy.Waits != nil {
		defer r.policy.Waits.begin("another try", d)()
	}
	return pause(ctx, r.policy.Stop, d, nil)
}

func (r retry) stopped() bool {
	select {
	case <-r.policy.Stop:
		return true
	default:
		return false
	}
}
