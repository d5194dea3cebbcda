package files

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
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
// has ended, they become children of evalrun. Each has the mark of its program in the environment with which it was started; one that
// has another environment is of a program that ran when it began, and ends with the last of these.

// markName is the variable of the mark. Service managers use the same name, so that a program does not learn of evalrun by it.
const markName = "INVOCATION_ID"

// adopt also keeps from programs the files that evalrun was started with, such as the folder of the suite in a shell's 9<.
var adopt = sync.OnceFunc(func() {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
})

// running has when each program that runs was started, by its mark, in ticks since boot.
var (
	running   = map[string]uint64{}
	runningMu sync.Mutex
)

// sole says that all processes that this one starts are programs of Invocation, or stay in its group.
var sole bool

// Alone is for the command evalrun, which has no other children. A program that embeds evalrun may have some, which are not evalrun's
// to end.
func Alone() { sole = true }

// Foreign says that what begins from now on may be of a program that stays, such as a browser, and of none that ends.
func Foreign() { mark() }

// perSecond are the ticks of the kernel that user space sees, on all architectures of Go.
const perSecond = 100

// mark adopts what programs leave behind from now on, and returns the variable that tells whose it is.
func mark() string {
	adopt()
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	mine := markName + "=" + hex.EncodeToString(id[:])
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) // never fails
	runningMu.Lock()
	defer runningMu.Unlock()
	running[mine] = uint64(now.Sec)*perSecond + uint64(now.Nsec)*perSecond/1e9 //nolint:gosec // since boot
	return mine
}

// left reports whether a process of unknown origin is of a program that ends, which was started at a time, and of none that runs.
func left(pid int, started uint64) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if err != nil || len(fields) < 20 || fields[2] == strconv.Itoa(syscall.Getpgrp()) {
		return false
	}
	began, err := strconv.ParseUint(fields[19], 10, 64)
	runningMu.Lock()
	defer runningMu.Unlock()
	for _, since := range running {
		if since <= began {
			return false
		}
	}
	return err == nil && started <= began
}

// isOf reports whether a child is one that a program has left.
func isOf(pid int, mark, place string, started uint64) bool {
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && hasEntry(environ, mark) || runsIn(pid, place) || sole && left(pid, started)
}

// tied ends the program when the thread that starts it ends, as when evalrun is killed.
func tied(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// strayTime bounds how long a program is fought that starts processes faster than they end, or keeps them from ending.
const strayTime = 5 * time.Second

// endStrays ends what a program has left behind, and what that starts meanwhile. place is a folder that is the program's sole. It
// reports whether there was any.
func endStrays(mark, place string) (found bool) {
	runningMu.Lock()
	started := running[mark]
	delete(running, mark) // of two that end at the same time none may wait for the other
	runningMu.Unlock()
	dying := map[int]bool{}
	quiet := 0
	for end := time.Now().Add(strayTime); quiet < 2 && time.Now().Before(end); { // a list of children that end may lack others
		quiet++
		for _, pid := range children() {
			if !dying[pid] && isOf(pid, mark, place, started) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
				dying[pid], found, quiet = true, true, 0
			}
		}
		if reap(dying); len(dying) > 0 { // it gives up its own children when it has ended
			quiet = 0
			time.Sleep(time.Millisecond)
		}
	}
	return found
}

// reap takes the processes that have ended out of the dying.
func reap(dying map[int]bool) {
	for pid := range dying {
		if got, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil); got == pid || err != nil {
			delete(dying, pid)
		}
	}
}

// runsIn reports whether a process works in a folder. One that hides its environment seldom leaves it.
func runsIn(pid int, place string) bool {
	at, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	return err == nil && place != "" && strings.HasPrefix(at+"/", place+"/")
}

func hasEntry(environ []byte, entry string) bool {
	return bytes.HasPrefix(environ, []byte(entry+"\x00")) || bytes.Contains(environ, []byte("\x00"+entry+"\x00"))
}

// children are the processes that this one has adopted, and those that its first thread has started: the kernel gives orphans to the
// first thread.
func children() (pids []int) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
	for _, word := range strings.Fields(string(text)) {
		if pid, err := strconv.Atoi(word); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Brand makes what is started from now on known by a folder, so that EndIn finds it whatever it does to its environment: by a limit of
// the time that processes of the kernel's real-time class may take without a pause, of thousands of years.
func Brand(dir string) {
	var limit unix.Rlimit
	if sole && unix.Getrlimit(unix.RLIMIT_RTTIME, &limit) == nil {
		limit.Cur = min(brand(dir), limit.Max)
		_ = unix.Setrlimit(unix.RLIMIT_RTTIME, &limit) // without it EndIn finds less
	}
}

func brand(dir string) uint64 {
	sum := sha256.Sum256([]byte(filepath.Base(dir)))
	return 1<<60 | binary.BigEndian.Uint64(sum[:])>>8
}

// EndIn ends the processes that have the Brand of a folder, work in it or have their temporary folder there, and the sandboxes that
// show it: those that programs of a killed evalrun have left, and what they start meanwhile.
func EndIn(dir string) {
	ended := map[int]bool{}
	quiet := 0
	for end := time.Now().Add(strayTime); quiet < 2 && time.Now().Before(end); { // a list of processes lacks those that begin while it is read
		if quiet++; len(ended) > 0 {
			time.Sleep(time.Millisecond)
		}
		for _, pid := range inFolder(dir) {
			if !ended[pid] {
				_ = syscall.Kill(pid, syscall.SIGKILL)
				ended[pid], quiet = true, 0
			}
		}
	}
}

func inFolder(dir string) (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	branded := []byte(" " + strconv.FormatUint(brand(dir), 10) + " ")
	for _, of := range all {
		pid, _ := strconv.Atoi(filepath.Base(of))
		environ, _ := os.ReadFile(of + "/environ") // nothing of other users' processes
		name, _ := os.ReadFile(of + "/comm")
		words, _ := os.ReadFile(of + "/cmdline")
		limits, _ := os.ReadFile(of + "/limits")
		ours := string(name) == "bwrap\n" && bytes.Contains(words, []byte("\x00"+dir+"/")) || runsIn(pid, dir) ||
			bytes.Contains(limits, branded) || bytes.Contains(environ, []byte("\x00TMPDIR="+dir+"/"))
		if pid != os.Getpid() && ours {
			pids = append(pids, pid)
		}
	}
	return pids
}
