package diag

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/google/go-cmp/cmp"
)

func rendered(t *testing.T, r Renderer, l *List) string {
	t.Helper()
	var b strings.Builder
	expect.OK(t, r.Render(&b, l))
	return b.String()
}

func source(text string) func(string) []byte { return func(string) []byte { return []byte(text) } }

func TestProblemsComeInTheOrderOfTheirPlaces(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var l List
		for range random.IntN(20) {
			pos := Pos{[]string{"a", "b"}[random.IntN(2)], random.IntN(4), random.IntN(4)}
			if random.IntN(2) == 0 {
				l.Warnf(pos, "", "advice %d", random.IntN(3))
			} else {
				l.Errorf(pos, "", "problem %d", random.IntN(3))
			}
		}
		sorted := l.Sorted()
		for i, d := range sorted[:max(0, len(sorted)-1)] {
			next := sorted[i+1]
			before := []any{d.Pos.File, d.Pos.Line, d.Pos.Col, int(d.Severity)}
			after := []any{next.Pos.File, next.Pos.Line, next.Pos.Col, int(next.Severity)}
			if fmt.Sprintf("%s %04d %04d %d", before...) > fmt.Sprintf("%s %04d %04d %d", after...) {
				t.Errorf("got %v before %v, want them in order", before, after)
			}
			if slices.Contains(sorted[i+1:], d) {
				t.Errorf("got %+v twice, want it once", d)
			}
		}
	}
}

func TestPlacesAreWrittenAsFarAsTheyAreKnown(t *testing.T) {
	t.Parallel()
	for want, pos := range map[string]Pos{
		"a.yaml:3:7": {"a.yaml", 3, 7}, "a.yaml:3": {"a.yaml", 3, 0}, "a.yaml": {"a.yaml", 0, 7}, "": {},
	} {
		expect.Same(t, fmt.Sprintf("%+v", pos), pos.String(), want)
	}
}

func TestOnlyProblemsAreErrors(t *testing.T) {
	t.Parallel()
	var l List
	if l.Err() != nil || l.HasErrors() {
		t.Errorf("an empty list: got %v, want no error", l.Err())
	}
	l.Warnf(Pos{"a", 1, 1}, "", "advice")
	if l.Err() != nil || l.HasErrors() || l.Len() != 1 {
		t.Errorf("an advice: got %v and %d entries, want no error and 1", l.Err(), l.Len())
	}
	l.Errorf(Pos{"b", 1, 1}, "", "problem")
	if got := l.Err().Error(); got != "b:1:1: problem" {
		t.Errorf("got %q, want the problem alone", got)
	}
	l.Errorf(Pos{"a", 9, 1}, "", "first")
	if got := l.Err().Error(); got != "a:9:1: first (and 1 more)" {
		t.Errorf("got %q, want the first problem and a count", got)
	}
}

func TestMergedListsSayEverythingOnce(t *testing.T) {
	t.Parallel()
	var a, b List
	a.Errorf(Pos{"x", 1, 1}, "", "both")
	b.Errorf(Pos{"x", 1, 1}, "", "both")
	b.Warnf(Pos{"x", 2, 1}, "", "one")
	b.AddInclude("part.yaml", Pos{"x", 3, 1})
	a.Merge(b)
	if a.Len() != 2 {
		t.Errorf("got %d, want 2: %v", a.Len(), a.Sorted())
	}
	expect.Same(t, "how part.yaml came in", a.Chain("part.yaml"), []Pos{{"x", 3, 1}})
}

func TestIncludedFilesSayHowTheyCameIn(t *testing.T) {
	t.Parallel()
	var l List
	l.AddInclude("b", Pos{"a", 2, 3})
	l.AddInclude("b", Pos{"z", 9, 9}) // the first time counts
	l.AddInclude("c", Pos{"b", 4, 5})
	l.AddInclude("d", Pos{"c", 6, 7})
	l.Errorf(Pos{"d", 1, 1}, "", "wrong")
	want := "d:1:1: wrong\n  included from c:6:7\n  included from b:4:5\n  included from a:2:3\n"
	expect.Same(t, "result", rendered(t, Renderer{}, &l), want)
	l.AddInclude("a", Pos{"d", 8, 9})
	if n := len(l.Chain("c")); n == 0 || n > 5 {
		t.Errorf("files that include each other: %d steps, want some, at most 5", n)
	}
}

