package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/rogpeppe/go-internal/testscript"
)

// viewed runs a command that prints its address first, and saves the page and the list of runs as page.html and
// runs.json. It then sends the command a signal, and wants an exit code: viewed INT 0 evalrun view.
func viewed(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: viewed INT|TERM CODE COMMAND...")
	}
	sig := map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM}[args[0]]
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	exe, err := exec.LookPath(filepath.Join(strings.Split(ts.Getenv("PATH"), string(os.PathListSeparator))[0], args[2]))
	ts.Check(err)
	cmd := exec.Command(exe, args[3:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = []string{noNap, "PATH=" + ts.Getenv("PATH"), "HOME=" + ts.Getenv("HOME")}
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() { _ = cmd.Process.Kill() })
	first, err := bufio.NewReader(out).ReadString('\n')
	ts.Check(err)
	for name, path := range map[string]string{"page.html": "", "runs.json": "data/runs"} {
		resp, err := http.Get(strings.TrimSpace(first) + path)
		ts.Check(err)
		data, err := io.ReadAll(resp.Body)
		ts.Check(errors.Join(err, resp.Body.Close(), os.WriteFile(ts.MkAbs(name), data, 0o600)))
	}
	ts.Check(cmd.Process.Signal(sig))
	_ = cmd.Wait() // the exit code is looked at
	if got := cmd.ProcessState.ExitCode(); got != want {
		ts.Fatalf("exit %d, want %d", got, want)
	}
}

// On a terminal the browser is opened: at the run that is named, or at the list of runs.
func TestViewOpensTheBrowserAtItsRun(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, test := range []struct {
		args  []string
		width int
		opens string // what follows the address
		fails bool
	}{
		{[]string{"view"}, 0, "no", false},
		{[]string{"view", "--no-open"}, 80, "no", false},
		{[]string{"view"}, 80, "", false},
		{[]string{"view"}, 80, "", true},
		{[]string{"view", "run"}, 80, "run/", false},
		{[]string{"view", "."}, 80, "", false},
	} {
		if _, err := os.Stat("run"); err != nil {
			quiet := &app{out: io.Discard, err: io.Discard, getenv: func(string) string { return "" }, signals: noSignals}
			if code := quiet.main(t.Context(), []string{"run", suiteFile(t), "--emulator", "--out", "run"}); code > 1 {
				t.Fatalf("exit %d, want 0 or 1", code)
			}
		}
		var out, errOut strings.Builder
		opened := "no"
		a := &app{
			out: &out, err: &errOut, getenv: func(string) string { return "" }, outWidth: test.width,
			signals: func() (<-chan os.Signal, func()) {
				caught := make(chan os.Signal, 1)
				caught <- os.Interrupt
				return caught, func() {}
			},
			browse: func(address string) error {
				opened = address
				if test.fails {
					return errors.New("there is none")
				}
				return nil
			},
		}
		code := a.main(t.Context(), test.args)
		expect.Same(t, fmt.Sprint(test.args, ": exit code with the errors ", errOut.String()), code, 0)
		address := strings.TrimSpace(out.String())
		if rest, ok := strings.CutPrefix(opened, address); ok && strings.Trim(rest, "0123456789abcdef/") != strings.Trim(test.opens, "/") ||
			!ok && opened != test.opens {
			t.Errorf("%v on a terminal of %d: got %[4]s opened, want %[3]s, which serves", test.args, test.width, address, opened)
		}
		expect.Same(t, "could not be opened", strings.Contains(errOut.String(), "could not be opened (there is none)"), test.fails)
	}
}

func noSignals() (<-chan os.Signal, func()) { return nil, func() {} }

func suiteFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.yaml")
	text := "version: 1\nname: s\ntargets: [{name: pro, model: svc-pro}]\nprompts: [{name: p, text: hello}]\ncases: [{name: c, scorers: " +
		"[{contains: hello}]}]\n"
	expect.OK(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// A port that another program has is refused with the way out, on one line.
func TestABusyPortNamesTheWayOut(t *testing.T) {
	t.Parallel()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(t, err)
	t.Cleanup(func() { _ = busy.Close() })
	b := newBox(t, nil, map[string]string{"limits.yaml": "accounts: [{model: m, requestsPerMinute: 60}]\n"})
	for _, command := range []string{"view --no-open", "emulate", "emulate --app", "ledger --config limits.yaml"} {
		b.exits(2, append(strings.Fields(command), "--listen", busy.Addr().String())...)
		b.says("address already in use; --listen 127.0.0.1:0 takes a free port\n")
		expect.Same(t, command+": lines", strings.Count(b.out+b.errs, "\n"), 1)
	}
}
