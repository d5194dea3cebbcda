package diag

import (
	"bytes"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"
	"unicode/utf8"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
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
	expect.OK(t, (Renderer{Source: func(f string) []byte { return []byte(source[f]) }}).Render(&b, &l))
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
	expect.Same(t, "result", b.String(), want)
	expect.Same(t, "an error of several", l.Err().Error(), `b.yaml:2:3: second`+"\x1b[31m (and 2 more)")
}

func TestManyAreCounted(t *testing.T) {
	t.Parallel()
	var l List
	for i := range 20_000 {
		l.Errorf(Pos{"a", i + 1, 1}, "", "no")
	}
	var b bytes.Buffer
	expect.OK(t, (Renderer{}).Render(&b, &l))
	expect.Same(t, "lines", strings.Count(b.String(), "\n"), maxShown+2)
}

func TestCountUsesThePluralWhereNeeded(t *testing.T) {
	t.Parallel()
	got := fmt.Sprint(Count(1, "case"), Count(2, "case"), Count(0, "retry"), Count(2, "retry"), Count(3, "pass"), Count(2, "key"))
	if got != "1 case2 cases0 retries2 retries3 passes2 keys" && got != "1 case 2 cases 0 retries 2 retries 3 passes 2 keys" {
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

func TestTheNearestFileIsSuggested(t *testing.T) {
	t.Parallel()
	folder, err := fs.ReadDir(fstest.MapFS{
		"suite.yaml": {}, "mails.csv": {}, "a.yaml": {}, "notes": {}, ".hidden": {}, "evals/suite.json": {}, "übung.yaml": {},
	}, ".")
	expect.OK(t, err)
	for name, want := range map[string]string{
		"suit.yaml":    "; did you mean `suite.yaml`?",
		"Suite.yaml":   "; did you mean `suite.yaml`?",
		"suite.yml":    "; did you mean `suite.yaml`?",
		"suite":        "; did you mean `suite.yaml`?",
		"mail.csv":     "; did you mean `mails.csv`?",
		"ubung.yaml":   "; did you mean `übung.yaml`?",
		"note":         "; did you mean `notes`?",
		"mail.yaml":    "",
		"prompt.yaml":  "",
		"eval":         "",
		"evals":        "",
		"":             "",
		".csv":         "",
		"nothere.tmpl": "",
	} {
		expect.Same(t, fmt.Sprintf("%q", name), NearestFile(name, folder), want)
	}
	expect.Same(t, "an empty folder", NearestFile("suite.yaml", nil), "")
}

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
