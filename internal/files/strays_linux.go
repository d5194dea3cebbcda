package files

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A program may start processes in groups and sessions of their own, which the signal to its group does not reach. When their parent
// has ended, they become children of evalrun, and each has the mark of its program in the environment with which it was started.

// markName is the variable of the mark. Service managers use the same name, so that a program does not learn of evalrun by it.
const markName = "INVOCATION_ID"

var adopt = sync.OnceFunc(func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) })

// mark adopts what programs leave behind from now on, and returns the variable that tells whose it is.
func mark() string {
	adopt()
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	return markName + "=" + hex.EncodeToString(id[:])
}

// tied ends the program when the thread that starts it ends, as when evalrun is killed.
func tied(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// strayTime bounds how long a program is fought that starts processes faster than they end.
const strayTime = 5 * time.Second

// endStrays ends what a program has left behind, and what that starts meanwhile.
func endStrays(mark string) {
	for end := time.Now().Add(strayTime); time.Now().Before(end); {
		ended := 0
		for _, pid := range children() {
			if environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); err == nil && hasEntry(environ, mark) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
				_, _ = syscall.Wait4(pid, nil, 0, nil)
				ended++
			}
		}
		if ended == 0 {
			return
		}
	}
}

func hasEntry(environ []byte, entry string) bool {
	return bytes.HasPrefix(environ, []byte(entry+"\x00")) || bytes.Contains(environ, []byte("\x00"+entry+"\x00"))
}

// children are the processes whose parent this one is, by the thread that started or adopted them.
func children() (pids []int) {
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil { // the thread has ended
			continue
		}
		for _, word := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// EndIn ends the processes whose temporary folder is in a folder, and the sandboxes that show it: those that programs of a killed
// evalrun have left.
func EndIn(dir string) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, of := range all {
		pid, _ := strconv.Atoi(filepath.Base(of))
		environ, _ := os.ReadFile(of + "/environ") // nothing of other users' processes
		name, _ := os.ReadFile(of + "/comm")
		words, _ := os.ReadFile(of + "/cmdline")
		shown := string(name) == "bwrap\n" && bytes.Contains(words, []byte("\x00"+dir+"/"))
		if pid != os.Getpid() && (shown || bytes.Contains(environ, []byte("\x00TMPDIR="+dir+"/"))) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
