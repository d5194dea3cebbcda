//go:build unix

package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// answersThenHangs answers a number of prompts, and keeps all others waiting until the test ends.
func answersThenHangs(t *testing.T, answers int) http.Handler {
	t.Helper()
	end := make(chan struct{})
	t.Cleanup(func() { close(end) })
	slots := make(chan struct{}, answers)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.Path, ":") {
			fmt.Fprint(w, `{"name":"models/m","inputTokenLimit":100000,"outputTokenLimit":100}`)
			return
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return // killed
		}
		select {
		case slots <- struct{}{}:
			fmt.Fprint(w, `{"candidates":[{"content":{"parts":[{"text":"an answer"}]},"finishReason":"STOP"}]}`)
		case <-end:
		case <-r.Context().Done():
		}
	})
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for late := time.After(20 * time.Second); !holds(); {
		select {
		case <-late:
			t.Fatalf("%s: not after 20 s, want it soon", what)
		case <-time.After(time.Millisecond):
		}
	}
}

func tenCases() string {
	text := "version: 1\nname: s\ntargets: [{name: t, model: m}]\nprompts: [{name: p, text: \"{{.x}}\"}]\n" +
		"defaults: {scorers: [{contains: answer}]}\ncases:\n"
	for i := range 10 {
		text += fmt.Sprintf("  - {name: c%d, vars: {x: question %d}}\n", i, i)
	}
	return text
}

// started is a run of ten cases that has four answers and waits for others.
func started(t *testing.T, args ...string) (b *box, ended func() (exit int, errs string), kill func()) {
	t.Helper()
	b = newBox(t, answersThenHangs(t, 4), map[string]string{"suite.yaml": tenCases()})
	cmd := b.command(append([]string{"run", "suite.yaml", "--out", "run", "-q", "--concurrency", "2"}, args...)...)
	var errs strings.Builder
	cmd.Stderr = &errs
	expect.OK(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	until(t, "four trials", func() bool {
		data, _ := os.ReadFile(b.path("run/run.jsonl"))
		return strings.Count(string(data), `"type":"trial"`) == 4
	})
	return b, func() (int, string) {
		_ = cmd.Wait()
		return cmd.ProcessState.ExitCode(), errs.String()
	}, func() { _ = cmd.Process.Kill() }
}

// A run file that is cut, removed or replaced ends the run at once, although no answer comes that would have to be written.
func TestARunFileThatChangesEndsTheRun(t *testing.T) {
	t.Parallel()
	for words, change := range map[string]func(path string) error{
		"another program changed it: it has 900 bytes instead of": func(path string) error { return os.Truncate(path, 900) },
		"another program removed it":                              os.Remove,
		"another program replaced it by another file": func(path string) error {
			data, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path+".copy", data, 0o600)
			}
			if err == nil {
				err = os.Rename(path+".copy", path)
			}
			return err
		},
	} {
		b, ended, _ := started(t)
		expect.OK(t, change(b.path("run/run.jsonl")))
		exit, errs := ended()
		if exit != 4 || !strings.Contains(errs, "the run file cannot be written: "+words) {
			t.Errorf("exit %d, want 4 and %q; got\n%s", exit, words, errs)
		}
	}
}

// What a killed run recorded can be replayed.
func TestAKilledRecordingIsKept(t *testing.T) {
	t.Parallel()
	b, ended, kill := started(t, "--record", "answers")
	until(t, "four recorded answers", func() bool {
		files, _ := filepath.Glob(b.path("answers/s/*.json"))
		return len(files) == 4
	})
	kill()
	ended()
	b.exits(4, "run", "suite.yaml", "--replay", "answers", "--out", "again", "-q", "-o", "table")
	b.says("10 trials: 4 pass, 6 error")
	if left, _ := filepath.Glob(b.path("answers/*/.evalrun-*")); len(left) > 0 {
		t.Logf("left behind for the next writer to remove: %q", left)
	}
}
