//go:build unix

package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// visited is a file in which a program under test notes its calls, a line each: the trial, the case and the turn.
type visited struct {
	t    *testing.T
	path string
}

func (v visited) calls() []string {
	data, err := os.ReadFile(v.path)
	if err != nil && !os.IsNotExist(err) {
		v.t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

func (v visited) sum() int { return len(v.calls()) }

// forgetful fails unless its first call finds a fresh workspace, and its second one what the first has left. Each line of the log is
// written in one piece.
const forgetful = `input=$(cat)
trial=$(printf '%s' "$input" | sed -n 's/.*"trial":"\([0-9a-f]*\)".*/\1/p')
prompt=$(printf '%s' "$input" | sed -n 's/^{"version":1,"prompt":"\([^"]*\)".*/\1/p')
echo "$trial $prompt" >> "$LOG"
case $prompt in
second) test "$(cat state)" = "$trial" || { echo "another trial was here: $(ls)" >&2; exit 1; } ;;
*) test "$(ls)" = fresh || { echo "it is not fresh: $(ls)" >&2; exit 1; }
   rm fresh; echo "$trial" > state ;;
esac
sleep 0.0$(($$ % 4))
echo "answer to $prompt"
`

// However often a run is killed, each trial of a program is judged once, in a new workspace from its first turn on.
// Interrupted trials leave nothing behind.
func TestKilledProgramsLeaveEachTrialJudgedOnce(t *testing.T) {
	t.Parallel()
	const workers, cases = 3, 40
	var list strings.Builder
	for i := range cases {
		fmt.Fprintf(&list, "  - {name: c%d, vars: {x: x%d}}\n", i, i)
	}
	b := newBox(t, nil, map[string]string{
		"agent.sh": forgetful, "fixture/fresh": "",
		"suite.yaml": "version: 1\nname: s\n" + fmt.Sprintf(
			"targets: [{name: t, program: {command: [sh, agent.sh], workspace: fixture, env: [LOG], concurrency: %d}}]\n", workers,
		) + "prompts: [{name: p, live: true, turns: [{user: \"first-{{.x}}\"}, {user: second}]}]\n" +
			"defaults: {scorers: [{contains: answer to second}]}\ncases:\n" + list.String(),
	})
	log := visited{t, b.path("log")}
	b.env = append(b.env, "LOG="+log.path)
	killed := b.killRepeatedly(log, min(kills(t), 10), 0, "run", "suite.yaml", "--out", "killed")
	expect.Contains(t, "the report", b.read("killed.json"), fmt.Sprintf(`"trials":%d,"pass":%d`, cases, cases))
	trials := map[string]bool{}
	for _, call := range log.calls() {
		if trial, _, _ := strings.Cut(call, " "); trial != "" { // whose input was not cut by a kill
			trials[trial] = true
		}
	}
	if n := len(trials); n < cases || n > cases+killed*workers {
		t.Errorf(
			"%d trials began for %d cases, with %d kills of %d workers, want at most one more a worker and kill", n, cases, killed, workers,
		)
	}
	if left, err := os.ReadDir(b.path("killed/workspaces")); err == nil {
		t.Errorf("got %d workspaces, want none left", len(left))
	}
	t.Logf("%d kills, %d calls, %d trials began", killed, log.sum(), len(trials))
}

// Nothing that a program has started outlives its call: a named pipe ends when no writer is left.
func TestProgramsLeaveNoProcess(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		script, says string
		exit         int
		signals      int
	}{
		"ended":       {"sleep 600 >/dev/null 2>&1 & echo done", "", 0, 0},
		"failed":      {"sleep 600 >/dev/null 2>&1 & exit 3", "ended with exit status 3", 4, 0},
		"timed out":   {"sleep 600 & wait", "did not end within 1s", 4, 0},
		"interrupted": {"sleep 600 & trap '' INT TERM; wait; sleep 600", "", 130, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timeout := "1s"
			if test.signals > 0 {
				timeout = "1h"
			}
			b := newBox(t, nil, map[string]string{
				"agent.sh": "exec 3>\"$ALIVE\"\n" + test.script + "\n",
				"suite.yaml": "version: 1\nname: s\n" +
					"targets: [{name: t, program: {command: [sh, agent.sh], env: [ALIVE], timeout: " + timeout + "}}]\n" +
					"prompts: [{name: p, text: hello}]\ncases: [{name: c, scorers: [{contains: done}]}]\n",
			})
			b.env = append(b.env, "ALIVE="+b.path("alive"))
			expect.OK(t, syscall.Mkfifo(b.path("alive"), 0o600))
			cmd := b.command("run", "suite.yaml", "--out", "run")
			expect.OK(t, cmd.Start())
			alive, err := os.Open(b.path("alive")) // which waits for the program
			expect.OK(t, err)
			defer alive.Close()
			for range test.signals {
				expect.OK(t, cmd.Process.Signal(os.Interrupt))
				time.Sleep(100 * time.Millisecond) // two at once may arrive as one
			}
			_ = cmd.Wait()
			expect.Same(t, "exit code", cmd.ProcessState.ExitCode(), test.exit)
			if _, err := io.Copy(io.Discard, alive); err != nil { // until the last one is gone
				t.Fatal(err)
			}
			expect.Contains(t, "the run file", b.read("run/run.jsonl"), test.says)
		})
	}
}

