package main

import (
	"bufio"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// tortureWorkers is how many calls may be under way, and so lost, when a run is killed.
const tortureWorkers = 16

// kills is how often the torture kills a run: a few times here, often in `make torture`.
func kills(t *testing.T) int {
	t.Helper()
	text := os.Getenv("EVALRUN_TORTURE_KILLS")
	if text == "" {
		return 6
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// program is this test binary under the name by which it is evalrun.
func program(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "evalrun")
	if err := os.Symlink(self, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// Scenarios R1 and R2: a run that is killed again and again, while it is being resumed too, ends with every trial judged once, nothing
// that was journaled asked again, and the report of a run that nobody disturbed.
func TestKilledAgainAndAgain(t *testing.T) {
	t.Parallel()
	evalrun := program(t)
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("script.yaml", "rules: [{reply: \"{{.prompt}}\", latency: {p50: 3ms, p99: 20ms}}]\n")
	repeats := max(150, 25*kills(t)) // enough to go on for
	trials := 4 * repeats
	write(
		"suite.yaml",
		"version: 1\nname: s\ntargets: [{name: pro, model: svc-pro}]\nprompts: [{name: p, text: \"{{.x}}\"}]\nlimits: {concurrency: "+strconv.Itoa(
			tortureWorkers,
		)+"}\n"+
			"defaults: {repeats: "+strconv.Itoa(
			repeats,
		)+", scorers: [{contains: a}]}\ncases: [{name: one, vars: {x: a}}, {name: two, vars: {x: ab}}, {name: three, vars: {x: b}}, {name: "+
			"four, vars: {x: ba}}]\n",
	)

	server := exec.Command(evalrun, "emulate", "--script", "script.yaml")
	server.Dir = dir
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	}()
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url = strings.TrimSpace(url)
	command := func(args ...string) *exec.Cmd {
		cmd := exec.Command(evalrun, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "EVALRUN_API_KEY=k")
		return cmd
	}
	finish := func(want int, args ...string) {
		t.Helper()
		cmd := command(args...)
		text, err := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != want {
			t.Fatalf("evalrun %v: exit %d, want %d (%v)\n%s", args, code, want, err, text)
		}
	}
	finish(1, "run", "suite.yaml", "--base-url", url, "--out", "whole", "-q", "-o", "jsonl=whole.jsonl")
	before := generated(t, url)

	rng := rand.New(rand.NewPCG(1, 2))
	args := []string{"run", "suite.yaml", "--base-url", url, "--out", "killed", "-q"}
	killed := 0
	for killed < kills(t) {
		cmd := command(args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(10+rng.IntN(90)) * time.Millisecond) // a moment like any other
		_ = cmd.Process.Kill()
		if err := cmd.Wait(); err == nil {
			break // it was done
		}
		if cmd.ProcessState.ExitCode() != -1 {
			break // done, and its gate does not hold
		}
		killed++
		if _, err := os.Stat(filepath.Join(dir, "killed", "run.jsonl")); err == nil {
			args = []string{"resume", "killed", "-q"}
			finish(0, "report", "killed", "-o", "json=killed.json")
		}
	}
	if args[0] == "run" {
		_ = os.RemoveAll(filepath.Join(dir, "killed"))
		finish(1, args...)
	}
	finish(1, "resume", "killed", "-q", "-o", "jsonl=killed.jsonl")
	if extra := generated(t, url) - before - trials; extra < 0 || extra > killed*tortureWorkers {
		t.Errorf("%d calls too many after %d kills", extra, killed)
	}
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return timing.ReplaceAllString(string(data), "")
	}
	if d := cmp.Diff(read("whole.jsonl"), read("killed.jsonl")); d != "" {
		t.Errorf("after %d kills:\n%.2000s", killed, d)
	}
	t.Logf("%d kills", killed)
}

// generated is how many calls to generate the emulator has served.
func generated(t *testing.T, url string) int {
	t.Helper()
	resp, err := http.Get(url + "/emulator/stats")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var stats map[string]int
	if err := json.NewDecoder(resp.Body).Decode(&stats); err != nil {
		t.Fatal(err)
	}
	return stats["generateContent"]
}
