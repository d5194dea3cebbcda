package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// TestVersionsStayReadable goes through what version 0.1 left on a disk: runs that ended, ran out of budget, were killed or are shards, an
// exported baseline, recorded answers and the history.
func TestVersionsStayReadable(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil, nil)
	expect.OK(t, os.CopyFS(b.dir, os.DirFS("testdata/versions/0.1")))
	b.write(".evalrun/history.db", b.read("history.db"))

	for _, format := range []string{"json", "junit", "html", "markdown", "csv", "table", "github"} {
		b.exits(0, "report", "finished", "-o", format+"=of-finished."+format)
	}
	var was, is map[string]any
	for name, into := range map[string]*map[string]any{"summary.json": &was, "of-finished.json": &is} {
		expect.OK(t, json.Unmarshal([]byte(b.read(name)), into))
	}
	delete(is["summary"].(map[string]any)["judging"].(map[string]any), "people") // which version 0.1 did not have
	expect.Same(t, "the summary of version 0.1", is["summary"], was["summary"])

	suites := []string{"suites/judged.yaml", "suites/live.yaml", "suites/votes.yaml", "suites/dataset.yaml"}
	b.exits(0, append([]string{"run", "--replay", "recorded", "--repeats", "2", "--max-errors", "0.1", "--var", "city=Paris"}, suites...)...)
	b.exits(0, "compare", "exported.jsonl", "finished")
	b.exits(0, "compare", "main", "finished")
	// The export does not say what it left out: it has a verdict while the run has about as many cases, and none for half as many more.
	gated := []string{
		"--emulator", "--arm", "pro/worded", "--baseline", "exported.jsonl", "--margin", "0.6", "--max-errors", "1", "-o", "table",
	}
	b.exits(0, append([]string{"run", "suites/dataset.yaml"}, gated...)...)
	b.says("compared 4 of 4 cases", "coverage unknown: an earlier version wrote", "NOT WORSE by more than 60 points")
	france := "      - {country: France, capital: Paris}\n"
	more := france + "      - {country: Spain, capital: Madrid}\n"
	b.write("suites/more.yaml", strings.Replace(b.read("suites/dataset.yaml"), france, more, 1))
	b.exits(4, append([]string{"run", "suites/more.yaml"}, gated...)...)
	if want := "coverage unknown: an earlier version wrote the baseline"; !strings.Contains(b.errs, want) {
		t.Errorf("got %q, want %q: the run has 6 cases and the export 4", b.errs, want)
	}
	b.exits(0, "rescore", "finished", "--trust", "--suite", "suites/judged.yaml", "--suite", "suites/live.yaml")
	b.exits(0, "merge", "shard1", "shard2", "--out", "merged")
	b.exits(0, "report", "budget")
	b.exits(0, "report", "killed")
	b.exits(0, "resume", "killed", "--trust", "--rpm", "6000", "--tpm", "900000")
	b.exits(0, "resume", "budget", "--trust", "--budget-calls", "500")
	b.exits(0, "history")
	b.says("judged", "votes")
	b.exits(0, "show", "finished", "thread")
	if _, err := os.Stat(filepath.Join(b.dir, "merged", "run.jsonl")); err != nil || strings.Contains(b.errs, "damaged") {
		t.Errorf("merged: got %v, want a run that is not damaged\n%s", err, b.errs)
	}
}
