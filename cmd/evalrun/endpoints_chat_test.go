package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// listener is an endpoint that records which turns it got in which session, and holds up the second turns until the
// test releases them.
type listener struct {
	mu     sync.Mutex
	turns  map[string][]string // by path, session and all
	second chan string         // a path, for each second turn that came
	hold   chan struct{}       // closed: nothing is held up any more
}

func (h *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Question, Session string
		Messages          []struct{ Content string }
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	for _, m := range in.Messages {
		in.Question = m.Content
	}
	h.mu.Lock()
	h.turns[r.URL.Path] = append(h.turns[r.URL.Path], fmt.Sprintf("%s %d %s", in.Session, len(in.Messages), in.Question))
	h.mu.Unlock()
	if in.Question == "two" {
		h.second <- r.URL.Path
		select {
		case <-h.hold:
		case <-r.Context().Done():
			return
		}
	}
	_, _ = fmt.Fprintf(w, `{"text": "reply to %s"}`, in.Question)
}

// of lists what came at a path, and forgets it.
func (h *listener) of(path string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.turns[path]
	delete(h.turns, path)
	return out
}

// A chat that was in progress when the run was killed continues after the last answer if the endpoint is sent the
// conversation. An endpoint that keeps it by itself hears it from the beginning, under another name.
func TestChatsAreResumed(t *testing.T) {
	t.Parallel()
	evalrun := program(t)
	app := &listener{turns: map[string][]string{}, second: make(chan string, 16), hold: make(chan struct{})}
	server := httptest.NewServer(app)
	defer server.Close()
	dir := t.TempDir()
	write(t, dir, "suite.yaml", strings.ReplaceAll(`version: 1
name: s
targets:
  - {name: sent, http: {url: ADDRESS/sent, body: {messages: "{{messages}}"}, answer: .text}}
  - {name: kept, http: {url: ADDRESS/kept, body: {question: "{{prompt}}", session: "{{trial}}"}, answer: .text}}
prompts: [{name: p, live: true, turns: [{user: one}, {user: two}, {user: three}]}]
cases: [{name: c, scorers: [{equals: reply to three}]}]
`, "ADDRESS", server.URL))
	run := exec.Command(evalrun, "run", "suite.yaml", "--out", "run")
	run.Dir, run.Env = dir, []string{noNap, "HOME=" + dir}
	expect.OK(t, run.Start())
	<-app.second
	<-app.second
	_ = run.Process.Kill()
	_ = run.Wait()
	first := app.of("/kept")
	if sent := app.of("/sent"); len(sent) != 2 || len(first) != 2 {
		t.Fatalf("got %q and %q, want two turns each", sent, first)
	}
	close(app.hold)
	resume := exec.Command(evalrun, "resume", "run")
	resume.Dir, resume.Env = dir, run.Env
	out := make(chan string, 1)
	go func() {
		text, _ := resume.CombinedOutput()
		out <- string(text)
	}()
	select {
	case text := <-out:
		expect.Contains(t, "result", text, "PASS  2 trials")
	case <-time.After(time.Minute):
		_ = resume.Process.Kill()
		t.Fatal("the resumed run does not end, want an end within a minute")
	}
	if got := strings.Join(app.of("/sent"), ", "); got != " 3 two,  5 three" {
		t.Errorf("got %q, want the chat to go on after its first turn", got)
	}
	second := app.of("/kept")
	if len(second) != 3 {
		t.Fatalf("got %q, want all three turns", second)
	}
	before, _, _ := strings.Cut(first[0], " ")
	for i, question := range []string{"one", "two", "three"} {
		session, text, _ := strings.Cut(second[i], " 0 ")
		if text != question || session == before || session != strings.Fields(second[0])[0] || session == "" {
			t.Errorf("got %q, want %q in another session than %s", second[i], question, before)
		}
	}
}

// Where answers of a chat that an endpoint keeps by itself were cached, the endpoint hears the whole chat or nothing.
func TestCachedChatsAreWhole(t *testing.T) {
	t.Parallel()
	evalrun := program(t)
	app := &listener{turns: map[string][]string{}, second: make(chan string, 16), hold: make(chan struct{})}
	close(app.hold)
	server := httptest.NewServer(app)
	defer server.Close()
	dir := t.TempDir()
	write(t, dir, "suite.yaml", fmt.Sprintf(`version: 1
name: s
targets: [{name: kept, http: {url: %s/kept, body: {question: "{{prompt}}", session: "{{trial}}"}, answer: .text}}]
prompts: [{name: p, live: true, turns: [{user: one}, {user: two}]}]
cases: [{name: c, scorers: [{equals: reply to two}]}]
`, server.URL))
	wantCalls := func(want int) {
		t.Helper()
		cmd := exec.Command(evalrun, "run", "suite.yaml", "--cache", "-q")
		cmd.Dir, cmd.Env = dir, []string{noNap, "HOME=" + dir}
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, text)
		}
		if got := app.of("/kept"); len(got) != want {
			t.Errorf("got %q, want %d turns", got, want)
		}
	}
	wantCalls(2)
	wantCalls(0)
	files, _ := filepath.Glob(filepath.Join(dir, ".evalrun", "cache", "*", "*.json"))
	forgotten := 0
	for _, file := range files {
		if text, _ := os.ReadFile(file); strings.Contains(string(text), "reply to two") {
			_ = os.Remove(file)
			forgotten++
		}
	}
	if forgotten != 1 {
		t.Fatalf("got %d cached answers of the second turn in %q, want one", forgotten, files)
	}
	wantCalls(2)
	wantCalls(0)
}
