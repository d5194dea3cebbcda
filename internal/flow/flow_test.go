package flow

import (
	"context"
	"errors"
	"math"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/rates"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

type fake struct {
	mu       sync.Mutex
	times    []time.Time
	generate func(n int, call *eval.Call) (*eval.Response, error)
	count    int
}

func (f *fake) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	f.mu.Lock()
	f.times = append(f.times, time.Now())
	n := len(f.times)
	f.mu.Unlock()
	if f.generate == nil {
		return &eval.Response{}, nil
	}
	return f.generate(n, call)
}

func (f *fake) CountTokens(context.Context, *eval.Call) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count++
	return 3, nil
}

func (f *fake) Embed(_ context.Context, call *eval.EmbedCall) ([][]float64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.times = append(f.times, time.Now())
	return make([][]float64, len(call.Texts)), nil
}

func (f *fake) Model(context.Context, string, string) (*eval.Model, error) { return nil, nil }
func (f *fake) Models(context.Context, string) ([]eval.Model, error)       { return nil, nil }

func failing(kind eval.ErrorKind, status int) func(int, *eval.Call) (*eval.Response, error) {
	return func(int, *eval.Call) (*eval.Response, error) {
		return nil, &eval.Error{Kind: kind, Status: status}
	}
}

func TestOnlyTransientErrorsAreRetried(t *testing.T) {
	t.Parallel()
	var byKind eval.Retry
	for _, test := range []struct {
		kind   eval.ErrorKind
		status int
		retry  eval.Retry
		want   int
	}{
		{eval.KindTransport, 0, byKind, 5},
		{eval.KindTimeout, 0, byKind, 5},
		{eval.KindTruncated, 0, byKind, 5},
		{eval.KindMalformed, 0, byKind, 2},
		{eval.KindQuota, 429, byKind, 5},
		{eval.KindQuota, 429, eval.RetryNever, 1},
		{eval.KindTransport, 0, eval.RetryNever, 1},
		{eval.KindStatus, 408, byKind, 5},
		{eval.KindStatus, 500, byKind, 5},
		{eval.KindStatus, 502, byKind, 5},
		{eval.KindStatus, 503, byKind, 5},
		{eval.KindStatus, 504, byKind, 5},
		{eval.KindStatus, 400, byKind, 1},
		{eval.KindStatus, 404, byKind, 1},
		{eval.KindStatus, 501, byKind, 1},
		{eval.KindAuth, 403, byKind, 1},
		{eval.KindAuth, 401, eval.RetryWithLogin, 5},
		{eval.KindTooLarge, 0, byKind, 1},
		{eval.KindBudget, 0, byKind, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{generate: func(int, *eval.Call) (*eval.Response, error) {
				return nil, &eval.Error{Kind: test.kind, Status: test.status, Retry: test.retry}
			}}
			_, err := Retry(f, RetryPolicy{Attempts: 5}).Generate(t.Context(), &eval.Call{})
			if err == nil || len(f.times) != test.want {
				t.Errorf("%s %d: %d attempts, want %d (%v)", test.kind, test.status, len(f.times), test.want, err)
			}
		})
	}
}

func TestBackoffGrowsWithEachAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{generate: failing(eval.KindStatus, 503)}
		call := &eval.Call{}
		started := time.Now()
		_, _ = Retry(f, RetryPolicy{Attempts: 5}).Generate(t.Context(), call)
		for i := 1; i < len(f.times); i++ {
			if wait, most := f.times[i].Sub(f.times[i-1]), time.Second<<(i-1); wait > most {
				t.Errorf("wait %d is %s, want at most %s", i, wait, most)
			}
		}
		if got := eval.Milliseconds(time.Since(started)); math.Abs(call.Timing.QueuedMs-got) > 0.01 {
			t.Errorf("queued for %v ms, want %v", call.Timing.QueuedMs, got)
		}
	})
}

func TestNoRetryComesBeforeRetryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{generate: func(n int, _ *eval.Call) (*eval.Response, error) {
			if n < 3 {
				return nil, &eval.Error{Kind: eval.KindQuota, Status: 429, RetryAfter: 40 * time.Second}
			}
			return &eval.Response{}, nil
		}}
		if _, err := Retry(f, RetryPolicy{Attempts: 5}).Generate(t.Context(), &eval.Call{}); err != nil {
			t.Fatal(err)
		}
		for i := 1; i < 3; i++ {
			if wait := f.times[i].Sub(f.times[i-1]); wait < 40*time.Second || wait > 44*time.Second {
				t.Errorf("waited for %s, want 40 to 44 s", wait)
			}
		}
	})
}

func TestStopEndsWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		f := &fake{generate: func(int, *eval.Call) (*eval.Response, error) {
			return nil, &eval.Error{Kind: eval.KindQuota, Status: 429, RetryAfter: time.Hour}
		}}
		go func() {
			time.Sleep(time.Second)
			close(stop)
		}()
		started := time.Now()
		_, err := Retry(f, RetryPolicy{Attempts: 5, Waits: NewWaits(stop)}).Generate(t.Context(), &eval.Call{})
		if e := eval.AsError(err); e == nil || e.Kind != eval.KindQuota || len(f.times) != 1 || time.Since(started) != time.Second {
			t.Errorf("%v after %s, %d attempts, want %s after 1 s and one attempt", err, time.Since(started), len(f.times), eval.KindQuota)
		}
	})
}

func run(t *testing.T, s Service, trials, workers int, call eval.Call) (errs []error) {
	t.Helper()
	work := make(chan int)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range work {
				c := call
				if _, err := s.Generate(t.Context(), &c); err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
				}
			}
		})
	}
	for range trials {
		work <- 1
	}
	close(work)
	wg.Wait()
	return errs
}

// No window of a minute holds more calls than declared, and the rate is used up.
func TestRequestsPerMinuteAreNeverExceeded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		l := NewLimiter(LimiterConfig{Rates: rates.Rates{RequestsPerMinute: 60}})
		started := time.Now()
		run(t, l.Limit(f, "", true), 181, 16, eval.Call{})
		if took := time.Since(started); took < 180*time.Second || took > 181*time.Second {
			t.Errorf("181 calls at 60 a minute took %s, want 180 to 181 s", took)
		}
		checkWindow(t, f.times, 60, func(int) int { return 1 })
	})
}

func checkWindow(t *testing.T, times []time.Time, limit int, weight func(int) int) {
	t.Helper()
	for i := range times {
		sum := 0
		for j := i; j < len(times) && times[j].Sub(times[i]) < time.Minute; j++ {
			sum += weight(j)
		}
		if sum > limit {
			t.Fatalf("%d in the minute from call %d, want at most %d", sum, i, limit)
		}
	}
}

// Tokens are reserved before a call and settled after it: what was reserved too much is used.
func TestTokensPerMinuteAreReservedAndSettled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{generate: func(int, *eval.Call) (*eval.Response, error) {
			time.Sleep(100 * time.Millisecond)
			return &eval.Response{Usage: &eval.Usage{TotalTokens: 20}}, nil
		}}
		l := NewLimiter(LimiterConfig{Rates: rates.Rates{TokensPerMinute: 1000}})
		started := time.Now()
		run(t, l.Limit(f, "", true), 150, 8, eval.Call{PromptTokens: 10, OutputLimit: 90})
		if took := time.Since(started); took < 2*time.Minute || took > 3*time.Minute+10*time.Second {
			t.Errorf("150 calls of 20 tokens at 1000 a minute took %s, want 2m to 3m10s", took)
		}
		checkWindow(t, f.times, 1000, func(int) int { return 20 })
		if got := l.Spent(); got.Tokens != 3000 || got.Attempts != 150 || l.budget.Reserved.Tokens != 0 {
			t.Errorf("%+v, %d reserved, want 3000 tokens, 150 calls and nothing reserved", got, l.budget.Reserved.Tokens)
		}
	})
}

func TestOneCallLargerThanTheRateStillRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(LimiterConfig{Rates: rates.Rates{TokensPerMinute: 10}})
		if errs := run(t, l.Limit(&fake{}, "", true), 3, 3, eval.Call{PromptTokens: 50}); errs != nil {
			t.Errorf("%v, want no error", errs)
		}
	})
}

func TestBudgetsRefuseFurtherCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		l := NewLimiter(LimiterConfig{BudgetCalls: 7})
		errs := run(t, l.Limit(f, "", true), 20, 8, eval.Call{})
		if len(f.times) != 7 || len(errs) != 13 || eval.AsError(errs[0]).Kind != eval.KindBudget {
			t.Errorf("%d calls, errors %v, want 7 and 13 of the kind %s", len(f.times), errs, eval.KindBudget)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		// 8 workers reserve 100 each and spend 30: all of the budget is used, and no more.
		f := &fake{generate: func(int, *eval.Call) (*eval.Response, error) {
			time.Sleep(time.Second)
			return &eval.Response{Usage: &eval.Usage{TotalTokens: 30}}, nil
		}}
		l := NewLimiter(LimiterConfig{BudgetTokens: 1000})
		errs := run(t, l.Limit(f, "", true), 50, 8, eval.Call{PromptTokens: 10, OutputLimit: 90})
		if len(f.times) != 31 || len(errs) != 19 || l.Spent().Tokens != 930 {
			t.Errorf("%d calls, %d errors, %+v, want 31, 19 and 930 tokens", len(f.times), len(errs), l.Spent())
		}
	})
}

// What an answer cost is counted when it matters, and guessed otherwise.
func TestUsageIsCountedWhenItMatters(t *testing.T) {
	t.Parallel()
	answer := func(int, *eval.Call) (*eval.Response, error) {
		return &eval.Response{Candidates: []eval.Candidate{{Text: "12345"}}}, nil
	}
	for _, test := range []struct {
		cfg    LimiterConfig
		want   eval.Usage
		counts int
	}{
		{LimiterConfig{CountOutput: true}, eval.Usage{PromptTokens: 7, OutputTokens: 2, TotalTokens: 9, Source: eval.UsageEstimated}, 0},
		{
			LimiterConfig{CountOutput: true, BudgetTokens: 1000},
			eval.Usage{PromptTokens: 7, OutputTokens: 3, TotalTokens: 10, Source: eval.UsageCounted},
			1,
		},
		{LimiterConfig{BudgetTokens: 1000}, eval.Usage{PromptTokens: 7, OutputTokens: 2, TotalTokens: 9, Source: eval.UsageEstimated}, 0},
		{
			LimiterConfig{CountOutput: true, BudgetTokens: 1000, BudgetCalls: 1},
			eval.Usage{PromptTokens: 7, OutputTokens: 2, TotalTokens: 9, Source: eval.UsageEstimated},
			0,
		},
	} {
		f := &fake{generate: answer}
		l := NewLimiter(test.cfg)
		resp, err := l.Limit(f, "", true).Generate(t.Context(), &eval.Call{PromptTokens: 7})
		if err != nil || !reflect.DeepEqual(*resp.Usage, test.want) || f.count != test.counts {
			t.Errorf("%+v: %+v, %d counts, %v, want %+v and %d", test.cfg, resp.Usage, f.count, err, test.want, test.counts)
		}
	}
}

func TestDeadlineEndsACallThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := Deadline(hanging{}, 3*time.Second)
		started := time.Now()
		_, err := s.Generate(t.Context(), &eval.Call{})
		if e := eval.AsError(err); time.Since(started) != 3*time.Second || e == nil || e.Message != "no complete answer within 3s" {
			t.Errorf("got %v, want no complete answer within 3s, after 3 s", err)
		}
	})
}

type hanging struct{ *fake }

func (hanging) Generate(ctx context.Context, _ *eval.Call) (*eval.Response, error) {
	<-ctx.Done()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, eval.Errorf(eval.KindTimeout, "too late")
	}
	return nil, eval.Errorf(eval.KindCanceled, "canceled")
}

