//go:build unix

package files

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

func sh(script string) *Invocation {
	return &Invocation{Path: "/bin/sh", Args: []string{"-c", script}, Timeout: time.Minute}
}

func TestOutputIsReadWithoutTheKey(t *testing.T) {
	t.Setenv("EVALRUN_API_KEY", "canary")
	t.Setenv("PLAIN", "kept")
	dir := t.TempDir()
	c := sh(`cat; printf ' %s' "$EVALRUN_API_KEY" "$PLAIN" "$OWN" "$1"; pwd -P; echo oops >&2`)
	c.Args = append(c.Args, "sh", "a b; $(x)")
	c.Input, c.Dir, c.Env = []byte("in"), dir, []string{"OWN=o"}
	out, err := c.Output()
	real, _ := filepath.EvalSymlinks(dir)
	if want := "in  kept o a b; $(x)" + real + "\n"; err != nil || string(out) != want {
		t.Errorf("%q %v, want %q", out, err, want)
	}
	large := sh("exec true") // which does not read
	large.Input = make([]byte, 1<<20)
	if _, err := large.Output(); err != nil {
		t.Error(err)
	}
	if out, err := sh("head -c 1048576 /dev/zero").Output(); err != nil || len(out) != maxOutput {
		t.Errorf("got %v, %v, want %d bytes", len(out), err, maxOutput)
	}
	more := sh("head -c 1048577 /dev/zero")
	more.MaxOutput = 1 << 21
	if out, err := more.Output(); err != nil || len(out) != maxOutput+1 {
		t.Errorf("got %v, %v, want %d bytes", len(out), err, maxOutput+1)
	}
	where := &Invocation{Path: "/usr/bin/env", Dir: dir, Timeout: time.Minute}
	if out, err := where.Output(); err != nil || !strings.Contains("\n"+string(out), "\nPWD="+dir+"\n") {
		t.Errorf("%q %v, want PWD=%s", out, err, dir)
	}
	passing := sh(`printf %s "$EVALRUN_API_KEY"`)
	passing.Pass = []string{"EVALRUN_API_KEY"}
	if out, err := passing.Output(); err != nil || string(out) != "canary" {
		t.Errorf("%q %v, want what is passed on", out, err)
	}
}

func TestFailuresSayHowTheProgramEnded(t *testing.T) {
	for script, want := range map[string]string{
		"echo why >&2; exit 3":         "ended with exit status 3; its standard error: why",
		"exit 1":                       "ended with exit status 1; its standard error is empty",
		"kill -SEGV $$":                "died: signal: segmentation fault",
		"cat /dev/zero":                "wrote more than 1048576 bytes",
		"trap '' PIPE; yes; sleep 600": "wrote more than 1048576 bytes",
		`printf '\377\n' >&2; exit 1`:  "standard error: \ufffd",
	} {
		_, err := sh(script).Output()
		fails(t, script, err, want)
	}
	file := filepath.Join(t.TempDir(), "x")
	expect.OK(t, os.WriteFile(file, []byte("\x00\x01no program"), 0o700))
	_, err := (&Invocation{Path: file, Timeout: time.Minute}).Output()
	fails(t, "no program", err, "cannot be started: exec format error")
}

// fails checks for an error with these words in it, or none for "".
func fails(t *testing.T, what string, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("%s: got %v, want %q", what, err, want)
	}
}

// A program that hangs is ended with its grandchildren, by time or by a signal to stop, as is what it leaves behind. A
// named pipe comes to its end when no process is left that could write to it.
func TestNothingOutlivesItsProgram(t *testing.T) {
	type lingering struct {
		script, want string
		timeout      time.Duration
	}
	tests := map[string]lingering{
		"time":        {"sleep 600 & wait", "did not end within 300ms", 300 * time.Millisecond},
		"stop":        {"sleep 600 & wait", ErrStopped.Error(), time.Hour},
		"left behind": {"sleep 600 >/dev/null 2>&1 &", "", time.Hour},
		"holding":     {"sleep 600 &", "left a process behind", time.Hour},
	}
	if runtime.GOOS == "linux" { // which tells who started a process of another session
		tests["session"] = lingering{"setsid sleep 600 >/dev/null 2>&1 &", "", time.Hour}
		tests["late"] = lingering{
			"setsid sh -c 'setsid sleep 600 & sleep 600' >/dev/null 2>&1 & wait", "did not end within 300ms", 300 * time.Millisecond,
		}
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := sh("exec 3>alive; " + test.script)
			c.Dir, c.Timeout = t.TempDir(), test.timeout
			fifo := filepath.Join(c.Dir, "alive")
			expect.OK(t, syscall.Mkfifo(fifo, 0o600))
			begun, gone := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(gone)
				f, err := os.Open(fifo)
				close(begun)
				if err == nil {
					_, _ = io.Copy(io.Discard, f)
					f.Close()
				}
			}()
			if name == "stop" {
				c.Stop = begun
			}
			_, err := c.Output()
			fails(t, test.script, err, test.want)
			if late := errors.Is(err, os.ErrDeadlineExceeded); late != (test.timeout < time.Minute) {
				t.Errorf("%v: got a timeout: %t, want one where time is short", err, late)
			}
			w, err := os.OpenFile(fifo, os.O_RDWR, 0) // for a reader to whom the program was ended too early to speak
			expect.OK(t, err)
			<-begun
			expect.OK(t, w.Close())
			<-gone
		})
	}
}
