package e2e_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/testrun"
)

// bigTrials is several blocks of each kind; make soak has more. It is even.
var bigTrials = func() int {
	if n, err := strconv.Atoi(os.Getenv("EVALRUN_PAGE_TRIALS")); err == nil {
		return n
	}
	return 5_000
}()

// reportPage is a page of a report: its address, and what is there once it is drawn.
type reportPage struct{ name, hash, selector string }

// pages are those of bigRun, chatPages those of chatRun.
var pages = []reportPage{
	{"summary", "#/", ".verdict"},
	{"cases", "#/cases", "#grid"},
	{"matrix", "#/matrix?q=outcome:fail", "#grid .prose"},
	{"wrong query", "#/matrix?q=outcome:fial+arm%3C2", ".problem"},
	{"comparison", "#/comparison", ".flips"},
	{"case", "#/case/big/case%20number%203", ".answer"},
}

var chatPages = []reportPage{{"judging", "#/", ".verdict"}, {"chat", chatPage, ".answer"}}

// pageNamed is one of pages.
func pageNamed(name string) reportPage {
	return pages[slices.IndexFunc(pages, func(p reportPage) bool { return p.name == name })]
}

func found(b *tab) string {
	b.t.Helper()
	return evaluate[string](b, `document.getElementById('found').textContent`)
}

func choose(b *tab, facet, word string) {
	b.t.Helper()
	evaluate[chromedp.Void](b, fmt.Sprintf(
		`void (s => { s.value = %q; s.dispatchEvent(new Event('change')); })(document.querySelector('select[name=%s]'))`,
		word, facet,
	))
}

func search(b *tab, text string) {
	b.t.Helper()
	evaluate[chromedp.Void](
		b,
		fmt.Sprintf(`void (s => { s.value = %q; s.dispatchEvent(new Event('input')); })(document.getElementById('search'))`, text),
	)
}

// What filters and the search find among thousands of trials is what the same question finds in the run.
func TestFiltersFindWhatIsInTheRun(t *testing.T) {
	t.Parallel()
	run, trials := bigRun(bigTrials)
	b := open(t, record(t, run, trials, judged), 1600, 1000, "light")
	b.visit("#/cases", "#grid")
	for _, test := range []struct {
		facets map[string]string
		query  string
		fits   func(k, arm int) bool
	}{
		{nil, "", func(int, int) bool { return true }},
		{map[string]string{"outcome": "fail"}, "", func(k, _ int) bool { return k%10 == 3 }},
		{map[string]string{"outcome": "error", "arm": "warm/ask"}, "", func(k, arm int) bool { return k%100 == 50 && arm == 1 }},
		{map[string]string{"error": "status"}, "", func(k, _ int) bool { return k%100 == 50 }},
		{map[string]string{"scorer": "capital (contains)", "tag": "asia"}, "", func(k, _ int) bool { return k%10 == 3 && k%3 == 1 }},
		{map[string]string{"finish": "MAX_TOKENS"}, "", func(k, _ int) bool { return k%50 == 7 }},
		{map[string]string{"category": "HARASSMENT: LOW"}, "", func(k, _ int) bool { return k%17 == 16 && k%100 != 50 }},
		{map[string]string{"arm": "pro/ask"}, "NUMBER 123", func(k, arm int) bool {
			return arm == 0 && strings.Contains(bigText(k), "number") && strings.Contains(bigText(k), "123")
		}},
		{nil, "no such words anywhere", func(int, int) bool { return false }},
	} {
		evaluate[chromedp.Void](b, `void document.querySelector('.choices button').click()`)
		for facet, word := range test.facets {
			choose(b, facet, word)
		}
		search(b, test.query)
		n := 0
		for i := range bigTrials {
			if test.fits(i/2, i%2) {
				n++
			}
		}
		want := strings.ReplaceAll(fmt.Sprintf("%s of %s trials", thousands(n), thousands(bigTrials)), "\u00a0", " ")
		if got := found(b); got != want {
			t.Errorf("%v %q: %s, want %s", test.facets, test.query, got, want)
		}
		if rows := evaluate[string](b, `document.getElementById('grid').getAttribute('aria-rowcount')`); rows != fmt.Sprint(n+1) {
			t.Errorf("%v %q: aria-rowcount %s, want %d", test.facets, test.query, rows, n+1)
		}
		if drawn := evaluate[int](b, `document.querySelectorAll('.rows .row').length`); drawn > 60 {
			t.Errorf("%d rows in the page, want at most 60", drawn)
		}
	}
	b.quiet()
}

