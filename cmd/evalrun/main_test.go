package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/testrun"
)

// noNap keeps a program with the race detector from sleeping for a second before it exits, thousands of times.
const noNap = "GORACE=atexit_sleep_ms=0"

func TestMain(m *testing.M) {
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0") // for programs that get the environment of the tests
	_ = os.Setenv("CGO_ENABLED", "0")            // tests build with the flags of make build: packages are compiled once
	_ = os.Unsetenv("GOGC")                      // of make test: programs collect their garbage as for their users
	testscript.Main(cleaned{m}, map[string]func(){"evalrun": main, "allocations": allocations, "toyagent": toyAgent})
}

// allocations is the program for test/process: at the end it prints how many objects were allocated.
func allocations() {
	code := mainCode()
	var used runtime.MemStats
	runtime.ReadMemStats(&used)
	fmt.Println(used.Mallocs)
	os.Exit(code)
}

// atEnd removes what tests share.
var atEnd []func()

type cleaned struct{ *testing.M }

func (c cleaned) Run() int {
	code := c.M.Run()
	for _, do := range atEnd {
		do()
	}
	return code
}

// TestScripts runs every behaviour in testdata/script, each named by its sub-command.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *testrun.Update,
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("NO_COLOR", "1")
			e.Vars = append(e.Vars, noNap)
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(e.WorkDir, ".config"))
			e.Setenv("ROOT", repositoryRoot(t))
			if name := strings.TrimPrefix(filepath.Base(e.WorkDir), "script-"); detector() && !raced.MatchString("TestScripts/"+name) {
				e.Setenv("PATH", filepath.Dir(plainProgram(t))+string(os.PathListSeparator)+e.Getenv("PATH"))
			}
			e.Values[serving] = new(*server)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "serve": serve, "signaled": signaled, "lines": lines, "visits": visits, "fetch": fetch,
			"viewed": viewed, "labelled": labelled, "models": serveModels, "sameAccount": sameAccount,
			"rewrite": rewrite, "blocks": blocks, "post": post, "unserve": unserve, "transcript": transcript,
		},
	})
}

func repositoryRoot(t *testing.T) string {
	root, err := filepath.Abs("../..")
	expect.OK(t, err)
	return root
}

// exits runs a command and wants exactly this exit code: exits 2 evalrun run x.yaml.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit %d, want %d", got, want)
	}
}

// serving is where a script keeps the *server that it started last.
const serving = "serving"

type server struct {
	cmd *exec.Cmd
	err strings.Builder
}

// unserve interrupts the server that serve started last, and wants it to end well. What it said is in unserved.err.
func unserve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: unserve")
	}
	s := *ts.Value(serving).(**server)
	ts.Check(s.cmd.Process.Signal(os.Interrupt))
	ts.Check(s.cmd.Wait())
	ts.Check(os.WriteFile(ts.MkAbs("unserved.err"), []byte(s.err.String()), 0o600))
}

