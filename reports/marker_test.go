package reports_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/reports"
)

// A marker names its suites, and no name ends it early or makes it long.
func TestMarkersNameTheirSuites(t *testing.T) {
	t.Parallel()
	of := func(names ...string) string {
		run := eval.Run{}
		for _, name := range names {
			run.Suites = append(run.Suites, eval.RunSuite{Name: name})
		}
		return reports.Marker(&run)
	}
	expect.Same(t, "marker", of("capitals"), "<!-- evalrun: capitals -->")
	expect.Same(t, "marker", of("a", "b"), "<!-- evalrun: a, b -->")
	expect.Same(t, "marker", of("x --> <b>"), "<!-- evalrun: x --&gt; &lt;b&gt; -->")
	expect.Same(t, "lines", strings.Count(of("a\nb"), "\n"), 0)
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprintf("suite %d", i))
	}
	if got := of(many...); len(got) > 120 || got == of(many[1:]...) {
		t.Errorf("got %q for a thousand suites, want a short one that depends on all", got)
	}
}

// Links are in the head of a report, and stay links whatever is in them.
func TestLinksInTheHeadStayLinks(t *testing.T) {
	t.Parallel()
	links := []reports.Link{{Text: "HTML [report]", URL: "https://ci.example/a b>c"}, {Text: "run", URL: "https://ci.example/2"}}
	text := written(t, "markdown", worseRun(t), reports.Options{Links: links})
	want := "\n\n" + `[HTML \[report\]](<https://ci.example/a%20b%3Ec>) · [run](<https://ci.example/2>)` + "\n\n"
	if at := strings.Index(text, want); at < 0 || at > 100 {
		t.Errorf("no links in the head of, want links in the head\n%.400s", text)
	}
}

// The list of cases is bounded, counts what it leaves out, and says so when there is nothing.
func TestCaseListIsBounded(t *testing.T) {
	t.Parallel()
	for trials, want := range map[int]string{0: "no trials\n", 3: "\n fail  ", 406: " 3 cases not listed: 3 failed\n"} {
		var b bytes.Buffer
		expect.OK(t, reports.CaseList(&b, manyFailures(t, trials, "\x1b[2Jx\n"), reports.Wanted{Case: "*"}, reports.Options{}))
		if got := b.String(); !strings.Contains(got, want) || strings.Contains(got, "\x1b") || strings.Count(got, "\n") > 201 {
			t.Errorf("%d trials: got %s\nwant the command for more, within 201 lines", trials, got)
		}
	}
}
