package e2e_test

import (
	_ "embed"
	"fmt"
	"net/url"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/evalrun/evalrun/internal/site"
	"github.com/evalrun/evalrun/internal/testing/testrun"
)

// axe is axe-core.
//
//go:embed testdata/axe.min.js
var axe string

// widths are those of a telephone, a tablet, a laptop and a large screen.
var widths = []int64{390, 768, 1440, 2560}

// checked opens a page, and holds in all widths that its views are faultless.
func checked(t *testing.T, what, address string, views []reportPage) {
	t.Helper()
	b := openAt(t, address, widths[0], 900, "light")
	evaluate[chromedp.Void](b, axe+"\n;0")
	for _, width := range widths {
		b.do(chromedp.EmulateViewport(width, 900))
		if len(views) == 0 {
			b.faultless(what, width)
		}
		for _, p := range views {
			b.visit(p.hash, p.selector)
			b.faultless(what+", "+p.name, width)
		}
	}
}

// faultless holds that axe-core finds nothing at all in the page as it is, and that it is not wider than the screen. The dark scheme
// changes colours alone, as TestTheSchemesDifferInColours holds: there the rules of colours are left to look at, in the
// narrowest and the widest page of those that are looked at in all widths.
func (b *tab) faultless(page string, width int64) {
	b.t.Helper()
	b.unfold()
	b.finds(page, width, 10, `rules: {'target-size': {enabled: true}}`)
	if got := evaluate[int64](b, `document.documentElement.scrollWidth`); got > width {
		b.t.Errorf("%s: %d wide on a screen of %d, want it no wider", page, got, width)
	}
	if !slices.Contains(widths[1:3], width) {
		b.scheme("dark")
		b.finds(page+", dark", width, 1, `runOnly: ['color-contrast', 'link-in-text-block']`)
		b.scheme("light")
	}
}

// finds wants axe-core to report no violation, and `least` rules or more to have had something to check.
func (b *tab) finds(page string, width int64, least int, rules string) {
	b.t.Helper()
	for _, problem := range evaluate[[]string](b, fmt.Sprintf(`axe.run({resultTypes: ['violations'], %s}).then(`+
		`r => r.passes.length < %d ? [r.passes.length + ' rules only'] : `+
		`r.violations.map(v => v.id + ': ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 200) + ' ' + n.failureSummary).join(' | ')))`,
		rules, least,
	)) {
		b.t.Errorf("%s, %d pixels: %s, want no problem", page, width, problem)
	}
}

// The dark scheme sets properties of colours, and no rule but that of the light one: it changes nothing else in a page.
func TestTheSchemesDifferInColours(t *testing.T) {
	t.Parallel()
	run, trials := bigRun(1)
	b := open(t, record(t, run, trials, nil), 800, 600, "light")
	got := evaluate[[]string](b, `[...document.styleSheets].flatMap(s => [...s.cssRules]).filter(r => r.media?.mediaText.includes('scheme'))
		.flatMap(r => [...r.cssRules]).flatMap(r => [...r.style].map(name => [r.selectorText, name, r.style.getPropertyValue(name)]))
		.map(([of, name, value]) => of === ':root' && name.startsWith('--') && CSS.supports('color', value) ? 'a colour' : of + name + value)`)
	if len(got) < 10 || slices.ContainsFunc(got, func(one string) bool { return one != "a colour" }) {
		t.Errorf("got %q in the dark scheme, want colours of the root alone", got)
	}
}

func fileAddress(path string) string { return (&url.URL{Scheme: "file", Path: path}).String() }

// The views of a run: bigRun with a comparison, chats, and applications.
func TestTheReportIsFaultless(t *testing.T) {
	t.Parallel()
	run, trials := bigRun(400)
	views := append([]reportPage{
		{"matrix", "#/matrix", "#grid .prose"},
		{"failing in the matrix", "#/matrix?q=outcome:fail", "#grid .prose"},
		{"side", "#/side/big/case%20number%203", ".half"},
	}, pages...)
	checked(t, "run", fileAddress(record(t, run, trials, judged)), views)
	chatRun, chatTrials := chatRun()
	checked(t, "chats", fileAddress(record(t, chatRun, chatTrials, nil)), chatPages)
	checked(t, "applications", fileAddress(written(t, testrun.Reach(t, nil))), reachPages)
}

// The pages of evalrun view.
func TestTheViewerIsFaultless(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run, trials := bigRun(100)
	keep(t, dir, "20260101-000000-old", run, better(trials))
	keep(t, dir, "20260102-000000-new", run, trials)
	s := serve(t, dir)
	known := keys(t, s)
	old, head := known["20260101-000000-old"], known["20260102-000000-new"]
	for _, path := range []string{"", "trends", "compare", "run/" + head + "/", "compare/" + old + "/" + head + "/#/comparison"} {
		checked(t, "view "+path, s.URL+path, nil)
	}
}

// The pages of a site.
func TestTheSiteIsFaultless(t *testing.T) {
	t.Parallel()
	site := hosted(t, published(t, 100, func(o *site.PublishOptions) { o.Margin = 0.05 }))
	for _, path := range []string{
		"index.html", "trends.html", "compare.html", "compare.html?run=20260102-000000-new", "runs/20260102-000000-new.html",
		"comparisons/20260101-000000-old--20260102-000000-new.html#/comparison",
	} {
		checked(t, "site "+path, site+path, nil)
	}
}
