package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// soakWorkers is how many calls are under way in a soak, and so how many connections may be open.
const soakWorkers = 64

// soakScript breaks a few calls in every way that the emulator knows; fewer than use up the quota of retries.
const soakScript = `rules:
  - match: {text: "*"}
    reply: "{{.prompt}}"
    faults:
      - {status: 503, rate: 0.004}
      - {status: 500, rate: 0.008}
      - {cut: true, rate: 0.008}
      - {malformed: html, rate: 0.006}
      - {malformed: json, rate: 0.004}
      - {malformed: empty, rate: 0.002}
      - {hang: true, rate: 0.001}
      - {status: 400, rate: 0.004}
      - {malformed: none, rate: 0.004}
`

// soakSuite has two models, one of them with streams; half of the answers fail.
const soakSuite = `version: 1
name: soak
targets: [{name: whole, model: svc-pro}, {name: streamed, model: svc-pro, stream: true}]
prompts: [{name: p, text: "{{.x}}"}]
defaults: {repeats: %d, scorers: [{contains: a}]}
cases: [{name: good, vars: {x: "a short answer"}}, {name: bad, vars: {x: "no"}}]
`

// soakTrials is how many trials the soak runs, and whether that is the long form, which looks at memory too.
func soakTrials(t *testing.T) (n int, long bool) {
	t.Helper()
	text := os.Getenv("EVALRUN_SOAK_TRIALS")
	if text == "" {
		return 1000, false
	}
	n, err := strconv.Atoi(text)
	expect.OK(t, err)
	return n / 4 * 4, true
}

// soak is a folder with a suite, an emulator that serves it, and the program under test.
type soak struct {
	t            *testing.T
	program, dir string
	url          string
	server       *exec.Cmd
}

func newSoak(t *testing.T, program, script, suite string) *soak {
	t.Helper()
	s := &soak{t: t, program: program, dir: t.TempDir()}
	for name, text := range map[string]string{"script.yaml": script, "suite.yaml": suite} {
		expect.OK(t, os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600))
	}
	s.server = s.command("emulate", "--script", "script.yaml")
	out, err := s.server.StdoutPipe()
	expect.OK(t, err)
	expect.OK(t, s.server.Start())
	t.Cleanup(func() {
		_ = s.server.Process.Kill()
		_ = s.server.Wait()
	})
	if s.url, err = bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	s.url = strings.TrimSpace(s.url)
	return s
}

func (s *soak) command(args ...string) *exec.Cmd {
	cmd := exec.Command(s.program, args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "EVALRUN_API_KEY=k")
	return cmd
}

// ends waits for a command that says little, and gives its exit code and what it said.
func (s *soak) ends(cmd *exec.Cmd) (code int, said string) {
	s.t.Helper()
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		s.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

type soakReport struct {
	Run struct {
		Plan struct {
			Trials int `json:"trials"`
		} `json:"plan"`
		Reason  string   `json:"reason"`
		Partial bool     `json:"partial"`
		Damaged []string `json:"damaged"`
	} `json:"run"`
	Summary struct {
		Trials int `json:"trials"`
		Pass   int `json:"pass"`
		Fail   int `json:"fail"`
		Error  int `json:"error"`
		Skip   int `json:"skip"`
	} `json:"summary"`
	Trials []struct {
		ID     string `json:"id"`
		Suite  string `json:"suite"`
		Case   string `json:"case"`
		Arm    string `json:"arm"`
		Repeat int    `json:"repeat"`
	} `json:"trials"`
}

// balanced reads a report, in which every trial of the plan must stand once, as one of pass, fail, error and skip.
func (s *soak) balanced(file string, trials int) soakReport {
	s.t.Helper()
	var r soakReport
	data, err := os.ReadFile(filepath.Join(s.dir, file))
	expect.OK(s.t, err)
	expect.OK(s.t, json.Unmarshal(data, &r))
	sum := r.Summary.Pass + r.Summary.Fail + r.Summary.Error + r.Summary.Skip
	if r.Run.Plan.Trials != trials || sum != trials || r.Summary.Trials != trials || len(r.Trials) != trials {
		s.t.Errorf("%s: %d trials planned, %d wanted, %d listed, %d counted: %+v", file, r.Run.Plan.Trials, trials, len(r.Trials), sum, r.Summary)
	}
	if len(r.Run.Damaged) > 0 {
		s.t.Errorf("%s: damaged: %.500s, want no damage", file, r.Run.Damaged)
	}
	seen := map[string]bool{}
	for _, one := range r.Trials {
		if name := fmt.Sprint(one.Suite, "/", one.Case, "/", one.Arm, "/", one.Repeat); seen[one.ID] || seen[name] {
			s.t.Errorf("%s: got %s twice, want each trial once", file, name)
		} else {
			seen[one.ID], seen[name] = true, true
		}
	}
	return r
}

// soakSample is a look at a process: how far its run file has come, its descriptors, and its memory in KiB.
type soakSample struct {
	written     int64
	fds, memory int
}

// sample looks at a process; false when it is gone.
func sample(pid int, runFile string) (s soakSample, ok bool) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return s, false
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return s, false
	}
	_, rest, found := bytes.Cut(status, []byte("VmRSS:"))
	if !found { // a zombie has no memory
		return s, false
	}
	if _, err := fmt.Sscanf(string(rest), "%d kB", &s.memory); err != nil {
		return s, false
	}
	if info, err := os.Stat(runFile); err == nil {
		s.written = info.Size()
	}
	s.fds = len(entries)
	return s, true
}

