//go:build unix

package term

import (
	"os"

	"golang.org/x/sys/unix"
)

// Foreground reports whether Ctrl-C on a terminal reaches this process and those of its group.
func Foreground() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close() //nolint:errcheck // only asked
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
