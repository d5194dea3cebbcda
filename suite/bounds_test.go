package suite_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/suite"
)

// What is too long or too much is refused with the bound.
func TestWhatIsTooLongIsRefusedWithItsBound(t *testing.T) {
	t.Parallel()
	many := func(n int, one string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(one+", ", n), ", ") + "]"
	}
	scorer := func(text string) string {
		return "prompts: [{name: p, text: hello}]\ncases: [{name: a, scorers: [" + text + "]}]\n"
	}
	classes := make([]string, 251)
	for i := range classes {
		classes[i] = fmt.Sprint("c", i)
	}
	for name, test := range map[string]struct{ text, want, hint string }{
		"items of a list": {scorer("list: {items: " + many(1001, "x") + "}"), "1001 items; at most 1000", "split it into several scorers"},
		"calls": {
			scorer("toolCalls: {calls: " + many(1001, "{name: f}") + "}"),
			"1001 calls; at most 1000", "split them into several scorers",
		},
		"paths": {scorer("xml: {required: " + many(101, "a/b") + "}"), "101 paths; at most 100", "split them into several scorers"},
		"elements of paths": {
			scorer("xml: {required: [" + strings.Repeat("a/", 600) + "a]}"),
			"a path of more than 500 elements", "shorten it",
		},
		"references": {
			scorer("bleu: {min: 0.5, to: [" + strings.Repeat("word ", 60_000) + "]}"),
			"the references have 299999 bytes, `bleu` takes at most 262144", "shorten them",
		},
		"functions": {
			"prompts: [{name: p, text: x, tools: " + many(129, "{name: f}") + "}]\ncases: [{name: a, scorers: [{contains: x}]}]\n",
			"there are 129 tools; at most 128 are allowed", "declare the ones that this prompt needs",
		},
		"classes": {
			"classification: {label: c1, classes: [" + strings.Join(classes, ", ") + "]}\n" + scorer("contains: x"),
			"251 classes are too many: 250 at most", "join the rare ones as `other`",
		},
		"a prompt": {
			"prompts: [{name: p, text: '" + strings.Repeat("hello ", 1<<20) + "'}]\ncases: [{name: a, scorers: [{contains: x}]}]\n",
			"the encoded prompt", "images count in base64, a third more than their files",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, diags := fromText("version: 1\nname: s\ntargets: [{name: pro, model: svc-pro}]\n"+test.text, suite.Options{})
			var got []string
			for _, d := range diags.Sorted() {
				got = append(got, d.Message+": "+d.Hint)
				if strings.Contains(d.Message, test.want) && d.Hint == test.hint {
					return
				}
			}
			t.Errorf("got %.500q, want %q with the hint %q", got, test.want, test.hint)
		})
	}
}