func TestSourceLinesHaveTheirCaret(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text string
		pos  Pos
		want string // the lines of source and caret
	}{
		"the caret":                {"ab: cd\n", Pos{"f", 1, 5}, "    1 | ab: cd\n      |     ^\n"},
		"the first column":         {"ab\n", Pos{"f", 1, 1}, "    1 | ab\n      | ^\n"},
		"one behind the end":       {"ab\n", Pos{"f", 1, 3}, "    1 | ab\n      |   ^\n"},
		"far behind the end":       {"ab\n", Pos{"f", 1, 99}, "    1 | ab\n      |   ^\n"},
		"no column":                {"ab\n", Pos{"f", 1, 0}, "    1 | ab\n"},
		"CRLF":                     {"x\r\nab\r\n", Pos{"f", 2, 2}, "    2 | ab\n      |  ^\n"},
		"no end of the line":       {"x\nab", Pos{"f", 2, 2}, "    2 | ab\n      |  ^\n"},
		"a byte order mark":        {"\ufeffab\n", Pos{"f", 1, 2}, "    1 | ab\n      |  ^\n"},
		"a tab is one cell":        {"\tab\n", Pos{"f", 1, 2}, "    1 |  ab\n      |  ^\n"},
		"a control is an escape":   {"a\x1bb\n", Pos{"f", 1, 3}, "    1 | a\\x1bb\n      |      ^\n"},
		"a line that is not there": {"ab\n", Pos{"f", 7, 1}, ""},
		"the file as a whole":      {"ab\n", Pos{"f", 0, 0}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var l List
			l.Errorf(test.pos, "", "wrong")
			_, got, _ := strings.Cut(rendered(t, Renderer{Source: source(test.text)}, &l), "\n")
			expect.Same(t, fmt.Sprintf("%q at %v", test.text, test.pos), got, test.want)
		})
	}
}

func TestTheCaretOfALongLineIsUnderItsCharacter(t *testing.T) {
	t.Parallel()
	for col := 1; col <= 400; col += 7 {
		line := []rune(strings.Repeat("é", 400))
		line[col-1] = 'X'
		var l List
		l.Errorf(Pos{"f", 1, col}, "", "wrong")
		lines := strings.Split(rendered(t, Renderer{Source: source(string(line))}, &l), "\n")
		caret, x := []rune(lines[2]), []rune(lines[1])
		if i := slices.Index(caret, '^'); i < 0 || x[i] != 'X' || len(x) > maxSourceLine+20 {
			t.Errorf("column %d: got\n%s\n%s\nwant the caret below the X", col, lines[1], lines[2])
		}
	}
}

func TestPrivateLinesAreNotShown(t *testing.T) {
	t.Parallel()
	var l List
	l.Add(Diagnostic{Severity: Error, Pos: Pos{"f", 1, 1}, Message: "wrong", Private: true})
	expect.Same(t, "result", rendered(t, Renderer{Source: source("secret\n")}, &l), "f:1:1: wrong\n")
}

func TestColoursAreEscapesAlone(t *testing.T) {
	t.Parallel()
	var l List
	l.Errorf(Pos{"f", 1, 2}, "do that", "wrong")
	l.Warnf(Pos{"f", 1, 1}, "", "advice")
	plain := rendered(t, Renderer{Source: source("ab\n")}, &l)
	coloured := rendered(t, Renderer{Source: source("ab\n"), Color: true}, &l)
	for _, code := range []string{"\x1b[0m", "\x1b[1m", "\x1b[31m", "\x1b[33m", "\x1b[36m"} {
		expect.Contains(t, "coloured", coloured, code)
		coloured = strings.ReplaceAll(coloured, code, "")
	}
	expect.Same(t, "without escapes", coloured, plain)
}

// A word with one slip, of whatever kind, is recognized among the keys of a suite.
func TestOneSlipIsRecognized(t *testing.T) {
	t.Parallel()
	known := []string{
		"version", "name", "service", "targets", "prompts", "scorers", "defaults", "description", "generationConfig",
		"threshold",
	}
	for _, word := range known {
		for i := range len(word) {
			slips := []string{word[:i] + word[i+1:], word[:i] + "x" + word[i:], word[:i] + "x" + word[i+1:]}
			if i > 0 {
				slips = append(slips, word[:i-1]+word[i:i+1]+word[i-1:i]+word[i+1:])
			}
			for _, slip := range append(slips, strings.ToUpper(word)) {
				if got := Nearest(slip, known, 1); !cmp.Equal([]string{word}, got) {
					t.Errorf("%q: got %q, want %q", slip, got, word)
				}
			}
		}
	}
}

