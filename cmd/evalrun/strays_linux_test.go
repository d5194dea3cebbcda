package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

const lingeringSuite = `version: 1
name: lingering
targets: [{name: agent, program: {command: [sh, agent.sh], timeout: 2s}}]
prompts: [{name: ask, text: "{{.what}}"}]
cases:
  - {name: daemon, vars: {what: daemon}, scorers: [{contains: done}]}
`

// A daemon in a session of its own ends with its trial, in time or not, and a program ends with an evalrun that is killed; what that one
// left ends with the next run.
func TestProgramsLeaveNoProcessBehind(t *testing.T) {
	t.Parallel()
	for name, agent := range map[string]string{
		"ended":  "setsid sh -c 'echo $$ >pid; exec sleep 600' >/dev/null 2>&1 & while [ ! -s pid ]; do sleep 0.01; done; echo done",
		"late":   "setsid sh -c 'echo $$ >pid; exec sleep 600' >/dev/null 2>&1 & sleep 600",
		"killed": "echo $$ >pid; exec sleep 600",
		"left":   "setsid sh -c 'echo $$ >pid; exec sleep 600' >/dev/null 2>&1 & exec sleep 600",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			next := strings.Replace(lingeringSuite, "agent.sh", "next.sh", 1)
			b := newBox(t, nil, map[string]string{
				"suite.yaml": lingeringSuite, "agent.sh": agent, "next.yaml": next, "next.sh": "echo done",
			})
			cmd := b.command("run", "suite.yaml")
			expect.OK(t, cmd.Start())
			if name == "killed" || name == "left" {
				for info, err := os.Stat(b.path("pid")); err != nil || info.Size() == 0; info, err = os.Stat(b.path("pid")) {
					time.Sleep(10 * time.Millisecond)
				}
				expect.OK(t, cmd.Process.Kill())
			}
			_ = cmd.Wait() // with the exit code of the trial
			if name == "left" {
				b.exits(0, "run", "next.yaml", "--out", "next")
			}
			of := "/proc/" + strings.TrimSpace(b.read("pid")) + "/cmdline" // empty of one that nobody waited for
			for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
				if text, err := os.ReadFile(of); err != nil || len(text) == 0 {
					break
				}
				if time.Now().After(end) {
					t.Fatalf("%s is still there, want the process ended", of)
				}
			}
		})
	}
}
