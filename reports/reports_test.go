package reports_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/page"
	"github.com/evalrun/evalrun/internal/testrun"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/reports"
)

// completed is how runs end.
var completed = &eval.End{Reason: eval.EndCompleted}

// Every format has a golden file of the run with every outcome.
func TestGoldens(t *testing.T) {
	t.Parallel()
	d := testrun.Every(t)
	for _, f := range reports.Formats() {
		if f.Name == "html" {
			continue // it has its own in internal/page
		}
		var b bytes.Buffer
		if err := f.Write(&b, d, reports.Options{}); err != nil {
			t.Fatal(err)
		}
		got := b.Bytes()
		if len(got) > 100_000 { // the huge answer is for the formats to cope with, not to keep
			got = bytes.ReplaceAll(got, bytes.Repeat([]byte("A long answer. "), 20_000), []byte("[huge]"))
		}
		testrun.Golden(t, f.Name+".golden", got)
	}
	for _, width := range []int{40, 60, 200} {
		var b bytes.Buffer
		if err := reports.Table(&b, d, reports.Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		testrun.Golden(t, fmt.Sprintf("table-%d.golden", width), b.Bytes())
	}
	var b bytes.Buffer
	if _, err := reports.Cases(&b, d, "h*", nil, reports.Options{}); err != nil {
		t.Fatal(err)
	}
	testrun.Golden(t, "cases.golden", bytes.ReplaceAll(b.Bytes(), bytes.Repeat([]byte("A long answer. "), 20_000-1), []byte("[huge]")))
}

// What goes to a terminal or a log holds no control characters and no commands.
func TestTerminalIsSafe(t *testing.T) {
	t.Parallel()
	d := testrun.Every(t)
	for _, color := range []bool{false, true} {
		var b bytes.Buffer
		if err := reports.Table(&b, d, reports.Options{Color: color}); err != nil {
			t.Fatal(err)
		}
		if _, err := reports.Cases(&b, d, "*", nil, reports.Options{Color: color}); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		for _, code := range []string{"31", "32", "35", "36", "0", "1", "2"} {
			if color {
				text = strings.ReplaceAll(text, "\x1b["+code+"m", "")
			}
		}
		for _, line := range strings.Split(text, "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[") {
				t.Errorf("a command for the log: %q", line)
			}
			for _, r := range line {
				if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x202a && r <= 0x202e {
					t.Errorf("%U in %.100q", r, line)
				}
			}
		}
	}
}

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

