package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/session"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
)

// A merge that is killed leaves nothing that could be taken for a run: it is made again, and resume finds no run to pay for.
func TestKilledMergeLeavesNoRun(t *testing.T) {
	t.Parallel()
	trials := min(200*kills(t), 3000)
	b := newBox(t, nil, map[string]string{
		"suite.yaml": fmt.Sprintf("version: 1\nname: s\ntargets: [{name: t, model: m}]\nprompts: [{name: p, text: hello}]\n"+
			"cases: [{name: c, repeats: %d, scorers: [{contains: hello}]}]\n", trials),
	})
	b.exits(0, "run", "suite.yaml", "--emulator", "--shard", "1/2", "--out", "one", "--concurrency", "64")
	b.exits(0, "run", "suite.yaml", "--emulator", "--shard", "2/2", "--out", "two", "--concurrency", "64")
	began := time.Now()
	b.exits(0, "merge", "one", "two", "--out", "unkilled")
	whole := time.Since(began)
	rng := rand.New(rand.NewPCG(3, 4))
	killed := 0
	for range max(24, kills(t)) {
		cmd := b.command("merge", "one", "two", "--out", "merged")
		expect.OK(t, cmd.Start())
		time.Sleep(time.Duration(rng.Int64N(int64(whole)))) // a moment like any other
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if _, err := os.Stat(b.path("merged/run.jsonl")); err == nil { // it was there as a whole
			b.exits(0, "report", "merged", "-o", "json=merged.json")
			expect.OK(t, os.RemoveAll(b.path("merged")))
			continue
		}
		killed++
		b.exits(2, "resume", "merged")
	}
	b.exits(0, "merge", "one", "two", "--out", "merged", "-o", "json=merged.json")
	if !strings.Contains(b.read("merged.json"), fmt.Sprintf(`"trials":%d,"pass":%d`, trials, trials)) || killed == 0 {
		t.Errorf("after %d kills: %.300s, want %d trials that pass", killed, b.read("merged.json"), trials)
	}
	left, err := filepath.Glob(b.path("merged/*.part*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v %v, want nothing left", left, err)
	}
}

// A terminal that goes away ends a run as SIGTERM does: it drains, and can be resumed.
func TestHangupDrainsTheRun(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil, map[string]string{
		"script.yaml": "rules: [{reply: hi, latency: 20ms}]\n",
		"suite.yaml":  strings.Replace(oneCase, "{name: c,", "{name: c, repeats: 500,", 1),
	})
	caught := make(chan os.Signal, 1) // where this test is run by nohup, the program would be too
	signal.Notify(caught, syscall.SIGHUP)
	defer signal.Stop(caught)
	cmd := b.command("run", "suite.yaml", "--emulator=script.yaml", "--out", "run")
	expect.OK(t, cmd.Start())
	for lines := 0; lines < 5; time.Sleep(5 * time.Millisecond) {
		data, _ := os.ReadFile(b.path("run/run.jsonl"))
		lines = strings.Count(string(data), "\n")
	}
	expect.OK(t, cmd.Process.Signal(syscall.SIGHUP))
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 143 || !strings.Contains(b.read("run/run.jsonl"), `"reason":"interrupted"`) {
		t.Errorf("exit %d, want 143 and the end of the run in its file", code)
	}
	b.exits(0, "resume", "run")
}

