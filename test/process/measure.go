package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cost is what a process took.
type cost struct {
	Wall, CPU time.Duration
	Memory    int64 // its peak, in bytes
}

// figure is a row measured: medians of evalrun and of the loop next to it.
type figure struct {
	Name          string
	Evalrun, Loop cost
	other         string // what ran instead of the loop
}

// Share is how fast evalrun is as a share of the loop: 1 is as fast.
func (f figure) Share() float64 { return float64(f.Loop.Wall) / float64(f.Evalrun.Wall) }

// CPU is the time of processors as a multiple of the loop's.
func (f figure) CPU() float64 { return float64(f.Evalrun.CPU) / float64(max(f.Loop.CPU, 1)) }

func (f figure) String() string {
	show := func(c cost) string {
		return fmt.Sprintf("%7.3f s %7.3f s CPU %4d MB", c.Wall.Seconds(), c.CPU.Seconds(), c.Memory>>20)
	}
	return fmt.Sprintf("%-30s evalrun %s   %s %s   share %.2f, CPU %.2f", f.Name, show(f.Evalrun), f.other, show(f.Loop),
		f.Share(), f.CPU())
}

// bench runs processes in turn, in a folder of its own.
type bench struct {
	program, self, dir string
	rounds             int
	servers            map[time.Duration]*server
	outs               int
}

type server struct {
	cmd *exec.Cmd
	url string
}

func newBench(program string, rounds int) (*bench, error) {
	program, err := filepath.Abs(program)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "evalrun-process-")
	return &bench{program: program, self: self, dir: dir, rounds: max(rounds, 1), servers: map[time.Duration]*server{}},
		err
}

func (b *bench) close() {
	for _, s := range b.servers {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	}
	_ = os.RemoveAll(b.dir)
}

// server returns the address of the server that replies after a delay. Measurements with the same delay share one.
func (b *bench) server(delay time.Duration) (string, error) {
	if s := b.servers[delay]; s != nil {
		return s.url, nil
	}
	cmd := exec.Command(b.self, "serve", "-delay", delay.String()) //nolint:gosec // itself
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	s := &server{cmd, strings.TrimSpace(line)}
	b.servers[delay] = s
	return s.url, err
}

// measure runs evalrun and the loop in turn, once to warm up and then b.rounds times.
func (b *bench) measure(r outputRow) (figure, error) {
	url, err := b.server(r.delay)
	if err != nil {
		return figure{}, err
	}
	dir, err := os.MkdirTemp(b.dir, "row-")
	if err != nil {
		return figure{}, err
	}
	if err := r.write(dir, url); err != nil {
		return figure{}, err
	}
	for _, args := range r.earlier {
		if _, err := b.evalrun(dir, url, args); err != nil {
			return figure{}, err
		}
	}
	f := figure{Name: r.name, other: "loop"}
	besides := []string{b.self, "loop", "-url", url, "-trials", strconv.Itoa(r.sent), "-j", strconv.Itoa(r.j)}
	if r.sent == 0 {
		f.other, besides = "true", []string{"/bin/true"}
	}
	var ours, theirs []cost
	for round := range b.rounds + 1 {
		one, err := b.evalrun(dir, url, r.args)
		if err != nil {
			return f, err
		}
		other, err := timed(dir, nil, besides)
		if err != nil {
			return f, err
		}
		if round > 0 {
			ours, theirs = append(ours, one), append(theirs, other)
		}
	}
	f.Evalrun, f.Loop = median(ours), median(theirs)
	return f, os.RemoveAll(dir)
}

// evalrun runs the program; what it writes into a new folder is taken away again.
func (b *bench) evalrun(dir, url string, args []string) (cost, error) {
	b.outs++
	out := "out" + strconv.Itoa(b.outs)
	args = slices.Clone(args)
	for i, arg := range args {
		if arg == newDir {
			args[i] = out
		}
	}
	env := []string{
		"EVALRUN_BASE_URL=" + url, "EVALRUN_API_KEY=benchmark",
		"EVALRUN_TRUST_KEY=" + filepath.Join(dir, "trust"),
	}
	c, err := timed(dir, env, append([]string{b.program}, args...))
	return c, errors.Join(err, os.RemoveAll(filepath.Join(dir, out)))
}

// timed runs a process to its end.
func timed(dir string, env, args []string) (cost, error) {
	cmd := exec.Command(args[0], args[1:]...) //nolint:gosec // what is measured
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = io.Discard, &said
	started := time.Now()
	err := cmd.Run()
	wall := time.Since(started)
	if err != nil {
		return cost{}, fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, said.String())
	}
	state := cmd.ProcessState
	used := state.SysUsage().(*syscall.Rusage)
	return cost{wall, state.UserTime() + state.SystemTime(), used.Maxrss << 10}, nil
}

// median is that of each of the figures by itself.
func median(all []cost) cost {
	of := func(get func(cost) int64) int64 {
		values := make([]int64, len(all))
		for i, c := range all {
			values[i] = get(c)
		}
		slices.SortFunc(values, cmp.Compare[int64])
		return values[len(values)/2]
	}
	return cost{
		time.Duration(of(func(c cost) int64 { return int64(c.Wall) })),
		time.Duration(of(func(c cost) int64 { return int64(c.CPU) })),
		of(func(c cost) int64 { return c.Memory }),
	}
}
