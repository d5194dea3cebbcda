package diag

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/evalrun/evalrun/internal/testing/hostile"
)

// FuzzRender holds that no file, message, hint or source line, cut at whatever column, puts controls or a command
// of continuous-integration logs into what is printed.
func FuzzRender(f *testing.F) {
	f.Add("a.yaml", "message", "hint", "k: ##[error]x", 1, 6)
	f.Add(":", "error::x", "", "", 0, 0)
	f.Add("::error::x", "", "", "a\r\n::b", 2, 1)
	for _, s := range hostile.Strings() {
		f.Add(s, s, s, s+"\n"+s, 1, 3)
		f.Add("", s, "", s, 1, 200)
	}
	f.Fuzz(func(t *testing.T, file, message, hint, source string, line, col int) {
		var l List
		l.Add(Diagnostic{Severity: Warning, Pos: Pos{file, max(0, line), max(0, col)}, Message: message, Hint: hint})
		l.Errorf(Pos{File: file}, hint, "%s", message)
		var b bytes.Buffer
		if err := (Renderer{Source: func(string) []byte { return []byte(source) }}).Render(&b, &l); err != nil {
			t.Fatal(err)
		}
		if !utf8.Valid(b.Bytes()) || strings.Contains(b.String(), "##[") {
			t.Fatalf("%q, want UTF-8 without a command", b.String())
		}
		for _, shown := range strings.Split(b.String(), "\n") {
			if strings.HasPrefix(strings.TrimSpace(shown), "::") || strings.ContainsFunc(shown, unsafe) {
				t.Fatalf("%q, want nothing that commands a terminal or a CI system", shown)
			}
		}
	})
}

// unsafe reports whether a character must not stand in a line of a terminal.
func unsafe(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}