// A run that was killed after its end, before it was added to the history, appears there.
func TestHistoryCatchesUpWithAKilledRun(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil, map[string]string{"suite.yaml": oneCase})
	b.exits(1, "run", "suite.yaml", "--emulator", "--out", "first")
	b.exits(1, "run", "suite.yaml", "--emulator", "--out", "second")
	expect.OK(t, os.RemoveAll(b.path(".evalrun/history.db")))
	head := b.read("second/run.jsonl")
	_, id, _ := strings.Cut(head, `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	b.write(".evalrun/expected-runs/"+id, b.path("second")+"\n") // as a killed process leaves it
	b.exits(0, "history", "-o", "json")
	expect.Contains(t, "the history", b.out, id)
	if _, err := os.Stat(b.path(".evalrun/expected-runs/" + id)); err == nil {
		t.Error("the note of the run is left, want it removed")
	}
}

// Known errors are sent after what was never sent.
func TestErrorsComeLast(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil, map[string]string{
		"script.yaml": "rules: [{match: {text: \"bad*\"}, faults: [{status: 400}]}, {reply: hi}]\n",
		"suite.yaml": "version: 1\nname: s\ntargets: [{name: t, model: m}]\nprompts: [{name: p, text: \"{{.x}}\"}]\nlimits: {concurrency: 1}\n" +
			"cases: [{name: bad, vars: {x: bad}, repeats: 3, scorers: [{equals: hi}]}, {name: good, vars: {x: good}, repeats: 20, scorers: " +
			"[{equals: hi}]}]\n",
	})
	b.exits(4, "run", "suite.yaml", "--emulator=script.yaml", "--out", "run", "--budget-calls", "8")
	before := strings.Count(b.read("run/run.jsonl"), "\n")
	b.exits(4, "resume", "run", "--budget-calls", "100")
	var cases []string
	for i, line := range strings.Split(b.read("run/run.jsonl"), "\n") {
		if i >= before && strings.Contains(line, `"type":"trial"`) {
			_, name, _ := strings.Cut(line, `"case":"`)
			name, _, _ = strings.Cut(name, `"`)
			cases = append(cases, name)
		}
	}
	if got := strings.Join(cases, " "); !strings.HasSuffix(got, "good bad bad bad") || strings.Count(got, "bad") != 3 {
		t.Errorf("after the resume: %s, want 3 bad at the end", got)
	}
}

// A run file of version -1 is none.
func TestANegativeVersionIsRefused(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil, map[string]string{"suite.yaml": oneCase, "kept/s/c.json": `{"version":-1,"suite":"s","case":"c","answers":[]}`})
	b.exits(2, "run", "suite.yaml", "--replay", "kept")
	b.says("version -1")
}

// What needs all answers of a run refuses one that is still in progress, and says when to do it.
func TestARunInProgressIsRefused(t *testing.T) {
	t.Parallel()
	f := newRunFolder(t)
	run := eval.Run{
		ID: "now", StartedAt: "2026-01-01T00:00:00Z", CommandOptions: &eval.RunOptions{}, Suites: []eval.RunSuite{{Name: "s"}},
	}
	w, err := journal.Create(f.Join("now"), &run, nil)
	expect.OK(t, err)
	l := &session.Loaded{}
	l.Options.Dir, l.Options.Rescore = f.Abs(""), "now"
	_, err = newAcceptance(l)
	expect.Contains(t, "accept", fmt.Sprint(err), "now is still in progress: accept its answers when it finishes")
	env := map[string]string{"CI_PROJECT_ID": "9", "GITLAB_TOKEN": "t", "CI_API_V4_URL": "http://127.0.0.1:1"}
	_, err = f.comment(t.Context(), "now", commenting{Getenv: func(name string) string { return env[name] }})
	expect.Contains(t, "comment", fmt.Sprint(err), "the run now is still in progress; comment on it when it finishes")
	expect.OK(t, w.Close())
}

// An error rate that only the API can give is refused as the flag refuses it.
func TestARankingIsNotWrongTooOften(t *testing.T) {
	t.Parallel()
	f := newRunFolder(t)
	f.record("one", nil, completed(), letters("pp", "a", 0, 1)...)
	o := compareRequest{}
	o.ByJudge.Options.Getenv = func(string) string { return "" }
	o.Rule.Alpha = 0.5
	_, err := f.rank("one", o)
	expect.Contains(t, "rank", fmt.Sprint(err), "--alpha 0.5: a ranking with this error rate is not informative; use 0.2 or less")
}