// bigText is what the search looks at in a trial of bigRun, but for the reason of failed ones.
func bigText(k int) string {
	r := bigTrial(2 * k)
	text := r.Case
	if r.Response != nil {
		text += "\n" + r.Response.Text()[:min(200, len(r.Response.Text()))]
	}
	for _, s := range r.Scores {
		if !s.Passed() {
			text += "\n" + s.Reason
		}
	}
	if r.Err() != nil {
		text += "\n" + r.Err().Error()
	}
	return strings.ToLower(text)
}

func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// Sorting brings the least or the most of a column to the top, and says so.
func TestSortingBringsTheLeastOrMostToTheTop(t *testing.T) {
	t.Parallel()
	run, trials := bigRun(2000)
	b := open(t, record(t, run, trials, nil), 1600, 1000, "light")
	b.visit("#/cases", "#grid")
	first := func(column string) string {
		return evaluate[string](b, fmt.Sprintf(`document.querySelector('.rows [aria-rowindex="2"] .%s').textContent`, column))
	}
	click := func(column string) string {
		evaluate[chromedp.Void](b, fmt.Sprintf(`void document.querySelector('[role=columnheader].%s button').click()`, column))
		return evaluate[string](b, fmt.Sprintf(`document.querySelector('[role=columnheader].%s').getAttribute('aria-sort')`, column))
	}
	if got := first("outcome"); !strings.Contains(got, "fail") {
		t.Errorf("got %s first, want what failed", got)
	}
	if sort, got := click("latency"), first("latency"); sort != "descending" || got != "1.50 s" {
		t.Errorf("latency, first click: got %s and %s, want descending and 1.50 s", sort, got)
	}
	if sort, got := click("latency"), first("latency"); sort != "ascending" || got != "200 ms" {
		t.Errorf("latency, second click: got %s and %s, want ascending and 200 ms", sort, got)
	}
	if sort, got := click("case"), first("case"); sort != "ascending" || got != "case number 0" {
		t.Errorf("case, first click: got %s and %s, want ascending and case number 0", sort, got)
	}
	if sort, got := click("case"), first("case"); sort != "descending" || got != "case number 999" {
		t.Errorf("case, second click: got %s and %s, want descending and case number 999", sort, got)
	}
	b.quiet()
}

