package e2e_test

import (
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/testrun"
	"github.com/evalrun/evalrun/journal"
)

const (
	markdownAnswer = "# Refunds\n\nYou get your money **back**, see [the rules](https://shop.example/rules):\n\n" +
		"1. Send the *kettle*\n2. Wait `3` days\n   - [x] inspected\n\n| day | step |\n|----:|:-----|\n| 1 | sent |\n| 3 | paid |\n\n" +
		"```json\n{\"paid\": true}\n```\n\n> Keep the box.\n\n![box](https://shop.example/box.png) <b>bold</b> [x](javascript:alert(1))"
	jsonAnswer = `{"order": 12345678901234567890, "paid": true, "items": [{"name": "kettle", "price": 19.90}], "note": null, "empty": []}`
)

// readRun has cases with answers in Markdown, in JSON, of words, of repeats, and one without an answer on an arm.
func readRun() (eval.Run, iter.Seq[*eval.Result]) {
	run := eval.Run{
		ID: "r", StartedAt: "2026-01-01T00:00:00Z", Suites: []eval.RunSuite{{Name: "shop"}},
		Plan: eval.RunPlan{Trials: 9, Arms: []string{"pro/old", "pro/new", "warm/old"}},
	}
	cases := []struct {
		name, arm, text string
		repeat          int
	}{
		{"markdown", "pro/old", markdownAnswer, 1},
		{"markdown", "pro/new", strings.Replace(markdownAnswer, "**back**", "**back today**", 1), 1},
		{"markdown", "warm/old", "No refunds.", 1},
		{"json", "pro/old", jsonAnswer, 1},
		{"json", "pro/new", "```json\n" + strings.Replace(jsonAnswer, "19.90", "21.50", 1) + "\n```", 1},
		{"words", "pro/old", "one green word", 1},
		{"words", "pro/old", "one blue word", 2},
		{"words", "pro/new", "one red word, and more", 1},
		{"lonely", "warm/old", "alone", 1},
	}
	return run, func(yield func(*eval.Result) bool) {
		for n, c := range cases {
			r := bigTrial(0) // it passes
			target, prompt, _ := strings.Cut(c.arm, "/")
			r.Trial = eval.Trial{
				N: n, ID: fmt.Sprintf("trial-%d", n), CaseID: c.name, Suite: "shop", Case: c.name, Arm: c.arm, Target: target, Prompt: prompt,
				Model: "svc-" + target, Repeat: c.repeat,
			}
			r.Request.System = "You work in a shop. Version " + prompt
			r.Response.Candidates[0].Text = c.text
			if n == 1 {
				r.Ending, r.Scores[0].Grade, r.Scores[0].Reason = eval.Failed{}, eval.Graded{}, "it names a day"
			}
			if !yield(r) {
				return
			}
		}
	}
}

// withBaseline adds a comparison whose baseline answered another text to one case.
func withBaseline(d *journal.Document) {
	decided(d).Comparison = &compare.Comparison{Verdict: eval.Inconclusive, Arms: []compare.ArmComparison{{
		Suite: "shop", HeadArm: "warm/old", BaseArm: "warm/old",
		Flips: []compare.Flip{{Case: "lonely", BaseAnswer: "together", HeadAnswer: "alone", BaseScored: 1, HeadScored: 1, HeadPassed: 1}},
	}}}
}

var sidePages = []reportPage{
	{"side by side", "#/side/shop/markdown", ".half"},
	{"side by side without an answer", "#/side/shop/lonely?a=pro%2Fold&b=pro%2Fnew", ".half"},
	{"side by side with the baseline", "#/side/shop/lonely", ".half"},
}

// joined is the text of all elements that fit a selector.
func (b *tab) joined(selector string) string {
	b.t.Helper()
	return strings.Join(texts(b, selector), "|")
}

func (b *tab) press(keys ...string) {
	b.t.Helper()
	for _, k := range keys {
		b.do(chromedp.KeyEvent(k))
	}
}

func (b *tab) is(selector, want string) {
	b.t.Helper()
	if got := b.joined(selector); got != want {
		b.t.Errorf("%s: %q, want %q", selector, got, want)
	}
}