// However often a run is killed once it has begun, the programs that write its prompts and cases ran once, for each case and arm.
func TestKilledRunsStartNoProgramAgain(t *testing.T) {
	t.Parallel()
	const workers, cases = 3, 40
	var l ledger
	b := newBox(t, countingService(&l, ""), map[string]string{
		"prompt.sh": "x=$(sed 's/.*\"x\":\"\\(x[0-9]*\\)\".*/\\1/')\necho \"prompt $x\" >>\"$LOG\"\necho \"question $x of $$\"\n",
		"cases.sh": fmt.Sprintf("echo cases >>\"$LOG\"\ni=0\nwhile [ $i -lt %d ]; do "+
			"echo '{\"name\": \"c'$i'\", \"vars\": {\"x\": \"x'$i'\"}}'; i=$((i + 1)); done\n", cases),
		"suite.yaml": fmt.Sprintf("version: 1\nname: s\nlimits: {concurrency: %d}\ntargets: [{name: t, model: m}]\n", workers) +
			"prompts: [{name: p, program: [sh, prompt.sh]}]\ncases: [{program: [sh, cases.sh], scorers: [{contains: answer}]}]\n",
	})
	log := visited{t, b.path("log")}
	b.env = append(b.env, "LOG="+log.path)
	args, killed := []string{"run", "suite.yaml", "--out", "killed"}, 0
	for n := range 4 {
		cmd := b.command(args...)
		expect.OK(t, cmd.Start())
		for all := 0; all < 8*(n+1); all, _ = l.all() {
			time.Sleep(time.Millisecond)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if cmd.ProcessState.ExitCode() == -1 {
			killed++
		}
		args = []string{"resume", "killed"}
	}
	b.exits(0, "resume", "killed", "-o", "json=killed.json")
	expect.Contains(t, "the report", b.read("killed.json"), fmt.Sprintf(`"trials":%d,"pass":%d`, cases, cases))
	expect.Same(t, "calls of programs", log.sum(), 1+cases)
	if all, extra := l.all(); killed == 0 || all-extra != cases || extra > killed*workers {
		t.Errorf(
			"%d kills: %d calls, %d of them repeated, want %d prompts and at most one more a worker and kill", killed, all, extra, cases,
		)
	}
}

// An interrupt ends a program that writes a prompt, and the run before it begins.
func TestInterruptEndsProgramsThatWritePrompts(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"run", "suite.yaml", "--emulator", "--out", "run"}, {"plan", "suite.yaml", "--run-programs"}} {
		t.Run(args[0], func(t *testing.T) {
			t.Parallel()
			b := newBox(t, nil, map[string]string{
				"write.sh": "exec 3>\"$ALIVE\"\nsleep 600 & wait\n",
				"suite.yaml": "version: 1\nname: s\ntargets: [{name: t, model: svc-pro}]\nprompts: [{name: p, program: [sh, write.sh]}]\n" +
					"cases: [{name: c, scorers: [{contains: done}]}]\n",
			})
			b.env = append(b.env, "ALIVE="+b.path("alive"))
			expect.OK(t, syscall.Mkfifo(b.path("alive"), 0o600))
			cmd := b.command(args...)
			expect.OK(t, cmd.Start())
			alive, err := os.Open(b.path("alive")) // which waits for the program
			expect.OK(t, err)
			defer alive.Close()
			expect.OK(t, cmd.Process.Signal(os.Interrupt))
			_ = cmd.Wait()
			expect.Same(t, "exit code", cmd.ProcessState.ExitCode(), 130)
			if _, err := io.Copy(io.Discard, alive); err != nil { // until the last one is gone
				t.Fatal(err)
			}
			if _, err := os.Stat(b.path("run")); err == nil {
				t.Error("got a run directory, want none")
			}
		})
	}
}
