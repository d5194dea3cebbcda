package term

import (
	"bytes"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

func paged(t *testing.T, markdown string, width int, color bool) string {
	t.Helper()
	var b bytes.Buffer
	expect.OK(t, Page(Screen{Writer: &b, Width: width, Color: color}, markdown))
	return b.String()
}

func TestPageSetsHeadingsAndCodeApart(t *testing.T) {
	t.Parallel()
	text := "# A `title`\n\nSome text with **weight**, [a page](../how-to/data.md#rows) and\n[elsewhere](https://host.example/x).\n\n" +
		"## Part\n" +
		"```sh\nevalrun run x # no heading | no table\n```\n\n```yaml s.yaml\nname: s\n```\n\n" +
		"- one\n  more of it\n- two\n\n![a picture](x.svg)\n### Small\n\nEnd.\n"
	expect.Same(t, "the page", paged(t, text, 40, false), `A `+"`title`"+`
=========

Some text with weight, a page (see
data#rows) and elsewhere
(https://host.example/x).

Part
----

    evalrun run x # no heading | no table

    s.yaml:

    name: s

- one more of it
- two

Small

End.
`)
	colored := paged(t, text, 40, true)
	for _, want := range []string{"\x1b[1mPart\x1b[0m\n", "\x1b[36m    evalrun run x # no heading | no table\x1b[0m\n"} {
		expect.Contains(t, "result", colored, want)
	}
}

func TestPageFitsTablesIntoTheWidth(t *testing.T) {
	t.Parallel()
	text := "| key | value |\n|---|---|\n| `a \\| b` | a text that is longer than a line |\n| c | |\n"
	expect.Same(t, "wide", paged(t, text, 60, false),
		"key      value\n"+strings.Repeat("-", 42)+"\n`a | b`  a text that is longer than a line\nc\n")
	expect.Same(t, "narrow", paged(t, text, 30, false),
		"key      value\n"+strings.Repeat("-", 30)+"\n`a | b`  a text that is longer\n         than a line\nc\n")
	three := "| who | what | why |\n|---|---|---|\n| somebody | somethingverylong | for a reason |\n"
	expect.Same(t, "cell below cell", paged(t, three, 24, false), "somebody\n  what:\n  somethingverylong\n  why: for a reason\n")
}

// FuzzPage holds that every word is shown, whatever the width.
func FuzzPage(f *testing.F) {
	f.Add("# x\n| a | b |\n|--|--|\n| c |\nword", 20)
	f.Add("|\n|-\n- \n1. x\n![\n[a](b.md)\n", 1)
	f.Fuzz(func(t *testing.T, text string, width int) {
		shown := paged(t, text+"\n\nlast words\n", min(max(width, 1), 200), false)
		if strings.Count(text, "```") == 0 && !strings.Contains(strings.Join(strings.Fields(shown), " "), "last words") {
			t.Errorf("%q at %d columns is %q, want the last words", text, width, shown)
		}
	})
}
