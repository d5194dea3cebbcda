package reports_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/page"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/testrun"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/reports"
)

var completed = &eval.End{Reason: eval.EndCompleted}

func written(t testing.TB, format string, d *journal.Document, o reports.Options) string {
	t.Helper()
	var b strings.Builder
	expect.OK(t, reports.Lookup(format).Write(&b, d, o))
	return b.String()
}

// Every format has a golden file of the run with every outcome.
func TestGoldensOfAllFormatsHold(t *testing.T) {
	t.Parallel()
	d := testrun.Every(t)
	huge := strings.Repeat("A long answer. ", 20_000) // for the formats to cope with, not to keep
	for _, name := range reports.Names() {
		if name == "html" {
			continue // it has its own in internal/page
		}
		got := written(t, name, d, reports.Options{})
		if len(got) > 100_000 {
			got = strings.ReplaceAll(got, huge, "[huge]")
		}
		testrun.Golden(t, name+".golden", []byte(got))
	}
	for _, width := range []int{40, 60, 200} {
		got := written(t, "table", d, reports.Options{Width: width})
		testrun.Golden(t, fmt.Sprintf("table-%d.golden", width), []byte(got))
	}
	testrun.Golden(t, "table-verbose.golden", []byte(written(t, "table", d, reports.Options{Verbose: true})))
	var b bytes.Buffer
	if _, err := reports.Cases(&b, d, reports.Wanted{Case: "h*"}, reports.Options{}); err != nil {
		t.Fatal(err)
	}
	trimmed := strings.TrimSuffix(huge, "A long answer. ")
	testrun.Golden(t, "cases.golden", []byte(strings.ReplaceAll(b.String(), trimmed, "[huge]")))
}

// What goes to a terminal or a log holds no control characters and no commands.
func TestTerminalIsSafe(t *testing.T) {
	t.Parallel()
	for _, d := range []*journal.Document{testrun.Every(t), testrun.Reach(t, nil)} {
		for _, color := range []bool{false, true} {
			o := reports.Options{Color: color, Verbose: true}
			b := bytes.NewBufferString(written(t, "table", d, o))
			if _, err := reports.Cases(b, d, reports.Wanted{Case: "*"}, o); err != nil {
				t.Fatal(err)
			}
			text := b.String()
			if color {
				text = colors.ReplaceAllString(text, "")
			}
			if harmless(t, text); strings.Contains(text, "\t") {
				t.Errorf("got a tab, want none in %q", text)
			}
		}
	}
}

var colors = regexp.MustCompile("\x1b\\[(0|1|2|31|32|35|36)m")

