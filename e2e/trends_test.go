package e2e_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
)

// courseOfRuns keeps, in a folder, runs of two arms, each a day after the other, the last ones of one suite alone in another.
func courseOfRuns(t *testing.T, dir string, runs, alone int) {
	t.Helper()
	for i := range runs + alone {
		p := somePlots(2, 20+i)
		run, trials := p.record()
		run.StartedAt = fmt.Sprintf("2026-%02d-%02dT10:00:00Z", i/28+1, i%28+1)
		if i%7 != 3 {
			run.Commit = fmt.Sprintf("%07x%033d", 0xa000000+i*7777, 0)
		}
		run.Emulator = i%5 == 0
		suite := "plots"
		if i >= runs {
			suite = "alone"
		}
		run.Suites[0].Name, run.Suites[0].Gate = suite, &eval.GateConfig{PassRateMin: new(0.9)}
		keep(t, dir, fmt.Sprintf("2026%04d-000000-abc", i), run, func(yield func(*eval.Result) bool) {
			trials(func(r *eval.Result) bool { r.Suite = suite; return yield(r) })
		})
	}
}

// Trends have axes with units, and the commits under their points: as many as have room, the newest in any case.
func TestTrendsHaveScales(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	courseOfRuns(t, dir, 40, 1)
	s := serve(t, dir)
	for _, width := range []int64{390, 1280, 2560} {
		b := openAt(t, s.URL+"trends", width, 1000, map[bool]string{true: "dark", false: "light"}[width == 1280])
		if n := b.plots(fmt.Sprintf("trends at %d", width)); n != 20 { // five metrics on two arms of two suites
			t.Errorf("%d plots, want 20", n)
		}
		if got := evaluate[int64](b, `document.documentElement.scrollWidth`); got > width {
			t.Errorf("%d wide on a screen of %d, want it no wider", got, width)
		}
		limits := evaluate[string](b, `document.querySelectorAll('.limit').length + document.querySelector('.trend .note').textContent`)
		expect.Contains(t, "the gate's limits", limits, "4")
		expect.Contains(t, "their words", limits, "The broken line is the limit of the gate, at least 90.0 %.")
		commits := evaluate[[]string](
			b, `[...document.querySelectorAll('.trend svg')].at(-1).outerHTML.match(/>a[0-9a-f]{6}</g).map(t => t.slice(1, -1))`,
		)
		if n := len(commits); n < 8 || n > 40 {
			t.Errorf("%d commits under 40 points, want 8 to 40", n)
		}
		expect.Same(t, "the last commit", commits[len(commits)-1], fmt.Sprintf("%07x", 0xa000000+39*7777))
		b.own(s)
	}
	b := openAt(t, s.URL, 1280, 1000, "light")
	b.until(`document.querySelectorAll('.runs .badge').length === 41`)
	b.plots("runs")
}

// axe-core finds nothing in the plots, in either scheme, and their choices can be reached by the keyboard.
func TestPlotsAreAccessible(t *testing.T) {
	t.Parallel()
	p := somePlots(3, 60)
	p.prices = `{"currency":"EUR","models":{"svc-pro":{"input":1,"output":10}}}`
	path := p.path(t)
	b := open(t, path, 390, 1000, "light")
	evaluate[chromedp.Void](b, axe+"\n;0")
	for _, width := range []int64{390, 2560} {
		b.do(chromedp.EmulateViewport(width, 1000))
		b.visit("#/", ".verdict")
		b.faultless("plots", width)
		const labelled = `[...document.querySelectorAll('.picks select')].filter(s => s.tabIndex === 0 && s.labels.length === 1).length`
		if n := evaluate[int](b, labelled); n != 5 {
			t.Errorf("%d choices of plots, want 5", n)
		}
	}
	b.quiet()
}

// The page of a comparison plots the base against the head, case by case, with values of the base's own rows.
func TestBaseIsPlottedAgainstHead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run, trials := bigRun(400)
	keep(t, dir, "20260101-000000-old", run, better(trials))
	run.StartedAt = "2026-01-02T00:00:00Z"
	keep(t, dir, "20260102-000000-new", run, trials)
	s := serve(t, dir)
	known := keys(t, s)
	b := openAt(t, s.URL+"compare/"+known["20260101-000000-old"]+"/"+known["20260102-000000-new"]+"/#/comparison", 1280, 1000, "light")
	const facts = `[...document.querySelectorAll('details .chart')].map(c => c.previousElementSibling.textContent)`
	b.until(facts + `.length === 1`) // that of the first arm is open
	want := "pass rate of head is higher in 0 cases, lower in 20, the same in 178."
	expect.Same(t, "the first arm", evaluate[[]string](b, facts), []string{want})
	b.unfold()
	b.until(facts + `.length === 2`)
	expect.Same(t, "both arms", evaluate[[]string](b, facts), []string{want, want})
	b.plots("comparison")
	b.pick("against-0", "latency")
	expect.Same(t, "latency", evaluate[[]string](b, facts)[0], "latency of head is higher in 0 cases, lower in 0, the same in 198.")
	b.own(s)
}

