package main

import (
	"os"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

const twoCases = `version: 1
name: s
targets: [{name: t, model: svc-pro}]
prompts: [{name: p, text: "{{.x}}"}]
defaults: {scorers: [{contains: secret}]}
cases: [{name: france, vars: {x: a}}, {name: spain, vars: {x: b}}]
`

// What cannot be a baseline is not exported.
func TestExportRefusesWhatCannotBeABaseline(t *testing.T) {
	t.Parallel()
	f := newUserFolder(t, twoCases)
	f.run(`{"case":"france","text":"a"}` + "\n" + `{"case":"spain","text":"b"}` + "\n")
	in := folder{Dir: f.at}
	for name, out := range map[string]string{"gone": "x.jsonl", "run": "gone/x.jsonl"} {
		if err := in.export(name, out); eval.CodeOf(err) != eval.CodeBadInput || err == nil || !strings.Contains(err.Error(), "gone") {
			t.Errorf("Export(%s, %s): exit %d with %v, want bad input", name, out, eval.CodeOf(err), err)
		}
	}
	text, err := os.ReadFile(f.at.Join("run/run.jsonl"))
	expect.OK(t, err)
	lines := strings.SplitAfter(strings.TrimSpace(string(text)), "\n")
	f.write("run/run.jsonl", strings.Join(lines[:len(lines)-1], "")) // without its end
	if err := in.export("run", "base.jsonl"); eval.CodeOf(err) != eval.CodeBadInput {
		t.Errorf("an incomplete run: exit %d with %v, want bad input", eval.CodeOf(err), err)
	}
	if _, err := os.Stat(f.at.Join("base.jsonl")); err == nil {
		t.Error("an incomplete run was exported, want none written")
	}
}