type junitFile struct {
	Suites []struct {
		Name     string `xml:"name,attr"`
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Errors   int    `xml:"errors,attr"`
		Skipped  int    `xml:"skipped,attr"`
		Cases    []struct {
			Name    string    `xml:"name,attr"`
			Failure *struct{} `xml:"failure"`
			Error   *struct{} `xml:"error"`
			Skipped *struct{} `xml:"skipped"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

// counts are the numbers that the suites state, and the numbers of their elements.
func (f *junitFile) counts() (stated, counted journal.CaseCounts) {
	for _, s := range f.Suites {
		stated.Tests += s.Tests
		stated.Failures += s.Failures
		stated.Errors += s.Errors
		stated.Skipped += s.Skipped
		for _, c := range s.Cases {
			counted.Tests++
			switch {
			case c.Failure != nil:
				counted.Failures++
			case c.Error != nil:
				counted.Errors++
			case c.Skipped != nil:
				counted.Skipped++
			}
		}
	}
	return stated, counted
}

func parsed(t *testing.T, file string) *junitFile {
	t.Helper()
	var f junitFile
	if err := xml.Unmarshal([]byte(file), &f); err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	return &f
}

// The counts of JUnit and JSON agree, and with the elements.
func TestCountsOfJUnitAndJSONAgree(t *testing.T) {
	t.Parallel()
	d := testrun.Every(t)
	var doc struct {
		Summary struct {
			Trials, Pass, Fail, Error, Skip int
			Cases                           journal.CaseCounts
		}
		Trials []json.RawMessage
	}
	expect.OK(t, json.Unmarshal([]byte(written(t, "json", d, reports.Options{})), &doc))
	stated, counted := parsed(t, written(t, "junit", d, reports.Options{})).counts()
	if stated != doc.Summary.Cases || counted != stated || stated.Tests != 14 {
		t.Errorf(
			"JSON has %+v, JUnit states %+v: got %+v, want the same with 14 tests: one says that the run is incomplete",
			doc.Summary.Cases, stated, counted,
		)
	}
	s := doc.Summary
	expect.Same(t, "trials", len(doc.Trials), s.Trials)
	expect.Same(t, "sum of the outcomes", s.Pass+s.Fail+s.Error+s.Skip, s.Trials)
}

// A JUnit file is valid by the strictest schemas, with every character of the basic plane in an
// answer, and can be read again.
func TestJUnitIsValidByTheStrictestSchemas(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("xmllint"); err != nil {
		t.Fatal("xmllint is missing: make test installs it (Debian's libxml2-utils)")
	}
	text := everyCharacter()
	d := testrun.Record(t, &eval.Run{
		ID: "r", StartedAt: "2026-01-01T00:00:00.123Z", Suites: []eval.RunSuite{{Name: "s"}},
	}, &eval.End{}, &eval.Result{
		Trial:    eval.Trial{ID: "x", Suite: "s", Case: "every " + text[:300], Arm: "a/b"},
		Ending:   eval.Failed{},
		Response: testrun.Answered(text, "STOP"),
		Scores:   []eval.Score{{Scorer: "equals", Grade: eval.Graded{}, Reason: text[:400]}},
	})
	every, fixture := written(t, "junit", d, reports.Options{}), written(t, "junit", testrun.Every(t), reports.Options{})
	d.Gate().Rules = []journal.GateRule{{Suite: "s", RuleName: "passRate", Standing: journal.RuleHolds}}
	accepted := written(t, "junit-gate", d, reports.Options{})
	for name, file := range map[string]string{"every": every, "fixture": fixture, "accepted": accepted} {
		if !utf8.ValidString(file) {
			t.Errorf("%s: got bytes that are not UTF-8, want none", name)
		}
		parsed(t, file)
		path := filepath.Join(t.TempDir(), name+".xml")
		expect.OK(t, os.WriteFile(path, []byte(file), 0o600))
		for _, schema := range []string{"jenkins-xunit-junit-10.xsd", "windyroad-JUnit.xsd"} {
			lint := exec.Command("xmllint", "--nonet", "--noout", "--schema", "testdata/"+schema, path)
			if out, err := lint.CombinedOutput(); err != nil {
				t.Errorf("%s by %s: %s, want it valid", name, schema, out)
			}
		}
	}
}

// everyCharacter has each of the basic plane, and bytes that are no text.
func everyCharacter() string {
	var b strings.Builder
	for r := rune(0); r <= 0xffff; r++ {
		b.WriteRune(r) // surrogates become U+FFFD
	}
	b.WriteString("]]> \xff\xfe")
	return b.String()
}

func TestNarrowTablesStayNarrow(t *testing.T) {
	t.Parallel()
	d := testrun.Every(t)
	for width := 40; width <= 200; width += 20 {
		for _, line := range strings.Split(written(t, "table", d, reports.Options{Width: width}), "\n") {
			// Wide characters take two columns, so that runes are the least there is.
			if n := utf8.RuneCountInString(line); n > width+1 {
				t.Errorf("width %d: got a line of %d: %s, want none that is wider", width, n, line)
			}
		}
	}
}

func FuzzJUnit(f *testing.F) {
	f.Add("a\x00b]]>\ud7ff")
	f.Fuzz(func(t *testing.T, text string) {
		d := testrun.Record(t, &eval.Run{ID: "r"}, nil, &eval.Result{
			Trial:    eval.Trial{ID: "x", Suite: text, Case: text, Arm: text},
			Ending:   eval.Failed{},
			Response: testrun.Answered(text, text),
			Scores:   []eval.Score{{Scorer: text, Grade: eval.Graded{}, Reason: text, Diff: text}},
		})
		parsed(t, written(t, "junit", d, reports.Options{}))
	})
}

// Live chats, judges and derived metrics have golden files of their own in the reports that show single trials.
func TestChatGoldensHold(t *testing.T) {
	t.Parallel()
	d := testrun.Chats(t, "", nil)
	for _, name := range []string{"markdown", "csv"} {
		testrun.Golden(t, "chats-"+name+".golden", []byte(written(t, name, d, reports.Options{})))
	}
}

// Tools, steps, reasoning and applications have golden files of their own in all formats.
func TestReachGoldensHold(t *testing.T) {
	t.Parallel()
	d := testrun.Reach(t, nil)
	for _, name := range reports.Names() {
		if name != "html" { // it has its own in internal/page
			testrun.Golden(t, "reach-"+name+".golden", []byte(written(t, name, d, reports.Options{})))
		}
	}
	show := func(name string, d *journal.Document, verbose bool) {
		var b bytes.Buffer
		if _, err := reports.Cases(&b, d, reports.Wanted{Case: "*"}, reports.Options{Verbose: verbose}); err != nil {
			t.Fatal(err)
		}
		testrun.Golden(t, name, b.Bytes())
	}
	show("reach-show.golden", d, false)
	show("reach-show-verbose.golden", d, true)
	show("reach-show-withheld.golden", testrun.Reach(t, (*eval.Result).Withhold), true)
}

// The format html is the page of internal/page, where its golden files are.
func TestHTMLIsThePage(t *testing.T) {
	t.Parallel()
	d := testrun.Every(t)
	var want bytes.Buffer
	expect.OK(t, page.Write(&want, d))
	if got := written(t, "html", d, reports.Options{}); got != want.String() {
		t.Errorf("the format html: got %d bytes, want the %d of the page", len(got), want.Len())
	}
}