// Counting what an answer cost must not wait behind workers that wait for that very answer to be settled.
func TestCountingPassesWaiting(t *testing.T) {
	t.Parallel()
	for _, cfg := range []LimiterConfig{
		{BudgetTokens: 500, CountOutput: true},
		{Rates: rates.Rates{TokensPerMinute: 200}, CountOutput: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{generate: func(int, *eval.Call) (*eval.Response, error) {
				time.Sleep(100 * time.Millisecond)
				return &eval.Response{Candidates: []eval.Candidate{{Text: "an answer"}}}, nil
			}}
			l := NewLimiter(cfg)
			started := time.Now()
			if errs := run(t, l.Limit(f, "", true), 5, 5, eval.Call{PromptTokens: 20, OutputLimit: 64}); errs != nil {
				t.Errorf("%v, want no error", errs)
			}
			if took := time.Since(started); took > time.Second {
				t.Errorf("it took %s, want at most 1 s", took)
			}
			if f.count != 5 || l.Spent().Tokens != 5*23 {
				t.Errorf("%d counts, %+v, want 5 and %d tokens", f.count, l.Spent(), 5*23)
			}
		})
	}
}

// After a failed attempt a stop or a spent budget is not what the trial failed of.
func TestTheLastRealErrorStays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(LimiterConfig{BudgetCalls: 1})
		s := Retry(l.Limit(&fake{generate: failing(eval.KindStatus, 503)}, "", true), RetryPolicy{Attempts: 5})
		_, err := s.Generate(t.Context(), &eval.Call{})
		if e := eval.AsError(err); e == nil || e.Status != 503 {
			t.Errorf("got %v, want status 503", err)
		}
	})
}

// A spent budget is spent even when nothing is known of what a call may cost.
func TestABudgetIsSpentWithoutReservation(t *testing.T) {
	t.Parallel()
	f := &fake{generate: func(int, *eval.Call) (*eval.Response, error) {
		return &eval.Response{Usage: &eval.Usage{TotalTokens: 400}}, nil
	}}
	l := NewLimiter(LimiterConfig{BudgetTokens: 500})
	errs := run(t, l.Limit(f, "", true), 10, 1, eval.Call{})
	if len(f.times) != 2 || len(errs) != 8 {
		t.Errorf("%d calls, %d errors, want 2 and 8", len(f.times), len(errs))
	}
}

// Embeddings are calls and cost tokens like any others.
func TestEmbeddingsAreLimited(t *testing.T) {
	t.Parallel()
	f := &fake{}
	l := NewLimiter(LimiterConfig{BudgetTokens: 10, BudgetCalls: 5})
	s := Retry(l.Limit(Deadline(f, time.Second), "", true), RetryPolicy{Attempts: 3})
	for range 3 {
		_, err := s.Embed(t.Context(), &eval.EmbedCall{Texts: []string{"12345678", "1"}})
		if n := l.Spent(); n.Tokens > 10 || (err != nil) != (n.Tokens == 9 && len(f.times) == 3) {
			if len(f.times) == 3 && err == nil {
				continue
			}
			t.Errorf("%+v after %d calls: %v, want at most 10 tokens, and an error after 9 in 3 calls alone", n, len(f.times), err)
		}
	}
	if _, err := s.Embed(t.Context(), &eval.EmbedCall{Texts: []string{"12345678"}}); eval.AsError(err).Kind != eval.KindBudget {
		t.Errorf("got %v, want %s", err, eval.KindBudget)
	}
}

// A call whose answer is not written down yet keeps its slot, so that no more calls are lost by a kill than may be under way. Counting what
// the service did not report takes no further slot.
func TestACallKeepsItsSlotUntilItIsWritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		limiter := NewLimiter(LimiterConfig{Concurrency: 1, Rates: rates.Rates{TokensPerMinute: 1_000_000}, CountOutput: true})
		s := limiter.Limit(f, "", true)
		ctx, written := Writing(t.Context())
		if _, err := s.Generate(ctx, &eval.Call{Request: eval.Request{Model: "m"}}); err != nil {
			t.Fatal(err)
		}
		second := make(chan error, 1)
		go func() {
			_, err := s.Generate(t.Context(), &eval.Call{Request: eval.Request{Model: "m"}})
			second <- err
		}()
		synctest.Wait()
		expect.Same(t, "calls were sent before the first answer was written down", len(f.times), 1)
		written()
		written() // again does nothing
		if err := <-second; err != nil {
			t.Error(err)
		}
		expect.Same(t, "calls were sent in the end", len(f.times), 2)
	})
}
