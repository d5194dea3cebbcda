package e2e_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
)

// only picks cases in the matrix.
func only(b *tab, filter string) {
	b.t.Helper()
	evaluate[chromedp.Void](b, fmt.Sprintf(`void document.querySelector('.only input[value=%q]').click()`, filter))
}

// texts are those of the elements that fit a selector.
func texts(b *tab, selector string) []string {
	b.t.Helper()
	return evaluate[[]string](b, fmt.Sprintf(`[...document.querySelectorAll(%q)].map(el => el.textContent)`, selector))
}

// matrixRun has four cases on two arms. The arms differ in the outcome, in what comes after the beginning of the text, in the text of the
// second repeat, and in nothing.
func matrixRun() (eval.Run, func(yield func(*eval.Result) bool)) {
	run := eval.Run{
		ID: "m", StartedAt: "2026-01-01T00:00:00Z", Suites: []eval.RunSuite{{Name: "s"}},
		Plan: eval.RunPlan{Trials: 16, Arms: []string{"pro/old", "pro/new"}},
	}
	long := strings.Repeat("The same words again and again. ", 40)
	answers := map[string]func(arm, repeat int) string{
		"by outcome": func(int, int) string { return "same" },
		"by end":     func(arm, _ int) string { return long + fmt.Sprint(arm) },
		"by repeat":  func(arm, repeat int) string { return fmt.Sprint(arm * (repeat - 1)) },
		"by nothing": func(_, repeat int) string { return long + fmt.Sprint(repeat) },
	}
	return run, func(yield func(*eval.Result) bool) {
		n := 0
		for _, name := range []string{"by outcome", "by end", "by repeat", "by nothing"} {
			for arm, armName := range run.Plan.Arms {
				for repeat := 1; repeat <= 2; repeat++ {
					r := bigTrial(0) // it passes
					r.Trial = eval.Trial{N: n, ID: fmt.Sprint(n), CaseID: name, Suite: "s", Case: name, Arm: armName, Repeat: repeat}
					r.Vars = map[string]string{"question": "ask " + name, "locale": "en"}
					r.Response.Candidates[0].Text = answers[name](arm, repeat)
					if n++; name == "by outcome" && arm == 1 && repeat == 2 {
						r.Ending, r.Scores[0].Grade, r.Scores[0].Reason = eval.Failed{}, eval.Graded{Value: 0.25}, "no capital"
					}
					if !yield(r) {
						return
					}
				}
			}
		}
	}
}

// against is a baseline in which both repeats of two cases passed on an arm.
func against(d *journal.Document) {
	flips := []compare.Flip{
		{Case: "by outcome", BasePassed: 2, BaseScored: 2, HeadPassed: 1, HeadScored: 2},
		{Case: "by end", BasePassed: 5, BaseScored: 5, HeadPassed: 4, HeadScored: 5},
		{Case: "by repeat", BasePassed: 0, BaseScored: 2, HeadPassed: 2, HeadScored: 2},
	}
	arm := compare.ArmComparison{Suite: "s", BaseArm: "pro/new", HeadArm: "pro/new", Flips: flips}
	decided(d).Comparison = &compare.Comparison{Arms: []compare.ArmComparison{arm}}
}

// Each filter of the matrix shows its cases, and the address keeps it.
func TestMatrixFiltersShowTheirCases(t *testing.T) {
	t.Parallel()
	run, trials := matrixRun()
	b := open(t, record(t, run, trials, against), 1280, 900, "light")
	b.visit("#/matrix", "#grid .prose")
	for filter, want := range map[string]string{
		"":          "by outcome|by end|by repeat|by nothing",
		"failing":   "by outcome",
		"differs":   "by outcome|by end|by repeat",
		"regressed": "by outcome|by end",
		"new":       "by outcome",
	} {
		only(b, filter)
		got := strings.Join(texts(b, ".line:not(.heads) .case a"), "|")
		expect.Same(t, "cases of filter "+filter, got, want)
		if filter != "" {
			expect.Same(t, "address", evaluate[string](b, `location.hash`), "#/matrix?only="+filter)
		}
	}
	b.quiet()
}

