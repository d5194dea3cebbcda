// Package e2e_test opens reports in a real browser. It is a separate module, so that users of evalrun need not fetch
// the driver of a browser.
package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/reports"
)

// browser is shared by all tests, which run in parallel; each opens its own tabs.
var browser context.Context

func TestMain(m *testing.M) {
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0") // programs with the race detector sleep for a second before they exit
	os.Exit(withBrowser(m))
}

func withBrowser(m *testing.M) int {
	path, err := findBrowser()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	allocator, stop := chromedp.NewExecAllocator(
		context.Background(),
		chromedp.ExecPath(path),
		chromedp.NoSandbox,
		chromedp.DisableGPU,
		chromedp.Flag("headless", true), // the shell is never anything else, and takes it; the whole browser wants a screen without it
		chromedp.Flag("disable-ipc-flooding-protection", true),
	) // pages are visited faster than people do
	defer stop()
	var closeAll context.CancelFunc
	browser, closeAll = chromedp.NewContext(allocator)
	defer closeAll()
	if err := chromedp.Do(browser); err != nil {
		fmt.Fprintln(os.Stderr, "the browser does not start:", err)
		return 1
	}
	return m.Run()
}

func findBrowser() (string, error) {
	for _, name := range []string{"chromium-headless-shell", "chromium"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("there is no browser: make browser installs one (Debian's chromium-headless-shell)")
}

// tab is a page in the browser with what happened in it.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	requests []string // but for the page itself
	trouble  []string // dialogs, exceptions, messages on the console
}

// patience is how long a tab waits at once. A machine with much else to do needs half a minute for a page of thousands of
// trials that a server with the race detector sends.
const patience = 5 * time.Minute

func open(t *testing.T, path string, width, height int64, scheme string) *tab {
	t.Helper()
	return openAt(t, (&url.URL{Scheme: "file", Path: path}).String(), width, height, scheme)
}

func openAt(t *testing.T, address string, width, height int64, scheme string) *tab {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(browser)
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	t.Cleanup(func() { cancel(); closeTab() })
	b := &tab{t: t, ctx: ctx}
	err := chromedp.Listen(ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			if to := e.Request.URL; to != address && !strings.HasPrefix(to, "data:image/") {
				b.requests = append(b.requests, to)
			}
		case *page.EventJavascriptDialogOpening:
			b.trouble = append(b.trouble, "dialog: "+e.Message)
			go func() { _, _ = chromedp.Call(ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{}) }()
		case *runtime.EventExceptionThrown:
			b.trouble = append(b.trouble, "exception: "+(&chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails}).Error())
		case *log.EventEntryAdded: // what the browser itself says, such as what a policy forbade
			b.trouble = append(b.trouble, "log: "+e.Entry.Text)
		case *runtime.EventConsoleAPICalled:
			b.trouble = append(b.trouble, fmt.Sprintf("console: %s", e.Type))
		}
	})
	expect.OK(t, err)
	call(b, network.Enable, network.EnableParams{})
	call(b, log.Enable, cdp.Empty{})
	call(b, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}) // beside other tabs
	b.scheme(scheme)
	b.do(chromedp.EmulateViewport(width, height), chromedp.Navigate(address))
	b.wait("html[data-ready]")
	return b
}

// scheme makes the reader prefer light or dark colours.
func (b *tab) scheme(name string) {
	b.t.Helper()
	call(
		b, emulation.SetEmulatedMedia,
		emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}},
	)
}

// call sends a command to the tab.
func call[P, R any](b *tab, command cdp.Command[P, R], params P) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, command, params)
	b.check(err)
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	b.check(chromedp.Do(b.ctx, steps...))
}

func (b *tab) check(err error) {
	b.t.Helper()
	if err != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.t.Fatalf("%v; %s", err, strings.Join(b.trouble, "; "))
	}
}

// evaluate gives the value of an expression in the page, waiting for it if it is a promise.
func evaluate[T any](b *tab, expression string) T {
	b.t.Helper()
	out, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	b.check(err)
	return out
}

// visit goes to a page of the report and waits until it is there.
func (b *tab) visit(hash, selector string) {
	b.t.Helper()
	evaluate[chromedp.Void](
		b,
		fmt.Sprintf(`void (document.getElementById('main').replaceChildren(), location.hash = '', location.hash = %q)`, hash),
	)
	b.wait(selector)
}

// unfold opens all that is folded.
func (b *tab) unfold() {
	b.t.Helper()
	evaluate[chromedp.Void](b, `void document.querySelectorAll('details').forEach(el => el.open = true)`)
}

// quiet holds that the page requested nothing, opened no dialog and broke nowhere.
func (b *tab) quiet() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.requests) > 0 {
		b.t.Errorf("the page asked for %q, want no request", b.requests)
	}
	if len(b.trouble) > 0 {
		b.t.Errorf("in the page: %q, want no trouble", b.trouble)
	}
}

// record makes a run of trials and its report, and gives the path of the report.
func record(t *testing.T, run eval.Run, trials func(yield func(*eval.Result) bool), change func(*journal.Document)) string {
	t.Helper()
	dir := t.TempDir()
	w, err := journal.Create(filepath.Join(dir, "run"), &run, nil)
	expect.OK(t, err)
	var counts eval.Counts
	for r := range trials {
		counts.Add(r.Outcome())
		expect.OK(t, w.Append(r))
	}
	expect.OK(t, w.Finish(&eval.End{FinishedAt: "2026-01-01T00:01:00Z", Reason: eval.EndCompleted, Counts: counts}))
	d, err := journal.Open(filepath.Join(dir, "run"))
	expect.OK(t, err)
	defer d.Close()
	if change != nil {
		change(d)
	}
	return written(t, d)
}

// written is the path of the report of a run.
func written(t *testing.T, d *journal.Document) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.html")
	file, err := os.Create(path)
	expect.OK(t, err)
	expect.OK(t, reports.HTML(file, d, reports.Options{}), file.Close())
	return path
}

// wait waits for an element to be there.
func (b *tab) wait(selector string) {
	b.t.Helper()
	b.until(fmt.Sprintf("document.querySelector(%q) !== null", selector))
}

// until waits for an expression to become true. It looks by the clock: frames may be drawn late on a machine with much else to do.
func (b *tab) until(expression string) {
	b.t.Helper()
	_, err := chromedp.Run(b.ctx, chromedp.Poll[bool](
		expression, chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(patience),
	))
	if err != nil {
		state := evaluate[string](b, `JSON.stringify([document.hasFocus(), document.activeElement.id, document.documentElement.dataset])`)
		b.t.Logf("%s never came true; focus, active and data: %s", expression, state)
		b.t.Logf("the page:\n%s", evaluate[string](b, `document.body.innerText`))
	}
	b.check(err)
}

// decided gives the decision of a run, which a run that was only recorded does not have yet.
func decided(d *journal.Document) *journal.Decision {
	if d.Decision == nil {
		d.Decision = &journal.Decision{}
	}
	return d.Decision
}
