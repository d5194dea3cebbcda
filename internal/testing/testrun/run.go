package testrun

import (
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// Record writes a run file and opens it until the test ends, with a gate applied that has no rules and holds. Without an end the
// run was killed.
func Record(t testing.TB, run *eval.Run, end *eval.End, trials ...*eval.Result) *journal.Document {
	t.Helper()
	dir := t.TempDir()
	w, err := journal.Create(dir, run, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range trials {
		if err := w.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	finish := w.Close
	if end != nil {
		finish = func() error { return w.Finish(end) }
	}
	if err := finish(); err != nil {
		t.Fatal(err)
	}
	d, err := journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	d.Decision = &journal.Decision{}
	t.Cleanup(func() { _ = d.Close() }) // it was only read
	return d
}

// Answered is a response with one candidate.
func Answered(text, reason string) *eval.Response {
	return &eval.Response{Candidates: []eval.Candidate{{Text: text, FinishReason: reason}}, ModelVersion: "v1"}
}

// Ending is the ending with an outcome. It does not say why a trial is an error or was skipped.
func Ending(o eval.Outcome) eval.Ending {
	switch o {
	case eval.Pass:
		return eval.Passed{}
	case eval.Fail:
		return eval.Failed{}
	case eval.Err:
		return eval.Errored{}
	case eval.Skip:
		return eval.Skipped{}
	}
	return nil
}
