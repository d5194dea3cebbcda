package reports_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/internal/testing/testrun"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/reports"
)

// runOf makes a run in which every text is one of two, but that of the arm.
func runOf(t *testing.T, a, b, arm string) *journal.Document {
	t.Helper()
	var trials []*eval.Result
	for n, outcome := range []eval.Outcome{eval.Pass, eval.Fail, eval.Err, eval.Skip} {
		r := trialOf(a, b, outcome)
		r.Trial = eval.Trial{
			N: n, ID: fmt.Sprintf("%016x", n), CaseID: a, Suite: a, Case: fmt.Sprint(b, n), Arm: arm, Target: "t", Model: "m", Repeat: 1,
		}
		trials = append(trials, r)
	}
	targets := []eval.RunTarget{{Suite: a, Name: "t", Model: "m", APIVersion: "v1"}, {Suite: a, Name: "app", App: b}}
	d := testrun.Record(t, &eval.Run{
		ID:        "r",
		StartedAt: a,
		Replay:    b,
		Suites:    []eval.RunSuite{{Name: a, File: b}},
		Models:    []eval.Model{{Name: "models/m", APIVersion: "v1", Version: b}},
		Plan:      eval.RunPlan{Trials: 4, Arms: []string{arm}, Targets: targets},
	}, &eval.End{Reason: eval.EndStopped, Message: a, Spent: &eval.Spent{Currency: b, BudgetMoney: 1}}, trials...)
	d.Decision.Gate = journal.Gate{Exit: 1, Rules: []journal.GateRule{{Suite: a, RuleName: "passRate", Arm: arm}}}
	return d
}

// trialOf is a live chat all of whose texts are one of two.
func trialOf(a, b string, outcome eval.Outcome) *eval.Result {
	ratings := []eval.SafetyRating{{Category: a, Probability: b}}
	answer := testrun.Answered(a, b)
	answer.Candidates[0].SafetyRatings = ratings
	answer.PromptFeedback = &eval.PromptFeedback{BlockReason: b}
	first := eval.AnsweredCall{Response: *testrun.Answered(a, b), Results: []eval.CallResult{{ID: a, Name: b, Text: a, Failed: true}}}
	first.Candidates[0].SafetyRatings = ratings
	reach(answer, a, b)
	reach(&first.Response, b, a)
	first.Candidates[0].Pieces = append(first.Candidates[0].Pieces, eval.CallPiece{Call: &eval.FunctionCall{ID: a, Name: b, Args: literal(a)}})
	r := &eval.Result{
		Ending:  testrun.Ending(outcome),
		Request: requestOf(a, b),
		TraceID: a, Workspace: b,
		Response: answer,
		Calls: []eval.AnsweredCall{
			first,
			{Response: eval.Response{PromptFeedback: answer.PromptFeedback}, Usage: eval.Usage{Source: eval.UsageSource(b)}},
			{Response: *answer, Usage: eval.Usage{Source: eval.UsageSource(a)}},
			{},
		},
		Scores: []eval.Score{
			{Scorer: "equals", Name: a, Grade: eval.Graded{Passed: outcome == eval.Pass}, Reason: a, Diff: b + "\n" + a},
		},
	}
	switch outcome {
	case eval.Err:
		r.Ending = eval.Errored{Error: &eval.Error{Kind: eval.KindStatus, Code: b, Status: 500, Message: a}}
	case eval.Skip:
		r.Ending = eval.Skipped{Reason: b}
	}
	return r
}

// reach adds the pieces that an answer can have next to its text.
func reach(r *eval.Response, a, b string) {
	c := &r.Candidates[0]
	c.VendorReason, c.Raw = a, literal(b)
	c.Pieces = []eval.Piece{
		eval.TextPiece{Text: a}, eval.ReasoningPiece{Reasoning: b}, eval.OtherPiece{Other: literal(b)},
	}
}

func literal(s string) json.RawMessage {
	data, err := json.Marshal(s)
	if err != nil { // texts always encode
		panic(err)
	}
	return data
}

// requestOf is a request with all that one can have. What an application is sent is an endpoint or a program by the length of a text.
func requestOf(a, b string) *eval.Request {
	to := &eval.Rendered{Payload: &eval.HTTP{Method: a, URL: b, Headers: []eval.Header{{Name: a, Value: b}, {Name: b, Secret: true}}, Body: a}}
	if len(a)%2 == 0 {
		to = &eval.Rendered{Payload: &eval.ProgramRun{Command: []string{a, b}, Files: map[string]string{a: b}, Input: literal(a), Workspace: b}}
	}
	parts := []eval.Part{
		eval.TextPart{Text: b},
		eval.ImagePart{Image: &eval.Image{Path: a}},
		eval.DataPart{Data: &eval.Image{Path: b, MIMEType: a}},
		eval.RawPart{Raw: literal(a)},
		eval.ResultPart{Result: &eval.CallResult{Name: a, Text: b}},
	}
	return &eval.Request{
		Contents: []eval.Content{{Role: "user", Parts: parts}}, System: a,
		Tools:      []eval.Declaration{{Name: a, Description: b, Parameters: literal(a)}, {Name: b}},
		ToolChoice: &eval.Choice{Name: a}, ToolResults: b, Extra: eval.Extra{a: literal(b)}, App: to,
	}
}

// unsafe reports whether a character must not be in a line of a terminal.
func unsafe(r rune) bool {
	return unicode.IsControl(r) && r != '\t' || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// harmless fails for a text that does something to a terminal or to the log of a continuous integration.
func harmless(t *testing.T, text string) {
	t.Helper()
	if !utf8.ValidString(text) || strings.Contains(text, "##[") {
		t.Fatalf("%q, want UTF-8 without a command", text)
	}
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.ContainsFunc(line, unsafe) {
			t.Fatalf("%q, want nothing that commands a terminal or a CI system", line)
		}
	}
}

