package scorers

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/yaml"
)

// Forms of the result of a program, besides the report of its tests: what it prints, or how it ends.
const (
	resultJSON = "json"
	resultExit = "exit"
)

// Bounds of a program whose tests or exit status count: of what it prints, and of its report, in bytes.
const (
	maxTestOutput = 16 << 20
	maxTestReport = 16 << 20
)

// lastLines is how many lines of a program's output are a reason.
const lastLines = 12

// readResult reads the form of the result, and the report's name; "" when the result is no report.
func readResult(n yaml.Node) (form, report string) {
	if !n.IsMapping() {
		return yaml.WordOf(n, resultJSON, resultExit), ""
	}
	name := n.Map("junit").Need("junit")
	report = filepath.FromSlash(name.Str())
	if report != "" && !filepath.IsLocal(report) {
		name.Errorf("name a file below the folder in which the program runs, such as report.xml", "`%s` leads out of it", name.Str())
	}
	return "", report
}

// byExit is the finding of a program that says by its exit status whether the answer is good: 0 or 1. Its last lines are the reason.
func (x execScorer) byExit(out []byte, err error) Finding {
	status, failure := files.ExitStatus(0), &files.Failure{}
	lines := string(out)
	if errors.As(err, &failure); strings.TrimSpace(lines) == "" {
		lines = failure.Complaint
	}
	reason := lastOf(x.hidden.OutOf(lines))
	switch {
	case err == nil:
		return Graded(1, true, "%s", reason)
	case errors.As(err, &status) && status == 1:
		return Graded(0, false, "%s", reason)
	case errors.As(err, &status) || failure.Died:
		return Unscored("the program %s %s, and only 0 and 1 are results: %s", quote(x.shown), failure.Err, reason)
	}
	return Broken("the program %s %s", quote(x.shown), x.hidden.OutOf(err.Error()))
}

// lastOf is the end of a text, in whole lines.
func lastOf(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	lines = lines[max(0, len(lines)-lastLines):]
	for len(lines) > 1 && len(strings.Join(lines, "\n")) > maxReason {
		lines = lines[1:]
	}
	return shortened(strings.Join(lines, "\n"))
}

// reports are written one at a time where programs run in the folder of the suite: their reports have the same name.
var reports sync.Mutex

// byReport is the finding of a program that leaves the report of its tests. If a test failed it may end with any status, as runners of
// tests do.
func (x execScorer) byReport(command *files.Invocation) Finding {
	if x.verifier.name == "" {
		reports.Lock()
		defer reports.Unlock()
	}
	root, err := os.OpenRoot(command.Dir)
	if err != nil {
		return Broken("the folder of the program %s cannot be opened: %s", quote(x.shown), err)
	}
	defer root.Close()                //nolint:errcheck // nothing is written
	before, _ := root.Lstat(x.report) // nil when it is not there yet
	out, err := command.Output()
	status := files.ExitStatus(0)
	if err != nil && !errors.As(err, &status) {
		return Broken("the program %s %s", quote(x.shown), x.hidden.OutOf(err.Error()))
	}
	tests, readErr := readTests(root, x.report, before)
	var said []string // of how the program ended
	if err != nil {
		said = append(said, "the program "+err.Error())
	}
	if last := lastOf(x.hidden.OutOf(string(out))); last != "" {
		said = append(said, last)
	}
	switch {
	case readErr != nil:
		said = append([]string{shortened(x.hidden.OutOf(readErr.Error()))}, said...)
		return Unscored("the report %s cannot be read: %s", x.report, strings.Join(said, "; "))
	case err != nil && len(tests.failures) == 0: // what failed is not in the report
		return Unscored("every test in the report %s passes, but %s", x.report, strings.Join(said, "; "))
	}
	return tests.finding(x.hidden.OutOf)
}

type testReport struct {
	ran, passed int
	hidden      int // failures without a test
	wrong       int // failures and errors, of which a test may have several
	failures    []string
}

