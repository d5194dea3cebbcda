package reports

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
)

// taken is what a log takes for a command.
var taken = regexp.MustCompile(`(?:^|[\n\r])[\s\x{feff}\x{00a0}\x{2028}\x{3000}]*::|##\[`)

func guarded(t *testing.T, text string, pieces int) string {
	t.Helper()
	var b bytes.Buffer
	w := &guard{w: &b, atStart: true}
	for size := max(1, len(text)/pieces); text != ""; text = text[min(size, len(text)):] {
		n := min(size, len(text))
		if got, err := w.Write([]byte(text[:n])); err != nil || got != n {
			t.Fatalf("%d %v, want %d", got, err, n)
		}
	}
	return b.String()
}

func TestGuardStopsCommandsOfCI(t *testing.T) {
	t.Parallel()
	commands := []string{
		"::error::x", "a\n::add-mask::y\n", "\r\n  \t::stop-commands::z", "a ##[error]b ##[", "###[x", "\ufeff::error::", "\u3000::x",
		"a\r::b", ": :", ":::", "::\n::\n", "\n\n::", "a :: b\n: c",
	}
	for _, text := range append(hostile.Strings(), commands...) {
		for _, pieces := range []int{1, 2, len(text) + 1} {
			got := guarded(t, text, pieces)
			if taken.MatchString(got) {
				t.Errorf("%q became %q, want no command", text, got)
			}
			expect.Same(t, "the rest", strings.ReplaceAll(got, breaker, ""), strings.ReplaceAll(text, breaker, ""))
			if !taken.MatchString(text) && !strings.Contains(text, "#[") && got != text {
				t.Errorf("%[1]q: got %[2]q, want it as it is, without a command", text, got)
			}
		}
	}
}

// Formats for programs have no text at the start of a line, and are not changed.
func TestFormatsForProgramsAreNotGuarded(t *testing.T) {
	t.Parallel()
	for _, f := range Formats() {
		var b bytes.Buffer
		if got := onStandardOutput(&f, &b) != &b; got != f.Guard {
			t.Errorf("%s: guarded is %t, want %t", f.Name, got, f.Guard)
		}
	}
	if Lookup("json").Guard || !Lookup("markdown").Guard {
		t.Errorf("guarded: json %t, markdown %t; want only markdown", Lookup("json").Guard, Lookup("markdown").Guard)
	}
}
