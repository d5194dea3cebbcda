package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/internal/site"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
)

// keep makes a run that evalrun view lists, in a folder.
func keep(t *testing.T, dir, id string, run eval.Run, trials func(yield func(*eval.Result) bool)) {
	t.Helper()
	run.ID = id
	w, err := journal.Create(filepath.Join(dir, ".evalrun", "runs", id), &run, nil)
	expect.OK(t, err)
	var counts eval.Counts
	for r := range trials {
		counts.Add(r.Outcome())
		expect.OK(t, w.Append(r))
	}
	expect.OK(t, w.Finish(&eval.End{FinishedAt: "2026-01-01T00:01:00Z", Reason: eval.EndCompleted, Counts: counts}))
}

// better are trials without a failure.
func better(trials func(yield func(*eval.Result) bool)) func(yield func(*eval.Result) bool) {
	return func(yield func(*eval.Result) bool) {
		trials(func(r *eval.Result) bool {
			if r.Outcome() == eval.Fail {
				r.Ending, r.Scores[0].Grade = eval.Passed{}, eval.Graded{Value: 1, Passed: true}
			}
			return yield(r)
		})
	}
}

func serve(t *testing.T, dir string) *site.Server {
	t.Helper()
	s, err := site.Start(site.Options{Listen: "127.0.0.1:0", Dir: rundir.At(dir), Every: 10 * time.Millisecond})
	expect.OK(t, err)
	t.Cleanup(s.Close)
	return s
}

// keys are what the runs are called in addresses, by their ids.
func keys(t *testing.T, s *site.Server) map[string]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"data/runs", nil)
	expect.OK(t, err)
	resp, err := http.DefaultClient.Do(r)
	expect.OK(t, err)
	defer resp.Body.Close()
	var list []struct{ Key, ID string }
	expect.OK(t, json.NewDecoder(resp.Body).Decode(&list))
	out := map[string]string{}
	for _, one := range list {
		out[one.ID] = one.Key
	}
	return out
}

// own holds that the page sent requests to its server alone, opened no dialog and broke nowhere.
func (b *tab) own(s *site.Server) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, to := range b.requests {
		if !strings.HasPrefix(to, s.URL) {
			b.t.Errorf("the page asked for %q, want only pages of the viewer", to)
		}
	}
	if len(b.trouble) > 0 {
		b.t.Errorf("in the page: %q, want no trouble", b.trouble)
	}
}

// click follows a link as a person does, to a page on which the expression becomes true.
func (b *tab) click(selector, until string) {
	b.t.Helper()
	evaluate[chromedp.Void](b, fmt.Sprintf(`void document.querySelector(%q).click()`, selector))
	for there := false; !there && b.ctx.Err() == nil; { // while one page gives way to the other, neither answers
		there, _ = chromedp.Run(
			b.ctx,
			chromedp.Evaluate[bool](fmt.Sprintf(`new Promise(done => requestAnimationFrame(() => done(%s)))`, until), chromedp.EvalAwaitPromise),
		)
	}
	b.check(b.ctx.Err())
}

const ready = `document.documentElement.dataset.ready === 'yes'`

// From the list to a run, to a case, and back.
func TestTheViewerLeadsFromListToCaseAndBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run, trials := bigRun(400)
	keep(t, dir, "20260101-000000-old", run, better(trials))
	run.StartedAt = "2026-01-02T00:00:00Z"
	keep(t, dir, "20260102-000000-new", run, trials)
	s := serve(t, dir)
	b := openAt(t, s.URL, 1600, 1000, "light")
	if got := evaluate[string](b, `document.querySelector('.runs tbody').innerText`); !strings.HasPrefix(got, "✗ Failed") ||
		!strings.Contains(got, "2026-01-02") || !strings.Contains(got, "newly failing") {
		t.Errorf("got %q, want the newest run", got)
	}
	b.click(".runs tbody a", ready+` && document.querySelector('.verdict') !== null`)
	b.click(".group tbody a", `document.querySelector('.answer') !== null`)
	if got := evaluate[string](b, `document.querySelector('h1').textContent`); got != "case number 3" {
		t.Errorf("got %q, want case number 3", got)
	}
	evaluate[chromedp.Void](b, `void history.back()`)
	b.wait(".verdict")
	b.click("#views a", ready+` && document.querySelector('.runs') !== null`)
	b.click("#views a:nth-child(2)", ready+` && document.querySelector('.trend') !== null`)
	if got := evaluate[string](b, `document.querySelector('.trend svg').getAttribute('aria-label')`); !strings.HasPrefix(
		got, "pass rate: 2 runs",
	) {
		t.Errorf("got %q, want the name of the plot", got)
	}
	b.click("#views a:nth-child(3)", ready+` && document.getElementById('margin') !== null`)
	evaluate[chromedp.Void](b, `void (document.getElementById('margin').value = '0.05')`)
	b.click("form button", ready+` && document.querySelector('.flips') !== null`)
	if got := evaluate[string](b, `document.getElementById('main').innerText`); !strings.Contains(got, "regressed") ||
		!strings.Contains(got, "case number 3") {
		t.Errorf("got %q, want case number 3", got)
	}
	b.click(".flips a", `document.querySelector('.answer') !== null`)
	b.own(s)
}