// Two answers are side by side with the words that only one of them has. The address says which; keys and fields choose others, and the
// next case keeps the pair.
func TestTwoAnswersAreShownSideBySide(t *testing.T) {
	t.Parallel()
	run, trials := readRun()
	b := open(t, record(t, run, trials, withBaseline), 1600, 1000, "light")
	b.visit("#/side/shop/words", ".half")
	b.is(".half h2", "pro/old repeat 1|pro/new")
	b.is(".half del", "green")
	b.is(".half ins", "red|, and more")
	b.is(".found", "1 word only on the left, 4 only on the right.")
	b.press("x")
	b.until(`location.hash === '#/side/shop/words?a=pro%2Fnew&b=pro%2Fold&ra=1&rb=1'`)
	b.is(".half del", "red|, and more")
	b.press("b")
	b.until(`location.hash.includes('b=pro%2Fold')`)
	choose(b, "rb", "2")
	b.until(`document.querySelector('.half ins') !== null && document.querySelector('.half ins').textContent === 'blue'`)
	b.is(".half h2", "pro/new|pro/old repeat 2")
	b.visit("#/side/shop/markdown?a=pro%2Fnew&b=pro%2Fold", ".half")
	b.press("b")
	b.until(`location.hash.includes('b=warm%2Fold')`)
	b.is(".half h2", "pro/new|warm/old")
	b.press("n")
	b.until(`document.querySelector('h1').textContent === 'json' && document.querySelector('.half') !== null`)
	b.is(".half > div:first-child .telling", "This case has no trial on warm/old.")
	b.press("n")
	b.until(`document.querySelector('h1').textContent === 'words' && document.querySelector('.half') !== null`)
	b.press("n")
	b.until(`document.querySelector('h1').textContent === 'lonely' && document.querySelector('.half') !== null`)
	b.is(".half > div:first-child .telling", "This case has no trial on pro/new.")
	b.visit("#/side/shop/lonely", ".half")
	b.is(".half h2", "baseline of warm/old|warm/old")
	b.is(".half del, .half ins", "together|alone")
	b.visit("#/side/shop/words?a=pro%2Fold&b=pro%2Fold", ".half")
	b.is(".half h2", "pro/old repeat 1|pro/old repeat 2")
	b.is(".found", "1 word only on the left, 1 only on the right.")
	b.visit("#/side/shop/lonely?a=pro%2Fold&b=warm%2Fold", ".half")
	b.is(".half del, .half ins, .found", "")
	b.visit("#/side/shop/nobody", "h1")
	b.is("h1", "No such case")
	b.visit("#/cases?sort=arm", "#grid") // an order in which the trials of cases are mixed
	b.visit("#/case/shop/words", ".answer")
	b.is(".pager a", "\u2190 json|lonely \u2192")
	b.press("s")
	b.wait(".half")
	b.is(".pager a", "\u2190 json|lonely \u2192")
	b.press(kb.Escape)
	b.wait("#grid")
	b.quiet()
}

// The turns of chats are next to each other; a turn that only one chat has differs as a whole. A case with one answer shows it twice.
func TestTurnsOfChatsAreShownSideBySide(t *testing.T) {
	t.Parallel()
	run, trials := chatRun()
	b := open(t, record(t, run, trials, nil), 1600, 1000, "light")
	b.visit(strings.Replace(chatPage, "case", "side", 1), ".half")
	b.is(".half h3", "Turn 1|Turn 2|Derived metrics|Turn 1")
	b.is(".half del, .half ins", "order is it|It left <b>today</b>.|one")
	b.is(".both-prompts summary", "The prompt, the same for both")
	if tops := evaluate[[]float64](
		b, `[...document.querySelectorAll('.half h3')].filter(el => el.textContent === 'Turn 1').map(el => el.getBoundingClientRect().top)`,
	); len(tops) != 2 || tops[0] != tops[1] {
		t.Errorf("the first turns are at %v, want them next to each other", tops)
	}
	b.quiet()
	b = open(t, written(t, testrun.Reach(t, nil)), 1600, 1000, "light")
	b.visit("#/side/shop/loop", ".half")
	b.is(".half h3", "Step 1|Step 2|Step 1|Step 2")
	b.is(".half:first-child .prose", "calls get_order {\"id\":\"4711\"}\ncalls search {\"q\":\"4711\"}|It left today.")
	b.is(".found", "The case has one answer, shown twice.")
	b.visit("#/case/shop/loop", ".answer")
	b.is(".to-side", "")
	b.quiet()
}

