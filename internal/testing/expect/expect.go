// Package expect has the checks that the tests of all packages share.
package expect

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// OK ends the test at the first error.
func OK(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Same reports where a value differs from the one that is wanted; what names the value.
func Same[T any](t testing.TB, what string, got, want T, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Contains reports a text that lacks a part that is wanted; what names the text. Only the beginning of a long text is shown.
func Contains(t testing.TB, what, got, want string) {
	t.Helper()
	if !strings.Contains(got, want) {
		t.Errorf("%s: got %.4000q, want it to contain %q", what, got, want)
	}
}

// Fails reports an error that is missing, or whose text lacks a part that is wanted; what names what should fail.
func Fails(t testing.TB, what string, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: got the error %v, want one that contains %q", what, err, want)
	}
}