// The list and the page of a run that waits for its batches say how many calls wait, and what collects them.
func TestTheViewerSaysWhatARunWaitsFor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run, trials := bigRun(5)
	run.ID, run.Plan.Trials = "20260101-000000-night", run.Plan.Trials+3
	w, err := journal.Create(filepath.Join(dir, ".evalrun", "runs", run.ID), &run, nil)
	expect.OK(t, err)
	for r := range trials {
		expect.OK(t, w.Append(r))
	}
	expect.OK(t, w.WriteIntent(&journal.Intent{Key: "k", At: run.StartedAt, Items: []string{"a", "b", "c"}}))
	expect.OK(t, w.Finish(&eval.End{FinishedAt: "2026-01-01T00:01:00Z", Reason: eval.EndWaiting}))
	s := serve(t, dir)
	b := openAt(t, s.URL, 1280, 1000, "light")
	for _, want := range []string{"Waiting", "3 calls in 1 batch", fmt.Sprintf("%d of %d", run.Plan.Trials-3, run.Plan.Trials)} {
		expect.Contains(t, "the list", evaluate[string](b, `document.querySelector('.runs tbody').innerText`), want)
	}
	b.click(".runs tbody a", ready+` && document.querySelector('.verdict') !== null`)
	for _, want := range []string{"Waiting", "evalrun resume " + run.ID + " collects the answers."} {
		expect.Contains(t, "the page", evaluate[string](b, `document.getElementById('main').innerText`), want)
	}
	b.own(s)
}

// A run in progress grows on the page, in the order of its plan, and says when it has ended.
func TestTheViewerShowsARunGrow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run, _ := bigRun(40)
	run.ID = "20260101-000000-live"
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
	b := openAt(t, s.URL+"run/"+keys(t, s)[run.ID]+"/", 1600, 1000, "light")
	b.until(`document.documentElement.dataset.watched === 'yes'`)
	tile := func(outcome string) string {
		return fmt.Sprintf(
			`[...document.querySelectorAll('.tile')].find(t => t.textContent.includes('%s')).querySelector('b').textContent`,
			outcome,
		)
	}
	expect.Same(t, "passes at first", evaluate[string](b, tile("pass")), "2")
	put(6, 3)
	b.until(tile("fail") + ` === '1' && ` + tile("pass") + ` === '3'`)
	b.visit("#/cases?sort=case", "#grid")
	evaluate[chromedp.Void](b, `void document.getElementById('search').focus()`)
	put(7, 1, 21)
	b.until(`document.getElementById('grid').getAttribute('aria-rowcount') === '8'`)
	names := evaluate[[]string](
		b,
		`[...document.querySelectorAll('.rows .row')]
		.sort((a, b) => a.getAttribute('aria-rowindex') - b.getAttribute('aria-rowindex'))
		.map(r => r.querySelector('.case').textContent + ' ' + r.querySelector('.arm').textContent)`,
	)
	want := []string{
		"case number 0 pro/ask", "case number 0 warm/ask", "case number 1 warm/ask", "case number 10 pro/ask",
		"case number 10 warm/ask", "case number 3 pro/ask", "case number 3 warm/ask",
	}
	expect.Same(t, "the rows", names, want)
	expect.Same(t, "the focus", evaluate[string](b, `document.activeElement.id`), "search")
	b.visit("#/case/big/case%20number%2010", ".answer")
	if got := evaluate[[]string](b, `[...document.querySelectorAll('.answer h2')].map(a => a.textContent)`); len(got) != 2 {
		t.Errorf("headings of answers: got %q, want 2", got)
	}
	shown := evaluate[string](b, `document.getElementById('main').innerText`)
	if !strings.Contains(shown, "Answer "+fmt.Sprint(10*7919%100_003)) {
		t.Errorf("got %q, want the answer of its case", shown)
	}
	b.visit("#/", ".verdict")
	for n := range 40 {
		if !slices.Contains([]int{0, 20, 6, 3, 7, 1, 21}, n) {
			put(n)
		}
	}
	expect.OK(t, w.Finish(&eval.End{FinishedAt: "2026-01-01T00:01:00Z", Reason: eval.EndCompleted}))
	b.until(`document.documentElement.dataset.watched === 'ended' && !document.getElementById('main').innerText.includes('still in progress')`)
	expect.Same(t, "failures at last", evaluate[string](b, tile("fail")), "4")
	b.own(s)
}

// Names and answers that come from outside run nothing and ask for nothing, in no page of the viewer.
func TestHostileTextsRunNothingInTheViewer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run, trials := hostileRun()
	keep(t, dir, "a", run, trials)
	run.StartedAt = `"><script>alert(1)</script>`
	keep(t, dir, "b", run, better(trials))
	s := serve(t, dir)
	known := keys(t, s)
	for path, until := range map[string]string{
		"":                        `document.querySelectorAll('.runs .badge').length === 2`,
		"trends":                  `document.querySelector('.trend') !== null`,
		"compare":                 `document.querySelector('form') !== null`,
		"run/" + known["a"] + "/": `document.querySelector('.verdict') !== null`,
		"compare/" + known["a"] + "/" + known["b"] + "/": `document.querySelector('.verdict') !== null`,
	} {
		b := openAt(t, s.URL+path, 1600, 1000, "light")
		b.until(until)
		if foreign := evaluate[int](
			b,
			`[...document.querySelectorAll('*')].filter(el => el.localName === 'script' && !el.src || `+
				`[...el.attributes].some(a => a.name.startsWith('on'))).length`,
		); foreign != 0 {
			t.Errorf("%s: %d scripts or listeners in the page, want none", path, foreign)
		}
		if strings.Contains(path, "/") {
			b.visit("#/cases", "#grid")
			b.visit(evaluate[string](b, `document.querySelector('.rows a').getAttribute('href')`), ".answer")
			b.visit("#/matrix?q=text:script", "#grid .prose")
			b.visit("#/comparison", "h1")
		}
		b.own(s)
	}
}
