package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Programs that write prompts and cases run once, at the coordinator: workers and a coordinator that is started again have what they
// wrote, although they would write something else now.
func TestProgramsThatWritePromptsRunOnceForAFleet(t *testing.T) {
	t.Parallel()
	b := newBox(t, newService(t, time.Second))
	log := filepath.Join(b.dir, "log")
	b.env = append(b.env, "LOG="+log)
	b.write("prompt.sh", `echo prompt >>"$LOG"; sed "s/.*\"n\":\"\([0-9]*\)\".*/case \1 of $$/"`+"\n")
	b.write("cases.sh", `echo cases >>"$LOG"; for n in 1 2 3 4 5 6; do echo '{"vars": {"n": "'$n'"}}'; done`+"\n")
	b.write("written.yaml", `version: 1
name: written
targets: [{name: pro, model: svc-pro}]
prompts: [{name: p, program: [sh, prompt.sh]}]
cases: [{program: [sh, cases.sh], scorers: [{expr: "true"}]}]
`)
	calls := func(when string) {
		t.Helper()
		data, err := os.ReadFile(log)
		if n := strings.Count(string(data), "\n"); err != nil || n != 7 {
			t.Errorf("%s: %d calls of programs (%v), want 7", when, n, err)
		}
	}
	first := b.serve("written.yaml", "--out", "run")
	workers := []*process{b.work(first.url, "run", "-j", "1")}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(b.dir, "run", "run.jsonl")); err == nil {
			break
		}
	}
	first.kill()
	calls("after a kill")
	again := b.serve("written.yaml", "--out", "run")
	workers = append(workers, b.work(again.url, "run", "-j", "1"))
	if got := again.end(); got != 0 {
		t.Errorf("exit %d, want 0\n%s%s", got, again.out.String(), again.err.String())
	}
	didWork(t, workers...)
	calls("at the end")
	if got := b.trials("run"); len(got) != 6 {
		t.Errorf("got %v, want 6 trials", got)
	}
}
