package yaml

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
)

// FuzzParse checks that what cannot be walked is an error. Every accessor of the rest reports inside the file, and the
// value as JSON is JSON.
func FuzzParse(f *testing.F) {
	for _, s := range append(
		hostile.Strings(), "a: 1\nb: [x, 1.10, .5, +3, 0o7, 0x1F, .inf, ~]\n", "&a [*a]",
		"b: &x {k: v}\nc: {<<: *x, k: w}\nd: {<<: [*x, *x]}\n", "a: |\n  x\n  y\nb: >-\n  z\n",
		"%YAML 1.2\n---\na: 'b'\n", "{{.x}}: {{y}}", "? [a]\n: b\n", "a: !!binary x", "a: 1\na: 2",
		"- 2001-01-01\n- yes\n- TRUE\n- 1_000\n", "a: \"\\U0001F600\\x01\"", "\ufeffa: b\r\nc: d\r\n", "?",
	) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		var diags diag.List
		n, ok := Parse("f.yaml", src, &diags)
		if ok == diags.HasErrors() || ok == n.IsZero() {
			t.Fatalf("%v, and %v, want a value, or problems", ok, diags.Sorted())
		}
		if ok {
			checkNode(t, n)
		}
		lines := 2 // what is missing at the end is on a line of its own
		for _, end := range []string{"\n", "\r", "\u2028", "\u2029", "\u0085"} {
			lines += strings.Count(string(src), end)
		}
		for _, d := range diags.Sorted() {
			if d.Pos.File != "f.yaml" || d.Message == "" || !within(d.Pos, lines, len(src)+1) {
				t.Errorf("%+v, want a message at a place of the file", d)
			}
		}
	})
}

// checkNode reads all of a node, which is the same when it is rewritten to itself.
func checkNode(t *testing.T, n Node) {
	t.Helper()
	walk(n)
	data := n.JSON(nil)
	if !json.Valid(data) {
		t.Errorf("%s, want JSON", data)
	}
	same := n.Rewrite(func(_ Node, text string) eval.Value { return text })
	expect.Same(t, "rewritten to itself", string(same.JSON(nil)), string(data))
}

func within(p diag.Pos, lines, columns int) bool {
	return p.Line >= 0 && p.Line <= lines && p.Col >= 0 && p.Col <= columns
}

// walk calls every accessor of a value.
func walk(n Node) {
	for _, part := range n.Items() {
		_, _, _, _, _ = part.Word("a"), part.Int(-5, 5), part.Float(-5, 5), part.Bool(), part.Duration()
		_, _, _ = part.Strings(), part.Describe(), part.Seq()
	}
	n.EachText(func(at Node, text string) { at.ErrorfAt(len(text)/2, "", "here") })
	for e := range n.Map("a", "b").Entries() {
		_ = e.Value.Str()
		e.Value.Map().Need("k").Str()
		e.Key.Warnf("", "there")
	}
}

// FuzzText holds that every text, escaped as YAML wants it, is read back as it was, by Str and as JSON.
func FuzzText(f *testing.F) {
	for _, s := range hostile.Strings() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if text = strings.ToValidUTF8(text, "?"); len(text) > 1000 {
			return
		}
		var b strings.Builder
		for _, r := range text {
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		var diags diag.List
		n, ok := Parse("f.yaml", []byte("k: \""+b.String()+"\"\n"), &diags)
		if !ok {
			t.Fatalf("%q: got %v, want no problem", text, diags.Sorted())
		}
		value := n.Map("k").Need("k")
		isText(t, value, text)
		if diags.Len() > 0 {
			t.Errorf("%q: got %v, want no problem", text, diags.Sorted())
		}
		columns := 10*utf8.RuneCountInString(text) + 6
		for i := range text {
			if p := value.Offset(i); p.Line != 1 || p.Col < 4 || p.Col > columns {
				t.Errorf("byte %d of %q is at %v, want a column of the line", i, text, p)
			}
		}
	})
}

func isText(t *testing.T, n Node, want string) {
	t.Helper()
	expect.Same(t, "n.Str()", n.Str(), want)
	var got string
	if err := json.Unmarshal(n.JSON(nil), &got); err != nil || got != want {
		t.Errorf("as JSON: got %q (%v), want %q", got, err, want)
	}
}
