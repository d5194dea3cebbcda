package main

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// memorySmall and memoryBig are how many trials of each kind run. The small ones run first, so that a process that dies
// has something to lose.
const memorySmall, memoryBig = 60, 100

// memoryWorkers is how many calls are under way, and so how many big answers are in memory at once.
const memoryWorkers = 64

// memorySteps is how much memory, in MiB, each run may have on top of what an idle process reserves: too little to
// start, too little to finish, and enough. EVALRUN_SOAK is the long form.
func memorySteps() []int {
	steps := []int{-64, 8192}
	if os.Getenv("EVALRUN_SOAK") == "" {
		return append(steps, 8, 40)
	}
	for step := 0; step < 160; step += 4 {
		steps = append(steps, step)
	}
	return steps
}

// memoryScript answers a quarter of a megabyte to those who ask for much.
func memoryScript() string {
	return "rules:\n  - match: {text: \"*big*\"}\n    reply: \"big a" + strings.Repeat("0123456789abcdef", 16<<10) + "\"\n" +
		"  - match: {text: \"*\"}\n    reply: \"{{.prompt}}\"\n"
}

// memorySuite runs the small ones, then the big ones.
func memorySuite() string {
	return fmt.Sprintf(
		"version: 1\nname: memory\ntargets: [{name: pro, model: svc-pro}]\nprompts: [{name: p, text: \"{{.x}}\"}]\nlimits: {concurrency: %d}\n"+
			"defaults: {scorers: [{contains: a}]}\ncases: [{name: small, repeats: %d, vars: {x: \"small\"}}, {name: big, repeats: %d, vars: {x: "+
			"\"big\"}}]\n",
		memoryWorkers,
		memorySmall,
		memoryBig,
	)
}

// limited is a command that a shell runs with a limit of mapped memory, in KiB. Garbage is not collected, so that
// memory ends in the middle of the work rather than with the first big answer.
func (s *soak) limited(kib int, args ...string) *exec.Cmd {
	plain := s.command(args...)
	cmd := exec.Command("sh", append([]string{"-c", `ulimit -v "$0" && exec "$@"`, fmt.Sprint(kib), plain.Path}, args...)...)
	plain.Env = append(plain.Env, "GOTRACEBACK=none", "GOGC=off")
	cmd.Dir, cmd.Env = plain.Dir, plain.Env
	return cmd
}

// starts reports whether evalrun can print its version under a limit of memory, in MiB.
func (s *soak) starts(mib int) bool {
	s.t.Helper()
	code, _ := s.ends(s.limited(mib<<10, "version"))
	return code == 0
}

