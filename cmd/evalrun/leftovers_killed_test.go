//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// What a killed run has in the folder for temporary files, the next run removes, whatever it runs.
func TestTheNextRunRemovesCheckoutsOfAKilledOne(t *testing.T) {
	t.Parallel()
	b := newBox(t, answersThenHangs(t, 0), map[string]string{
		"check.sh": "#!/bin/sh\necho '{\"score\": 1}'\n", "tmp/of-somebody": "else",
		"suite.yaml": strings.Replace(tenCases(), "contains: answer", "exec: ./check.sh", 1),
		"other.yaml": tenCases(), "script.yaml": "rules: [{reply: an answer}]\n",
	})
	b.env = append(b.env, "TMPDIR="+b.path("tmp"))
	git := exec.Command("sh", "-c", "chmod +x check.sh && git init -q -b main && git add -A && "+
		"git -c user.name=e -c user.email=e@example.com commit -qm first")
	git.Dir, git.Env = b.dir, b.env
	if out, err := git.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := b.command(
		"run", "suite.yaml", "--interleave", "suite.yaml@main", "--margin", "0.1", "--on-inconclusive", "warn", "--out", "run", "-q",
	)
	expect.OK(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	temporary := func() []string {
		left, _ := filepath.Glob(b.path("tmp/.evalrun-*"))
		return left
	}
	until(t, "the run", func() bool { _, err := os.Stat(b.path("run/run.jsonl")); return err == nil })
	if len(temporary()) == 0 {
		t.Error("there is no checkout during the run, want one")
	}
	b.exits(0, "run", "other.yaml", "--emulator=script.yaml", "--out", "during", "-q")
	if len(temporary()) == 0 {
		t.Error("another run removed the checkout of a run in progress, want it to stay")
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	b.exits(0, "run", "other.yaml", "--emulator=script.yaml", "--out", "after", "-q")
	if left := temporary(); len(left) > 0 {
		t.Errorf("left behind: %q, want nothing", left)
	}
	if _, err := os.Stat(b.path("tmp/of-somebody")); err != nil {
		t.Errorf("a file of another program: %v, want it to stay", err)
	}
}
