package text

import (
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

func TestComparedTextsComeBack(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ want, got string }{
		{"Paris", "Lyon"}, {"", ""}, {"a\nb\n", "\na\nb"}, {"expected: x", "y\nactual:   z"}, {"actual:   x", "expected: y"},
	} {
		text := Compared(test.want, test.got)
		want, got, ok := CutCompared(text)
		expect.Same(t, text, []any{want, got, ok}, []any{test.want, test.got, true})
	}
	for _, text := range []string{"", "expected: a", "-a\n+b", "/x: expected: 1\nactual:   2", "actual:   a\nexpected: b"} {
		want, got, ok := CutCompared(text)
		expect.Same(t, text, []any{want, got, ok}, []any{"", "", false})
	}
}
