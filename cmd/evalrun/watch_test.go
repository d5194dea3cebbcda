package main

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

type watcher struct {
	*box
	cmd   *exec.Cmd
	lines *bufio.Scanner
	calls atomic.Int64 // that generated an answer
}

// suiteOf is a suite whose prompt and data are files.
func suiteOf(name string) string {
	return "version: 1\nname: " + name + "\ntargets: [{name: t, model: m}]\nprompts: [{name: p, file: " + name + ".txt}]\n" +
		"cases:\n  - {dataset: " + name + ".csv, name: \"{{.name}}\", scorers: [{equals: hi}]}\n"
}

func watchTwo(t *testing.T) *watcher {
	t.Helper()
	return watchFiles(t, map[string]string{
		"a.yaml": suiteOf("a"), "a.txt": "first {{.q}}\n", "a.csv": "name,q\none,1\ntwo,2\n",
		"b.yaml": suiteOf("b"), "b.txt": "second {{.q}}\n", "b.csv": "name,q\none,1\ntwo,2\n",
	}, "a.yaml", "b.yaml")
}

func watchFiles(t *testing.T, files map[string]string, suites ...string) *watcher {
	t.Helper()
	w := &watcher{}
	w.box = newBox(t, http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Fprint(out, `{"name":"models/m"}`)
			return
		}
		w.calls.Add(1)
		fmt.Fprint(out, hi)
	}), files)
	w.cmd = w.command(append([]string{"run", "--watch"}, suites...)...)
	out, err := w.cmd.StdoutPipe()
	expect.OK(t, err)
	w.cmd.Stderr = w.cmd.Stdout
	w.lines = bufio.NewScanner(out)
	expect.OK(t, w.cmd.Start())
	t.Cleanup(func() { _ = w.cmd.Process.Kill() })
	return w
}

// until reads what the program prints, up to the line that says what it waits for, and wants words in it and calls so far.
func (w *watcher) until(calls int64, words ...string) {
	w.t.Helper()
	var text strings.Builder
	for w.lines.Scan() {
		text.WriteString(w.lines.Text() + "\n")
		if strings.HasPrefix(w.lines.Text(), "watching ") {
			break
		}
	}
	for _, word := range append(words, "Ctrl-C ends it") {
		if !strings.Contains(text.String(), word) {
			w.t.Fatalf("got\n%s\nwant it to contain %q", text.String(), word)
		}
	}
	if got := w.calls.Load(); got != calls {
		w.t.Errorf("after %v: got %d calls, want %d\n%s", words, got, calls, text.String())
	}
}

// replace writes a file as editors do: another one takes its place.
func (w *watcher) replace(name, text string) {
	w.t.Helper()
	w.write(name+".swp", text)
	expect.OK(w.t, os.Rename(w.path(name+".swp"), w.path(name)))
}

func (w *watcher) ends(code int) {
	w.t.Helper()
	expect.OK(w.t, w.cmd.Process.Signal(syscall.SIGINT))
	var rest strings.Builder
	for w.lines.Scan() {
		rest.WriteString(w.lines.Text() + "\n")
	}
	_ = w.cmd.Wait()
	if got := w.cmd.ProcessState.ExitCode(); got != code {
		w.t.Errorf("got exit %d, want %d\n%s", got, code, rest.String())
	}
}

