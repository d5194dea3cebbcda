package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// The program of --notify gets the first verdict, and each that differs from the one before, without a key.
func TestNotifyTellsOfVerdictsThatChange(t *testing.T) {
	t.Parallel()
	b, v := newNights(t, 2, 4)
	v.pass = []float64{1, 1, 1, 1}
	b.write("tell.sh", "#!/bin/sh\ncat >> told.jsonl\nenv >> env.txt\n")
	expect.OK(t, os.Chmod(b.path("tell.sh"), 0o700))
	run := []string{"run", "suite.yaml", "-q", "--notify", "./tell.sh"}
	for i, exit := range []int{0, 0, 1, 1, 0} {
		v.change(func() { v.pass[2] = 1 - float64(exit) })
		b.exits(exit, append(run, "--name", string(rune('a'+i)))...)
	}
	var told []string
	for line := range strings.Lines(b.read("told.jsonl")) {
		var n struct {
			Verdict, Before string
			Exit            int
			Suites          []string
			PassRate        float64
		}
		expect.OK(t, json.Unmarshal([]byte(line), &n))
		told = append(told, n.Before+">"+n.Verdict)
		expect.Same(t, "suites", n.Suites, []string{"nightly"})
	}
	expect.Same(t, "told", told, []string{">Passed", "Passed>Failed", "Failed>Passed"})
	if env := b.read("env.txt"); strings.Contains(env, "key-of-vendor") || strings.Contains(env, "key-of-the-box") {
		t.Error("got a key in the environment of the program")
	}
}

// A program of --notify that fails is a warning. One that is not there, and untrusted suites, are refused before anything is sent.
func TestNotifyThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	b, _ := newNights(t, 2, 3)
	b.exits(0, "run", "suite.yaml", "-q", "--label", "nightly", "--notify", "false")
	b.says("the program of --notify: ended with exit status 1")
	b.exits(2, "run", "suite.yaml", "--notify", "./gone")
	b.says("the program of --notify cannot be started", "gone")
	b.exits(2, "run", "suite.yaml", "--notify", " ")
	b.says("--notify takes a program")
	b.exits(2, "run", "suite.yaml", "--untrusted", "--notify", "true")
	b.says("not with --untrusted")
}
