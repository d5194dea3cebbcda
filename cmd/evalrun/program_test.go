package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"sync"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// raced are names of tests and scripts whose processes the race detector watches, where it is on: those in which workers, signals,
// servers or several processes meet. All others look at files, messages and exit codes; with the detector their processes take 2.5 times
// the time, which is most of what these tests cost. What runs in the process of a test is always watched.
var raced = regexp.MustCompile(`Killed|Ledger|Interrupt|Hangup|Watch|View|HoldsUp|HoldUp|Race|Chats|Batches|Soak|Shards|Matrix|` +
	`CtrlC|Workers|Slept|LeaveNoProcess|^TestScripts/(emulate|project_resume|prompt_program|proxy|rescore|resume|sandbox|` +
	`services|target_(http|models|program)|view|view_label|run_(batch|budget|cache|fail_fast|hanging|interrupt|judge|limit|live|` +
	`programs|race|retry|several|stream|tools_chat))$`)

// detector is whether this test binary has the race detector.
var detector = sync.OnceValue(func() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
})

// program is evalrun for a test: this test binary under the name by which it is evalrun, or the plain program where that would bring a
// race detector with it that the test does not need.
func program(t *testing.T) string {
	t.Helper()
	if detector() && !raced.MatchString(t.Name()) {
		return plainProgram(t)
	}
	self, err := os.Executable()
	expect.OK(t, err)
	path := filepath.Join(t.TempDir(), "evalrun")
	expect.OK(t, os.Symlink(self, path))
	return path
}

// plainProgram is evalrun without the race detector, whose shadow memory would drown what is measured and limited.
func plainProgram(t *testing.T) string {
	t.Helper()
	path, err := built()
	expect.OK(t, err)
	return path
}

var built = sync.OnceValues(func() (path string, err error) {
	dir, err := os.MkdirTemp("", "evalrun-built-")
	if err != nil {
		return "", err
	}
	atEnd = append(atEnd, func() { _ = os.RemoveAll(dir) })
	path = filepath.Join(dir, "evalrun")
	build := exec.Command("go", "build", "-trimpath", "-gcflags=all=-dwarf=false", "-ldflags=-s -w", "-o", path, ".")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
})