// What is not kept, or is cut, is not compared as if it were there.
func TestTextsThatAreNotKeptAreNotCompared(t *testing.T) {
	t.Parallel()
	run, trials := readRun()
	changed := func(change func(*eval.Result)) iter.Seq[*eval.Result] {
		return func(yield func(*eval.Result) bool) {
			for r := range trials {
				if change(r); !yield(r) {
					return
				}
			}
		}
	}
	b := open(t, record(t, run, changed((*eval.Result).Withhold), nil), 1600, 1000, "light")
	b.visit("#/side/shop/words", ".half")
	b.is(".found", "Not compared: the run does not keep the texts.")
	b.is(".half .prose", "")
	if notes := b.joined(".half .note"); strings.Count(notes, "Not kept: ") != 2 {
		t.Errorf("got %q, want 2 notes `Not kept: `", notes)
	}
	b.quiet()
	long := func(r *eval.Result) { r.Response.Candidates[0].Text += strings.Repeat(" more", 10_001) }
	b = open(t, record(t, run, changed(long), nil), 1600, 1000, "light")
	b.visit("#/side/shop/words", ".half")
	b.is(".found", "In the part that is here: 2 words only on the left, 4 only on the right.")
	b.quiet()
}

// Answers are shown as Markdown or JSON where the reader wants that. Nothing of them loads, and no script link can be followed.
func TestAnswersAreShownAsMarkdownOrJSON(t *testing.T) {
	t.Parallel()
	run, trials := readRun()
	b := open(t, record(t, run, trials, nil), 1600, 1000, "light")
	b.visit("#/case/shop/markdown", ".answer")
	b.is(".markdown", "")
	b.press("m")
	b.is(
		".answer:first-child .markdown :is(h3, strong, em, code, td, th, li li)",
		"Refunds|back|kettle|3|\u2611 inspected|day|step|1|sent|3|paid",
	)
	b.is(".markdown pre", `{"paid": true}|{"paid": true}`)
	b.is(".answer:first-child .markdown a", "the rules")
	if got := b.joined(".answer:first-child .markdown"); !strings.Contains(got, "the rules (https://shop.example/rules)") ||
		!strings.Contains(got, "image box (https://shop.example/box.png) <b>bold</b> x (javascript:alert(1))") {
		t.Errorf("got %q, want the rules with their link", got)
	}
	const link = "https://shop.example/rules noopener noreferrer nofollow"
	links := evaluate[[]string](b, `[...document.querySelectorAll('.markdown a')].map(a => a.href + ' ' + a.rel)`)
	if strings.Join(links, "|") != link+"|"+link {
		t.Errorf("got the links %q, want %q twice", links, link)
	}
	b.press("n") // the way of reading stays
	b.until(`document.querySelector('h1').textContent === 'json' && document.querySelector('.answer .markdown') !== null`)
	b.press("j")
	b.is(".answer:first-child .json-key", `"order"|"paid"|"items"|"name"|"price"|"note"|"empty"`)
	b.is(".answer:first-child .json-value", "12345678901234567890|true|19.90|null")
	b.press("s")
	b.wait(".half")
	b.is(".half del, .half ins", "19|90|21|50")
	b.is(".found", "2 words only on the left, 2 only on the right.")
	b.press("p")
	b.until(`document.querySelector('h1').textContent === 'markdown' && document.querySelector('.half') !== null`)
	b.is(".half .note:first-child", "Not JSON: shown as text.|Not JSON: shown as text.")
	b.press("j")
	b.is(".reading [aria-pressed=true]", "Text")
	b.is(".half del, .half ins", " today")
	b.quiet()
}

