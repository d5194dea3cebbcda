//go:build unix

package files

import (
	"os"
	"syscall"
)

// LockFolder locks a folder until unlock is called, or the process ends. locked is false when another process has locked it.
func LockFolder(dir string) (unlock func(), locked bool) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, false
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, false
	}
	return func() { _ = f.Close() }, true
}
