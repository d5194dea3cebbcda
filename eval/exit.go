// Holds the exit codes of the commands, errors that carry one, and the codes of signals. Until ends a
// context at a signal; Catch calls a function.

package eval

import (
	"errors"
	"fmt"
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

// With gives an error an exit code.
func With(code int, err error) error { return &CodedError{code, err} }

// Of is the exit code that an error means: CodeOK for nil, its own, or else CodeBadInput.
func Of(err error) int {
	var e *CodedError
	switch {
	case err == nil:
		return CodeOK
	case errors.As(err, &e):
		return e.Code
	}
	return CodeBadInput
}

// OfSignal is the exit code of a command that a signal ended, by the signal's name. SIGHUP, from a terminal that goes
// away, counts as SIGTERM.
func OfSignal(name string) int {
	if name == syscall.SIGTERM.String() || name == syscall.SIGHUP.String() {
		return CodeTerminated
	}
	return CodeInterrupted
}

// Worst is the code that counts among several.
func Worst(codes ...int) int {
	// severity orders the codes: the first of several wins.
	severity := [...]int{CodeInterrupted, CodeTerminated, CodeFailed, CodeIncomplete, CodeInconclusive, CodeOK}

	for _, code := range severity {
		if slices.Contains(codes, code) {
			return code
		}
	}
	return CodeOK
}
