package flow

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/rates"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// chain is everything between a trial and an attempt, as a session puts it together.
func chain(f Service, workers int, stop chan struct{}) (Service, *Waits) {
	waits := NewWaits(stop)
	s := NewLimiter(LimiterConfig{Waits: waits}).Limit(f, "", true)
	s = Protect(Adapt(s, workers, waits), "the service", waits, func(string) {})
	return Retry(s, RetryPolicy{Attempts: 5, Waits: waits}), waits
}

func askAll(t *testing.T, s Service, trials, workers int) (errs []error) {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	work := make(chan int)
	for range workers {
		wg.Go(func() {
			for range work {
				if _, err := s.Generate(t.Context(), &eval.Call{Request: eval.Request{Model: "m"}}); err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
				}
			}
		})
	}
	for i := range trials {
		work <- i
	}
	close(work)
	wg.Wait()
	return errs
}

// Scenario R9: for twenty seconds the service has too much to do and says so. All trials are answered in the end, no
// worker comes back before the requested time, and few calls are wasted.
func TestThrottlingStormEndsWithAllAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const trials, workers = 500, 16
		started := time.Now()
		var mu sync.Mutex
		var refused []time.Time
		early := 0
		f := &fake{generate: func(int, *eval.Call) (*eval.Response, error) {
			now := time.Now()
			mu.Lock()
			if len(refused) > 0 && now.Sub(refused[len(refused)-1]) < 2*time.Second && now.After(refused[len(refused)-1]) {
				early++
			}
			storm := now.Sub(started) < 20*time.Second
			if storm {
				refused = append(refused, now)
			}
			mu.Unlock()
			if storm {
				return nil, &eval.Error{Kind: eval.KindQuota, Status: 429, RetryAfter: 2 * time.Second}
			}
			time.Sleep(100 * time.Millisecond)
			return &eval.Response{}, nil
		}}
		s, _ := chain(f, workers, nil)
		if errs := askAll(t, s, trials, workers); len(errs) > 0 {
			t.Errorf("%d trials failed, want none; the first: %v", len(errs), errs[0])
		}
		if n := len(f.times); n > trials*3/2+workers {
			t.Errorf("%d calls for %d trials, want at most %d", n, trials, trials*3/2+workers)
		}
		if early > 0 {
			t.Errorf("%d calls came before the time that was asked for, want none", early)
		}
	})
}

// Scenario R10: a third of the answers is 503. Every trial ends, with an answer or after five attempts, and retries stay
// within their quota.
func TestFlakyServiceKeepsRetriesWithinTheirQuota(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{generate: func(n int, _ *eval.Call) (*eval.Response, error) {
			if n%10 < 3 {
				return nil, &eval.Error{Kind: eval.KindStatus, Status: 503}
			}
			return &eval.Response{}, nil
		}}
		s, _ := chain(f, 8, nil)
		errs := askAll(t, s, 300, 8)
		if retries := len(f.times) - 300; retries*quotaRetry > quotaSize+300 {
			t.Errorf("%d retries, want at most %d", retries, (quotaSize+300)/quotaRetry)
		}
		for _, err := range errs {
			if e := eval.AsError(err); e.Status != 503 {
				t.Errorf("%v, want a 503", err)
			}
		}
	})
}

// Scenario R11: nothing answers any more. The run is given up within three openings of the circuit, after few calls.
func TestTotalOutageGivesUpAfterFewCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const workers = 16
		f := &fake{generate: failing(eval.KindTransport, 0)}
		s, waits := chain(f, workers, nil)
		started := time.Now()
		errs := askAll(t, s, 200, workers)
		if len(errs) != 200 || eval.AsError(errs[len(errs)-1]).Origin != eval.FromBreaker {
			t.Errorf("%d errors, want 200; the last, which gives the service up: %v", len(errs), errs[len(errs)-1])
		}
		if n := len(f.times); n > breakerLimit+workers+breakerOpens {
			t.Errorf("%d calls, want at most %d", n, breakerLimit+workers+breakerOpens)
		}
		if took := time.Since(started); took > breakerOpens*(breakerPause+maxBackoff) {
			t.Errorf("it took %s, want at most %s", took, breakerOpens*(breakerPause+maxBackoff))
		}
		expect.Same(t, "waiting", waits.String(), "")
	})
}

func TestAServiceThatComesBackGetsRequestsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		started := time.Now()
		f := &fake{generate: func(int, *eval.Call) (*eval.Response, error) {
			if time.Since(started) < 40*time.Second {
				return nil, &eval.Error{Kind: eval.KindTransport}
			}
			return &eval.Response{}, nil
		}}
		s, waits := chain(f, 8, nil)
		go func() {
			time.Sleep(25 * time.Second)
			if text := waits.String(); !strings.Contains(text, "wait for the service to answer again (up to") {
				t.Errorf("%q, want it to wait for the service to answer again", text)
			}
		}()
		errs := askAll(t, s, 100, 8)
		if len(errs) > 2 || len(f.times) > 150 {
			t.Errorf("%d errors in %d calls, want at most 2 in 150", len(errs), len(f.times))
		}
	})
}

// Too many calls at once are fewer the next time, and more again when all goes well.
func TestConcurrencyAdaptsToTheService(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		running, most, refusals := 0, 0, 0
		f := &fake{generate: func(n int, _ *eval.Call) (*eval.Response, error) {
			mu.Lock()
			running++
			tooMany := running > 8
			if n > 400 {
				most = max(most, running)
			}
			if tooMany {
				refusals++
			}
			mu.Unlock()
			time.Sleep(50 * time.Millisecond)
			mu.Lock()
			running--
			mu.Unlock()
			if tooMany {
				return nil, &eval.Error{Kind: eval.KindStatus, Status: 503}
			}
			return &eval.Response{}, nil
		}}
		// With more retries than the quota, which would end the first storm with errors.
		retries := &retry{policy: RetryPolicy{Attempts: 8, Waits: NewWaits(nil)}, quota: 1 << 20}
		s := each{Adapt(f, 64, NewWaits(nil)), retries.do}
		if errs := askAll(t, s, 1000, 64); len(errs) > 0 {
			t.Errorf("%d errors, want none; the first: %v", len(errs), errs[0])
		}
		if most > 32 || refusals > 500 {
			t.Errorf("up to %d at once and %d refused, want at most 32 and 500", most, refusals)
		}
	})
}

func TestAModelAtItsLimitHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		l := NewLimiter(LimiterConfig{Models: map[string]rates.Rates{"slow": {RequestsPerMinute: 60}, "small": {TokensPerMinute: 100}}})
		s := l.Limit(f, "", true)
		ask := func(model string, n int) time.Duration {
			started := time.Now()
			for range n {
				if _, err := s.Generate(context.Background(), &eval.Call{Request: eval.Request{Model: model}, PromptTokens: 60}); err != nil {
					t.Error(err)
				}
			}
			return time.Since(started)
		}
		var wg sync.WaitGroup
		var slow, small, free time.Duration
		wg.Go(func() { slow = ask("slow", 11) })
		wg.Go(func() { small = ask("small", 3) })
		wg.Go(func() { free = ask("free", 100) })
		wg.Wait()
		if slow != 10*time.Second || small != 2*time.Minute || free != 0 {
			t.Errorf("slow %s, small %s, free %s; want 10s, 2m and 0s", slow, small, free)
		}
	})
}

func TestRetryQuotaIsSpentByFailures(t *testing.T) {
	t.Parallel()
	q := &retry{quota: quotaSize}
	n := 0
	for q.take(&eval.Error{Status: 503}) {
		n++
	}
	expect.Same(t, "retries", n, quotaSize/quotaRetry)
	for range quotaThrottle {
		q.give()
	}
	if !q.take(&eval.Error{Status: 429}) {
		t.Error("no retry of a 429, want one")
	}
}

func TestStopEndsTheChain(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]*eval.Error{
		"breaker": {Kind: eval.KindTransport}, "pause": {Kind: eval.KindQuota, Status: 429, RetryAfter: 100 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			stop := make(chan struct{})
			s, _ := chain(&fake{generate: func(int, *eval.Call) (*eval.Response, error) { return nil, err }}, 4, stop)
			go func() {
				time.Sleep(20 * time.Second)
				close(stop)
			}()
			started := time.Now()
			askAll(t, s, 100, 4)
			if took := time.Since(started); took > 20*time.Second {
				t.Errorf("%s: it took %s, want at most 20s", name, took)
			}
		})
	}
}
