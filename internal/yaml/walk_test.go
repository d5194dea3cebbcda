package yaml

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// parsed reads a document that must be walkable.
func parsed(t *testing.T, src string) (Node, *diag.List) {
	t.Helper()
	var diags diag.List
	n, ok := Parse("f.yaml", []byte(src), &diags)
	if !ok {
		t.Fatalf("%q: got %v, want no problem", src, diags.Sorted())
	}
	return n, &diags
}

// problems are what a list holds, a line each, without hints.
func problems(diags *diag.List) []string {
	var out []string
	for _, d := range diags.Sorted() {
		out = append(out, fmt.Sprintf("%s: %s", d.Pos, d.Message))
	}
	return out
}

func at(line, col int) diag.Pos { return diag.Pos{File: "f.yaml", Line: line, Col: col} }

func TestPositionsCountLinesAndCodePoints(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		src  string
		want diag.Pos // of the value of k
	}{
		"plain":                        {"k: v\n", at(1, 4)},
		"behind wide characters":       {"{日本: 1, k: v}\n", at(1, 12)},
		"behind a joined emoji":        {"{👨‍👩‍👧: 1, k: v}\n", at(1, 15)},
		"behind a mark":                {"{e\u0301: 1, k: v}\n", at(1, 12)},
		"quoted":                       {"a: 1\nk:   'v'\n", at(2, 6)},
		"a block":                      {"k: |\n  v\n", at(1, 4)},
		"a list":                       {"k:\n  - v\n", at(2, 3)},
		"lines that end in CRLF":       {"a: 1\r\nb: 2\r\nk: v\r\n", at(3, 4)},
		"lines that end in CR":         {"a: 1\rk: v\r", at(2, 4)},
		"behind a byte order mark":     {"\ufeffk: v\n", at(1, 4)},
		"behind a %YAML line":          {"%YAML 1.2\n---\nk: v\n", at(3, 4)},
		"behind a comment":             {"# ééé\nk: v # x\n", at(2, 4)},
		"in a document with its marks": {"---\nk: v\n...\n", at(2, 4)},
		"an alias is where it is used": {"a: &x v\nk: *x\n", at(2, 4)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, diags := parsed(t, test.src)
			if diff := cmp.Diff(test.want, n.Map().Need("k").Pos()); diff != "" || diags.Len() > 0 {
				t.Errorf("%q: %v (-want +got):\n%s", test.src, problems(diags), diff)
			}
		})
	}
}

func TestOffsetFindsAByteOfAText(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		src, find string // the byte where this text begins
		want      diag.Pos
	}{
		"plain":                     {"k: see {{.x}}\n", "{{.x}}", at(1, 8)},
		"quoted":                    {"k: \"see {{.x}}\"\n", "{{.x}}", at(1, 9)},
		"behind wide characters":    {"k: 日本 {{.x}}\n", "{{.x}}", at(1, 7)},
		"in the line of a block":    {"k: |\n  first\n    {{.x}}\n", "{{.x}}", at(3, 5)},
		"in a folded block":         {"k: >-\n  one\n  two {{.x}}\n", "{{.x}}", at(3, 7)},
		"lines that end in CRLF":    {"k: |\r\n  one\r\n  two {{.x}}\r\n", "{{.x}}", at(3, 7)},
		"the second of the same":    {"k: '{{.x}}b{{.x}}c'\n", "{{.x}}c", at(1, 12)},
		"behind an escaped letter":  {"k: \"\\u00e9 {{.x}}\"\n", "{{.x}}", at(1, 12)},
		"a quote that is doubled":   {"k: 'it''s {{.x}}'\n", "{{.x}}", at(1, 11)},
		"of a text used by alias":   {"a: &x see {{.x}}\nk: *x\n", "{{.x}}", at(1, 11)},
		"the beginning of the text": {"k: '{{.x}}'\n", "{{.x}}", at(1, 5)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, _ := parsed(t, test.src)
			v := n.Map().Need("k")
			i := strings.Index(v.Str(), test.find)
			if i < 0 {
				t.Fatalf("%q: got no %q, want it", v.Str(), test.find)
			}
			expect.Same(t, fmt.Sprintf("%q", test.src), v.Offset(i), test.want)
		})
	}
}

