package flow

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/openai"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/rates"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
)

// Programs count for budgets. They wait neither for slots nor for rates that are meant for a service, and use none of them up.
func TestBudgetsAloneApplyToPrograms(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limiter := NewLimiter(LimiterConfig{Rates: rates.Rates{RequestsPerMinute: 1, TokensPerMinute: 10}, Concurrency: 1, BudgetCalls: 5})
		var booked []eval.Booking
		limiter.Book(func(b eval.Booking) error { booked = append(booked, b); return nil })
		if !limiter.takeSlot(t.Context(), &meteredCall{slot: true}) { // a call to the service is under way
			t.Fatal("got no slot, want one")
		}
		usage := &eval.Usage{PromptTokens: 50, OutputTokens: 50, TotalTokens: 100, Source: eval.UsageService}
		program := limiter.Budget(&fake{generate: func(n int, _ *eval.Call) (*eval.Response, error) {
			if n == 2 {
				return nil, eval.Errorf(eval.KindProgram, "it failed")
			}
			return &eval.Response{Usage: usage}, nil
		}}, false)
		began := time.Now()
		for n := range 3 {
			call := &eval.Call{PromptTokens: 20}
			_, err := program.Generate(t.Context(), call)
			expect.Same(t, "failed", err != nil, n == 1)
			expect.Same(t, "attempts", call.Timing.Attempts, 1)
		}
		expect.Same(t, "time spent waiting", time.Since(began), 0)
		expect.Same(t, "what is spent", limiter.Spent(), eval.Spent{Attempts: 3, Tokens: 200, BudgetCalls: 5})
		expect.Same(t, "bookings", len(booked), 3)
		limiter.leave(&meteredCall{slot: true})

		answers := &fake{generate: func(int, *eval.Call) (*eval.Response, error) { return &eval.Response{Usage: usage}, nil }}
		_, err := limiter.Limit(answers, "", true).Generate(t.Context(), &eval.Call{})
		expect.OK(t, err)
		expect.Same(t, "time that the service waits for what programs have used", time.Since(began), 0)

		_, err = program.Generate(t.Context(), &eval.Call{})
		expect.OK(t, err)
		_, err = program.Generate(t.Context(), &eval.Call{})
		if e := eval.AsError(err); e == nil || e.Kind != eval.KindBudget {
			t.Errorf("got %v, want that the budget is spent", err)
		}

		resumed := NewLimiter(LimiterConfig{Rates: rates.Rates{RequestsPerMinute: 1}, Before: booked[:3]})
		_, err = resumed.Limit(&fake{}, "", true).Generate(t.Context(), &eval.Call{})
		expect.OK(t, err)
		expect.Same(t, "time that a resumed run waits for programs", time.Since(began), 0)
	})
}

// A clock that was set back by an hour since the run's last call makes a resumed run wait a minute, as without that.
func TestResumedRunsDoNotWaitForAClockThatWasSetBack(t *testing.T) {
	t.Parallel()
	for _, most := range []rates.Rates{{RequestsPerMinute: 1}, {TokensPerMinute: 100}} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			before := []eval.Booking{{At: began.Add(time.Hour).Format(time.RFC3339Nano), Spent: eval.Spent{Attempts: 1}, Tokens: 100}}
			resumed := NewLimiter(LimiterConfig{Rates: most, Before: before})
			_, err := resumed.Limit(&fake{}, "", true).Generate(t.Context(), &eval.Call{PromptTokens: 20})
			expect.OK(t, err)
			if waited := time.Since(began); waited < time.Minute || waited > 2*time.Minute {
				t.Errorf("%+v: waited for %s, want a minute", most, waited)
			}
		})
	}
}

// What programs have called in another process is booked when they end, also those that fail, and a spent budget begins no other.
func TestCallsOfProgramsElsewhereAreBooked(t *testing.T) {
	t.Parallel()
	limiter := NewLimiter(LimiterConfig{BudgetTokens: 250})
	var booked []eval.Booking
	limiter.Book(func(b eval.Booking) error { booked = append(booked, b); return nil })
	answer := &eval.Response{Calls: []eval.ModelCall{{Service: "s", Model: "m", Usage: eval.Usage{TotalTokens: 60}}, {Error: &eval.Error{}}}}
	program := limiter.Budget(limiter.Booked(&fake{generate: func(n int, _ *eval.Call) (*eval.Response, error) {
		if n == 2 {
			return nil, &eval.Error{Kind: eval.KindProgram, Answer: answer}
		}
		return answer, nil
	}}), true)
	for n := range 5 {
		_, err := program.Generate(t.Context(), &eval.Call{})
		expect.Same(t, "failed", err != nil, n == 1)
	}
	expect.Same(t, "what is spent", limiter.Spent(), eval.Spent{Attempts: 10, Tokens: 305, BudgetTokens: 250})
	expect.Same(t, "bookings", len(booked), 10)
	expect.Same(t, "the last booking", booked[9].Spent.Tokens, 305)
	_, err := program.Generate(t.Context(), &eval.Call{})
	if e := eval.AsError(err); e == nil || e.Kind != eval.KindBudget {
		t.Errorf("got %v, want that the budget is spent", err)
	}
}

func TestNoProgramStartsInAStoppedRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		limiter := NewLimiter(LimiterConfig{BudgetTokens: 100, Waits: NewWaits(stop)})
		held := &meteredCall{cost: rates.Amount{Calls: 1, Tokens: 80}}
		expect.OK(t, limiter.admit(t.Context(), held, &eval.Timing{}))
		waited := make(chan error)
		go func() {
			_, err := limiter.Budget(&fake{}, false).Generate(t.Context(), &eval.Call{PromptTokens: 50})
			waited <- err
		}()
		synctest.Wait()
		close(stop)
		for _, err := range []error{<-waited, second(limiter.Budget(&fake{}, false).Generate(t.Context(), &eval.Call{}))} {
			if e := eval.AsError(err); e == nil || e.Kind != eval.KindCanceled {
				t.Errorf("got %v, want that the run was stopped", err)
			}
		}
		limiter.settle(held, rates.Amount{}, 0)
	})
}

func second(_ *eval.Response, err error) error { return err }

// The last minute is kept call by call only where its tokens are limited: a run of a million trials would keep most of them.
func TestCallsAreKeptOnlyForALimitOfTokens(t *testing.T) {
	t.Parallel()
	for most, want := range map[int]int{0: 0, 1000: 3} {
		limiter := NewLimiter(LimiterConfig{Rates: rates.Rates{TokensPerMinute: most}})
		service := limiter.Limit(&fake{generate: func(int, *eval.Call) (*eval.Response, error) {
			return &eval.Response{Usage: &eval.Usage{TotalTokens: 5, Source: eval.UsageService}}, nil
		}}, "", false)
		for range 3 {
			_, err := service.Generate(t.Context(), &eval.Call{PromptTokens: 1})
			expect.OK(t, err)
		}
		expect.Same(t, "calls kept", len(limiter.meter.Window), want)
	}
}

// An item that failed is explained as a live call is, and may even be an answer. One that the vendor answered is paid.
func TestFailedItemsAreExplained(t *testing.T) {
	t.Parallel()
	refused := func(status int, code, message string) *eval.Error {
		return &eval.Error{Kind: eval.KindStatus, Status: status, Code: code, Message: message}
	}
	in := &incoming{
		OpenBatch: &journal.OpenBatch{}, state: &wire.BatchState{}, left: rates.Amount{Calls: 4, Tokens: 40},
		failed: map[string]*eval.Error{
			"blocked": refused(400, "content_filter", "the prompt was filtered"),
			"advice":  refused(400, "", "max_completion_tokens is not permitted"),
			"long":    eval.Errorf(eval.KindTooLarge, "the answer is too large"),
		},
	}
	limiter := NewLimiter(LimiterConfig{})
	b := NewBatches(BatchesConfig{Services: map[string]*BatchService{"": {
		Batcher: openai.New(wire.Server{BaseURL: "http://service.invalid/v1"}),
	}}})
	b.Under(limiter)
	limiter.Reserved(in.left)
	for id := range in.failed {
		b.items[id] = item{in, unanswered, false}
	}
	call := func(id string) (*eval.Response, error) {
		return b.reply(&eval.Call{Request: eval.Request{Model: "m"}, PromptTokens: 5, OutputLimit: 5}, id)
	}
	got, err := call("blocked")
	expect.OK(t, err)
	expect.Same(t, "the block", got.PromptBlock(), "SAFETY")
	_, err = call("advice")
	expect.Contains(t, "the error", err.Error(), "set `maxTokensField: max_tokens` at the service")
	before := limiter.Spent()
	_, err = call("long")
	expect.Same(t, "the kind", eval.AsError(err).Kind, eval.KindTooLarge)
	expect.Same(t, "its price in calls", limiter.Spent().Attempts-before.Attempts, 1)
}
