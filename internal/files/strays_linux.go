package files

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"math"
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

// adopt also keeps from programs the files that evalrun was started with, such as the folder of the suite in a shell's 9<.
var adopt = sync.OnceFunc(func() {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
})

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

// endStrays ends what a program has left behind, and what that starts meanwhile. place is a folder that is the program's alone. It
// reports whether there was any.
func endStrays(mark, place string) (found bool) {
	ended := map[int]bool{}
	quiet := 0
	for end := time.Now().Add(strayTime); quiet < 2 && time.Now().Before(end); { // a list of children that end may lack others
		quiet++
		for _, pid := range children() {
			if environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); err == nil && hasEntry(environ, mark) || runsIn(pid, place) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
				ended[pid] = true
				quiet = 0
			}
		}
		reap(ended)
	}
	found = len(ended) > 0
	for end := time.Now().Add(strayTime); reap(ended) > 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	return found
}

// reap takes the processes that have ended, and returns how many have not. It does not wait for one that another process traces.
func reap(ended map[int]bool) (rest int) {
	for pid, waits := range ended {
		if !waits {
			continue
		}
		if got, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil); got == pid || err != nil {
			ended[pid] = false
			continue
		}
		rest++
	}
	return rest
}

// runsIn reports whether a process works in a folder. One that hides its environment seldom leaves it.
func runsIn(pid int, place string) bool {
	at, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	return err == nil && place != "" && strings.HasPrefix(at+"/", place+"/")
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
		if pid != os.Getpid() && (shown || runsIn(pid, dir) || bytes.Contains(environ, []byte("\x00TMPDIR="+dir+"/"))) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
