package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
)

const mega = 1_000_000

// filled is a text of a million bytes, or a little more.
func filled(part string) string { return strings.Repeat(part, mega/len(part)+1) }

// deep is a list in which each item is in the one before.
func deep(levels int) string {
	var b strings.Builder
	for i := range levels {
		b.WriteString(strings.Repeat("  ", i) + "- a\n")
	}
	return b.String()
}

// attacks are texts on which careless readers of Markdown take a time that grows with the square of the length, or nest without end.
var attacks = map[string]string{
	"stars":                  filled("*"),
	"openers":                filled("*a **b _c __d "),
	"closers":                filled("a* b** c_ "),
	"nested emphasis":        strings.Repeat("*a **b ", mega/14) + strings.Repeat(" b** a*", mega/14),
	"underscores in words":   filled("a_b"),
	"brackets":               filled("["),
	"closing brackets":       filled("]"),
	"links in links":         strings.Repeat("[", mega/2) + strings.Repeat("a](b)", mega/10),
	"images in images":       strings.Repeat("![a", mega/6) + strings.Repeat("](b)", mega/8),
	"links without an end":   filled("[a](b"),
	"angles without an end":  filled("[a](<b ") + ">",
	"titles without an end":  filled(`[a](b "`),
	"addresses":              filled("http://a"),
	"brackets in an address": "http://" + filled("a)"),
	"runs of backticks":      filled("` `` ``` ```` "),
	"entities":               filled("&aaaaaaa"),
	"backslashes":            filled(`\`),
	"quotes":                 filled(">"),
	"quotes of lists":        filled("> - "),
	"lists in a line":        filled("- "),
	"lists in lists":         deep(1000),
	"items":                  filled("- a\n"),
	"headings":               filled("# a\n"),
	"a heading of blanks":    "# " + filled(" ") + "x",
	"fences":                 filled("```\n````\n~~~\n"),
	"a fence without an end": "```\n" + filled("*a*\n"),
	"rules":                  filled("-") + "x",
	"columns":                filled("|a") + "|\n" + filled("|-") + "|\n" + filled("|b") + "|",
	"rows":                   "|a|b|\n|-|-|\n" + filled("|1|2|\n"),
	"nearly tables":          filled("|a|\n|-|-|\n"),
	"lines":                  filled("a  \n"),
	"a lazy quote":           "> a\n" + filled("b\n"),
	"tabs":                   filled("\t"),
	"direction":              filled("\u202e*a*"),
}

// renderer is what draws Markdown and JSON, as an expression.
func renderer(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, name := range []string{"dom", "numbers", "inline", "markdown", "json"} {
		data, err := os.ReadFile("../internal/page/html/" + name + ".js")
		expect.OK(t, err)
		b.Write(data)
	}
	return fmt.Sprintf(`window.draw = (() => { 'use strict'; %s; return {drawMarkdown, drawJSON}; })(); 0`, b.String())
}

// drawn is what became of a text: how many elements, how deep, and what should not be among them.
type drawn struct {
	Elements, Depth int
	Unwanted        []string
}

// look draws Markdown and looks at it; what is not too long is put into the page. Elements that load, run or take input are unwanted.
const look = `(text => {
	const root = draw.drawMarkdown(text), words = text => new Set(text.split(' '));
	const tags = words('div p pre h3 h4 h5 h6 ul ol li blockquote table thead tbody tr th td a span bdi em strong del code br hr');
	const attributes = words('class dir tabindex role aria-label scope start href target rel');
	const out = {Elements: 0, Depth: 0, Unwanted: []}, todo = [[root, 1]];
	if (text.length < 60_000) document.body.append(root);
	while (todo.length > 0) {
		const [el, depth] = todo.pop();
		out.Elements++;
		out.Depth = Math.max(out.Depth, depth);
		if (!tags.has(el.localName)) out.Unwanted.push(el.localName);
		for (const a of el.attributes) if (!attributes.has(a.name)) out.Unwanted.push(a.name);
		if (el.localName === 'a' && !/^(https?|mailto):/.test(el.protocol)) out.Unwanted.push(el.href);
		for (const child of el.children) todo.push([child, depth + 1]);
	}
	root.getBoundingClientRect();
	root.remove();
	return out;
})`

// No text hangs the page, fills it, or gets an element into it that loads or runs something. A text that takes long fails by the time
// that the browser has for a test.
func TestMarkdownRunsAndLoadsNothing(t *testing.T) {
	t.Parallel()
	run, trials := readRun()
	b := open(t, record(t, run, trials, nil), 800, 600, "light")
	evaluate[int](b, renderer(t))
	all := map[string]string{
		"scripts": `<script>alert(1)</script> <img src=http://127.0.0.1:9/x onerror=alert(1)> [a](javascript:alert(1)) ` +
			`[b](JAVASCRIPT&#58;alert(1)) [c](data:text/html,<script>alert(1)</script>) ![d](http://127.0.0.1:9/x.png) ` +
			"<javascript:alert(1)> [e](vbscript:x) [f](\u0001javascript:x) " +
			"[g](<java\tscript:x>) [h](//127.0.0.1:9/) [i](#/cases) [j](file:///x) [![k](http://127.0.0.1:9/k.png)](javascript:k)",
	}
	for name, text := range attacks {
		all[name], all["the beginning of "+name] = text, text[:50_000]
	}
	for i, text := range hostile.Strings() {
		all[fmt.Sprint("hostile ", i)] = strings.ReplaceAll("X\n\n- X\n\n|a|\n|-|\n|X|\n\n[X](X) ![X](X)", "X", text)
	}
	for name, text := range all {
		quoted, err := json.Marshal(text)
		expect.OK(t, err)
		got := evaluate[drawn](b, look+"("+string(quoted)+")")
		if got.Elements > 30_000 || got.Depth > 150 || len(got.Unwanted) > 0 {
			t.Errorf("%s: %d elements, %d deep, unwanted: %.5q", name, got.Elements, got.Depth, got.Unwanted)
		}
	}
	b.quiet()
}

// JSON is indented as it is written, however deep it is; anything else is no JSON.
func TestJSONIsIndentedAsWritten(t *testing.T) {
	t.Parallel()
	run, trials := readRun()
	b := open(t, record(t, run, trials, nil), 800, 600, "light")
	evaluate[int](b, renderer(t))
	draw := func(text string) string {
		t.Helper()
		quoted, err := json.Marshal(text)
		expect.OK(t, err)
		return evaluate[string](b, `(el => el === null ? 'no JSON' : el.textContent)(draw.drawJSON(`+string(quoted)+`))`)
	}
	for text, want := range map[string]string{
		`{"a":1,"a":1.0e5,"b":[1,{"c":"x, y: [z]"}],"d":{},"e":[ ]}`: "{\n  \"a\": 1,\n  \"a\": 1.0e5,\n  \"b\": [\n    1,\n" +
			"    {\n      \"c\": \"x, y: [z]\"\n    }\n  ],\n  \"d\": {},\n  \"e\": []\n}",
		" [\"\\\"\\\\\"] ":       "[\n  \"\\\"\\\\\"\n]",
		"```json\n[1]\n```":      "[\n  1\n]",
		"[1] and more":           "no JSON",
		"{'a': 1}":               "no JSON",
		"12":                     "no JSON",
		"":                       "no JSON",
		"```\nno\n```":           "no JSON",
		"[\"\u202e\"]":           "[\n  \"[U+202E]\"\n]",
		`{"__proto__": {"a":1}}`: "{\n  \"__proto__\": {\n    \"a\": 1\n  }\n}",
	} {
		if got := draw(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for name, text := range map[string]string{
		"deep": strings.Repeat("[", mega/20) + strings.Repeat("]", mega/20), // each with its indentation: some 7 MB
		"long": "[" + filled("1,") + "1]",
		"keys": "{" + filled(`"a":"b",`) + `"a":1}`,
	} {
		if got := draw(text); got != "no JSON" && len(strings.Join(strings.Fields(got), "")) != len(text) {
			t.Errorf("%s: %d bytes of %d, want all of them", name, len(strings.Join(strings.Fields(got), "")), len(text))
		}
	}
	b.quiet()
}

// Hostile answers are read as Markdown, as JSON and side by side: they run nothing and ask for nothing.
func TestHostileAnswersAreReadAndRunNothing(t *testing.T) {
	t.Parallel()
	run, trials := hostileRun()
	b := open(t, record(t, run, trials, nil), 1280, 900, "light")
	b.visit("#/cases", "#grid")
	addresses := b.addresses()
	for _, way := range []string{"markdown", "json"} {
		b.visit(addresses[0], ".reading")
		evaluate[chromedp.Void](b, fmt.Sprintf(`void document.querySelector('.reading button[value=%s]').click()`, way))
		for _, address := range addresses {
			one, _, _ := strings.Cut(address, "?")
			for _, page := range []string{address, strings.Replace(one, "#/case/", "#/side/", 1)} {
				b.visit(page, ".answer")
				if got := evaluate[int64](b, `document.documentElement.scrollWidth`); got > 1280 {
					t.Errorf("%s as %s: %d wide on a screen of 1280, want it no wider", page, way, got)
				}
			}
		}
	}
	b.quiet()
}
