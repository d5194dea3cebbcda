package e2e_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/internal/site"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/scorers/labels"
)

// trustKey is the environment of somebody who shares a key.
func trustKey(name string) string {
	return map[string]string{rundir.Variable: "a key of these tests alone"}[name]
}

// keepOwn makes a run of this user.
func keepOwn(t *testing.T, dir, id string, run eval.Run, trials func(yield func(*eval.Result) bool)) {
	t.Helper()
	keys, err := rundir.Load(trustKey)
	expect.OK(t, err)
	run.ID = id
	expect.OK(t, keys.SignRun(&run, filepath.Join(dir, ".evalrun", "runs", id)))
	keep(t, dir, id, run, trials)
}

func serveLabels(t *testing.T, dir, who string) *site.Server {
	t.Helper()
	s, err := site.Start(site.Options{
		Listen: "127.0.0.1:0", Dir: rundir.At(dir), Every: 10 * time.Millisecond, Label: true, As: who, Getenv: trustKey,
	})
	expect.OK(t, err)
	t.Cleanup(s.Close)
	return s
}

// opened is a case of the run r in a tab of somebody who labels.
func opened(t *testing.T, s *site.Server, hash string) *tab {
	t.Helper()
	b := openAt(t, s.WithToken(s.URL+"run/"+keys(t, s)["r"]+"/"), 1600, 1000, "light")
	b.visit(hash, ".label-form")
	b.until(`[...document.querySelectorAll('.labels')].every(one => one.querySelector('.label-form') !== null)`)
	return b
}

// labelled holds what the labels of an answer in a suite are, as `who label comment`.
func labelled(t *testing.T, dir, suite string, want ...string) {
	t.Helper()
	f, err := labels.Read(dir, suite)
	expect.OK(t, err, f.Err())
	var got []string
	for _, k := range f.Answers() {
		for _, l := range f.Of(k) {
			got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s", l.Who, l.Label, l.Comment)))
		}
	}
	expect.Same(t, "labels", got, want)
}

// A person labels an answer by keyboard, changes the label and takes it back; a second one, in another process of the
// same folder, sees it and disagrees.
func TestAPersonLabelsByKeyboard(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run, trials := bigRun(12)
	keepOwn(t, dir, "r", run, trials)
	first := bigTrial(0)
	page := "#/case/" + first.Suite + "/" + strings.ReplaceAll(first.Case, " ", "%20")
	ada, ben := serveLabels(t, dir, "Ada"), serveLabels(t, dir, "Ben")
	a := opened(t, ada, page)
	if got := evaluate[string](a, `location.hash`); strings.Contains(got, "token") {
		t.Errorf("the address still has the token: %s, want none", got)
	}
	a.do(chromedp.KeyEvent("l"))
	a.wait(".label-pass:focus")
	a.do(chromedp.KeyEvent(kb.Enter))
	a.wait(".label-pass[aria-pressed=true]:focus")
	labelled(t, dir, first.Suite, "Ada pass")
	a.do(chromedp.KeyEvent(kb.Tab))
	a.wait(".label-fail:focus")
	a.do(chromedp.KeyEvent(kb.Tab))
	a.wait("textarea:focus")
	a.do(chromedp.KeyEvent("b"), chromedp.KeyEvent("?"), chromedp.KeyEvent("n"), chromedp.KeyEvent(kb.Escape))
	a.wait(".label-pass:focus")
	evaluate[chromedp.Void](a, `void (window.before = document.querySelector('.label-save'))`)
	a.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	a.until(`document.querySelector('.label-save') !== window.before && document.querySelector('textarea').value === 'b?n'`)
	a.wait(".label-save:focus")
	labelled(t, dir, first.Suite, "Ada pass b?n")

	b := opened(t, ben, page)
	b.until(`document.querySelector('.labels').textContent.includes('1 other person')`)
	if evaluate[bool](b, `document.querySelector('.labels').textContent.includes('Ada')`) {
		t.Error("what Ada says is shown before Ben has a label of his own, want it hidden")
	}
	b.click(".label-fail", `document.querySelector('.label-fail[aria-pressed=true]') !== null`)
	b.until(`document.querySelector('.labels').textContent.includes('b?n')`)
	labelled(t, dir, first.Suite, "Ada pass b?n", "Ben fail")
	b.click("#views a[href='/labels']", `document.querySelectorAll('table').length === 2`)
	if got := evaluate[string](b, `document.querySelector('main').innerText`); !strings.Contains(got, "Ada and Ben") ||
		!strings.Contains(got, "1 answer: 0 pass, 0 fail, divided on 1") {
		t.Errorf("got %q, want `Ada and Ben`", got)
	}
	a.click(".label-pass", `document.querySelector('.label-pass').getAttribute('aria-pressed') === 'false'`)
	labelled(t, dir, first.Suite, "Ada  b?n", "Ben fail")
	a.own(ada)
	b.own(ben)
}