// FuzzTable checks that no text of a run, at any width, puts controls or commands into the table or an account of its
// cases. No line is longer than the table is wide.
func FuzzTable(f *testing.F) {
	f.Add(strings.Repeat("a ", 30)+"::error::x", strings.Repeat("b", 38)+" ::add-mask::y", uint8(40))
	for group := range slices.Chunk(hostile.Strings(), 40) { // files each
		f.Add(strings.Join(group, " "), group[0], uint8(len(group[0])))
	}
	f.Fuzz(func(t *testing.T, a, b string, width uint8) {
		d := runOf(t, a, b, b)
		o := reports.Options{Width: 40 + int(width), Verbose: width%2 == 0}
		harmless(t, written(t, "table", d, o))
		var cases bytes.Buffer
		if found, err := reports.Cases(&cases, d, reports.Wanted{Case: "*"}, o); err != nil || !found {
			t.Fatalf("got %v, %v, want a case", found, err)
		}
		harmless(t, cases.String())
	})
}

// linesOf are the lines of a run whose answers come from the emulator.
func linesOf(t *testing.T, d *journal.Document) []eval.Result {
	t.Helper()
	d.Run.Emulator = true
	var out []eval.Result
	for text := range strings.Lines(written(t, "jsonl", d, reports.Options{})) {
		var one eval.Result
		var of struct{ Emulator bool }
		if err := errors.Join(json.Unmarshal([]byte(text), &one), json.Unmarshal([]byte(text), &of)); err != nil || !of.Emulator {
			t.Fatalf("%v: %s, want a run of the emulator", err, text)
		}
		out = append(out, one)
	}
	return out
}

// FuzzJSON holds that both JSON reports are JSON that has the texts of the run as they are, and the file for JUnit
// XML.
func FuzzJSON(f *testing.F) {
	for group := range slices.Chunk(hostile.Strings(), 16) { // files each
		f.Add(strings.Join(group, " "), group[0], strings.Join(group, "/"))
	}
	f.Fuzz(func(t *testing.T, a, b, arm string) {
		d := runOf(t, a, b, arm)
		var report struct {
			Run    eval.Run
			Trials []eval.Result
		}
		whole := written(t, "json", d, reports.Options{})
		if err := json.Unmarshal([]byte(whole), &report); err != nil {
			t.Fatalf("%v\n%s", err, whole)
		}
		lines := linesOf(t, d)
		a, arm = string([]rune(a)), string([]rune(arm)) // what is no text becomes U+FFFD
		if len(lines) != 4 || len(report.Trials) != 4 || report.Run.Suites[0].Name != a {
			t.Fatalf("%d lines, %d trials, %+v, want 4 of each in the suite %q", len(lines), len(report.Trials), report.Run, a)
		}
		for i, r := range report.Trials {
			if r.Suite != a || r.Arm != arm || r.Response.Text() != a || r.Case != lines[i].Case {
				t.Errorf("got %+v, want the suite, the arm and the case %q", r, lines[i].Case)
			}
		}
		parsed(t, written(t, "junit", d, reports.Options{}))
	})
}

// FuzzForeignRun holds that every report of a run file of another program, with right checksums, is an
// error or is well-formed.
func FuzzForeignRun(f *testing.F) {
	const run = `{"type":"run","version":1,"plan":{"trials":1,"arms":["x"]},"seq":0`
	for _, s := range []string{
		`{"type":"trial","id":"a","case":"c","outcome":"error","seq":1`,
		`{"type":"trial","id":"a","outcome":"fail","scores":[{}],"seq":1`, `{"type":"trial","id":"a","outcome":"what","seq":1`,
		`{"type":"trial","id":"a","outcome":"skip","request":{"contents":[{"parts":[{"image":null},{}]}],` +
			`"generationConfig":{"x":[1]}},"response":{"candidates":[]},"seq":1`,
		`{"type":"end","reason":"::x","spent":{"money":1e308,"budgetMoney":-1},"seq":1`,
		`{"type":"trial","id":"a","outcome":"pass","usage":{"totalTokens":9e18},"timing":{"latencyMs":-1e308},"seq":1`,
	} {
		f.Add([]byte(run+"\n"+s), uint8(60))
	}
	f.Fuzz(func(t *testing.T, data []byte, width uint8) {
		path := filepath.Join(t.TempDir(), journal.FileName)
		if err := os.WriteFile(path, withChecksums(data), 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := journal.Open(path)
		if err != nil {
			return
		}
		defer d.Close()
		for _, format := range reports.Formats() {
			var b bytes.Buffer
			err := format.Write(&b, d, reports.Options{Width: int(width)})
			switch {
			case err != nil:
			case format.Name == "json" && !json.Valid(b.Bytes()), format.Name == "junit" && xml.Unmarshal(b.Bytes(), new(junitFile)) != nil:
				t.Errorf("%s: got\n%s\nwant what a reader of the format takes", format.Name, b.Bytes())
			}
		}
		_, _ = reports.Cases(&bytes.Buffer{}, d, reports.Wanted{Case: "*"}, reports.Options{})
	})
}

// withChecksums ends each line as a journal does.
func withChecksums(data []byte) []byte {
	var file []byte
	for _, body := range bytes.Split(data, []byte("\n")) {
		sum := crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli))
		file = fmt.Appendf(append(file, body...), ",\"crc\":\"%08x\"}\n", sum)
	}
	return file
}