// Texts are copied as they came.
func TestTextsAreCopiedAsTheyCame(t *testing.T) {
	t.Parallel()
	run, trials := readRun()
	b := open(t, record(t, run, trials, nil), 1600, 1000, "light")
	evaluate[chromedp.Void](b, `void (navigator.clipboard.writeText = async text => { window.copied = text; })`)
	copied := func(button string) string {
		t.Helper()
		evaluate[chromedp.Void](b, fmt.Sprintf(`void [...document.querySelectorAll('.copy')].find(el => el.textContent === %q).click()`, button))
		b.until(fmt.Sprintf(`document.getElementById('status').textContent === 'Copied: ' + %q.slice(5) + '.'`, button))
		return evaluate[string](b, `window.copied`)
	}
	for _, page := range []string{"#/case/shop/markdown", "#/side/shop/markdown"} {
		b.visit(page, ".answer")
		if got := copied("Copy answer"); got != markdownAnswer {
			t.Errorf("%s: copied answer: got %q, want %q", page, got, markdownAnswer)
		}
		if got := copied("Copy trial id"); got != "trial-0" {
			t.Errorf("%s: copied id: got %q, want trial-0", page, got)
		}
		request := copied("Copy request as JSON")
		if got := evaluate[string](b, `JSON.parse(window.copied).system`); got != "You work in a shop. Version old" {
			t.Errorf("%s: copied request: got %q, want the system text `You work in a shop. Version old`", page, request)
		}
	}
	b.visit("#/case/shop/markdown", ".answer")
	const prompt = "system:\nYou work in a shop. Version old\n\nuser:\nWhat is the capital of country 0? Answer in one word."
	if got := copied("Copy prompt"); got != prompt {
		t.Errorf("prompt %q, want %q", got, prompt)
	}
	b.quiet()
}

// Where there is no clipboard, the browser copies what is selected; where that fails as well, the button says so.
func TestCopyWorksWithoutClipboard(t *testing.T) {
	t.Parallel()
	run, trials := readRun()
	b := open(t, record(t, run, trials, nil), 1600, 1000, "light")
	for works, want := range map[bool]string{true: "Copied", false: "Not copied: the browser refuses"} {
		evaluate[chromedp.Void](b, fmt.Sprintf(`void (() => {
			Object.defineProperty(navigator, 'clipboard', {value: undefined, configurable: true});
			document.execCommand = () => { window.copied = document.activeElement.value; return %t; };
		})()`, works))
		b.visit("#/case/shop/words", ".answer")
		evaluate[chromedp.Void](b, `void document.querySelector('.answer .copy').focus()`)
		b.press(kb.Enter)
		b.until(fmt.Sprintf(`document.querySelector('.answer .copy').textContent === %q`, want))
		if got := evaluate[string](b, `window.copied`); got != "one green word" {
			t.Errorf("copied: got %q, want `one green word`", got)
		}
		if !evaluate[bool](b, `document.activeElement.classList.contains('copy')`) {
			t.Error("the focus has left the button, want it there")
		}
	}
	b.quiet()
}

// The question mark lists the keys, on every page but in a field, and the focus comes back.
func TestTheQuestionMarkListsTheKeys(t *testing.T) {
	t.Parallel()
	run, trials := readRun()
	b := open(t, record(t, run, trials, nil), 1600, 1000, "light")
	for _, page := range []reportPage{{"summary", "#/", ".verdict"}, {"cases", "#/cases", "#grid"}, {"side", "#/side/shop/words", ".half"}} {
		b.visit(page.hash, page.selector)
		before := evaluate[string](b, `document.activeElement.id`)
		b.press("?")
		b.wait("dialog[open]")
		if list := b.joined("dialog"); !strings.Contains(list, "next and previous case, with the same pair") {
			t.Errorf("got %q, want the keys of the next and previous case", list)
		}
		hash := evaluate[string](b, `location.hash`)
		b.press("n", kb.Escape)
		b.until(`document.querySelector('dialog') === null`)
		if got := evaluate[string](b, `location.hash`); got != hash {
			t.Errorf("%s: keys lead to %s while the list is open, want %s", page.name, got, hash)
		}
		if got := evaluate[string](b, `document.activeElement.id`); got != before {
			t.Errorf("%s: the focus is on %q, want it back on %q", page.name, got, before)
		}
	}
	b.visit("#/cases", "#grid")
	evaluate[chromedp.Void](b, `void document.getElementById('search').focus()`)
	b.press("?")
	if got := evaluate[string](b, `document.getElementById('search').value`); got != "?" {
		t.Errorf("the field: got %q, want ?", got)
	}
	if evaluate[bool](b, `document.querySelector('dialog') !== null`) {
		t.Error("the list of keys opens while somebody types, want it closed")
	}
	help := func() {
		t.Helper()
		evaluate[chromedp.Void](b, `void document.querySelector('.help').click()`)
		b.wait("dialog[open]")
	}
	b.visit("#/case/shop/json", ".answer")
	for i := range 2 { // letters are turned off, and on again
		help()
		evaluate[chromedp.Void](b, `void document.querySelector('dialog input').click()`)
		b.press(kb.Enter)
		b.until(`document.querySelector('dialog') === null`)
		b.press("m", "?")
		if i == 0 && (evaluate[int](b, `document.querySelectorAll('.markdown').length`) > 0 || b.joined("dialog") != "") {
			t.Error("letters and signs work although they are turned off, want no effect")
		}
	}
	if evaluate[int](b, `document.querySelectorAll('.markdown').length`) == 0 || b.joined("dialog") == "" {
		t.Error("letters and signs do nothing, want them to work again")
	}
	b.quiet()
}

