//go:build unix && !linux

package files

import "syscall"

// tied does nothing here: the end of a parent is no signal.
func tied(*syscall.SysProcAttr) {}