// Everything can be reached with the keyboard alone.
func TestEverythingIsReachedByKeyboard(t *testing.T) {
	t.Parallel()
	run, trials := bigRun(2000)
	b := open(t, record(t, run, trials, nil), 1600, 1000, "light")
	press := func(keys ...string) {
		t.Helper()
		for _, k := range keys {
			b.do(chromedp.KeyEvent(k))
		}
	}
	is := func(what, expression string) {
		t.Helper()
		if !evaluate[bool](b, expression) {
			t.Errorf(
				"%s: got %s false, want it true; focus on %s, %s", what, expression,
				evaluate[string](b, `document.activeElement.outerHTML.slice(0, 80)`), evaluate[string](b, `location.hash`),
			)
		}
	}
	b.visit("#/", ".verdict")
	press("/")
	b.wait("#search:focus")
	press("n", "u", "m", "b", "e", "r", " ", "1", "3")
	n := evaluate[int](b, `Number(document.getElementById('grid').getAttribute('aria-rowcount')) - 1`)
	if n < 20 || n > 1000 {
		t.Errorf("the search finds %d trials, want 20 to 1000", n)
	}
	press(kb.ArrowDown)
	is("down leaves the search", `document.activeElement.id === 'grid'`)
	press(kb.ArrowDown, kb.ArrowDown, kb.ArrowUp)
	is(
		"arrows choose",
		`document.activeElement.getAttribute('aria-activedescendant') === 'trial-1' && `+
			`document.getElementById('trial-1').getAttribute('aria-selected') === 'true'`,
	)
	press(kb.End)
	is(
		"the last row is in sight",
		fmt.Sprintf(`(r => r.bottom <= innerHeight && r.top > 0)(document.getElementById('trial-%d').getBoundingClientRect())`, n-1),
	)
	press(kb.Home)
	first := evaluate[string](b, `document.querySelector('.rows [aria-selected] .case').textContent`)
	press(kb.Enter)
	b.wait(".answer")
	is("enter opens", fmt.Sprintf(`document.querySelector('h1').textContent === %q`, first))
	press("n")
	b.until(fmt.Sprintf(`document.querySelector('h1').textContent !== %q && document.querySelector('.answer') !== null`, first))
	press(kb.Escape)
	b.wait("#grid")
	is(
		"escape goes back to the same table",
		`document.getElementById('search').value === 'number 13' && document.activeElement.id === 'grid'`,
	)
	press(kb.Escape)
	b.wait(".verdict")
	for range 60 { // the tab key comes everywhere and gets stuck nowhere
		press(kb.Tab)
	}
	b.quiet()
}

// Nothing is wider than the screen.
func TestNothingIsWiderThanTheScreen(t *testing.T) {
	t.Parallel()
	run, trials := bigRun(400)
	hostileRun, hostileTrials := hostileRun()
	wide := record(t, hostileRun, hostileTrials, nil)
	big := record(t, run, trials, judged)
	chatRun, chatTrials := chatRun()
	chats := record(t, chatRun, chatTrials, nil)
	reach := written(t, testrun.Reach(t, nil))
	for _, width := range []int64{390, 1600, 2560} {
		for path, all := range map[string][]reportPage{
			big: pages, chats: chatPages, reach: reachPages, wide: {{"hostile summary", "#/", ".verdict"}, {"hostile cases", "#/cases", "#grid"}},
		} {
			b := open(t, path, width, 900, "light")
			for _, p := range all {
				b.visit(p.hash, p.selector)
				b.unfold()
				if got := evaluate[int64](b, `document.documentElement.scrollWidth`); got > width {
					t.Errorf("%s: %d wide on a screen of %d, want it no wider", p.name, got, width)
				}
			}
			b.quiet()
		}
	}
}

// addresses are those of all trials in the table.
func (b *tab) addresses() []string {
	b.t.Helper()
	return evaluate[[]string](b, `(async () => {
		const out = new Set();
		for (let y = 0; y < document.body.scrollHeight; y += 600) {
			scrollTo(0, y);
			await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
			for (const a of document.querySelectorAll('.rows a')) out.add(a.getAttribute('href'));
		}
		return [...out];
	})()`)
}

// Answers, names and all else that comes from outside run nothing and ask for nothing.
func TestHostileTextsRunNothing(t *testing.T) {
	t.Parallel()
	run, trials := hostileRun()
	b := open(t, record(t, run, trials, nil), 1600, 1000, "light")
	b.visit("#/cases", "#grid")
	n := evaluate[int](b, `Number(document.getElementById('grid').getAttribute('aria-rowcount')) - 1`)
	want := 0
	for range trials {
		want++
	}
	if n != want {
		t.Errorf("%d trials in the table, want %d", n, want)
	}
	addresses := b.addresses()
	if len(addresses) != want {
		t.Errorf("%d cases have an address, want %d", len(addresses), want)
	}
	for _, address := range addresses {
		b.visit(address, ".answer")
		b.unfold()
		if got := evaluate[int64](b, `document.documentElement.scrollWidth`); got > 1600 {
			t.Errorf("%s: %d wide on a screen of 1600, want it no wider", address, got)
		}
	}
	b.visit("#/", ".verdict")
	if scripts := evaluate[int](
		b,
		`[...document.querySelectorAll('*')].filter(el => el.localName === 'script' && !el.type || `+
			`[...el.attributes].some(a => a.name.startsWith('on'))).length`,
	); scripts != 1 {
		t.Errorf("%d scripts in the page, want its own alone", scripts)
	}
	b.quiet()
}

