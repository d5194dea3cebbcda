package main

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
)

// Allocations per trial are the difference between a run of a thousand trials more and one of fewer, so that the start of the
// process is left out.
const fewer, more = 1_000, 2_000

// allocations returns how many objects evalrun and the limit allocate for each trial of a row. The program counts itself in the
// binary of its tests, which has its main as the command allocations.
func (b *bench) allocations(r outputRow, url string) (evalrun, limit int64, err error) {
	for _, r.trials = range []int{fewer, more} {
		r.sent = r.trials
		dir, err := b.suite(r, url)
		if err != nil {
			return 0, 0, err
		}
		program := exec.Command(b.counting, r.args...) //nolint:gosec // what is measured
		program.Args[0] = "allocations"
		one, err := lastNumber(program, dir, url)
		if err != nil {
			return 0, 0, err
		}
		args := b.loop(r, url, "-journal", "lines")
		other, err := lastNumber(exec.Command(args[0], args[1:]...), dir, url) //nolint:gosec // itself
		if err != nil {
			return 0, 0, err
		}
		evalrun, limit = one-evalrun, other-limit
		if err := os.RemoveAll(dir); err != nil {
			return 0, 0, err
		}
	}
	return evalrun / (more - fewer), limit / (more - fewer), nil
}

// lastNumber runs a process whose last word is a number.
func lastNumber(cmd *exec.Cmd, dir, url string) (int64, error) {
	cmd.Dir, cmd.Env = dir, append(os.Environ(), environment(dir, url)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, err
	}
	words := bytes.Fields(out)
	return strconv.ParseInt(string(words[len(words)-1]), 10, 64)
}
