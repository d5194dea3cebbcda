package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// terminal is the two ends of a terminal.
func terminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	expect.OK(t, err)
	expect.OK(t, unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	expect.OK(t, err)
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	expect.OK(t, err)
	t.Cleanup(func() { _, _ = person.Close(), program.Close() })
	return person, program
}

// Ctrl-C on a terminal reaches a program of `evalrun proxy` once, and the account is still printed.
func TestCtrlCReachesAProxiedProgramOnce(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil, nil)
	person, program := terminal(t)
	cmd := b.command("proxy", "--emulator", "--", "sh", "-c",
		`trap 'echo INT >> signals' INT; test -t 0 && test -t 1 && test -t 2 && echo begun; read -r line; exit 5`)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	expect.OK(t, cmd.Start())
	_ = program.Close()
	late := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	var all strings.Builder
	for lines := bufio.NewScanner(person); lines.Scan(); { // until nobody has the other end
		if all.WriteString(lines.Text() + "\n"); strings.HasPrefix(lines.Text(), "begun") {
			_, _ = io.WriteString(person, "\x03")
			time.Sleep(300 * time.Millisecond)
			_, _ = io.WriteString(person, "word\r")
		}
	}
	err := cmd.Wait()
	expect.Same(t, "the status", fmt.Sprint(err), "exit status 5")
	expect.Same(t, "the signals", b.read("signals"), "INT\n")
	expect.Contains(t, "what a person sees", all.String(), "evalrun: 0 calls, 0 steps, ")
}
