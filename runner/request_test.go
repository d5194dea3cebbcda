package runner_test

import (
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/suite"
)

const requestSuite = `version: 1
name: s
targets: [{name: t, model: svc-pro}]
judges: [{name: j, model: svc-pro}]
prompts: [{name: p, text: hi}]
cases: [{name: c, scorers: [{judge: {rubric: good}}]}]
`

// What is sent next to the contents makes another trial, and what a judge is sent another way to judge. What a suite does not say leaves
// both as they were before it could be said.
func TestWhatIsSentMakesAnotherTrial(t *testing.T) {
	t.Parallel()
	type id struct{ Trial, Scorers string }
	of := func(old, replacement string) (out id) {
		for tr := range plan(t, strings.Replace(requestSuite, old, replacement, 1), runner.Filter{}).Trials() {
			out = id{tr.ID, tr.ScorersHash}
		}
		return out
	}
	plain := of("", "")
	expect.Same(t, "without anything", plain, id{"1061441c2e4c737e", "76a1881c8b0f3da7+judge.2"})
	expect.Same(t, "with a system text of nothing", of("name: p,", `name: p, system: "{{if false}}x{{end}}",`), plain)
	for name, one := range map[string]id{
		"a system text":     of("name: p,", "name: p, system: s,"),
		"another":           of("name: p,", "name: p, system: t,"),
		"a field":           of("name: t,", "name: t, extra: {labels: {a: 1}},"),
		"another field":     of("name: t,", "name: t, extra: {labels: {a: 2}},"),
		"a literal part":    of("text: hi", "parts: [{raw: {text: hi}}]"),
		"a field of config": of("name: t,", "name: t, generationConfig: {seed: 1},"),
	} {
		if one.Trial == plain.Trial || one.Scorers != plain.Scorers {
			t.Errorf("%s: %+v, want another trial than %+v, judged alike", name, one, plain)
		}
	}
	if judged := of("name: j,", "name: j, extra: {labels: {a: 1}},"); judged.Scorers == plain.Scorers || judged.Trial != plain.Trial {
		t.Errorf("a judge with a field: %+v, want the trial of %+v, judged otherwise", judged, plain)
	}
	expect.Same(t, "the same field by two ways", of("name: t,", "name: t, generationConfig: {seed: 1},"),
		of("name: t,", "name: t, generationConfig: {extra: {seed: 1}},"))
}

// Prompts that differ in their system text are counted apart. Requests that differ only outside the prompt are counted
// once.
func TestSystemTextsAreCountedApart(t *testing.T) {
	t.Parallel()
	const text = `version: 1
name: s
targets: [{name: a, model: svc-pro}, {name: b, model: svc-pro, extra: {labels: {}}, safetySettings: [{category: X, threshold: Y}]}]
prompts: [{name: p, system: "{{.s}}", text: hi}]
defaults: {repeats: 3, scorers: [{contains: hi}]}
cases: [{name: c, vars: {s: one}}, {name: d, vars: {s: two}}, {name: e, vars: {s: ""}}]
`
	f := &fake{tokens: 5}
	cfg := config(f, 4)
	cfg.Counting.Mode = suite.CountAlways
	for r := range runner.Run(t.Context(), plan(t, text, runner.Filter{}), cfg) {
		expect.Same(t, "tokens of "+r.Case, r.Usage.PromptTokens, 5)
	}
	expect.Same(t, "counts", f.counted.Load(), 3)
}
