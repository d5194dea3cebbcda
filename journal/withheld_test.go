package journal

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

const secretText = "Secret text"

func secretive(n int, outcome eval.Outcome) *eval.Result {
	r := result(n, outcome)
	r.Vars = map[string]string{"mail": secretText}
	r.Request.System = secretText
	r.Request.Contents[0].Parts[0] = eval.TextPart{Text: secretText}
	r.Response = &eval.Response{Candidates: []eval.Candidate{{Text: secretText, FinishReason: "STOP"}}}
	r.Calls = []eval.AnsweredCall{{Response: *r.Response}}
	r.Scores[0].Reason, r.Scores[0].Diff = secretText, secretText
	value, _ := r.Scores[0].Value()
	r.Scores[0].Grade = eval.Graded{Value: value, Passed: outcome == eval.Pass}
	r.Judgements = []eval.Judgement{{Judge: "clerk", Reply: secretText}}
	if outcome == eval.Err {
		r.Ending = eval.Errored{Error: eval.Errorf(eval.KindStatus, secretText)}
		r.Scores[0].Grade = eval.Unscored{Why: secretText}
	}
	return r
}

// withheld is the run file of a run as --no-content would have kept it.
func withheld(t *testing.T, d *Document) string {
	t.Helper()
	var out bytes.Buffer
	expect.OK(t, d.WriteWithheld(&out))
	return out.String()
}

// A run without content has no word of a prompt or an answer. It counts what the run counts.
func TestWriteWithheldKeepsNoContent(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	run := header
	run.CommandOptions = &eval.RunOptions{Options: eval.Options{Vars: map[string]string{"tone": secretText}, Seed: 7}}
	run.Signature = strings.Repeat("0", 64)
	w, err := Create(dir, &run, map[string][]byte{"suites/0/s.yaml": []byte(secretText)})
	expect.OK(t, err)
	for n, outcome := range []eval.Outcome{eval.Pass, eval.Fail, eval.Err} {
		expect.OK(t, w.Append(secretive(n, outcome)))
	}
	expect.OK(t, w.WriteStop(&eval.BaseExit{StoppedArm: eval.StoppedArm{Suite: "s", Arm: "t/p"}}))
	expect.OK(t, w.Resumed(&Resumed{At: "2026-01-01T00:00:30Z"}))
	expect.OK(t, w.Append(secretive(3, eval.Pass)), w.Finish(&eval.End{Reason: eval.EndCompleted}))
	path := filepath.Join(dir, FileName)
	whole, err := os.ReadFile(path)
	expect.OK(t, err)
	before, err := open(t, whole)
	expect.OK(t, err)
	if !strings.Contains(string(whole), secretText) {
		t.Fatalf("the run file holds no %q, want it there to be withheld", secretText)
	}
	text := withheld(t, before)
	if strings.Contains(text, secretText) {
		t.Errorf("got the secret, want it gone: %s", text)
	}
	after, err := open(t, []byte(text))
	expect.OK(t, err)
	expect.Same(t, "counts", after.Summary.Counts, before.Summary.Counts)
	expect.Same(t, "stops", after.Stops, before.Stops)
	expect.Same(t, "end", fmt.Sprint(after.End), fmt.Sprint(before.End))
	options := after.Run.Options()
	if !options.NoContent || options.Vars != nil || options.Seed != 7 || after.Run.Signature != "" || after.Run.Copies != nil {
		t.Errorf("got the head %+v, options %+v, want the seed and no content", after.Run, options)
	}
}

// A damaged line is left out, whatever it says, and one without an end is none.
func TestWriteWithheldLeavesOutDamagedLines(t *testing.T) {
	data := write(t, filepath.Join(t.TempDir(), "run"), true, secretive(0, eval.Pass), secretive(1, eval.Fail), secretive(2, eval.Pass))
	lines := bytes.SplitAfter(data, []byte("\n"))
	lines[2] = bytes.Replace(lines[2], []byte(secretText), []byte("Secret tent"), 1)
	torn := append(bytes.Join(lines, nil), `{"type":"trial","n":3,"vars":{"a":"Secret`...)
	d, err := open(t, torn)
	expect.OK(t, err)
	text := withheld(t, d)
	if strings.Contains(text, "Secret") {
		t.Errorf("got the secret, want it gone: %s", text)
	}
	after, err := open(t, []byte(text))
	expect.OK(t, err)
	expect.Same(t, "trials", after.Len(), 2)
	expect.Same(t, "damage", len(after.Damaged), 0)
}