func TestAnchorsAliasesAndMergeKeysAreResolved(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ src, want string }{
		"an alias is a value":               {"a: &x [1, 2]\nb: *x\n", `{"a":[1,2],"b":[1,2]}`},
		"an alias of an alias's part":       {"a: &x {b: &y 1}\nc: *y\nd: *x\n", `{"a":{"b":1},"c":1,"d":{"b":1}}`},
		"an anchor that is given again":     {"a: &x 1\nb: *x\nc: &x 2\nd: *x\n", `{"a":1,"b":1,"c":2,"d":2}`},
		"a merged key":                      {"a: &x {k: 1}\nb: {<<: *x, l: 2}\n", `{"a":{"k":1},"b":{"l":2,"k":1}}`},
		"an own key wins over a merged one": {"a: &x {k: 1}\nb: {<<: *x, k: 2}\n", `{"a":{"k":1},"b":{"k":2}}`},
		"an own key before the merge wins":  {"a: &x {k: 1}\nb: {k: 2, <<: *x}\n", `{"a":{"k":1},"b":{"k":2}}`},
		"of several merged the first wins": {
			"a: &x {k: 1}\nb: &y {k: 2, l: 3}\nc: {<<: [*x, *y]}\n", `{"a":{"k":1},"b":{"k":2,"l":3},"c":{"k":1,"l":3}}`,
		},
		"a merged mapping that merges itself": {
			"a: &x {k: 1}\nb: &y {<<: *x, l: 2}\nc: {<<: *y}\n", `{"a":{"k":1},"b":{"l":2,"k":1},"c":{"l":2,"k":1}}`,
		},
		"a mapping written into the merge": {"b: {<<: {k: 1}, l: 2}\n", `{"b":{"l":2,"k":1}}`},
		"a quoted << is a key like others": {"b: {\"<<\": 1}\n", `{"b":{"\u003c\u003c":1}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, diags := parsed(t, test.src)
			got := string(n.JSON(nil))
			if diff := cmp.Diff(test.want, got); diff != "" || diags.Len() > 0 {
				t.Errorf("%q: %v (-want +got):\n%s", test.src, problems(diags), diff)
			}
		})
	}
}

func TestMappingsReportTheirKeys(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		src  string
		want []string
	}{
		"twice": {"name: a\ntext: b\nname: c\n", []string{"f.yaml:3:1: duplicate key `name`, first on line 1"}},
		"three times": {
			"name: a\nname: b\nname: c\n",
			[]string{"f.yaml:2:1: duplicate key `name`, first on line 1", "f.yaml:3:1: duplicate key `name`, first on line 1"},
		},
		"twice in quotes and without": {"name: a\n\"name\": b\n", []string{"f.yaml:2:1: duplicate key `name`, first on line 1"}},
		"unknown":                     {"nmae: a\n", []string{"f.yaml:1:1: unknown key `nmae`"}},
		"unknown by a merge":          {"<<: {nmae: a}\n", []string{"f.yaml:1:6: unknown key `nmae`"}},
		"a list for a key":            {"? [a]\n: b\n", []string{"f.yaml:1:3: expected a key, found a list"}},
		"a merge of a text":           {"<<: x\n", []string{"f.yaml:1:5: `<<` takes a mapping, found \"x\""}},
		"composed and decomposed differ": {
			"{\"e\\u0301\": 1, \"\\u00e9\": 2}\n",
			[]string{"f.yaml:1:2: unknown key `e\u0301`", "f.yaml:1:16: unknown key `é`"},
		},
		"none":            {"[a]\n", []string{"f.yaml:1:1: expected a mapping, found a list"}},
		"several at once": {"text: 1\nx: 1\ny: 1\n", []string{"f.yaml:2:1: unknown key `x`", "f.yaml:3:1: unknown key `y`"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, diags := parsed(t, test.src)
			n.Map("name", "text")
			expect.Same(t, fmt.Sprintf("%q", test.src), problems(diags), test.want)
		})
	}
}

func TestUnknownKeysHaveAHint(t *testing.T) {
	t.Parallel()
	n, diags := parsed(t, "scorer: 1\n")
	n.Map("scorers", "cases").Need("cases")
	d := diags.Sorted()
	if len(d) != 2 || d[1].Hint != "did you mean `scorers`?" && d[0].Hint != "did you mean `scorers`?" {
		t.Errorf("got %+v, want the hint scorers and a missing key", d)
	}
	expect.Same(t, "problems", problems(diags), []string{"f.yaml:1:1: unknown key `scorer`", "f.yaml:1:1: the key `cases` is missing"})
}

// laughs is a mapping of n levels; each names the one before nine times.
func laughs(n int) string {
	var b strings.Builder
	b.WriteString("a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n")
	for i := 1; i < n; i++ {
		alias := fmt.Sprintf("*a%d", i-1)
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.Join([]string{alias, alias, alias, alias, alias, alias, alias, alias, alias}, ", "))
	}
	return b.String()
}

func TestHostileFilesAreRefused(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range maxKeys + 1 {
		many.WriteString("k" + strconv.Itoa(i) + ": 1\n")
	}
	for name, test := range map[string]struct{ src, want string }{
		"a billion laughs":       {laughs(10), "aliases expand to more than 100000 values"},
		"an alias of itself":     {"&a [*a]\n", "nested deeper than 64 levels"},
		"a mapping of itself":    {"a: &a\n  b: *a\n", "nested deeper than 64 levels"},
		"a merge of itself":      {"a: &a\n  <<: *a\n", "nested deeper than 64 levels"},
		"deep nesting":           {strings.Repeat("[", 70) + strings.Repeat("]", 70), "nested deeper than 64 levels"},
		"very deep nesting":      {strings.Repeat("[", 200_000), "not valid YAML"},
		"a mapping of many keys": {many.String(), "a mapping of 10001 keys; at most 10000 are read"},
		"many items":             {"[" + strings.Repeat("1,", maxEntries+1) + "1]", "outside of block texts; at most 190000 are read"},
		"many lines":             {strings.Repeat("\n", maxEntries+1) + "a: 1", "outside of block texts; at most 190000 are read"},
		"a large file":           {"a: " + strings.Repeat("x", MaxFileBytes), "at most 16777216 are read"},
		"a tag of a program":     {"a: !!python/object:os.system x\n", "is not supported"},
		"an own tag":             {"a: !include x.yaml\n", "the YAML tag `!include` is not supported"},
		"binary":                 {"a: !!binary aGk=\n", "the YAML tag `!!binary` is not supported"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var diags diag.List
			n, ok := Parse("f.yaml", []byte(test.src), &diags)
			got := problems(&diags)
			if ok || !n.IsZero() || len(got) != 1 || !strings.Contains(got[0], test.want) {
				t.Errorf("got %q and %v, want one problem with %q", got, ok, test.want)
			}
		})
	}
}

func TestModestSharingIsAllowed(t *testing.T) {
	t.Parallel()
	n, diags := parsed(t, laughs(4)) // 9 to the power of 4, and what leads there
	if got := len(n.Map().Need("a3").Seq()); got != 9 || diags.Len() > 0 {
		t.Errorf("got %d items and %v, want 9", got, problems(diags))
	}
	deep := strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth)
	if n, _ := parsed(t, deep); string(n.JSON(nil)) != deep {
		t.Errorf("got %s, want %s", n.JSON(nil), deep)
	}
}

func TestSyntaxErrorsHaveTheirPlace(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		src  string
		want diag.Pos
		hint string
	}{
		"a tab for indentation":       {"a:\n\tb: 1\n", at(2, 1), "indent with spaces, not tabs"},
		"a sign that begins no text":  {"a: 1\nb: @x\n", at(2, 4), "quote a text that begins with @"},
		"behind wide characters":      {"a: 1\n日本: @x\n", at(2, 5), "quote a text that begins with @"},
		"a colon inside of a text":    {"a: b: c\n", at(1, 5), "quote a text that holds a colon"},
		"an unknown anchor":           {"a: 1\nb: *nothing\n", at(2, 4), "quote a text that begins with *"},
		"a control character":         {"a: 1\nb: x\x01y\n", at(2, 5), "save the file as UTF-8 text"},
		"bytes that are no UTF-8":     {"a: 1\nb: \xff\n", at(2, 4), "save the file as UTF-8 text"},
		"an open bracket":             {"a: [1, 2\nb: 3\n", at(1, 1), "is a bracket missing?"},
		"brackets next to a template": {"a: {b: \"{{x}}\", c: .d // []}\n", at(1, 1), "inside [ ] and { } quote a text that holds"},
		"a template without quotes":   {"a: {{.x}} y\n", at(1, 4), "quote a text that begins with {{"},
		"a second document":           {"a: 1\n---\nb: 2\n", at(2, 1), ""},
		"after lines that end in CRs": {"a: 1\r\nb: @x\r\n", at(2, 4), "quote a text that begins with @"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var diags diag.List
			_, ok := Parse("f.yaml", []byte(test.src), &diags)
			d := diags.Sorted()
			if ok || len(d) != 1 {
				t.Fatalf("%q: got %v, want one problem", test.src, d)
			}
			if diff := cmp.Diff(test.want, d[0].Pos); diff != "" || !strings.Contains(d[0].Hint, test.hint) {
				t.Errorf("%q: %s, hint %q, want %q (-want +got):\n%s", test.src, d[0].Message, d[0].Hint, test.hint, diff)
			}
		})
	}
}

// The caret of a syntax error is under its character as a terminal shows the line.
func TestCaretsAreUnderWideAndJoinedCharacters(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before string
		cells  int
	}{
		"ASCII": {"ab", 2}, "Han": {"日本", 4}, "a joined emoji": {"👨‍👩‍👧", 2}, "a mark": {"e\u0301", 1}, "Hebrew with points": {"שָׁ", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src := []byte(test.before + ": @x\n")
			var diags diag.List
			Parse("f.yaml", src, &diags)
			var b strings.Builder
			expect.OK(t, (diag.Renderer{Source: func(string) []byte { return src }}).Render(&b, &diags))
			want := "      | " + strings.Repeat(" ", test.cells+2) + "^"
			if got := strings.Split(b.String(), "\n"); len(got) < 3 || got[2] != want {
				t.Errorf("%s\nwant the caret's line %q", b.String(), want)
			}
		})
	}
}

func TestEmptyFilesAreReported(t *testing.T) {
	t.Parallel()
	for _, src := range []string{"", "\n\n", "# only a comment\n", "\ufeff", "---\n...\n"} {
		var diags diag.List
		n, ok := Parse("f.yaml", []byte(src), &diags)
		if ok && !n.IsNull() || !ok && diags.Len() != 1 {
			t.Errorf("%q: %v, %v, want null, or one problem", src, ok, problems(&diags))
		}
	}
}

func TestScalarsAreReadStrictly(t *testing.T) {
	t.Parallel()
	str := func(n Node) any { return n.Str() }
	number := func(n Node) any { return n.Int(-10, 100) }
	float := func(n Node) any { return n.Float(0, 1) }
	boolean := func(n Node) any { return n.Bool() }
	duration := func(n Node) any { return n.Duration() }
	word := func(n Node) any { return n.Word("auto", "never") }
	for name, test := range map[string]struct {
		src  string
		read func(Node) any
		want any
		says string // "" for nothing
	}{
		"a text keeps its zeros":             {"1.10", str, "1.10", ""},
		"yes is a text":                      {"yes", str, "yes", ""},
		"a date is a text":                   {"2027-01-31", str, "2027-01-31", ""},
		"a boolean as a text":                {"TRUE", str, "TRUE", ""},
		"an empty text":                      {"''", str, "", ""},
		"null is no text":                    {"~", str, "", "expected a text, found nothing"},
		"a list is no text":                  {"[a]", str, "", "expected a text, found a list"},
		"braces of a template":               {"{{.x}}", str, "", "expected a text, found a mapping in braces"},
		"a whole number":                     {"42", number, 42, ""},
		"with a sign":                        {"+7", number, 7, ""},
		"octal":                              {"010", number, 0, "`010` is not a whole number"},
		"octal with its letter":              {"0o10", number, 0, "`0o10` is not a whole number"},
		"hexadecimal":                        {"0x10", number, 0, "`0x10` is not a whole number"},
		"with underscores":                   {"1_0", number, 0, "is not a whole number"},
		"too large":                          {"101", number, 0, "101 is out of range: between -10 and 100"},
		"far too large":                      {"99999999999999999999", number, 0, "is out of range"},
		"a fraction":                         {"1.5", number, 0, "`1.5` is not a whole number"},
		"a quoted number":                    {"'42'", number, 0, `expected a whole number, found "42"`},
		"a float":                            {"0.25", float, 0.25, ""},
		"a float that begins with its point": {".5", float, 0.5, ""},
		"infinite":                           {".inf", float, 0.0, "`.inf` is not a number"},
		"not a number":                       {".nan", float, 0.0, "`.nan` is not a number"},
		"a float out of range":               {"1.01", float, 0.0, "1.01 is out of range: between 0 and 1"},
		"true":                               {"true", boolean, true, ""},
		"yes is no boolean":                  {"yes", boolean, false, `expected true or false, found "yes"`},
		"a quoted boolean":                   {"'true'", boolean, false, `expected true or false, found "true"`},
		"a duration":                         {"1m30s", duration, 90 * time.Second, ""},
		"a duration without its unit":        {"90", duration, time.Duration(0), "`90` is not a duration"},
		"a negative duration":                {"-1s", duration, time.Duration(0), "`-1s` is not above zero"},
		"no time at all":                     {"0s", duration, time.Duration(0), "`0s` is not above zero"},
		"a word":                             {"auto", word, "auto", ""},
		"another word":                       {"atuo", word, "", "`atuo` is not known here"},
		"a mapping for a word":               {"{a: b}", word, "", "expected a word, found a mapping"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, diags := parsed(t, "k: "+test.src+"\n")
			got := test.read(n.Map().Need("k"))
			expect.Same(t, test.src, got, test.want)
			said := strings.Join(problems(diags), "\n")
			if test.says == "" && said != "" || !strings.Contains(said, test.says) {
				t.Errorf("%s: reported %q, want %q", test.src, said, test.says)
			}
		})
	}
}

// An accessor of what is absent reports nothing and returns nothing.
func TestAbsentValuesAreSilent(t *testing.T) {
	t.Parallel()
	n, diags := parsed(t, "a: 1\n")
	absent := n.Map("a").Get("b")
	got := []any{
		absent.Str(), absent.Int(1, 2), absent.Float(1, 2), absent.Bool(), absent.Duration(), absent.Word("x"), len(absent.Seq()),
		len(absent.Items()), len(absent.Strings()), absent.Map("x").Len(), absent.IsZero(), absent.Map("x").Need("y").IsZero(),
	}
	want := []any{"", 0, 0.0, false, time.Duration(0), "", 0, 0, 0, 0, true, true}
	if diff := cmp.Diff(want, got); diff != "" || diags.Len() > 0 {
		t.Errorf("%v (-want +got):\n%s", problems(diags), diff)
	}
}

func TestRewriteLetsATextBeANumber(t *testing.T) {
	t.Parallel()
	n, diags := parsed(t, "a: '{{.x}}'\nb: ['{{.x}}', 7, x]\nc: '7'\n")
	out := n.Rewrite(func(_ Node, text string) eval.Value { return strings.ReplaceAll(text, "{{.x}}", "42") }).Map()
	got := []any{out.Get("a").Int(0, 100), out.Get("b").Seq()[0].Float(0, 100), out.Get("c").IsNumber(), n.Map().Get("a").Str()}
	if diff := cmp.Diff([]any{42, 42.0, false, "{{.x}}"}, got); diff != "" || diags.Len() > 0 {
		t.Errorf("%v (-want +got):\n%s", problems(diags), diff)
	}
	expect.Same(t, "the place of a rewritten text", out.Get("b").Seq()[0].Pos(), at(2, 5))
	expect.Same(t, "texts", out.Get("b").Strings(), []string{"42", "7", "x"})
}

// A problem in a cell is reported where the cell is.
func TestAtMovesAProblemToItsCell(t *testing.T) {
	t.Parallel()
	n, diags := parsed(t, "a:\n  - b: [c]\n")
	cell := diag.Pos{File: "rows.csv", Line: 7, Col: 2}
	n.At(cell).Map("a").Need("a").Seq()[0].Map("x").Need("b")
	if diff := cmp.Diff([]string{"rows.csv:7:2: unknown key `b`", "rows.csv:7:2: the key `b` is missing"}, problems(diags)); diff == "" {
		t.Fatal("the key b is there, want it missing")
	}
	expect.Same(t, "problems", problems(diags), []string{"rows.csv:7:2: unknown key `b`"})
}
