package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

func command(t *testing.T, want int, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app{
		in: &bytes.Buffer{}, out: &out, err: &errs, getenv: func(string) string { return "" },
		signals: func() (<-chan os.Signal, func()) { return nil, func() {} },
	}
	if code := a.main(t.Context(), args); code != want {
		t.Fatalf("evalrun %v: exit %d, want %d\n%s%s", args, code, want, out.String(), errs.String())
	}
	return out.String()
}

var timing = regexp.MustCompile(`"timing":\{[^}]*\}`)

// Scenario R22: seven shards merged are the run without shards, but for its timings.
func TestSevenShardsMergeToTheWholeRun(t *testing.T) {
	t.Chdir(t.TempDir())
	suite, err := filepath.Abs("suite.yaml")
	expect.OK(t, err)
	text := "version: 1\nname: s\ntargets: [{name: a, model: svc-pro}, {name: b, model: svc-pro, apiVersion: v1beta}]\nprompts: [{name: " +
		"p, text: \"{{.x}}\"}]\n" +
		"defaults: {repeats: 2, scorers: [{contains: \"1\"}]}\ncases:\n"
	for i := range 40 {
		text += fmt.Sprintf("  - {name: c%d, vars: {x: \"%d\"}}\n", i, i)
	}
	expect.OK(t, os.WriteFile(suite, []byte(text), 0o600))
	whole := command(t, 1, "run", suite, "--emulator", "--out", "whole", "-o", "jsonl", "-q")
	merge := []string{"merge", "--out", "merged", "-o", "jsonl"}
	for i := range 7 {
		dir := fmt.Sprintf("shard%d", i+1)
		command(t, 0, "run", suite, "--emulator", "--shard", fmt.Sprintf("%d/7", i+1), "--out", dir, "-q")
		merge = append(merge, dir)
	}
	merged := command(t, 1, merge...)
	expect.Same(t, "merged", timing.ReplaceAllString(merged, ""), timing.ReplaceAllString(whole, ""))
}

// shard records a shard of a plan of six trials, with every other trial.
func (f inFolder) shard(name string, index int, outcomes string, change func(*eval.Run), end *eval.End) {
	f.t.Helper()
	f.record(name, func(r *eval.Run) {
		r.Plan.Shard = &eval.ShardOf{Index: index, Of: 2, Plan: "plan", Trials: 6}
		r.Plan.Arms = []string{"t/p"}
		r.CommandOptions.Shard = eval.Shard{Index: index, Of: 2}
		if change != nil {
			change(r)
		}
	}, end, letters(outcomes, "t/p", index-1, 2)...)
}

// spent ends a shard that has spent something.
func spent(calls, tokens int, finished string) *eval.End {
	return &eval.End{
		Reason: eval.EndCompleted, FinishedAt: finished, Spent: &eval.Spent{Attempts: calls, Tokens: tokens, Money: 0.5, Currency: "USD"},
	}
}

// merged shards are one run: trials in the order of the plan, costs added up, the gate applied.
func TestMergedShardsAreOneRun(t *testing.T) {
	t.Parallel()
	f := newRunFolder(t)
	model := func(name, at string) func(*eval.Run) {
		return func(r *eval.Run) {
			r.Models, r.StartedAt = []eval.Model{{Name: name, APIVersion: "v1"}, {Name: "both", APIVersion: "v1"}}, at
			r.Suites[0].Gate = &eval.GateConfig{PassRateMin: new(0.9)}
		}
	}
	f.shard("two", 2, "pfp", model("b", "2026-01-02T00:00:00Z"), spent(3, 21, "2026-01-02T00:05:00Z"))
	f.shard("one", 1, "ppp", model("a", "2026-01-01T00:00:00Z"), spent(4, 22, "2026-01-01T00:05:00Z"))
	out, shown := screen()
	m, err := f.merge([]string{"two", "one"}, merging{Out: "whole", Screen: out, Getenv: noVariables})
	expect.OK(t, err)
	expect.Same(t, "exit, by a gate of 90 %", m.Exit, eval.CodeFailed)
	expect.Same(t, "counts", m.End.Counts, eval.Counts{Pass: 5, Fail: 1})
	expect.Same(t, "the end", m.End.FinishedAt, "2026-01-02T00:05:00Z")
	expect.Same(t, "reports", shown.Len(), 0)

	d, err := f.Open("whole")
	expect.OK(t, err)
	t.Cleanup(func() { _ = d.Close() }) // it was only read
	var order []int
	for r, err := range d.Trials() {
		expect.OK(t, err)
		order = append(order, r.N)
	}
	expect.Same(t, "the order of the trials", order, []int{0, 1, 2, 3, 4, 5})
	expect.Same(t, "trials and shard", [2]any{d.Run.Plan.Trials, d.Run.Plan.Shard}, [2]any{6, (*eval.ShardOf)(nil)})
	expect.Same(t, "the flag", d.Run.Options().Shard, eval.Shard{})
	expect.Same(t, "the beginning", d.Run.StartedAt, "2026-01-01T00:00:00Z")
	var models []string
	for _, one := range d.Run.Models {
		models = append(models, one.Name)
	}
	expect.Same(t, "models", models, []string{"b", "both", "a"})
	expect.Same(t, "partial", d.Partial(), false)
	expect.Same(t, "money", [2]any{d.End.Spent.Money, d.End.Spent.Currency}, [2]any{1.0, "USD"})
}

// Shards that do not belong together are refused before anything is written.
func TestShardsThatDoNotBelongTogetherAreRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*eval.Run)
		want   string // DIR is the folder
	}{
		"other parts": {
			change: func(r *eval.Run) { r.Plan.Shard.Of = 3 },
			want:   "two is a shard of another plan than DIR/one: the suites, the variables or the selection differ",
		},
		"another service": {
			change: func(r *eval.Run) { r.Service.BaseURL = "http://127.0.0.1:9" }, want: "two used another service than DIR/one",
		},
		"the emulator": {change: func(r *eval.Run) { r.Emulator = true }, want: "two used another service than DIR/one"},
		"a recording":  {change: func(r *eval.Run) { r.Replay = "tape" }, want: "two used another service than DIR/one"},
		"another gate": {
			change: func(r *eval.Run) { r.Suites[0].Gate = &eval.GateConfig{ErrorsMax: new(0.5)} },
			want:   "two has another gate than DIR/one",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newRunFolder(t)
			f.shard("one", 1, "ppp", nil, completed())
			f.shard("two", 2, "ppp", test.change, completed())
			out, _ := screen()
			_, err := f.merge([]string{"one", "two"}, merging{Out: "whole", Screen: out, Getenv: noVariables})
			expect.Same(t, "exit code", eval.CodeOf(err), eval.CodeBadInput)
			expect.Same(t, "message", strings.ReplaceAll(fmt.Sprint(err), f.Abs(""), "DIR"), test.want)
			if _, err := os.Stat(f.Join("whole")); err == nil {
				t.Error("there is a run directory, want none")
			}
		})
	}
}

// A place that is taken is refused.
func TestMergingOverARunIsRefused(t *testing.T) {
	t.Parallel()
	f := newRunFolder(t)
	f.shard("one", 1, "ppp", nil, completed())
	f.shard("two", 2, "ppp", nil, completed())
	out, _ := screen()
	_, err := f.merge([]string{"one", "two"}, merging{Out: "one", Screen: out, Getenv: noVariables})
	expect.Same(t, "exit code", eval.CodeOf(err), eval.CodeBadInput)
}
