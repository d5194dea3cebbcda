package eval

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
)

// The exit codes.
const (
	CodeOK           = 0
	CodeFailed       = 1   // judged, and not good enough
	CodeBadInput     = 2   // nothing was sent
	CodeInconclusive = 3   // a comparison cannot decide yet, and the gate says that this fails
	CodeIncomplete   = 4   // because of the service, the budget, or an empty selection
	CodeWaiting      = 5   // for the answers of batches
	CodeInterrupted  = 130 // SIGINT
	CodeTerminated   = 143 // SIGTERM and SIGHUP
)

// CodedError is an error with the exit code it means.
type CodedError struct {
	Code int
	Err  error
}

func (e *CodedError) Error() string { return e.Err.Error() }
func (e *CodedError) Unwrap() error { return e.Err }

// BadInput makes an error with CodeBadInput; the arguments are those of fmt.Errorf.
func BadInput(format string, args ...any) error {
	return &CodedError{CodeBadInput, fmt.Errorf(format, args...)}
}

// Incomplete makes an error with CodeIncomplete; the arguments are those of fmt.Errorf.
func Incomplete(format string, args ...any) error {
	return &CodedError{CodeIncomplete, fmt.Errorf(format, args...)}
}

// WithCode gives an error an exit code.
func WithCode(code int, err error) error { return &CodedError{code, err} }

// CodeOf is the exit code that an error means: CodeOK for nil, its own, or else CodeBadInput.
func CodeOf(err error) int {
	var e *CodedError
	switch {
	case err == nil:
		return CodeOK
	case errors.As(err, &e):
		return e.Code
	}
	return CodeBadInput
}

// SignalCode is the exit code of a command that a signal ended, by the signal's name. SIGHUP, from a terminal that goes
// away, counts as SIGTERM.
func SignalCode(name string) int {
	if name == syscall.SIGTERM.String() || name == syscall.SIGHUP.String() {
		return CodeTerminated
	}
	return CodeInterrupted
}

// WorstCode is the code that counts among several.
func WorstCode(codes ...int) int {
	// severity orders the codes: the first of several wins.
	severity := [...]int{CodeInterrupted, CodeTerminated, CodeWaiting, CodeFailed, CodeIncomplete, CodeInconclusive, CodeOK}

	for _, code := range severity {
		if slices.Contains(codes, code) {
			return code
		}
	}
	return CodeOK
}

// Catch starts a goroutine that waits for a signal or the end of ctx, and calls act after a signal. caught
// waits until that goroutine has ended, which needs the end of ctx or the return of act. It returns the
// name of the signal, "" for none.
func Catch(ctx context.Context, signals <-chan os.Signal, act func()) (caught func() string) {
	var name string
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case sig := <-signals:
			name = sig.String()
			act()
		case <-ctx.Done():
		}
	}()
	return func() string {
		<-ended
		return name
	}
}

// Until is a context that a signal ends, and a function that ends it and gives the exit code that the signal means,
// CodeOK without one.
func Until(ctx context.Context, signals <-chan os.Signal) (until context.Context, end func() (code int)) {
	until, cancel := context.WithCancel(ctx)
	caught := Catch(until, signals, cancel)
	return until, func() int {
		cancel()
		if name := caught(); name != "" {
			return SignalCode(name)
		}
		return CodeOK
	}
}
