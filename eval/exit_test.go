package eval

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
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
		{With(CodeFailed, fs.ErrExist), CodeFailed},
	} {
		if got := Of(test.err); got != test.want {
			t.Errorf("Of(%v) = %d, want %d", test.err, got, test.want)
		}
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
		if got := Worst(test.codes...); got != test.want {
			t.Errorf("Worst(%v) = %d, want %d", test.codes, got, test.want)
		}
	}
}

func TestOfSignalHasACodeForEachSignal(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"interrupt": CodeInterrupted, "terminated": CodeTerminated, "hangup": CodeTerminated} {
		if got := OfSignal(name); got != want {
			t.Errorf("OfSignal(%s) = %d, want %d", name, got, want)
		}
	}
}
