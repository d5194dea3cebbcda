package term

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
)

func TestDiffShowsTheLinesThatDiffer(t *testing.T) {
	t.Parallel()
	text := func(s string) *string { return &s }
	numbers := "1\n2\n3\n4\n5\n6\n7\n8\n9"
	for _, c := range []struct {
		before, after *string
		color         bool
		want          string
	}{
		{nil, text("Paris"), false, "@@ -0,0 +1 @@\n+Paris\n"},
		{nil, text("a\n"), false, "@@ -0,0 +1,2 @@\n+a\n+\n"},
		{text(""), text("Paris"), false, "@@ -1 +1 @@\n-\n+Paris\n"},
		{text("--- a\n+++ b"), text("--- a\n+++ c"), false, "@@ -1,2 +1,2 @@\n --- a\n-+++ b\n++++ c\n"},
		{text(numbers), text(strings.Replace(numbers, "5", "five", 1)), false, "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"},
		{text("a"), text("b\x1b[2J\r\u202e"), false, "@@ -1 +1 @@\n-a\n+b\\x1b[2J\\x0d\\u202e\n"},
		{text("same\na"), text("same\nb"), true, "\x1b[36m@@ -1,2 +1,2 @@\x1b[0m\n same\n\x1b[31m-a\x1b[0m\n\x1b[32m+b\x1b[0m\n"},
		{text("שלום"), text("e\u0301"), false, "@@ -1 +1 @@\n-שלום\n+e\u0301\n"},
		{nil, text(strings.Repeat("x", 3000)), false, "@@ -0,0 +1 @@\n+" + strings.Repeat("x", maxFullLine-1) + "...\n"},
		{nil, text(strings.Repeat("x\n", 1000)), false, "@@ -0,0 +1,1001 @@\n" + strings.Repeat("+x\n", maxFullLines-1) + "... and 602 lines\n"},
		{text(strings.Repeat("x", 1<<21)), text(strings.Repeat("x", 1<<21) + "y"), false, "they differ after the first 1048576 bytes\n"},
	} {
		var b bytes.Buffer
		if err := Diff(&b, c.before, c.after, c.color); err != nil {
			t.Error(err)
		}
		expect.Same(t, "diff", b.String(), c.want)
	}
}

// FuzzDiff holds that a diff does nothing to a terminal, and that each of its lines says what it is.
func FuzzDiff(f *testing.F) {
	for _, s := range hostile.Strings() {
		f.Add(s, "x\n"+s)
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		var b bytes.Buffer
		expect.OK(t, Diff(&b, &before, &after, false))
		expect.Same(t, "clean text", diag.Clean(b.String()), b.String())
		if before == after {
			return
		}
		for line := range strings.Lines(b.String()) {
			if !slices.Contains([]byte(" +-@.t"), line[0]) {
				t.Errorf("%q, want a line of a difference", line)
			}
		}
	})
}