// The counts of JUnit and JSON agree, and with the elements.
func TestCountsAgree(t *testing.T) {
	t.Parallel()
	d := testrun.Every(t)
	var j, x bytes.Buffer
	if err := reports.JSON(&j, d, reports.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := reports.JUnit(&x, d, reports.Options{}); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Summary struct {
			Trials, Pass, Fail, Error, Skip int
			Cases                           journal.CaseCounts
		}
		Trials []json.RawMessage
	}
	if err := json.Unmarshal(j.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	var f junitFile
	if err := xml.Unmarshal(x.Bytes(), &f); err != nil {
		t.Fatal(err)
	}
	var stated, counted journal.CaseCounts
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
	if stated != doc.Summary.Cases || counted != stated || stated.Tests != 13 {
		t.Errorf("JSON %+v, JUnit states %+v and has %+v", doc.Summary.Cases, stated, counted)
	}
	s := doc.Summary
	if len(doc.Trials) != s.Trials || s.Pass+s.Fail+s.Error+s.Skip != s.Trials {
		t.Errorf("%d trials, %+v", len(doc.Trials), s)
	}
}

// A JUnit file is valid by the strictest schemas, with every character of the basic plane in an
// answer, and can be read again.
func TestJUnitSchemas(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("xmllint"); err != nil {
		t.Fatal("xmllint is missing: make test installs it (Debian's libxml2-utils)")
	}
	var every strings.Builder
	for r := rune(0); r <= 0xffff; r++ {
		every.WriteRune(r) // surrogates become U+FFFD
	}
	every.WriteString("]]> \xff\xfe")
	dir := t.TempDir()
	run := eval.Run{ID: "r", StartedAt: "2026-01-01T00:00:00.123Z", Suites: []eval.RunSuite{{Name: "s"}}}
	w, err := journal.Create(filepath.Join(dir, "run"), &run, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := eval.Result{
		Trial:    eval.Trial{ID: "x", Suite: "s", Case: "every " + every.String()[:300], Arm: "a/b"},
		Outcome:  eval.Fail,
		Response: testrun.Answered(every.String(), "STOP"),
	}
	r.Scores = []eval.Score{{Scorer: "equals", Value: new(0.0), Reason: every.String()[:400]}}
	if err := w.Append(&r); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(&eval.End{}); err != nil {
		t.Fatal(err)
	}
	d, err := journal.Open(filepath.Join(dir, "run"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for name, doc := range map[string]*journal.Document{"every": d, "fixture": testrun.Every(t)} {
		var b bytes.Buffer
		if err := reports.JUnit(&b, doc, reports.Options{}); err != nil {
			t.Fatal(err)
		}
		if !utf8.Valid(b.Bytes()) {
			t.Errorf("%s is not UTF-8", name)
		}
		var f junitFile
		if err := xml.Unmarshal(b.Bytes(), &f); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		path := filepath.Join(dir, name+".xml")
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, schema := range []string{"jenkins-xunit-junit-10.xsd", "windyroad-JUnit.xsd"} {
			if out, err := exec.Command("xmllint", "--nonet", "--noout", "--schema", "testdata/"+schema, path).CombinedOutput(); err != nil {
				t.Errorf("%s by %s: %s", name, schema, out)
			}
		}
	}
}

func TestNarrowTablesStayNarrow(t *testing.T) {
	t.Parallel()
	d := testrun.Every(t)
	for width := 40; width <= 200; width += 20 {
		var b bytes.Buffer
		if err := reports.Table(&b, d, reports.Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(b.String(), "\n") {
			// Wide characters take two columns, so that runes are the least there is.
			if n := utf8.RuneCountInString(line); n > width+1 {
				t.Errorf("width %d: a line of %d: %s", width, n, line)
			}
		}
	}
}

func FuzzJUnit(f *testing.F) {
	f.Add("a\x00b]]>\ud7ff")
	f.Fuzz(func(t *testing.T, text string) {
		dir := t.TempDir()
		w, err := journal.Create(dir, &eval.Run{ID: "r"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := eval.Result{Trial: eval.Trial{ID: "x", Suite: text, Case: text, Arm: text}, Outcome: eval.Fail, Response: testrun.Answered(text, text)}
		r.Scores = []eval.Score{{Scorer: text, Value: new(0.0), Reason: text, Diff: text}}
		if err := w.Append(&r); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		d, err := journal.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		var b bytes.Buffer
		if err := reports.JUnit(&b, d, reports.Options{}); err != nil {
			t.Fatal(err)
		}
		var doc junitFile
		if err := xml.Unmarshal(b.Bytes(), &doc); err != nil {
			t.Fatalf("%v\n%s", err, b.String())
		}
	})
}

// Live chats, judges and derived metrics have golden files of their own in the reports that show single trials.
func TestChatGoldens(t *testing.T) {
	t.Parallel()
	d := testrun.Chats(t, "", nil)
	for _, name := range []string{"markdown", "csv"} {
		var b bytes.Buffer
		if err := reports.Lookup(name).Write(&b, d, reports.Options{}); err != nil {
			t.Fatal(err)
		}
		testrun.Golden(t, "chats-"+name+".golden", b.Bytes())
	}
}

// The format html is the page of internal/page, where its golden files are.
func TestHTMLIsThePage(t *testing.T) {
	t.Parallel()
	d := testrun.Every(t)
	var got, want bytes.Buffer
	if err := errors.Join(reports.Lookup("html").Write(&got, d, reports.Options{}), page.Write(&want, d)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want.Bytes()) {
		t.Errorf("the format html writes %d bytes, the page has %d", got.Len(), want.Len())
	}
}