// A cell has the whole answer of the worst repeat with its outcome and scores. The keys reach every cell and each repeat.
func TestMatrixCellsShowTheWorstRepeat(t *testing.T) {
	t.Parallel()
	run, trials := matrixRun()
	b := open(t, record(t, run, trials, nil), 1280, 900, "light")
	b.visit("#/matrix", "#grid .prose")
	b.until(`document.querySelectorAll('#grid .prose').length === 8`)
	expect.Same(t, "heads", strings.Join(texts(b, ".line.heads > div > bdi"), "|"), "pro/old|pro/new")
	expect.Same(t, "a variable", texts(b, "#cell-1-0 .value:last-child > span:last-child")[0], "ask by end")
	expect.Same(t, "an answer", texts(b, "#cell-1-2 .prose")[0], strings.Repeat("The same words again and again. ", 40)+"1")
	expect.Same(t, "scores", strings.Join(texts(b, "#cell-0-2 .brief-scores li"), "|"), "\u2717 0.25 capitalno capital")
	expect.Same(t, "worst", texts(b, "#cell-0-2 .top .on")[0], " repeat 2, 1 of 2 passed")
	expect.Same(t, "filters without a baseline", evaluate[int](b, `document.querySelectorAll('.only input:disabled').length`), 2)
	for range 2 {
		b.do(chromedp.KeyEvent(kb.ArrowRight))
	}
	b.do(chromedp.KeyEvent("r"))
	expect.Same(t, "next repeat", texts(b, "#cell-0-2 .top .on")[0], " repeat 1, 1 of 2 passed")
	b.do(chromedp.KeyEvent(kb.ArrowDown))
	const active = `document.getElementById('grid').getAttribute('aria-activedescendant')`
	expect.Same(t, "the cell of the keys", evaluate[string](b, active), "cell-1-2")
	const shown = `document.querySelector('#cell-1-2 .prose').clientHeight`
	short := evaluate[int](b, shown)
	b.do(chromedp.KeyEvent(kb.Enter))
	if whole := evaluate[int](b, shown); short > 80 || whole <= short {
		t.Errorf("got %d pixels of an answer in short and %d whole, want three lines, and more of them", short, whole)
	}
	b.do(chromedp.KeyEvent(kb.Enter))
	b.wait(".answer.chosen")
	expect.Same(t, "opened", texts(b, ".answer.chosen h2")[0], "pro/new")
	b.do(chromedp.KeyEvent(kb.Escape))
	b.wait("#grid .prose")
	expect.Same(t, "escape", evaluate[string](b, `location.hash`), "#/matrix")
	b.do(chromedp.KeyEvent("s"))
	b.wait(".sides")
	expect.Same(t, "side by side", evaluate[string](b, `location.hash`), "#/side/s/by%20end?a=pro%2Fold&b=pro%2Fnew")
	b.quiet()
}

// A run in progress grows in the matrix of the viewer; the case that the reader looks at stays where it is.
func TestTheMatrixOfALiveRunGrows(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run, _ := bigRun(400)
	run.ID = "20260101-000000-live"
	w, err := journal.Create(filepath.Join(dir, ".evalrun", "runs", run.ID), &run, nil)
	expect.OK(t, err)
	for n := 100; n < 200; n++ {
		expect.OK(t, w.Append(bigTrial(n)))
	}
	s := serve(t, dir)
	b := openAt(t, s.URL+"run/"+keys(t, s)[run.ID]+"/#/matrix?q=-text:nothing", 1280, 900, "light")
	b.until(`document.documentElement.dataset.watched === 'yes'`)
	b.wait("#grid .prose")
	for range 20 {
		b.do(chromedp.KeyEvent(kb.ArrowDown))
	}
	const active = `document.getElementById(document.getElementById('grid').getAttribute('aria-activedescendant'))`
	const place = `(c => c && c.querySelector('a').textContent === 'case number 70' ? Math.round(c.getBoundingClientRect().top) : -1)(` +
		active + `)`
	// The answers in sight are read, and the row has its place: three pictures are the same.
	b.until(`(now => { const same = now === window.last && now > 0 && !document.querySelector('#grid .brief');
		window.last = now; window.times = same ? (window.times || 0) + 1 : 0; return window.times >= 3; })(` + place + `)`)
	before := evaluate[int](b, place)
	for n := range 100 {
		expect.OK(t, w.Append(bigTrial(n)))
	}
	b.until(`document.getElementById('found').textContent === '100 of 100 cases'`)
	b.until(fmt.Sprintf(`Math.abs(%s - %d) <= 2`, place, before))
	b.own(s)
}

// Arms that are chosen are columns, which the address keeps; a query finds variables.
func TestChosenArmsBecomeColumns(t *testing.T) {
	t.Parallel()
	run, trials := matrixRun()
	b := open(t, record(t, run, trials, nil), 1280, 900, "light")
	b.visit("#/matrix?arm=pro%2Fnew", "#grid .prose")
	expect.Same(t, "one arm", strings.Join(texts(b, ".line.heads > div > bdi"), "|"), "pro/new")
	evaluate[chromedp.Void](b, `void document.querySelector('input[value="pro/old"]').click()`)
	expect.Same(t, "both arms", strings.Join(texts(b, ".line.heads > div > bdi"), "|"), "pro/old|pro/new")
	evaluate[chromedp.Void](b, `void document.querySelector('input[value="pro/new"]').click()`)
	expect.Same(t, "address", evaluate[string](b, `location.hash`), "#/matrix?arm=pro%2Fold")
	for query, want := range map[string]string{
		`var.question:"by end"`: "1 of 4 cases", `var:ask`: "4 of 4 cases", `-var.locale:en`: "0 of 4 cases", `var.country:en`: "0 of 4 cases",
	} {
		expect.Same(t, query, ask(b, query), want)
	}
	ask(b, `var.country:en`)
	if got := texts(b, ".problem")[0]; !strings.Contains(got, `this run has no var "country"; possible: locale, question`) {
		t.Errorf("got %q, want that the run has no var country", got)
	}
	b.quiet()
}

