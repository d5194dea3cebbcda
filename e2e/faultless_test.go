package e2e_test

import (
	_ "embed"
	"net/url"
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

// checked opens a page in both colour schemes and all widths, and holds that axe-core finds nothing at all in its views,
// and that none is wider than the screen.
func checked(t *testing.T, what, address string, views []reportPage) {
	t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		b := openAt(t, address, widths[0], 900, scheme)
		evaluate[chromedp.Void](b, axe+"\n;0")
		for _, width := range widths {
			b.do(chromedp.EmulateViewport(width, 900))
			if len(views) == 0 {
				b.faultless(what+", "+scheme, width)
			}
			for _, p := range views {
				b.visit(p.hash, p.selector)
				b.faultless(what+", "+p.name+", "+scheme, width)
			}
		}
	}
}

func fileAddress(path string) string { return (&url.URL{Scheme: "file", Path: path}).String() }

// The views of a run: bigRun with a comparison, chats, and applications.
func TestTheReportIsFaultless(t *testing.T) {
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
	t.Chdir(t.TempDir())
	run, trials := bigRun(100)
	keep(t, "20260101-000000-old", run, better(trials))
	keep(t, "20260102-000000-new", run, trials)
	s := serve(t)
	known := keys(t, s)
	old, head := known["20260101-000000-old"], known["20260102-000000-new"]
	for _, path := range []string{"", "trends", "compare", "run/" + head + "/", "compare/" + old + "/" + head + "/#/comparison"} {
		checked(t, "view "+path, s.URL+path, nil)
	}
}

// The pages of a site.
func TestTheSiteIsFaultless(t *testing.T) {
	site := hosted(t, published(t, 100, func(o *site.PublishOptions) { o.Margin = 0.05 }))
	for _, path := range []string{
		"index.html", "trends.html", "compare.html", "compare.html?run=20260102-000000-new", "runs/20260102-000000-new.html",
		"comparisons/20260101-000000-old--20260102-000000-new.html#/comparison",
	} {
		checked(t, "site "+path, site+path, nil)
	}
}