// axe-core finds nothing at all in two answers side by side, however they are read, in the page of a case, and in the list of keys.
// Nothing is wider than the screen.
func TestAnswersSideBySideAreAccessible(t *testing.T) {
	t.Parallel()
	run, trials := readRun()
	path := record(t, run, trials, withBaseline)
	chatRun, chatTrials := chatRun()
	chats := record(t, chatRun, chatTrials, nil)
	b := open(t, path, 390, 900, "light")
	evaluate[chromedp.Void](b, axe+"\n;0")
	for _, width := range []int64{390, 1280, 2560} {
		b.do(chromedp.EmulateViewport(width, 900))
		for _, key := range []string{"t", "m", "j"} {
			for _, p := range append(sidePages, reportPage{"case", "#/case/shop/json", ".answer"}) {
				b.visit(p.hash, p.selector)
				b.press(key)
				b.faultless(p.name+" after "+key, width)
				b.press(key)
			}
		}
		b.press("?")
		b.wait("dialog[open]")
		b.faultless("list of keys", width)
		b.press(kb.Escape)
	}
	checked(t, "chats", fileAddress(chats), []reportPage{{"side", strings.Replace(chatPage, "case", "side", 1), ".half"}})
}

// The viewer has the list of keys on each of its pages. Two answers stay those of their case while a run grows, and a comparison of two
// runs puts an answer next to that of the other run.
func TestTheViewerKeepsAnswersSideBySide(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run, trials := bigRun(400)
	keep(t, dir, "20260101-000000-old", run, better(trials))
	run.StartedAt = "2026-01-02T00:00:00Z"
	run.ID = "20260102-000000-live"
	w, err := journal.Create(filepath.Join(dir, ".evalrun", "runs", run.ID), &run, nil)
	expect.OK(t, err)
	put := func(places ...int) {
		t.Helper()
		for _, n := range places {
			expect.OK(t, w.Append(bigTrial(n)))
		}
	}
	put(0, 20)
	s := serve(t, dir)
	for _, page := range []string{"", "trends", "compare"} {
		b := openAt(t, s.URL+page, 800, 600, "light")
		b.press("?")
		b.wait("dialog[open]")
		b.own(s)
	}
	known := keys(t, s)
	b := openAt(t, s.URL+"run/"+known[run.ID]+"/", 1600, 1000, "light")
	b.until(`document.documentElement.dataset.watched === 'yes'`)
	b.visit("#/side/big/case%20number%2010", ".half")
	b.is(".found", "The case has one answer, shown twice.")
	put(6, 21, 2, 3)
	b.until(`(document.dispatchEvent(new KeyboardEvent('keydown', {key: 'b', bubbles: true})), location.hash.includes('b=warm%2Fask'))`)
	b.until(`document.querySelectorAll('.half h2')[1].textContent === 'warm/ask'`)
	b.is(".half .prose", bigTrial(20).Response.Text()+"|"+bigTrial(21).Response.Text())
	b.own(s)
	for n := range 40 {
		if n != 0 && n != 20 && n != 21 && n != 2 && n != 3 && n != 6 {
			put(n)
		}
	}
	expect.OK(t, w.Finish(&eval.End{FinishedAt: "2026-01-02T00:01:00Z", Reason: eval.EndCompleted}))
	b = openAt(t, s.URL+"compare/"+known["20260101-000000-old"]+"/"+known[run.ID]+"/", 1600, 1000, "light")
	b.visit("#/side/big/case%20number%203?a=baseline+of+pro%2Fask&b=pro%2Fask", ".half")
	b.is(".half h2", "baseline of pro/ask|pro/ask")
	b.is(".half:first-child .note", "The answer of the comparison’s baseline.")
	b.own(s)
}
