package runner_test

import (
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/scorers"
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

const versionedSuite = `version: 1
name: s
targets: [{name: one, model: svc-pro}]
prompts: [{name: p, text: "{{.q}}"}]
cases:
  - {name: plain, vars: {q: a}, scorers: [{contains: a}]}
  - {name: inside, vars: {q: b}, scorers: [{not: {any: [{equals: a}, {contains: a}]}}]}
  - {name: other, vars: {q: c}, scorers: [{equals: a}]}
`

// A kind whose meaning has changed marks the scorers of the cases that use it, inside other kinds too; all else keeps the hash of before.
func TestScorersHashKnowsVersions(t *testing.T) {
	t.Parallel()
	hashes := func(version int) map[string]string {
		table := scorers.Builtin()
		table.Lookup("contains").Version = version
		out := map[string]string{}
		for t := range runner.NewPlan([]*suite.Suite{load(t, versionedSuite)}, table, runner.Filter{}, "v1").Trials() {
			out[t.Case] = t.ScorersHash
		}
		return out
	}
	before := hashes(0)
	expect.Same(t, "plain, as in version 0.1", before["plain"], "67df4a5161e66728")
	expect.Same(t, "version 1", hashes(1), before)
	expect.Same(t, "version 2", hashes(2), map[string]string{
		"plain": before["plain"] + "+contains.2", "inside": strings.Replace(before["inside"], "+", "+contains.2+", 1), "other": before["other"],
	})
}

// Kinds have their first meaning but for these: a version is raised when the same answer passes where it failed, or the other way round.
func TestBuiltinVersionsAreRaisedOnlyOnChange(t *testing.T) {
	t.Parallel()
	changed := map[string]int{
		"choice": 3, "jsonSchema": 2, "refusal": 4, "regex": 2, "length": 2, "levenshtein": 2, "jaroWinkler": 2, "tokenF1": 2, "exactMatch": 2,
		"xml": 2, "number": 2, "list": 2, "similar": 2, "firstToken": 2, "candidates": 2, "not": 2, "exec": 2, "expr": 2,
		"judge": 2,
	}
	for _, k := range scorers.Builtin() {
		expect.Same(t, k.Name, k.Version, changed[k.Name])
	}
}

const erringSuite = `version: 1
name: s
targets: [{name: one, model: svc-pro}]
prompts: [{name: p, text: "{{.q}}"}]
defaults:
  scorers: [{name: n, contains: a, onError: fail}]
cases:
  - {name: inherited, vars: {q: a}}
  - {name: replaced, vars: {q: b}, scorers: [{name: n, contains: a}]}
  - {name: other, vars: {q: c}, scorers: [{name: n, contains: a, onError: unscored}]}
  - {name: inside, vars: {q: d}, scorers: [{name: n, any: [{contains: a, onError: unscored}]}]}
`

// onError is a part of the hash where it is set, and nowhere else: without it the hash is that of before.
func TestScorersHashKnowsOnError(t *testing.T) {
	t.Parallel()
	hashes := func(text string) map[string]string {
		out := map[string]string{}
		for t := range runner.NewPlan([]*suite.Suite{load(t, text)}, scorers.Builtin(), runner.Filter{}, "v1").Trials() {
			out[t.Case] = t.ScorersHash
		}
		return out
	}
	with, without := hashes(erringSuite), hashes(strings.NewReplacer(", onError: fail", "", ", onError: unscored", "").Replace(erringSuite))
	expect.Same(t, "replaced", with["replaced"], without["replaced"])
	expect.Same(t, "without the key", without["inherited"], without["replaced"])
	seen := map[string]bool{}
	for _, hash := range []string{with["inherited"], with["other"], with["inside"], without["inherited"], without["inside"]} {
		if seen[hash] {
			t.Errorf("got the hash %s for two different scorers, want two: %v %v", hash, with, without)
		}
		seen[hash] = true
	}
}