// serve starts `evalrun emulate` with the given flags in the background and puts its address
// into $SERVICE.
func serve(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("unsupported: ! serve")
	}
	exe, err := exec.LookPath(filepath.Join(strings.Split(ts.Getenv("PATH"), string(os.PathListSeparator))[0], "evalrun"))
	ts.Check(err)
	cmd := exec.Command(exe, append([]string{"emulate"}, args...)...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = []string{noNap, "PATH=" + ts.Getenv("PATH"), "HOME=" + ts.Getenv("HOME")}
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	s := &server{cmd: cmd}
	*ts.Value(serving).(**server) = s
	cmd.Stderr = &s.err
	ts.Check(cmd.Start())
	ts.Defer(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	buf := make([]byte, 256)
	n, err := out.Read(buf)
	ts.Check(err)
	ts.Setenv("SERVICE", strings.TrimSpace(string(buf[:n])))
}

// visits runs a command that prints an address, opens that as a browser would, and wants this exit code of the
// command: visits 0 evalrun auth login ...
func visits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: visits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	exe, err := exec.LookPath(filepath.Join(strings.Split(ts.Getenv("PATH"), string(os.PathListSeparator))[0], args[1]))
	ts.Check(err)
	cmd := exec.Command(exe, args[2:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = []string{noNap}
	for _, name := range []string{"PATH", "HOME", "XDG_CONFIG_HOME"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	var errOut strings.Builder
	cmd.Stderr = &errOut
	ts.Check(cmd.Start())
	var printed strings.Builder
	for lines := bufio.NewScanner(io.TeeReader(out, &printed)); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "http") {
			resp, err := http.Get(lines.Text())
			ts.Check(err)
			_ = resp.Body.Close()
		}
	}
	_ = cmd.Wait() // the exit code is looked at
	ts.Check(os.WriteFile(ts.MkAbs("visits.out"), []byte(printed.String()), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("visits.err"), []byte(errOut.String()), 0o600))
	if got := cmd.ProcessState.ExitCode(); got != want {
		ts.Fatalf("exit %d, want %d\n%s%s", got, want, printed.String(), errOut.String())
	}
}

// fetch saves what an address serves: fetch URL FILE.
func fetch(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: fetch URL FILE")
	}
	resp, err := http.Get(args[0])
	ts.Check(err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), data, 0o600))
}

// post sends a body to an address, wants a status, and saves the answer: post STATUS URL BODY FILE [HEADER VALUE]. It follows no
// redirect.
func post(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 && len(args) != 6 {
		ts.Fatalf("usage: post STATUS URL BODY FILE [HEADER VALUE]")
	}
	req, err := http.NewRequest(http.MethodPost, args[1], strings.NewReader(args[2]))
	ts.Check(err)
	req.Header.Set("Content-Type", "application/json")
	if len(args) == 6 {
		req.Header.Set(args[4], args[5])
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[3]), data, 0o600))
	if want := args[0]; strconv.Itoa(resp.StatusCode) != want {
		ts.Fatalf("%s: status %d, want %s\n%s", args[1], resp.StatusCode, want, data)
	}
}

// signaled runs a command, sends it a signal once a file has LINES lines, and wants an exit code: signaled INT 130 FILE
// LINES COMMAND...
func signaled(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 5 {
		ts.Fatalf("usage: signaled INT|TERM|KILL CODE FILE LINES COMMAND...")
	}
	sig := map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM, "KILL": os.Kill}[args[0]]
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	least, err := strconv.Atoi(args[3])
	ts.Check(err)
	exe, err := exec.LookPath(filepath.Join(strings.Split(ts.Getenv("PATH"), string(os.PathListSeparator))[0], args[4]))
	ts.Check(err)
	cmd := exec.Command(exe, args[5:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = []string{noNap}
	for _, name := range []string{"PATH", "HOME", "XDG_CONFIG_HOME", "NO_COLOR", "EVALRUN_API_KEY", "EVALRUN_BASE_URL"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	var out, errOut strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errOut
	ts.Check(cmd.Start())
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for waiting := true; waiting; {
		select {
		case err := <-done:
			ts.Fatalf("it ended before the signal: %v\n%s%s", err, out.String(), errOut.String())
		case <-tick.C:
			data, _ := os.ReadFile(ts.MkAbs(args[2]))
			waiting = strings.Count(string(data), "\n") < least
		}
	}
	ts.Check(cmd.Process.Signal(sig))
	<-done
	ts.Logf("%s%s", out.String(), errOut.String())
	ts.Check(os.WriteFile(ts.MkAbs("signaled.out"), []byte(out.String()), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("signaled.err"), []byte(errOut.String()), 0o600))
	if got := cmd.ProcessState.ExitCode(); got != want {
		ts.Fatalf("exit %d, want %d", got, want)
	}
}

// lines wants a file to have N lines: lines FILE N.
func lines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: lines FILE N")
	}
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	if got := strings.Count(ts.ReadFile(args[0]), "\n"); got != want {
		ts.Fatalf("%s has %d lines, want %d", args[0], got, want)
	}
}