// Of more arms than there is room for, those of what was found are columns.
func TestManyArmsAreColumnsOfWhatWasFound(t *testing.T) {
	t.Parallel()
	run := eval.Run{ID: "many", Suites: []eval.RunSuite{{Name: "s"}}, Plan: eval.RunPlan{Trials: 30}}
	for n := range 30 {
		run.Plan.Arms = append(run.Plan.Arms, fmt.Sprintf("pro/p%02d", n))
	}
	b := open(t, record(t, run, func(yield func(*eval.Result) bool) {
		for n, arm := range run.Plan.Arms {
			r := bigTrial(0)
			r.Trial = eval.Trial{N: n, ID: arm, Suite: "s", Case: fmt.Sprintf("case %d", n), Arm: arm, Repeat: 1}
			if r.Response.Candidates[0].Text = "answer of " + arm; !yield(r) {
				return
			}
		}
	}, nil), 1280, 900, "light")
	b.visit("#/matrix", "#grid .prose")
	expect.Same(t, "columns", len(texts(b, ".line.heads .arm")), 12)
	expect.Same(t, "choices", texts(b, ".arms summary")[0], "Arms: 12 of 30")
	expect.Same(t, "found", ask(b, `text:"answer of pro/p27"`), "1 of 30 cases")
	b.until(`document.querySelector('.hit .prose') !== null`)
	expect.Same(t, "the answer", texts(b, ".hit .prose")[0], "answer of pro/p27")
	b.visit("#/matrix?arm=pro%2Fp05", "#grid .prose")
	expect.Same(t, "chosen", strings.Join(texts(b, ".line.heads .arm > bdi"), "|"), "pro/p05")
	b.quiet()
}

// A run without texts says so instead of searching them; what does not load is said in its cell.
func TestAMatrixWithoutTextsSaysSo(t *testing.T) {
	t.Parallel()
	run, trials := repeatedRun()
	b := open(t, record(t, run, trials, nil), 1280, 900, "light")
	b.visit("#/matrix?q=text:green", ".problem")
	if got := texts(b, ".problem")[0]; !strings.Contains(got, "this run has no texts to search: it was made with --no-content") {
		t.Errorf("got %q, want that the run has no texts to search", got)
	}
	expect.Same(t, "nothing is found", found(b), "0 of 2 cases")
	expect.Same(t, "without a baseline", texts(b, ".only input:disabled + span")[0], "Regressed (no baseline)")
	evaluate[chromedp.Void](b, `void document.querySelectorAll('script[id^="trials/"]').forEach(block => block.remove())`)
	expect.Same(t, "all", ask(b, ""), "2 of 2 cases")
	b.until(`document.querySelectorAll('.reply-cell .note').length > 0`)
	b.until(`document.querySelector('#cell-0-1').textContent.includes('The rest cannot be read: trials/0 is not there')`)
	b.quiet()
}

// Heads and answers share their columns to a pixel, on every screen.
func TestHeadsStandAboveTheirColumns(t *testing.T) {
	t.Parallel()
	run, trials := matrixRun()
	b := open(t, record(t, run, trials, nil), 1280, 900, "light")
	b.visit("#/matrix", "#grid .prose")
	const apart = `(() => {
		const left = one => Math.round(one.getBoundingClientRect().left), heads = [...document.querySelectorAll('.line.heads .arm')];
		if (getComputedStyle(document.querySelector('.headline')).position !== 'sticky') return 0;
		return Math.max(...[...document.querySelectorAll('.line:not(.heads)')].flatMap(row =>
			[...row.querySelectorAll('.reply-cell')].map((cell, k) => Math.abs(left(cell) - left(heads[k])))));
	})()`
	for width := int64(320); width <= 2560; width += 40 {
		b.do(chromedp.EmulateViewport(width, 900))
		if got := evaluate[int](b, apart); got != 0 {
			t.Errorf("%d pixels wide: columns are %d pixels from their heads, want none", width, got)
		}
		if got := evaluate[int64](b, `document.documentElement.scrollWidth`); got > width {
			t.Errorf("%d pixels wide: the page is %d wide, want it no wider", width, got)
		}
	}
	b.quiet()
}
