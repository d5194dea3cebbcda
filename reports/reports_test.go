package reports_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/reports"
)

var update = flag.Bool("update", false, "renew the golden files")

func value(v float64) *float64 { return &v }

func answered(text, reason string) *eval.Response {
	return &eval.Response{Candidates: []eval.Candidate{{Text: text, FinishReason: reason}}, ModelVersion: "v1"}
}

// fixture is a run with every outcome in it.
func fixture(t testing.TB) *journal.Document {
	t.Helper()
	dir := t.TempDir()
	run := eval.Run{
		ID: "20260101-000000-abc123", StartedAt: "2026-01-01T00:00:00Z", Emulator: true,
		Models:  []eval.Model{{Name: "models/svc-pro", APIVersion: "v1", Version: "001", Temperature: value(0.9), TopP: value(1), TopK: new(1)}},
		Service: eval.RunService{BaseURL: "http://127.0.0.1:1", APIVersion: "v1", HeaderPrefix: "x-svc", Auth: "apiKey"},
		Suites:  []eval.RunSuite{{Name: "fixture", File: "fixture.yaml"}},
		Plan: eval.RunPlan{Trials: 24, Arms: []string{"pro/ask", "pro-warm/ask"}, Targets: []eval.RunTarget{
			{Suite: "fixture", Name: "pro", Model: "svc-pro", APIVersion: "v1", GenerationConfig: &eval.GenerationConfig{Temperature: value(0)}},
			{Suite: "fixture", Name: "pro-warm", Model: "svc-pro", APIVersion: "v1beta", Stream: true},
		}},
	}
	w, err := journal.Create(dir, &run, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	add := func(name, arm string, outcome eval.Outcome, change func(*eval.Result)) {
		r := &eval.Result{
			Trial: eval.Trial{
				N: n, ID: fmt.Sprintf("%016x", n), CaseID: "c" + name, Suite: "fixture", Case: name, Arm: arm,
				Target: strings.Split(arm, "/")[0], Prompt: "ask", Model: "svc-pro", Repeat: 1,
			},
			Outcome: outcome, Scores: []eval.Score{},
			Request: &eval.Request{Contents: []eval.Content{{Role: "user", Parts: []eval.Part{{Text: "Question about " + name}}}}},
			Usage:   &eval.Usage{PromptTokens: 5, OutputTokens: 2, TotalTokens: 7, Source: eval.UsageEstimated},
			Timing:  &eval.Timing{LatencyMs: 120, Attempts: 1},
		}
		n++
		if change != nil {
			change(r)
		}
		if err := w.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	pass := func(r *eval.Result) {
		r.Response = answered("Paris", "STOP")
		r.Scores = []eval.Score{{Scorer: "equals", Name: "exact", Value: value(1), Passed: true, Weight: 1, Reason: `the answer is "Paris"`}}
	}
	fail := func(r *eval.Result) {
		r.Response = answered("Lyon", "STOP")
		r.Scores = []eval.Score{
			{
				Scorer: "equals",
				Name:   "exact",
				Value:  value(0),
				Weight: 1,
				Reason: `expected "Paris", got "Lyon"`,
				Diff:   "expected: Paris\nactual:   Lyon",
			},
		}
	}
	repeat := func(k int, change func(*eval.Result)) func(*eval.Result) {
		return func(r *eval.Result) { change(r); r.Repeat = k }
	}
	for _, arm := range run.Plan.Arms {
		add("passes", arm, eval.Pass, pass)
	}
	for _, arm := range run.Plan.Arms {
		add("fails", arm, eval.Fail, fail)
	}
	for k, outcome := range []eval.Outcome{eval.Pass, eval.Fail, eval.Pass} {
		add("flaky", "pro/ask", outcome, repeat(k+1, map[eval.Outcome]func(*eval.Result){eval.Pass: pass, eval.Fail: fail}[outcome]))
	}
	add("errs", "pro/ask", eval.Err, func(r *eval.Result) {
		r.Error = &eval.Error{Kind: eval.KindStatus, Status: 503, Code: "UNAVAILABLE", Message: "try again later"}
		r.Usage = nil
	})
	add("errs too", "pro/ask", eval.Err, func(r *eval.Result) {
		r.Error = &eval.Error{Kind: eval.KindStatus, Status: 503, Code: "UNAVAILABLE", Message: "try again later"}
		r.Usage = nil
	})
	add("unscored", "pro/ask", eval.Err, func(r *eval.Result) {
		r.Response = answered("fine", "STOP")
		r.Scores = []eval.Score{
			{Scorer: "safety", Weight: 1, Reason: "the answer has no safety rating", Unscored: "the answer has no safety rating"},
		}
		r.Error = eval.Errorf(eval.KindUnscored, "safety: the answer has no safety rating")
	})
	add("blocked", "pro/ask", eval.Pass, func(r *eval.Result) {
		r.Response = &eval.Response{
			PromptFeedback: &eval.PromptFeedback{
				BlockReason:   "SAFETY",
				SafetyRatings: []eval.SafetyRating{{Category: "HARM_CATEGORY_HARASSMENT", Probability: "HIGH", Blocked: true}},
			},
		}
		r.Scores = []eval.Score{{Scorer: "blocked", Value: value(1), Passed: true, Weight: 1, Reason: "the prompt was blocked (SAFETY)"}}
	})
	add("skipped", "pro/ask", eval.Skip, func(r *eval.Result) {
		*r = eval.Result{Trial: r.Trial, Outcome: eval.Skip, SkipReason: "the budget of 3 calls is spent", Scores: []eval.Score{}}
	})
	add("שלום, right to left", "pro/ask", eval.Fail, func(r *eval.Result) {
		r.Response = answered("مرحبا 日本語 e\u0301", "STOP")
		r.Scores = []eval.Score{{Scorer: "contains", Value: value(0), Weight: 1, Reason: `the answer does not contain "שלום": "مرحبا 日本語"`}}
	})
	add("hostile \x1b[31m::error::x\r\n##[command]<script>alert(1)</script> ]]> | `", "pro/ask", eval.Fail, func(r *eval.Result) {
		r.Response = answered("::error::x\x1b]8;;http://x\a ]]> <b> \u202e\x00\ufffe\n::add-mask::y", "STOP")
		r.Scores = []eval.Score{{Scorer: "contains", Value: value(0), Weight: 1, Reason: "::error::bad \x1b[2J ]]> \u202e"}}
	})
	add("huge", "pro/ask", eval.Fail, func(r *eval.Result) {
		r.Response = answered(strings.Repeat("A long answer. ", 20_000), "MAX_TOKENS")
		r.Scores = []eval.Score{{Scorer: "length", Value: value(0), Weight: 1, Reason: "the answer has 300000 characters, expected at most 10"}}
	})
	end := eval.End{
		FinishedAt: "2026-01-01T00:00:02Z", Reason: eval.EndBudget, Message: "the budget of 3 calls is spent",
		Spent: &eval.Spent{Calls: 3, Tokens: 120, BudgetCalls: 3, BudgetTokens: 100},
	}
	if err := w.Finish(&end); err != nil {
		t.Fatal(err)
	}
	d, err := journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	d.Dir = "night" // what commands call it
	half := 0.5
	d.Gate = eval.Gate{Exit: 1, Rules: []eval.GateRule{
		{Suite: "fixture", Name: "passRate", Arm: "pro/ask", Value: &half, Limit: 0.9},
		{Suite: "fixture", Name: "passRate", Arm: "pro-warm/ask", Value: &half, Limit: 0.5, Holds: true},
		{Suite: "fixture", Name: "errors", Limit: 0.01},
	}}
	return d
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s (make golden renews it):\n%s", name, d)
	}
}

// Every format has a golden file of the run with every outcome.
func TestGoldens(t *testing.T) {
	t.Parallel()
	d := fixture(t)
	for _, f := range reports.Formats() {
		var b bytes.Buffer
		if err := f.Write(&b, d, reports.Options{}); err != nil {
			t.Fatal(err)
		}
		got := b.Bytes()
		if f.Name == "html" {
			got = htmlGolden(t, got)
		}
		if len(got) > 100_000 { // the huge answer is for the formats to cope with, not to keep
			got = bytes.ReplaceAll(got, bytes.Repeat([]byte("A long answer. "), 20_000), []byte("[huge]"))
		}
		golden(t, f.Name+".golden", got)
	}
	for _, width := range []int{40, 60, 200} {
		var b bytes.Buffer
		if err := reports.Table(&b, d, reports.Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		golden(t, fmt.Sprintf("table-%d.golden", width), b.Bytes())
	}
	var b bytes.Buffer
	if _, err := reports.Cases(&b, d, "h*", nil, reports.Options{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "cases.golden", bytes.ReplaceAll(b.Bytes(), bytes.Repeat([]byte("A long answer. "), 20_000-1), []byte("[huge]")))
}

// What goes to a terminal or a log holds no control characters and no commands.
func TestTerminalIsSafe(t *testing.T) {
	t.Parallel()
	d := fixture(t)
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
	d := fixture(t)
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
		Response: answered(every.String(), "STOP"),
	}
	r.Scores = []eval.Score{{Scorer: "equals", Value: value(0), Reason: every.String()[:400]}}
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
	for name, doc := range map[string]*journal.Document{"every": d, "fixture": fixture(t)} {
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
	d := fixture(t)
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
		r := eval.Result{Trial: eval.Trial{ID: "x", Suite: text, Case: text, Arm: text}, Outcome: eval.Fail, Response: answered(text, text)}
		r.Scores = []eval.Score{{Scorer: text, Value: value(0), Reason: text, Diff: text}}
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
