package e2e_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/internal/site"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
)

// published writes a site of two runs of bigRun, the newer one with failures, and gives its folder.
func published(t *testing.T, trials int, change func(*site.PublishOptions)) string {
	t.Helper()
	dir := t.TempDir()
	run, all := bigRun(trials)
	keep(t, dir, "20260101-000000-old", run, better(all))
	run.StartedAt = "2026-01-02T00:00:00Z"
	keep(t, dir, "20260102-000000-new", run, all)
	o := site.PublishOptions{Runs: []string{filepath.Join(dir, ".evalrun", "runs")}, Out: filepath.Join(t.TempDir(), "site")}
	if change != nil {
		change(&o)
	}
	_, err := site.Write(rundir.At(dir), o)
	expect.OK(t, err)
	return o.Out
}

// hosted serves a folder as pages hosting does, below a path, and gives the address of the site.
func hosted(t *testing.T, dir string) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	expect.OK(t, err)
	server := &http.Server{
		Handler: http.StripPrefix("/project/", http.FileServer(http.Dir(dir))), ReadHeaderTimeout: time.Minute,
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return "http://" + listener.Addr().String() + "/project/"
}

// within holds that the page requested nothing but files of its site, and broke nowhere.
func (b *tab) within(site string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, to := range b.requests {
		if !strings.HasPrefix(to, site) {
			b.t.Errorf("the page asked for %s, want only files of the site", to)
		}
	}
	if len(b.trouble) > 0 {
		b.t.Errorf("in the page: %q, want no trouble", b.trouble)
	}
}

func textOf(b *tab) string {
	b.t.Helper()
	return evaluate[string](b, `document.getElementById('main').innerText`)
}

func wants(b *tab, what, text string, words ...string) {
	b.t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			b.t.Errorf("%s: got %s, want it to contain %q", what, text, word)
		}
	}
}

// A site works from a server of files below a path, and from a folder. It has the list of runs, a run with its table and
// its answers, trends, and a comparison.
func TestAPublishedSiteWorksHostedAndFromAFolder(t *testing.T) {
	t.Parallel()
	dir := published(t, 2400, func(o *site.PublishOptions) { o.Margin = 0.05 })
	for name, site := range map[string]string{"hosted": hosted(t, dir), "folder": (&url.URL{Scheme: "file", Path: dir}).String() + "/"} {
		t.Run(name, func(t *testing.T) {
			b := openAt(t, site+"index.html", 1600, 1000, "light")
			wants(b, "runs", textOf(b), "2026-01-01", "2026-01-02", "Failed", "2,400")
			b.follow("a[href^='runs/20260102']", ".verdict")
			b.visit("#/cases", "#grid")
			if got := found(b); got != "2,400 of 2,400 trials" {
				t.Errorf("got %q, want 2,400 of 2,400 trials", got)
			}
			answer := bigTrial(2398).Response.Text()
			b.visit("#/case/big/case%20number%201199", ".answer")
			wants(b, "case", textOf(b), answer[:40])
			b.follow("#views a[href$='trends.html']", ".trend")
			wants(b, "trends", textOf(b), "pass rate", "2 runs")
			b.follow("#views a[href$='compare.html']", ".comparisons")
			wants(b, "comparisons", textOf(b), "20260102-000000-new against 20260101-000000-old", "regressed", "newly failing")
			b.follow(".comparisons a", ".flips")
			b.visit("#/comparison", ".flips")
			wants(b, "comparison", textOf(b), "regressed", "case number 3")
			b.until(`[...document.querySelectorAll('details .chart')].length === 1`) // with values of the base's own rows
			wants(b, "base against head", textOf(b), "lower in 120")
			b.within(site)
		})
	}
}

// follow goes where a link leads, as a click does.
func (b *tab) follow(link, selector string) {
	b.t.Helper()
	b.wait(link)
	b.do(chromedp.Navigate(evaluate[string](b, fmt.Sprintf(`document.querySelector(%q).href`, link))))
	b.wait("html[data-ready]")
	b.wait(selector)
}

// The keyboard alone goes from the list of runs into an answer and to the comparisons.
func TestThePublishedSiteWorksByKeyboard(t *testing.T) {
	t.Parallel()
	site := hosted(t, published(t, 20, nil))
	b := openAt(t, site+"index.html", 1600, 1000, "light")
	b.tabTo("a[href^='runs/20260102']")
	b.do(chromedp.KeyEvent(kb.Enter))
	b.arrive(".verdict")
	b.do(chromedp.KeyEvent("/"))
	b.wait("#search:focus")
	b.do(chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.Enter))
	b.wait(".answer")
	b.tabTo("#views a[href$='compare.html']")
	b.do(chromedp.KeyEvent(kb.Enter))
	b.arrive(".comparisons")
	b.within(site)
}

// arrive waits for an element of the page that a key leads to. The page of before goes away meanwhile.
func (b *tab) arrive(selector string) {
	b.t.Helper()
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var there bool
		expression := fmt.Sprintf(`document.documentElement.dataset.ready === 'yes' && document.querySelector(%q) !== null`, selector)
		if there, err = chromedp.Run(b.ctx, chromedp.Evaluate[bool](expression)); there {
			return
		}
	}
	b.t.Fatalf("there is no %s: %v, want one", selector, err)
}