func TestHintsNameWhatIsPossible(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 17 {
		many = append(many, fmt.Sprintf("word%d", i))
	}
	for _, test := range []struct {
		word  string
		known []string
		want  string
	}{
		{"nmae", []string{"text", "name"}, "did you mean `name`?"},
		{"zzzzzz", []string{"text", "name"}, "known here: name, text"},
		{"zzzzzz", many, ""},
		{"zzzzzz", nil, ""},
		{"日木", []string{"日本", "name"}, "did you mean `日本`?"},
		{strings.Repeat("x", 1000), []string{"name"}, "known here: name"},
	} {
		expect.Same(t, fmt.Sprintf("%.20q of %q", test.word, test.known), DidYouMean(test.word, test.known), test.want)
	}
	if got := Nearest("scorer", []string{"scorers", "score", "scored", "other"}, 2); len(got) != 2 || slices.Contains(got, "other") {
		t.Errorf("got %q, want the two nearest", got)
	}
}

func TestCleanShowsWhatATerminalWouldObey(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain é 日本 👨‍👩‍👧 שָׁ\n\t": "plain é 日本 👨‍👩‍👧 שָׁ\n\t",
		"\x1b[31mred":        `\x1b[31mred`,
		"a\rb\x00c\x7f":      `a\x0db\x00c\x7f`,
		"\u202eevil\u2069":   `\u202eevil\u2069`,
		"\u200bhidden\ufeff": `\u200bhidden\ufeff`,
		"\xff\xfe":           `\xff\xfe`,
		"\u2028":             `\u2028`,
		"##[error]x":         `##\x5berror]x`,
	} {
		got := Clean(text)
		expect.Same(t, fmt.Sprintf("%q", text), got, want)
		expect.Same(t, "cleaned twice", Clean(got), got)
	}
	for text, want := range map[string]string{
		"a\nb\tc\rd\u2028e": "a b c d e",
		"::error::x":        `\x3a:error::x`,
		" \t::error::x":     `  \x3a:error::x`,
		"a ::error::x":      "a ::error::x",
	} {
		expect.Same(t, fmt.Sprintf("the line %q", text), CleanLine(text), want)
	}
}

// Rows with the same problem are one item, also when the list is full of others; each list counts its own.
func TestRowsWithTheSameProblemAreOneItem(t *testing.T) {
	t.Parallel()
	at := func(line int) Pos { return Pos{"a.csv", line, 1} }
	typo := Diagnostic{Severity: Error, Pos: Pos{"s.yaml", 7, 3}, Message: "unknown key `ignorCase`", Hint: "did you mean `ignoreCase`?"}
	other := typo
	other.Message = "the text is empty"
	var l List
	l.AddRow(typo, at(2))
	l.AddRow(other, at(2))
	l.AddRow(typo, at(3))
	l.AddRow(typo, at(9))
	messages := func() (out []string) {
		for _, d := range l.Sorted() {
			out = append(out, d.Message)
		}
		return out
	}
	want := []string{
		"unknown key `ignorCase` (in the row at a.csv:2:1, and in 2 more)", "the text is empty (in the row at a.csv:2:1)",
	}
	if diff := cmp.Diff(want, messages()); diff != "" || l.Repeated() != 2 {
		t.Errorf("%d repeated, messages (-want +got):\n%s", l.Repeated(), diff)
	}

	l = List{}
	for i := range maxItems {
		l.Errorf(at(i), "", "problem")
	}
	l.AddRow(typo, at(2))
	l.AddRow(typo, at(3))
	expect.Same(t, "items of a full list", l.Len(), maxItems)
	expect.Same(t, "the first of a full list", l.Sorted()[0].Message, "problem")
}

func TestAnotherPlace(t *testing.T) {
	t.Parallel()
	first := Pos{File: "suite.yaml", Line: 3, Col: 5}
	expect.Same(t, "in the same file", first.SeenFrom(Pos{File: "suite.yaml", Line: 9}), "on line 3")
	expect.Same(t, "in another file", first.SeenFrom(Pos{File: "cases.yaml", Line: 9}), "in suite.yaml:3")
}