// watch samples a process until it ends, and gives its exit code.
func (s *soak) watch(cmd *exec.Cmd, runFile string, every time.Duration) (samples, server []soakSample, code int) {
	s.t.Helper()
	expect.OK(s.t, cmd.Start())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = cmd.Wait() // the exit code is looked at
	}()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return samples, server, cmd.ProcessState.ExitCode()
		case <-tick.C:
		}
		one, ok := sample(cmd.Process.Pid, runFile)
		other, served := sample(s.server.Process.Pid, runFile)
		if ok && served && one.written > 0 {
			samples, server = append(samples, one), append(server, other)
		}
	}
}

// asking are the samples from the time when trials ran, without warm-up and reports.
func asking(samples []soakSample, from, to float64, whole int64) (out []soakSample) {
	for _, s := range samples {
		if at := float64(s.written) / float64(whole); at >= from && at <= to {
			out = append(out, s)
		}
	}
	return out
}

// slope is the growth of memory in MiB per 10,000 trials, by least squares.
func slope(samples []soakSample, whole int64, trials int) float64 {
	var n, sx, sy, sxx, sxy float64
	for _, s := range samples {
		x, y := float64(s.written)/float64(whole)*float64(trials)/10_000, float64(s.memory)/1024
		n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	return (n*sxy - sx*sy) / (n*sxx - sx*sx)
}

// mostFDs is how many descriptors were open at most.
func mostFDs(samples []soakSample) (most int) {
	for _, s := range samples {
		most = max(most, s.fds)
	}
	return most
}

// A run of very many trials needs no more descriptors and no more memory at its end than at its beginning, whatever
// breaks in between. Every trial of the plan is counted once. EVALRUN_SOAK_TRIALS=200000 is the long form, which looks
// at memory.
func TestSoakNeedsNoMoreMemoryAtItsEnd(t *testing.T) {
	trials, long := soakTrials(t)
	evalrun, every := program, 5*time.Millisecond
	if long {
		evalrun, every = plainProgram, 100*time.Millisecond
	}
	s := newSoak(t, evalrun(t), soakScript, fmt.Sprintf(soakSuite, trials/4))
	runFile := filepath.Join(s.dir, "run", "run.jsonl")
	cmd := s.command("run", "suite.yaml", "--base-url", s.url, "--out", "run", "-q", "-o", "json=report.json",
		"--concurrency", strconv.Itoa(soakWorkers), "--timeout", "2s", "--attempts", "3")
	var said bytes.Buffer
	cmd.Stderr = &said
	started := time.Now()
	samples, server, code := s.watch(cmd, runFile, every)
	t.Logf("%d trials in %s", trials, time.Since(started).Round(time.Millisecond))
	report := s.balanced("report.json", trials)
	sum := report.Summary
	if code != 1 || sum.Pass == 0 || sum.Fail == 0 || sum.Error == 0 || report.Run.Reason != "completed" || report.Run.Partial {
		t.Errorf("exit %d, %s, %+v, want 1, completed, and some of each outcome\n%.2000s", code, report.Run.Reason, sum, said.String())
	}
	info, err := os.Stat(runFile)
	expect.OK(t, err)
	wantSteadyDescriptors(t, samples, info.Size())
	if long {
		wantSteadyMemory(t, samples, server, info.Size(), trials)
	}
}

// wantSteadyDescriptors wants no more descriptors in the end than at first. whole is the size of the run file.
func wantSteadyDescriptors(t *testing.T, samples []soakSample, whole int64) {
	t.Helper()
	early, late := asking(samples, 0.05, 0.4, whole), asking(samples, 0.6, 0.95, whole)
	before, after := mostFDs(early), mostFDs(late)
	if most := 2*soakWorkers + 30; before > most || after > most || len(early) > 0 && after > before+soakWorkers/2 {
		t.Errorf("descriptors: got at most %d at first and %d in the end, want no more than workers need", before, after)
	}
	t.Logf("%d samples; descriptors at most %d, then %d", len(samples), before, after)
}

// wantSteadyMemory wants memory that does not grow with the trials.
func wantSteadyMemory(t *testing.T, samples, server []soakSample, whole int64, trials int) {
	t.Helper()
	warm := asking(samples, 0.2, 0.95, whole)
	if len(warm) < 10 {
		t.Fatalf("got %d samples, want at least 10: more trials are needed", len(warm))
	}
	grows := slope(warm, whole, trials)
	if grows >= 1 {
		t.Errorf("got %.2f MiB more for 10,000 trials, want less than 1", grows)
	}
	t.Logf(
		"memory: %d KiB, then %d KiB, %.3f MiB for 10,000 trials; reports included %d KiB; the emulator: %.3f MiB for 10,000 trials",
		warm[0].memory, warm[len(warm)-1].memory, grows, samples[len(samples)-1].memory,
		slope(asking(server, 0.2, 0.95, whole), whole, trials),
	)
}