// tabTo presses the tab key until an element has the focus.
func (b *tab) tabTo(selector string) {
	b.t.Helper()
	for range 200 {
		if evaluate[bool](b, fmt.Sprintf(`document.activeElement.matches(%q)`, selector)) {
			return
		}
		b.do(chromedp.KeyEvent(kb.Tab))
	}
	b.t.Fatalf("the tab key does not come to %s, want it reached", selector)
}

// A file that is gone is said in words.
func TestAMissingPublishedFileIsReported(t *testing.T) {
	t.Parallel()
	dir := published(t, 20, nil)
	rows, err := filepath.Glob(filepath.Join(dir, "data", "*", "rows", "0.js"))
	expect.OK(t, err)
	for _, path := range rows {
		expect.OK(t, os.Remove(path))
	}
	site := hosted(t, dir)
	b := openAt(t, site+"index.html", 800, 600, "light")
	b.do(chromedp.Navigate(site + "runs/20260102-000000-new.html"))
	b.until(`document.getElementById('main').innerText.includes('the file of rows/0 is missing: reload the page')`)
}

// longer are trials with long answers that all differ: of 5,000 they are 8 MB.
func longer(trials func(yield func(*eval.Result) bool)) func(yield func(*eval.Result) bool) {
	return func(yield func(*eval.Result) bool) {
		trials(func(r *eval.Result) bool {
			if r.Response != nil {
				words := rand.New(rand.NewPCG(1, uint64(r.N)))
				var b strings.Builder
				for b.Len() < 1500 {
					fmt.Fprintf(&b, "%x ", words.Uint32N(1<<24))
				}
				r.Response.Candidates[0].Text += "\n" + b.String()
			}
			return yield(r)
		})
	}
}

// The first page of 5,000 trials with 8 MB of answers reads none of them, and a case reads its block alone: in a site,
// hosted and from a folder. How long the first page takes here, in evalrun view and in a report is in the log of make soak.
func TestALargeSiteReadsNoAnswerFirst(t *testing.T) {
	measured := os.Getenv("EVALRUN_PAGE_TRIALS") != ""
	t.Parallel()
	dir := t.TempDir()
	run, trials := bigRun(bigTrials)
	keep(t, dir, "large", run, longer(trials))
	out := filepath.Join(t.TempDir(), "site")
	_, err := site.Write(rundir.At(dir), site.PublishOptions{Runs: []string{"large"}, Out: out})
	expect.OK(t, err)
	for name, site := range map[string]string{"hosted": hosted(t, out), "folder": (&url.URL{Scheme: "file", Path: out}).String() + "/"} {
		b := openAt(t, site+"runs/large.html", 1600, 1000, "light")
		if n := b.requested("/trials/"); n != 0 {
			t.Errorf("%s: the first page reads %d blocks of answers, want none", name, n)
		}
		answer := bigTrial(3_000).Response.Text()
		b.visit("#/case/big/case%20number%201500", ".answer")
		wants(b, name, textOf(b), answer[:40])
		if n := b.requested("/trials/"); n != 1 {
			t.Errorf("%s: the case reads %d blocks of answers, want one", name, n)
		}
		b.within(site)
		if measured {
			b = openAt(t, site+"runs/large.html", 1600, 1000, "light")
			b.firstPage(name)
		}
	}
	s := serve(t, dir)
	b := openAt(t, s.URL+"run/"+keys(t, s)["large"]+"/", 1600, 1000, "light")
	if !evaluate[bool](b, `performance.getEntriesByName('verdict')[0].startTime <=
		performance.getEntriesByType('resource').find(e => e.name.includes('/data/index')).startTime`) {
		t.Error("evalrun view: the page reads trials before it shows the verdict, want the verdict first")
	}
	if measured {
		b.firstPage("evalrun view")
		d, err := journal.Open(filepath.Join(dir, ".evalrun", "runs", "large"))
		expect.OK(t, err)
		defer d.Close()
		b = open(t, written(t, d), 1600, 1000, "light")
		b.firstPage("report")
	}
}

// firstPage draws a page again, and logs how long that took from the request until it was drawn. It also logs for how
// much of it the thread was at work, because the clock alone says little on a busy machine.
func (b *tab) firstPage(what string) {
	b.t.Helper()
	verdict, first := markAt(b, "verdict"), markAt(b, "drawn")
	call(b, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks})
	before := busy(b)
	b.do(chromedp.Reload())
	b.arrive(".verdict")
	b.t.Logf(
		"%s: verdict after %.0f ms, all after %.0f ms; again %.0f ms and %.0f ms, %.0f ms of them at work",
		what, verdict, first, markAt(b, "verdict"), markAt(b, "drawn"), 1000*(busy(b)-before),
	)
}

// markAt is when the page came to a mark, in milliseconds since it was requested.
func markAt(b *tab, mark string) float64 {
	return evaluate[float64](b, fmt.Sprintf(`performance.getEntriesByName(%q)[0].startTime`, mark))
}

// busy is how long the thread of the page was at work, in seconds.
func busy(b *tab) float64 {
	b.t.Helper()
	got, err := chromedp.Call(b.ctx, performance.GetMetrics, cdp.Empty{})
	b.check(err)
	for _, m := range got.Metrics {
		if m.Name == "TaskDuration" {
			return m.Value
		}
	}
	b.t.Fatal("the browser does not say how long it was at work, want a TaskDuration")
	return 0
}

// requested counts the requests to addresses with some words.
func (b *tab) requested(words string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, to := range b.requests {
		if strings.Contains(to, words) {
			n++
		}
	}
	return n
}