// These tests see what a page requests, and what its policy forbids.
func TestTheTestsSeeRequestsAndPolicy(t *testing.T) {
	t.Parallel()
	run, trials := bigRun(10)
	for name, script := range map[string]string{
		"an image":        `new Image().src = 'http://127.0.0.1:9/x.png'`,
		"a request":       `fetch('http://127.0.0.1:9/x').catch(() => 0)`,
		"markup":          `try { document.body.innerHTML = '<b>x</b>' } catch { 0 }`,
		"a dialog":        `setTimeout(() => alert(1), 0)`,
		"a script":        `document.body.append(Object.assign(document.createElement('script'), {textContent: 'document.title = 1'}))`,
		"an inline event": `document.body.setAttribute('onclick', '1')`,
		"another style":   `document.body.append(Object.assign(document.createElement('style'), {textContent: 'p {color: red}'}))`,
	} {
		b := open(t, record(t, run, trials, nil), 800, 600, "light")
		b.quiet()
		evaluate[chromedp.Void](b, fmt.Sprintf(`void (() => { try { %s } catch { } })()`, script))
		seen := 0
		for range 200 {
			evaluate[chromedp.Void](b, `new Promise(done => requestAnimationFrame(() => done()))`)
			b.mu.Lock()
			seen = len(b.requests) + len(b.trouble)
			b.mu.Unlock()
			if seen > 0 {
				break
			}
		}
		if seen == 0 {
			t.Errorf("%s is not seen, want it seen", name)
		}
	}
}

// The page of the comparison says which cases are compared, which were lost, and how many changed. The summary says
// it next to the verdict, and separates new failures from those of the baseline.
func TestTheComparisonSaysWhatIsCompared(t *testing.T) {
	t.Parallel()
	run, trials := bigRun(200)
	b := open(t, record(t, run, trials, judged), 1600, 1000, "light")
	const changes, compared = "1 newly failing, 1 newly passing, 1 removed (1 passed before)",
		"compared 25000 of 25002 cases (--min-paired 0.6)"
	for _, page := range []struct {
		hash, selector string
		want           []string
	}{
		{"#/", ".verdict", []string{changes, compared, "also failed in the baseline"}},
		{"#/comparison", ".flips", []string{changes, compared, "1 case removed; passed before: gone", "pass: margin 0.05"}},
	} {
		b.visit(page.hash, page.selector)
		text := evaluate[string](b, `document.getElementById('main').textContent`)
		for _, want := range page.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in %s", page.hash, want, text)
			}
		}
	}
	expect.Same(t, "cards", evaluate[int](b, `document.querySelectorAll('.verdict .said h1').length`), 1)
	parts := []string{"Cases whose outcome changed", "Metrics"}
	expect.Same(t, "parts in order", texts(b, "#main .verdict ~ section > h3"), parts)
}

// The verdict, its sentence and what to do next are on the first screen.
func TestTheVerdictIsOnTheFirstScreen(t *testing.T) {
	t.Parallel()
	run, trials := bigRun(400)
	path := record(t, run, trials, judged)
	for _, screen := range [][2]int64{{1440, 900}, {390, 844}} {
		b := open(t, path, screen[0], screen[1], "light")
		b.visit("#/", ".verdict")
		for _, part := range []string{".verdict h1", ".verdict .sentence", ".verdict .next"} {
			if got := evaluate[int64](b, `Math.ceil(document.querySelector('`+part+`').getBoundingClientRect().bottom)`); got > screen[1] {
				t.Errorf("%s ends %d pixels down, want at most %d", part, got, screen[1])
			}
		}
		b.quiet()
	}
}
