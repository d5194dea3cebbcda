package flow

import (
	"cmp"
	"context"
	"math/rand/v2"
	"strconv"
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

// Quota of retries over a run, as AWS's clients keep it: a bucket from which each retry takes and to which each
// answer gives. When the service has trouble for long, calls fail at once instead of making it worse.
const (
	quotaSize     = 500
	quotaRetry    = 14
	quotaThrottle = 5 // of a 429, where the service itself requests a retry
)

// RetryPolicy says how often an attempt is repeated.
type RetryPolicy struct {
	Attempts int // at most, the first included
	// Notice is called before each wait. Optional.
	Notice func(err *eval.Error, attempt, most int, wait time.Duration)
	Waits  *Waits // optional
}

// Retry repeats attempts after transient failures. It never repeats a request because of what its result says: blocks,
// empty texts and failed scores are results. A quota bounds the retries of all calls together.
func Retry(next Service, p RetryPolicy) Service {
	if p.Waits == nil {
		p.Waits = NewWaits(nil)
	}
	return each{next, (&retry{policy: p, quota: quotaSize}).do}
}

type retry struct {
	policy RetryPolicy
	mu     sync.Mutex
	quota  int // that is left
}

// take pays for a retry after e; false when there is not enough left.
func (r *retry) take(e *eval.Error) bool {
	cost := quotaRetry
	if e.Status == 429 {
		cost = quotaThrottle
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.quota < cost {
		return false
	}
	r.quota -= cost
	return true
}

// give returns to the quota what a success without retries earns.
func (r *retry) give() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.quota < quotaSize {
		r.quota++
	}
}

func (r *retry) do(ctx context.Context, a *attempt) error {
	var before error // why the attempt before failed
	for n := 1; ; n++ {
		err := a.send(ctx)
		if err == nil {
			if n == 1 {
				r.give()
			}
			if a.method == generate {
				a.timing.Answer = strconv.FormatUint(rand.Uint64(), 36) //nolint:gosec // a name
			}
			return nil
		}
		if a.method == describe {
			err = described(err)
		}
		e := eval.AsError(err)
		if before != nil && (e.Kind == eval.KindCanceled || e.Kind == eval.KindBudget) {
			return before // there was no further attempt
		}
		before = err
		if !r.waitToRetry(ctx, a, e, n) {
			return err
		}
	}
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

// waitToRetry waits for the next attempt; false when there is none.
func (r *retry) waitToRetry(ctx context.Context, a *attempt, e *eval.Error, n int) bool {
	most := cmp.Or(a.most, r.policy.Attempts)
	if e.Kind == eval.KindMalformed { // it arrived, and was paid for: the next one most likely has the same shape
		most = min(most, 2)
	}
	if n >= most || !e.MayPass() || r.policy.Waits.stopped() || !r.take(e) {
		return false
	}
	wait := backoff(n-1, e.RetryAfter)
	if r.policy.Notice != nil {
		r.policy.Notice(e, n, most, wait)
	}
	defer queued(a.timing, time.Now())
	return r.policy.Waits.wait(ctx, "another try", wait, nil)
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