// least is the limit, in MiB, from which on evalrun always starts. It is not the smallest under which it does: Go reserves more
// where it finds more, and with that little is left again.
func (s *soak) least() int {
	s.t.Helper()
	const most, coarse = 4 << 10, 32
	if !s.starts(most) {
		s.t.Fatal("limits of memory (ulimit -v) do not work here")
	}
	high := most
	for high > coarse && s.starts(high-coarse) {
		high -= coarse
	}
	for low := high - coarse; high-low > 1; {
		if middle := (low + high) / 2; s.starts(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// recorded is how many trials the run file holds, -1 without one, and whether it ends as that of a completed run does.
func (s *soak) recorded(dir string) (trials int, completed bool) {
	data, err := os.ReadFile(filepath.Join(s.dir, dir, "run.jsonl"))
	if err != nil {
		return -1, false
	}
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	last := lines[len(lines)-1]
	completed = strings.HasPrefix(last, `{"type":"end"`) && strings.Contains(last, `"reason":"completed"`)
	return strings.Count(string(data), `{"type":"trial"`), completed
}

// starve runs, and resumes, under a limit, and then without. It says how the first two ended, and how many trials were
// recorded then; -1 where there was nothing.
func (s *soak) starve(kib int, dir string) (codes, trials [2]int) {
	s.t.Helper()
	codes, trials = [2]int{-1, -1}, [2]int{-1, -1}
	for i, args := range [][]string{{"run", "suite.yaml", "--base-url", s.url, "--out", dir, "-q"}, {"resume", dir, "-q"}} {
		code, said := s.ends(s.limited(kib, args...))
		n, completed := s.recorded(dir)
		codes[i], trials[i] = code, n
		if code == 0 && !completed {
			s.t.Errorf("%d KiB, %v: exit 0, and the run is not complete, want a complete run:\n%.2000s", kib, args, said)
		}
		if code == 1 {
			s.t.Errorf("%d KiB, %v: exit 1, and nothing was judged and found wanting\n%.2000s", kib, args, said)
		}
		if n < 0 {
			return codes, trials
		}
	}
	if code, said := s.ends(s.command("resume", dir, "-q", "-o", "json="+dir+".json")); code != 0 {
		s.t.Errorf("%d KiB: exit %d when it is resumed with all the memory there is, want 0:\n%.2000s", kib, code, said)
		return codes, trials
	}
	if r := s.balanced(dir+".json", memorySmall+memoryBig); r.Summary.Pass != memorySmall+memoryBig {
		s.t.Errorf("%d KiB: %+v, want %d passed", kib, r.Summary, memorySmall+memoryBig)
	}
	return codes, trials
}

// Scenario R25: a run has not enough memory, from far too little to just enough. It never reports success wrongly, and
// it can be resumed elsewhere: every trial is judged once.
func TestTooLittleMemoryNeverLooksLikeSuccess(t *testing.T) {
	s := newSoak(t, plainProgram(t), memoryScript(), memorySuite())
	least := s.least()
	died, completed := 0, 0
	for i, step := range memorySteps() {
		codes, trials := s.starve((least+step)<<10, fmt.Sprintf("run-%d", i))
		t.Logf("%d MiB and %d: exit %d with %d trials recorded, resumed: exit %d with %d", least, step, codes[0], trials[0], codes[1], trials[1])
		if codes[0] == 0 {
			completed++
		} else {
			died++
		}
		_ = os.RemoveAll(filepath.Join(s.dir, fmt.Sprintf("run-%d", i)))
	}
	if died == 0 || completed == 0 {
		t.Errorf("got %d runs that died and %d that were completed, want steps with some of both", died, completed)
	}
}

// A service whose answers are as large as is read takes a bounded amount of memory at the default concurrency: only a few are in work at
// once.
func TestLargeAnswersTakeBoundedMemory(t *testing.T) {
	answer := []byte(
		`{"candidates":[{"content":{"parts":[{"text":"` + strings.Repeat("some words ", (16<<20-300)/11) + `"}]},"finishReason":"STOP"}]}`,
	)
	b := newBox(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Fprint(w, `{"name":"models/m"}`)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	}), map[string]string{
		"suite.yaml": "version: 1\nname: s\ntargets: [{name: t, model: m}, {name: u, model: m, stream: true}]\nprompts: [{name: p, text: " +
			"hello}]\n" +
			"cases: [{name: c, repeats: 12, scorers: [{contains: words}, {length: {min: 1}}]}]\n",
	})
	b.evalrun = plainProgram(t)
	const most = 400 << 10 // KiB
	if took := b.peak("run", "suite.yaml", "-q"); took == 0 || took > most {
		t.Errorf("the run took %d MiB, want some and at most %d", took>>10, most>>10)
	}
}

// peak runs a command, and returns the most memory that it took, in KiB.
func (b *box) peak(args ...string) int {
	b.t.Helper()
	cmd := b.command(args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	expect.OK(b.t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	took, err := peakUntil(ended, cmd.Process.Pid)
	b.out, b.errs = out.String(), ""
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() == 2) {
		b.t.Fatalf("evalrun %v: %v\n%.2000s", args, err, &out)
	}
	return took
}

// A megabyte of brackets takes no more memory than other text, in a reply and in a line of a run file. Such a line is damaged.
func TestDeepNestingTakesBoundedMemory(t *testing.T) {
	const most = 150 << 10 // KiB
	brackets := strings.Repeat("[", 3_000_000)
	b := newBox(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Fprint(w, `{"name":"models/m"}`)
			return
		}
		fmt.Fprint(w, `{"candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}],"promptFeedback":`, brackets[:300_000])
	}), map[string]string{
		"suite.yaml": "version: 1\nname: s\ntargets: [{name: t, model: m}, {name: u, model: m, stream: true}]\n" +
			"prompts: [{name: p, text: hello}]\nlimits: {attempts: 1}\ncases: [{name: c, repeats: 20, scorers: [{contains: hi}]}]\n",
	})
	b.evalrun = plainProgram(t)
	if took := b.peak("run", "suite.yaml", "--out", "run"); took == 0 || took > most {
		t.Errorf("the run took %d MiB, want some and at most %d", took>>10, most>>10)
	}
	b.says("the answer nests deeper than 200 levels")
	lines := strings.Split(b.read("run/run.jsonl"), "\n")
	for _, kind := range []string{"trial", "judgement", "later"} {
		lines[2] = summed(`{"type":"` + kind + `","x":` + brackets + `,"seq":2`)
		b.write("run/run.jsonl", strings.Join(lines, "\n"))
		for _, args := range [][]string{
			{"report", "run"}, {"show", "run"}, {"compare", "run", "run"}, {"rescore", "run"}, {"resume", "run"},
		} {
			if took := b.peak(args...); took == 0 || took > most {
				t.Errorf("%v took %d MiB, want some and at most %d", args, took>>10, most>>10)
			}
			if args[0] == "report" {
				b.says("line 3: the line is nested deeper than 10000 levels")
			}
		}
		b.write("run/run.jsonl", strings.Join(lines, "\n")) // without what resume wrote
	}
}

// summed is a line of a run file without its checksum, with it.
func summed(line string) string {
	return fmt.Sprintf(`%s,"crc":"%08x"}`, line, crc32.Checksum([]byte(line), crc32.MakeTable(crc32.Castagnoli)))
}

// peakUntil returns the most memory of a process until it ends, in KiB, and how it ended. The usage that the kernel
// returns at the end is no good: it begins with the memory of the process that started it, which is this one.
func peakUntil(ended <-chan error, pid int) (kib int, err error) {
	for {
		select {
		case err := <-ended:
			return kib, err
		case <-time.After(5 * time.Millisecond):
		}
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // it may have ended
		if _, rest, ok := strings.Cut(string(status), "VmHWM:"); ok {
			_, _ = fmt.Sscan(rest, &kib)
		}
	}
}
