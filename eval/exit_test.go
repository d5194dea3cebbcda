package eval

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

func TestOfIsTheCodeOfAnError(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  error
		want int
	}{
		{nil, CodeOK},
		{errors.New("plain"), CodeBadInput},
		{BadInput("no file %s", "a"), CodeBadInput},
		{fmt.Errorf("suite a: %w", Incomplete("no answer: %w", fs.ErrNotExist)), CodeIncomplete},
		{WithCode(CodeFailed, fs.ErrExist), CodeFailed},
	} {
		expect.Same(t, fmt.Sprintf("CodeOf(%v)", test.err), CodeOf(test.err), test.want)
	}
	if err := Incomplete("no answer: %w", fs.ErrNotExist); !errors.Is(err, fs.ErrNotExist) || err.Error() != "no answer: file does not exist" {
		t.Errorf("got %v, want it to wrap its cause", err)
	}
}

func TestWorstIsTheMostSeriousCode(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		codes []int
		want  int
	}{
		{nil, CodeOK},
		{[]int{CodeOK, CodeInconclusive}, CodeInconclusive},
		{[]int{CodeInconclusive, CodeIncomplete}, CodeIncomplete},
		{[]int{CodeIncomplete, CodeFailed}, CodeFailed},
		{[]int{CodeFailed, CodeTerminated, CodeInterrupted}, CodeInterrupted},
	} {
		expect.Same(t, fmt.Sprintf("Worst(%v)", test.codes), WorstCode(test.codes...), test.want)
	}
}

func TestOfSignalHasACodeForEachSignal(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"interrupt": CodeInterrupted, "terminated": CodeTerminated, "hangup": CodeTerminated} {
		expect.Same(t, fmt.Sprintf("OfSignal(%s)", name), SignalCode(name), want)
	}
}

// A signal ends the context and means an exit code; without one the code is 0.
func TestUntilEndsTheContextAtASignal(t *testing.T) {
	t.Parallel()
	for want, sig := range map[int]os.Signal{CodeOK: nil, CodeInterrupted: os.Interrupt, CodeTerminated: syscall.SIGTERM} {
		signals := make(chan os.Signal, 1)
		if sig != nil {
			signals <- sig
		}
		ctx, end := Until(t.Context(), signals)
		if sig != nil {
			<-ctx.Done()
		}
		if got := end(); got != want || ctx.Err() == nil {
			t.Errorf("%v: code %d and context %v, want code %d and a context that has ended", sig, got, ctx.Err(), want)
		}
	}
}

// What a signal is answered with has ended once caught returns, and a missing source of signals is no signal.
func TestCatchHasEndedOnceItReturns(t *testing.T) {
	t.Parallel()
	signals := make(chan os.Signal, 1)
	signals <- os.Interrupt
	done := false
	caught := Catch(t.Context(), signals, func() { done = true })
	for range 2 {
		if name := caught(); name != os.Interrupt.String() || !done {
			t.Errorf("got %q with its action done: %v, want the interrupt and true", name, done)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	caught = Catch(ctx, nil, func() { t.Error("got an action, want none without a signal") })
	cancel()
	if name := caught(); name != "" {
		t.Errorf("got %q, want none without a signal", name)
	}
}