// growingRun is a run of 40 cases on two arms that is being written.
type growingRun struct {
	*journal.Writer
	t    *testing.T
	run  eval.Run
	left []*eval.Result
}

// growing begins a run with ten cases in a folder.
func growing(t *testing.T, dir string) *growingRun {
	t.Helper()
	run, trials := somePlots(2, 40).record()
	g := &growingRun{t: t, run: run}
	trials(func(r *eval.Result) bool { g.left = append(g.left, r); return true })
	var err error
	g.Writer, err = journal.Create(filepath.Join(dir, ".evalrun", "runs", run.ID), &run, nil)
	expect.OK(t, err)
	g.put(20)
	return g
}

// put adds the next trials.
func (g *growingRun) put(n int) {
	g.t.Helper()
	for _, r := range g.left[:n] {
		expect.OK(g.t, g.Append(r))
	}
	g.left = g.left[n:]
}

// versusFacts are the words of the plot of two arms.
const versusFacts = `document.getElementById('pick-versus-value').closest('section').querySelector('p').textContent`

// A reader who leaves the page in the middle of a choice, and comes back to make another, sees how the run has grown.
func TestPlotsGrowAfterAChoiceThatWasLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := growing(t, dir)
	s := serve(t, dir)
	b := openAt(t, s.URL+"run/"+keys(t, s)[g.run.ID]+"/", 1600, 1000, "light")
	b.until(`document.documentElement.dataset.watched === 'yes'`)
	b.pick("versus-value", "tokens")
	for range 2 {
		evaluate[chromedp.Void](b, `void document.getElementById('pick-versus-value').focus()`)
		evaluate[chromedp.Void](b, `void document.querySelector('#top > .chip').setAttribute('data-old', '')`)
		g.put(20)
		b.until(`document.querySelector('#top > .chip[data-old]') === null`) // the news is there
		evaluate[chromedp.Void](b, `void (location.hash = '#/cases')`)
		b.until(`document.getElementById('main').className === 'cases'`)
		evaluate[chromedp.Void](b, `void (location.hash = '#/')`)
		b.until(`document.getElementById('main').className === 'summary'`)
	}
	evaluate[chromedp.Void](b, `void document.getElementById('pick-versus-value').focus()`)
	g.put(20)
	expect.OK(t, g.Finish(&eval.End{FinishedAt: "2026-01-01T00:01:00Z", Reason: eval.EndCompleted}))
	b.until(`document.documentElement.dataset.watched === 'ended'`)
	evaluate[chromedp.Void](b, `void document.activeElement.blur()`)
	b.until(versusFacts + ` === 'tokens of B is higher in 40 cases, lower in 0, the same in 0.'`)
	b.own(s)
}

// A choice of a plot that a reader is making stays while the run grows. The plots follow afterwards, with the choice.
func TestAChoiceOfAPlotStaysWhileTheRunGrows(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := growing(t, dir)
	s := serve(t, dir)
	b := openAt(t, s.URL+"run/"+keys(t, s)[g.run.ID]+"/", 1600, 1000, "light")
	b.until(`document.documentElement.dataset.watched === 'yes'`)
	evaluate[chromedp.Void](b, `void document.getElementById('pick-versus-value').focus()`)
	b.pick("versus-value", "tokens")
	expect.Same(t, "at first", evaluate[string](b, versusFacts), "tokens of B is higher in 10 cases, lower in 0, the same in 0.")
	g.put(60)
	expect.OK(t, g.Finish(&eval.End{FinishedAt: "2026-01-01T00:01:00Z", Reason: eval.EndCompleted}))
	b.until(`document.documentElement.dataset.watched === 'ended'`)
	expect.Same(t, "the focus", evaluate[string](b, `document.activeElement.id`), "pick-versus-value")
	evaluate[chromedp.Void](b, `void document.activeElement.blur()`)
	b.until(versusFacts + ` === 'tokens of B is higher in 40 cases, lower in 0, the same in 0.'`)
	b.until(`!document.getElementById('main').innerText.includes('still in progress')`)
	expect.Same(t, "the choice", evaluate[string](b, `document.getElementById('pick-versus-value').selectedOptions[0].text`), "tokens")
	b.plots("a run that has grown")
	b.own(s)
}
