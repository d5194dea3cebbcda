//go:build !unix

package files

import (
	"os/exec"
	"strconv"
)

// ownGroup makes what the program started end with it when it is killed: on Windows by taskkill, which follows the tree
// of processes.
func ownGroup(cmd *exec.Cmd) {
	cmd.Cancel = func() error {
		_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(cmd.Process.Pid)).Run() //nolint:gosec // a number
		return cmd.Process.Kill()
	}
}

// endGroup does nothing here: once the program has ended, the tree of what it started is not known any more.
func endGroup(*exec.Cmd) error { return nil }

// nonBlocking is 0 on systems without named pipes among files.
const nonBlocking = 0