// The page of a site elsewhere, even one on this machine, writes nothing; nor does a page without the token.
func TestOtherPagesWriteNoLabels(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run, trials := bigRun(2)
	keepOwn(t, dir, "r", run, trials)
	s := serveLabels(t, dir, "Ada")
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<!doctype html><html data-ready="yes"><title>elsewhere</title>`))
	}))
	t.Cleanup(elsewhere.Close)
	address := fmt.Sprintf("%srun/%s/labels/%s", s.URL, keys(t, s)["r"], bigTrial(0).ID)
	token := strings.TrimPrefix(s.WithToken(""), "#token=")
	send := func(b *tab, mode, headers string) string {
		t.Helper()
		return evaluate[string](b, fmt.Sprintf(
			`fetch(%q, {method: 'POST', mode: %q, headers: %s, body: '{"label":"pass"}'}).then(a => a.type + ' ' + a.status, e => 'no answer')`,
			address, mode, headers,
		))
	}
	evil := openAt(t, elsewhere.URL, 800, 600, "light")
	for _, headers := range []string{`{}`, `{'Content-Type': 'application/json', 'Evalrun-Token': '` + token + `'}`} {
		for _, mode := range []string{"cors", "no-cors"} {
			if got := send(evil, mode, headers); strings.HasPrefix(got, "basic") || strings.HasSuffix(got, " 200") {
				t.Errorf("%s, %s: got %s, want it refused", mode, headers, got)
			}
		}
	}
	plain := openAt(t, s.URL, 800, 600, "light")
	if got := send(plain, "cors", `{'Content-Type': 'application/json'}`); got != "basic 403" {
		t.Errorf("without a token: %s, want 403", got)
	}
	second := openAt(t, s.WithCode(s.URL), 800, 600, "light")
	second.until(fmt.Sprintf(`localStorage.getItem('evalrun-token') === %q`, token))
	if got := evaluate[string](second, `location.hash`); got != "" {
		t.Errorf("the address still has the code: %s, want none", got)
	}
	evaluate[chromedp.Void](plain, `void localStorage.clear()`)
	late := openAt(t, s.WithCode(s.URL), 800, 600, "light")
	if got := evaluate[string](late, `localStorage.getItem('evalrun-token') || ''`); got != "" {
		t.Errorf("a page that was opened by a code that was used has %q, want no token", got)
	}
	if _, err := os.Stat(filepath.Join(dir, bigTrial(0).Suite+labels.Suffix)); err == nil {
		t.Error("something was labelled, want no label")
	}
}

// axe-core finds nothing in the labels of an answer, of a run that takes none, and in the page of all labels. Nothing is
// wider than the screen.
func TestLabelsAreAccessible(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run, trials := bigRun(12)
	keepOwn(t, dir, "own", run, trials)
	keep(t, dir, "other", run, trials)
	first := bigTrial(0)
	key, _ := labels.KeyOf(first)
	for _, who := range []string{"Ada", "Ben", "\u202eCleo with a name that is rather long, as names are"} {
		expect.OK(t, labels.Append(dir, filepath.Join(dir, "lock"), &labels.Label{
			Suite: first.Suite, CaseID: key.CaseID, Arm: key.Arm, Repeat: 1, AnswerHash: key.AnswerHash, Label: labels.Pass, Who: who,
			Comment: strings.Repeat("<img src=x onerror=alert(1)> ", 20) + strings.Repeat("x", 500), At: "2025-01-01T00:00:00Z",
		}))
	}
	s := serveLabels(t, dir, "Ada")
	page := "#/case/" + first.Suite + "/" + strings.ReplaceAll(first.Case, " ", "%20")
	for _, path := range []string{"labels", "run/" + keys(t, s)["own"] + "/" + page, "run/" + keys(t, s)["other"] + "/" + page} {
		b := openAt(t, s.WithToken(s.URL), 390, 900, "light")
		b.do(chromedp.Navigate(s.URL + path))
		b.until(ready + ` && (document.querySelector('.labels h3') || document.querySelector('table')) !== null`)
		evaluate[chromedp.Void](b, axe+"\n;0")
		for _, width := range []int64{390, 1600, 2560} {
			b.do(chromedp.EmulateViewport(width, 900))
			b.faultless(path, width)
		}
		b.own(s)
	}
}

// Somebody who labels goes through the answers that wait for it, by keyboard: the filter of the matrix, the next one, and back.
func TestAnswersThatWaitForALabelAreFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run, trials := decideRun("", "", "")
	keepOwn(t, dir, "r", run, trials)
	s := serveLabels(t, dir, "Ada")
	b := opened(t, s, "#/case/s/case%200?arm=pro%2Fold")
	b.do(chromedp.KeyEvent("l"), chromedp.KeyEvent(kb.Enter))
	b.until(`document.querySelectorAll('.labels [aria-pressed=true]').length === 1`)
	rows := func() string { return strings.Join(texts(b, ".line:not(.heads) .case a"), "|") }
	b.visit("#/matrix?arm=pro%2Fold", "#grid .prose")
	b.tabTo("input[name=only]:checked")
	b.do(chromedp.KeyEvent(kb.ArrowUp)) // from the first filter to the last
	b.until(`location.hash === '#/matrix?only=unlabelled&arm=pro%2Fold' && document.getElementById('found').textContent === '2 of 3 cases'`)
	expect.Same(t, "what waits", rows(), "case 1|case 2")
	b.visit("#/cases?q=labelled%3Ayes", "#grid .row")
	b.until(`document.getElementById('found').textContent === '1 of 12 trials'`)
	b.visit("#/matrix?only=unlabelled&arm=pro%2Fold", "#grid .prose")
	b.do(chromedp.KeyEvent(kb.Enter))
	b.wait(".label-form")
	b.until(`document.querySelectorAll('.label-form').length === 1`)
	b.do(chromedp.KeyEvent("l"), chromedp.KeyEvent(kb.Enter))
	b.until(`document.querySelectorAll('.labels [aria-pressed=true]').length === 1`)
	b.do(chromedp.KeyEvent(kb.Escape))
	b.until(`document.getElementById('found')?.textContent === '1 of 3 cases'`)
	expect.Same(t, "what is left", rows(), "case 2")
	ask(b, "labelled:maybe")
	expect.Same(t, "a slip", b.joined(".problem"), "labelled:maybe character 10: labelled is yes or no")
}

// Who labels sees one answer at a time, and nothing of what judges and other scorers made of it, before and after the label.
func TestWhoLabelsIsBlind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run, trials := decideRun("", "", "")
	keepOwn(t, dir, "r", run, trials)
	b := opened(t, serveLabels(t, dir, "Ada"), "#/case/s/case%200")
	for _, when := range []string{"before", "after"} {
		const shown = `document.querySelectorAll('.answer').length + ' ' + document.querySelectorAll('.answers [aria-label=Scores], ' +
			'.answers > article > p .badge, .answers .repeats button[aria-label*=repeat]').length`
		expect.Same(t, when+" the label: answers, and what became of them", evaluate[string](b, shown), "1 0")
		if when == "before" {
			b.click(".label-fail", `document.querySelector('.label-fail[aria-pressed=true]') !== null`)
		}
	}
	if links := evaluate[int](b, `document.querySelectorAll('.answer .trail a').length`); links != 4 {
		t.Errorf("got %d links to the answers of the case, want 4", links)
	}
}

// Two answers are labelled without knowing which arm they are of and what judges say, on sides that a reload keeps; labelled, they say it.
// The page of labels lists the answers on which the judge and people disagree.
func TestPairsAreLabelledBlind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run, trials := decideRun("", "b", "")
	keepOwn(t, dir, "r", run, func(yield func(*eval.Result) bool) {
		for r := range trials {
			r.Scores[0].Judged = &eval.Judged{Judge: "clerk"}
			r.Vars = map[string]string{"q": "the question"}
			if !yield(r) {
				return
			}
		}
	})
	b := opened(t, serveLabels(t, dir, "Ada"), "#/case/s/case%201")
	b.press("s")
	b.until(`document.querySelectorAll('.half .label-form').length === 2`)
	shown := func() string { return strings.Join(texts(b, "#main"), " ") }
	for _, word := range []string{"pro/", "flash/", "svc-pro", "accuracy", "Scores"} {
		if strings.Contains(shown(), word) {
			t.Errorf("got %s before the labels, want it hidden: %s", word, shown())
		}
	}
	sides := func() string { return strings.Join(texts(b, ".half .prose"), "|") }
	before := sides()
	b.do(chromedp.Reload())
	b.until(ready + ` && document.querySelectorAll('.half .label-form').length === 2`)
	expect.Same(t, "sides after a reload", sides(), before)
	b.press("2")
	b.until(`document.querySelectorAll('.label-fail[aria-pressed=true]').length === 1`)
	expect.Same(t, "after one label", strings.Contains(shown(), "pro/"), false)
	b.press("4")
	b.until(`document.getElementById('main').textContent.includes('pro/new') && document.querySelector('.queue a:focus') !== null`)
	expect.Contains(t, "after both labels", shown(), "accuracy")
	expect.Same(t, "sides after the labels", sides(), before)
	expect.Same(t, "next", strings.Join(texts(b, ".queue a"), ""), "Next pair to label")
	evaluate[chromedp.Void](b, axe+"\n;0")
	b.faultless("the pair", 1600)

	b.click("#views a[href='/labels']", `document.querySelectorAll('table').length === 2`)
	expect.Contains(t, "disagreement", shown(), "accuracy, judge clerk: disagrees with people on 1 of 2 answers in the newest run")
	expect.Same(t, "where", texts(b, "table tbody tr")[1:], []string{"case 1pro/old1✗ fail✓ pass"})
}
