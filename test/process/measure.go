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
	Open      int64 // calls in flight, in thousandths: the mean; only next to peers
	Highest   int64 // and the most
}

// figure is a row measured: medians of evalrun and of what runs next to it. Rows that send have a limit, and allocations per
// trial.
type figure struct {
	Name                 string
	Evalrun, Loop, Limit cost
	other                string // what ran instead of the loop
	Allocations          struct{ Evalrun, Limit int64 }
}

// share is how fast a process is as a share of another's speed: 1 is as fast.
func (c cost) share(other cost) float64 { return float64(other.Wall) / float64(max(c.Wall, 1)) }

// times is its time of processors as a multiple of another's.
func (c cost) times(other cost) float64 { return float64(c.CPU) / float64(max(other.CPU, 1)) }

func (c cost) String() string {
	return fmt.Sprintf("%7.3f s %7.3f s CPU %4d MB", c.Wall.Seconds(), c.CPU.Seconds(), c.Memory>>20)
}

func (f figure) String() string {
	out := fmt.Sprintf("%-36s evalrun %s", f.Name, f.Evalrun)
	beside := func(name string, c cost) {
		out += fmt.Sprintf("   %s %s: share %.2f, CPU %.2f", name, c, f.Evalrun.share(c), f.Evalrun.times(c))
	}
	beside(f.other, f.Loop)
	if f.Limit != (cost{}) {
		beside("limit", f.Limit)
		out += fmt.Sprintf("   allocations %d, limit %d", f.Allocations.Evalrun, f.Allocations.Limit)
	}
	return out
}

// bench runs processes in turn, in a folder of its own.
type bench struct {
	program, self, dir string
	counting           string // the binary of the tests of cmd/evalrun
	rounds             int
	servers            map[time.Duration]*server
	outs               int
}

type server struct {
	cmd *exec.Cmd
	url string
}

func newBench(program, counting string, rounds int) (*bench, error) {
	b := &bench{rounds: max(rounds, 1), servers: map[time.Duration]*server{}}
	var errs [4]error
	b.program, errs[0] = filepath.Abs(program)
	b.counting, errs[1] = filepath.Abs(counting)
	b.self, errs[2] = os.Executable()
	b.dir, errs[3] = os.MkdirTemp("", "evalrun-process-")
	return b, errors.Join(errs[:]...)
}

func (b *bench) close() {
	for _, s := range b.servers {
		s.stop()
	}
	_ = os.RemoveAll(b.dir)
}

// server returns the address of the server that replies after a delay. Measurements with the same delay share one.
func (b *bench) server(delay time.Duration) (string, error) {
	if s := b.servers[delay]; s != nil {
		return s.url, nil
	}
	s, err := b.start("serve", "-delay", delay.String())
	if err != nil {
		return "", err
	}
	b.servers[delay] = s
	return s.url, nil
}

// start starts a process of this program that prints its address.
func (b *bench) start(args ...string) (*server, error) {
	cmd := exec.Command(b.self, args...) //nolint:gosec // itself
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	return &server{cmd, strings.TrimSpace(line)}, err
}

func (s *server) stop() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// measure runs evalrun, the loop and the limit in turn, once to warm up and then b.rounds times.
func (b *bench) measure(r outputRow) (figure, error) {
	f := figure{Name: r.name, other: "loop"}
	url, err := b.server(r.delay)
	if err != nil {
		return f, err
	}
	dir, err := b.suite(r, url)
	if err != nil {
		return f, err
	}
	processes := []func() (cost, error){
		func() (cost, error) { return b.evalrun(dir, url, r.args) },
		func() (cost, error) { return timed(dir, nil, b.loop(r, url)) },
	}
	if r.sent == 0 {
		f.other = "true"
		processes[1] = func() (cost, error) { return timed(dir, nil, []string{"/bin/true"}) }
	}
	if r.sends() {
		processes = append(processes, func() (cost, error) { return timed(dir, nil, b.loop(r, url, "-journal", "lines")) })
	}
	medians, err := inTurn(1, b.rounds, processes)
	if err != nil {
		return f, err
	}
	f.Evalrun, f.Loop = medians[0], medians[1]
	if r.sends() {
		f.Limit = medians[2]
		if f.Allocations.Evalrun, f.Allocations.Limit, err = b.allocations(r, url); err != nil {
			return f, err
		}
	}
	return f, os.RemoveAll(dir)
}

// inTurn runs processes one after the other, some rounds to warm up and then those that count, and returns the medians of each.
func inTurn(warm, rounds int, processes []func() (cost, error)) ([]cost, error) {
	all := make([][]cost, len(processes))
	for round := range warm + rounds {
		for i, run := range processes {
			c, err := run()
			if err != nil {
				return nil, err
			}
			if round >= warm {
				all[i] = append(all[i], c)
			}
		}
	}
	medians := make([]cost, len(all))
	for i := range all {
		medians[i] = median(all[i])
	}
	return medians, nil
}

// suite writes the suite of a row into a new folder, and runs the commands that come before.
func (b *bench) suite(r outputRow, url string) (string, error) {
	dir, err := os.MkdirTemp(b.dir, "row-")
	if err != nil {
		return "", err
	}
	if err := r.write(dir, url); err != nil {
		return "", err
	}
	for _, args := range r.earlier {
		if _, err := b.evalrun(dir, url, args); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// loop is the command line of the loop for a row.
func (b *bench) loop(r outputRow, url string, more ...string) []string {
	args := []string{b.self, "loop", "-url", url, "-trials", strconv.Itoa(r.sent), "-j", strconv.Itoa(r.j)}
	if r.cases == own || r.cases == templates {
		args = append(args, "-own")
	}
	if r.cases == blocks {
		args = append(args, "-lines", strconv.Itoa(passageLines))
	}
	return append(args, more...)
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
	c, err := timed(dir, environment(dir, url), append([]string{b.program}, args...))
	return c, errors.Join(err, os.RemoveAll(filepath.Join(dir, out)))
}

func environment(dir, url string) []string {
	return []string{
		"EVALRUN_BASE_URL=" + url, "EVALRUN_API_KEY=benchmark", "EVALRUN_TRUST_KEY=" + filepath.Join(dir, "trust"),
	}
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
	return cost{Wall: wall, CPU: state.UserTime() + state.SystemTime(), Memory: used.Maxrss << 10}, nil
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
		of(func(c cost) int64 { return c.Open }),
		of(func(c cost) int64 { return c.Highest }),
	}
}
