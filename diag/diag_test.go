package diag

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

func TestNearestFindsTheIntendedWord(t *testing.T) {
	t.Parallel()
	known := []string{"equals", "contains", "containsAll", "regex", "safety", "levenshtein"}
	for word, want := range map[string]string{
		"equal": "equals", "contans": "contains", "Regex": "regex", "levenstein": "levenshtein", "zzz": "", "safty": "safety",
		"contain": "contains", "equals-any": "equals", "regexes": "regex", "eq": "",
	} {
		expect.Same(t, word, strings.Join(Nearest(word, known, 1), ""), want)
	}
	expect.Same(t, "did you mean", DidYouMean("zzz", []string{"b", "a"}), "known here: a, b")
}

func TestRenderShowsEachProblemOnce(t *testing.T) {
	t.Parallel()
	var l List
	l.Errorf(Pos{"b.yaml", 2, 3}, "do that", "second\x1b[31m")
	l.Warnf(Pos{"a.yaml", 1, 1}, "", "first")
	l.Errorf(Pos{"b.yaml", 2, 3}, "do that", "second\x1b[31m") // said once
	l.Errorf(Pos{File: "c.yaml"}, "", "whole file")
	l.Errorf(Pos{"b.yaml", 3, 150}, "", "far right")
	source := map[string]string{
		"a.yaml": "\ufeffone\n", "b.yaml": "x\n日本: \ty\n" + strings.Repeat("a", 149) + "b" + strings.Repeat("c", 100) + "\n",
	}
	var b bytes.Buffer
	if err := (Renderer{Source: func(f string) []byte { return []byte(source[f]) }}).Render(&b, &l); err != nil {
		t.Fatal(err)
	}
	want := `a.yaml:1:1: warning: first
    1 | one
      | ^
b.yaml:2:3: second\x1b[31m
    2 | 日本:  y
      |     ^
  hint: do that
b.yaml:3:150: far right
    3 | ...` + strings.Repeat("a", 59) + "b" + strings.Repeat("c", 60) + `...
      | ` + strings.Repeat(" ", 62) + `^
c.yaml: whole file
3 errors, 1 warning
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	expect.Same(t, "an error of several", l.Err().Error(), `b.yaml:2:3: second`+"\x1b[31m (and 2 more)")
}

func TestManyAreCounted(t *testing.T) {
	t.Parallel()
	var l List
	for i := range 20_000 {
		l.Errorf(Pos{"a", i + 1, 1}, "", "no")
	}
	var b bytes.Buffer
	if err := (Renderer{}).Render(&b, &l); err != nil {
		t.Fatal(err)
	}
	expect.Same(t, "lines", strings.Count(b.String(), "\n"), maxShown+2)
}

func TestCountUsesThePluralWhereNeeded(t *testing.T) {
	t.Parallel()
	got := fmt.Sprint(Count(1, "case"), Count(2, "case"), Count(0, "retry"), Count(2, "retry"), Count(3, "pass"))
	if got != "1 case2 cases0 retries2 retries3 passes" && got != "1 case 2 cases 0 retries 2 retries 3 passes" {
		t.Errorf("got %v, want the words after the numbers", got)
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"plain", "\x1b]8;;x\a", "a\u202eb", "::error::x", "\r\n##[x]", "\xff", "\u2028", "e\u0301 👩‍👩‍👧", "\ufffe"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range Clean(s) {
			if hidden(r) || r == utf8.RuneError && !strings.ContainsRune(s, r) {
				t.Fatalf("got %U in %q, want it replaced", r, s)
			}
		}
		line := CleanLine(s)
		if strings.ContainsAny(line, "\n\r\t") || !utf8.ValidString(line) {
			t.Fatalf("%q, want one line of UTF-8", line)
		}
		if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[") {
			t.Fatalf("got %q, want no command to a CI system", line)
		}
	})
}

// hidden reports whether r changes what a terminal shows around it.
func hidden(r rune) bool {
	if r == '\n' || r == '\t' {
		return false
	}
	return unicode.Is(unicode.Cc, r) || r >= 0x202a && r <= 0x202e
}

// The caret is under its column as a terminal shows the line: joined emoji take two cells, marks none.
func TestTheCaretIsUnderItsColumn(t *testing.T) {
	t.Parallel()
	for before, cells := range map[string]int{
		"ab": 2, "日本": 4, "e\u0301": 1, "👨‍👩‍👧": 2, "🇨🇭": 2, "שָׁ": 1,
	} {
		var l List
		l.Errorf(Pos{File: "a", Line: 1, Col: utf8.RuneCountInString(before) + 1}, "", "wrong")
		var b strings.Builder
		r := Renderer{Source: func(string) []byte { return []byte(before + "X") }}
		expect.OK(t, r.Render(&b, &l))
		lines := strings.Split(b.String(), "\n")
		if got, want := lines[2], "      | "+strings.Repeat(" ", cells)+"^"; got != want {
			t.Errorf("after %q the caret's line is %q, want %q", before, got, want)
		}
	}
}
