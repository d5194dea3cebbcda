package yaml

import (
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// Lines of block texts hold no values, and count for none. What only looks like a block text counts.
func TestEntriesLeaveOutBlockTexts(t *testing.T) {
	t.Parallel()
	const text = "\n      one, two\n\n      three, four\n"
	for name, test := range map[string]struct {
		src  string
		want int
	}{
		"a block text":                 {"a:\n  - name: x\n    b: |" + text + "    c: d, e\n", 5},
		"folded, with indicators":      {"a: >-2" + text + "b: c\n", 2},
		"with properties and comment":  {"a: &x !!str |+" + text + "b: c\n", 2},
		"an item":                      {"- |" + text + "- b\n", 2},
		"an item of an item":           {"- - |" + text + "- b\n", 2},
		"a key of an item":             {"- a: |" + text + "  b: c\n- d\n", 3},
		"the key of an item ends it":   {"- a: |\n  b, c: d\n", 3},
		"windows":                      {"a: |\r\n  b, c\r\nd: e\r\n", 2},
		"a comment is none":            {"a: b # c: |\n  , ,\n", 4},
		"a line of comment is none":    {"# c: |\n  a, b: [1, 2]\n", 4},
		"a word is none":               {"a: b |\n  , ,\n", 4},
		"brackets of a line are none":  {"a: [b |\n  , ,]\n", 4},
		"it ends where it is indented": {"a:\n  b: |\n    c, d\n  e: f, g\n h: [i, j]\n", 6},
	} {
		expect.Same(t, name, entries([]byte(test.src)), test.want)
	}
}

// A thousand cases with long texts are no hostile file.
func TestManyLongTextsLoad(t *testing.T) {
	t.Parallel()
	src := "cases:\n" + strings.Repeat("  - text: |\n"+strings.Repeat("      a line, with commas, of a long text\n", 200), 1000)
	n, diags := parsed(t, src)
	if got := len(n.Map().Get("cases").Seq()); got != 1000 || diags.Len() > 0 {
		t.Errorf("got %d cases and %v, want 1000", got, problems(diags))
	}
}
