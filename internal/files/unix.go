//go:build unix

package files

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the program into a new process group, so that it can be ended with all processes that it
// started. It also keeps Ctrl-C on a terminal from the program.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	tied(cmd.SysProcAttr)
	cmd.Cancel = func() error { return endGroup(cmd) }
}

// endGroup ends whatever is left of the group.
func endGroup(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// nonBlocking keeps the opening of a pipe from waiting for a writer.
const nonBlocking = syscall.O_NONBLOCK
