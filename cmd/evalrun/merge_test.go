package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

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