// A change runs the suites that read the file again, and calls the service for what is new only. A broken file is reported and waited for.
func TestWatchRunsWhatAChangeAffects(t *testing.T) {
	t.Parallel()
	w := watchTwo(t)
	w.until(4, "4 ", "watching 6 files")

	w.replace("a.csv", "name,q\none,1\ntwo,2\nthree,3\n") // one more case
	w.until(5, "changed: a.csv")

	w.replace("b.txt", "third {{.q}}\n") // every request of a suite
	w.until(7, "changed: b.txt")

	w.replace("a.yaml", strings.Replace(suiteOf("a"), "equals: hi", "equals: bye", 1)) // a scorer, and no request
	w.until(7, "changed: a.yaml", "bye", "broke: a: one on t/p, a: three on t/p, a: two on t/p\n")

	w.write("a.yaml", "version: 1\nnam: a\n")
	w.until(7, "changed: a.yaml", "unknown key")

	w.replace("b.txt", "second {{.q}}\n") // that answer is known; the broken suite is still waited for
	w.until(7, "changed: b.txt", "unknown key")

	expect.OK(t, os.Remove(w.path("a.yaml")))
	w.until(7, "changed: a.yaml", "there is no file a.yaml")

	w.replace("a.yaml", suiteOf("a"))
	w.until(7, "changed: a.yaml", "fixed: a: one on t/p, a: three on t/p, a: two on t/p\n")
	w.ends(0)
}

// The only suite may be missing for longer than evalrun looks, as while an editor or git replaces it.
func TestWatchWaitsForAMissingSuite(t *testing.T) {
	t.Parallel()
	w := watchFiles(t, map[string]string{"one.yaml": suiteInOne("equals: hi")}, "one.yaml")
	w.until(1, "watching 1 file")
	for range 2 {
		expect.OK(t, os.Rename(w.path("one.yaml"), w.path("one.yaml~")))
		w.until(1, "changed: one.yaml", "there is no file one.yaml", "watching 0 files")
		w.replace("one.yaml", suiteInOne("equals: hi"))
		w.until(1, "changed: one.yaml", "1 trial")
	}
	w.replace("one.yaml", suiteInOne("equals: bye"))
	w.until(1, "changed: one.yaml", "bye")
	w.ends(1)
}

func suiteInOne(scorer string) string {
	return "version: 1\nname: one\ntargets: [{name: t, model: m}]\nprompts: [{name: p, text: hello}]\n" +
		"cases: [{name: c, scorers: [{" + scorer + "}]}]\n"
}

// Files that a glob of the suite, of its workspace or of the project file did not match before are a change too; others are not.
func TestWatchNoticesNewFilesOfGlobs(t *testing.T) {
	t.Parallel()
	suite := func(name string) string {
		return "version: 1\nname: " + name + "\ntargets: [{name: t, model: m}]\nprompts: [{name: p, text: \"" + name + " {{.q}}\"}]\n" +
			"cases:\n  - {dataset: data/*.csv, name: \"{{.q}}\", scorers: [{equals: hi}]}\n"
	}
	w := watchFiles(t, map[string]string{
		"evalrun.yaml": "suites: [\"*-suite.yaml\"]\n", "a-suite.yaml": suite("a"), "data/one.csv": "q\none\n",
	})
	w.until(1, "watching 3 files")

	w.write("data/notes.txt", "no data")
	w.write("data/.two.csv.swp", "q\nhalf")
	w.write("data/two.csv", "q\ntwo\n")
	w.until(2, "changed: data/two.csv\n", "watching 4 files")

	expect.OK(t, os.Remove(w.path("data/one.csv")))
	w.until(2, "changed: data/one.csv\n", "1 pass")

	w.write("b-suite.yaml", suite("b"))
	w.until(3, "changed: b-suite.yaml\n", "2 suites")
	w.ends(0)
}

// Ctrl-C between runs gives the exit code of the last one.
func TestWatchEndsWithTheCodeOfTheLastRun(t *testing.T) {
	t.Parallel()
	w := watchTwo(t)
	w.until(4)
	w.replace("b.yaml", strings.Replace(suiteOf("b"), "equals: hi", "equals: bye", 1))
	w.until(4, "changed: b.yaml")
	w.ends(1)
}

// A suite that is not there at first ends the watch at once.
func TestWatchEndsWithoutASuite(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil, nil)
	b.exits(2, "run", "--watch", "nothing.yaml", "--emulator")
	b.says("there is no file nothing.yaml")
}