// readTests reads a JUnit file. Tests that were skipped do not count.
// before is the file that was there when the program began: it is no report, and it stays.
func readTests(root *os.Root, name string, before fs.FileInfo) (r testReport, err error) {
	file, err := openReport(root, name, before)
	if err != nil {
		return r, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	if err := r.read(xml.NewDecoder(io.LimitReader(file, maxTestReport))); err != nil {
		return r, fmt.Errorf("it is not XML: %w", err)
	}
	if r.ran == 0 {
		return r, errors.New(strings.Join(append([]string{"it has no test that ran"}, r.failures...), "; "))
	}
	return r, nil
}

// read reads all tests, and the failures of suites that no test shows: of a file that could not be loaded, or of a set-up.
func (r *testReport) read(dec *xml.Decoder) error {
	type suite struct{ counted, before int }
	var open []suite
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.StartElement:
			switch token.Name.Local {
			case "testsuite", "testsuites":
				open = append(open, suite{failuresIn(token), r.wrong})
			case "testcase":
				err = r.addTest(dec, token)
			case "failure", "error":
				err = r.addFailure(dec, token)
			}
			if err != nil {
				return err
			}
		case xml.EndElement:
			if name := token.Name.Local; name != "testsuite" && name != "testsuites" {
				continue
			}
			last := open[len(open)-1]
			open = open[:len(open)-1]
			if hidden := last.counted - (r.wrong - last.before); hidden > 0 {
				r.hide(hidden, fmt.Sprintf("%d more failed by the counts of the report", hidden))
			}
		}
	}
}

// failuresIn is how many failures a suite says that it and its suites have. Some runners count each as an error too, and for all suites
// others count the lines of standard error.
func failuresIn(begin xml.StartElement) (n int) {
	for _, a := range begin.Attr {
		if a.Name.Local == "failures" || a.Name.Local == "errors" && begin.Name.Local == "testsuite" {
			count, _ := strconv.Atoi(strings.TrimSpace(a.Value))
			n = max(n, min(count, maxTestReport))
		}
	}
	return n
}

// hide counts failures without a test.
func (r *testReport) hide(n int, reason string) {
	r.hidden += n
	r.wrong += n
	r.failures = append(r.failures, reason)
}

func openReport(root *os.Root, name string, before fs.FileInfo) (*os.File, error) {
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("the program did not write it")
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no file")
	case before != nil && os.SameFile(before, info) && before.ModTime().Equal(info.ModTime()) && before.Size() == info.Size():
		return nil, errors.New("the program did not write it")
	case info.Size() > maxTestReport:
		return nil, fmt.Errorf("it is larger than %d MiB", maxTestReport>>20)
	}
	return root.Open(name)
}

// reportedFailure is a failure or an error of a test or a suite.
type reportedFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func (f reportedFailure) reason() string {
	if f.Message != "" {
		return f.Message
	}
	first, _, _ := strings.Cut(strings.TrimSpace(f.Text), "\n")
	return first
}

func (r *testReport) addFailure(dec *xml.Decoder, begin xml.StartElement) error {
	var failure reportedFailure
	if err := dec.DecodeElement(&failure, &begin); err != nil {
		return err
	}
	r.hide(1, "outside of the tests: "+failure.reason())
	return nil
}

func (r *testReport) addTest(dec *xml.Decoder, begin xml.StartElement) error {
	var test struct {
		Class    string            `xml:"classname,attr"`
		Name     string            `xml:"name,attr"`
		Status   string            `xml:"status,attr"`
		Result   string            `xml:"result,attr"`
		Skipped  *struct{}         `xml:"skipped"`
		Failures []reportedFailure `xml:"failure"`
		Errors   []reportedFailure `xml:"error"`
	}
	if err := dec.DecodeElement(&test, &begin); err != nil {
		return err
	}
	wrong := slices.Concat(test.Failures, test.Errors)
	is := func(states []string) bool {
		return slices.Contains(states, statusWord(test.Status)) || slices.Contains(states, statusWord(test.Result))
	}
	switch {
	case len(wrong) > 0 || is(failedStates):
		wrong = append(wrong, reportedFailure{Message: "failed"})
		r.ran++
		r.wrong += max(1, len(wrong)-1) // a suite may count each of them
		r.failures = append(r.failures, strings.TrimPrefix(test.Class+" "+test.Name, " ")+": "+wrong[0].reason())
	case test.Skipped == nil && !is(notRunStates):
		r.ran++
		r.passed++
	}
	return nil
}

// What googletest, CTest and others write in `status` and `result`, some of them without an element for it.
var (
	failedStates = []string{"failed", "fail", "failure", "error"}
	notRunStates = []string{"notrun", "disabled", "skipped", "suppressed"}
)

// statusWord is the first word of a status: "failed" of "FAILED: no answer".
func statusWord(status string) string {
	word, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(status)), " ")
	return strings.TrimSuffix(word, ":")
}

func (r *testReport) finding(clean func(string) string) Finding {
	all := r.ran + r.hidden
	reason := fmt.Sprintf("%d of %s %s", r.passed, diag.Count(all, "test"), diag.Verb(all, "passes", "pass"))
	if len(r.failures) > 0 {
		reason += "\n" + strings.Join(r.failures, "\n")
	}
	return Graded(float64(r.passed)/float64(all), r.passed == all, "%s", shortened(clean(reason)))
}
