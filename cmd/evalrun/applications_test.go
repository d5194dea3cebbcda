package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/emulator"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// The example of applications runs as its comments say: the model answers from its script, the server and the agents are real. Without
// Python the suite is refused before anything is sent, with the place of the program that is missing.
func TestTheExampleOfApplicationsRunsAsItSays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	expect.OK(t, os.CopyFS(dir, os.DirFS("../../examples/applications")))
	suite := filepath.Join(dir, "suite.yaml")
	text, err := os.ReadFile(suite)
	expect.OK(t, err)
	moved := bytes.ReplaceAll(text, []byte("127.0.0.1:8080"), []byte(startServer(t, dir)))
	expect.OK(t, os.WriteFile(suite, moved, 0o600))

	var out bytes.Buffer
	a := &app{
		out: &out, err: &out, getenv: func(string) string { return "" },
		signals: func() (<-chan os.Signal, func()) { return nil, func() {} },
	}
	run := filepath.Join(dir, "run")
	code := a.main(t.Context(), []string{"run", suite, "--emulator=" + filepath.Join(dir, "script.yaml"), "--out", run, "-v"})
	if _, err := exec.LookPath("python3"); err != nil {
		if code != eval.CodeBadInput || !strings.Contains(out.String(), "there is no program python3 in PATH") {
			t.Errorf("without Python: exit %d, want %d and the program's name\n%s", code, eval.CodeBadInput, out.String())
		}
		return
	}
	if code != eval.CodeOK || !strings.Contains(out.String(), "12 trials: 12 pass, 0 fail, 0 error, 0 skip") {
		t.Errorf("exit %d, want 0 and 12 passes\n%s", code, out.String())
	}
	out.Reset()
	code = a.main(t.Context(), []string{"compare", run, "--arms", "app/ask", "go/ask"})
	expect.Same(t, "exit code of compare with the output "+out.String(), code, eval.CodeOK)
	if want := "0 newly failing, 0 newly passing, 0 removed"; !strings.Contains(out.String(), want) {
		t.Errorf("got\n%s\nwant %q", out.String(), want)
	}
}

// qwen answers as a small model on this machine does: it thinks in its text first.
func qwen(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v1/models" {
		_, _ = w.Write([]byte(`{"object": "list", "data": [{"id": "qwen3:8b", "object": "model"}]}`))
		return
	}
	body, _ := io.ReadAll(r.Body)
	word := "technical"
	if bytes.Contains(body, []byte("charged")) {
		word = "Billing"
	}
	_, _ = fmt.Fprintf(w, `{"object": "chat.completion", "model": "qwen3:8b", "choices": [{"index": 0, "finish_reason": "stop", "message":
		{"role": "assistant", "content": "<think>\nbilling or technical?\n</think>\n\n%s\n"}}],
		"usage": {"prompt_tokens": 40, "completion_tokens": 12}}`, word)
}

// The examples of three situations run as their comments say: a chat behind a login, a model on this machine, a command line agent.
func TestTheExamplesOfThreeSituationsRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	expect.OK(t, os.CopyFS(dir, os.DirFS("../../examples/applications")))
	for _, one := range []struct {
		suite, address, says string
		server               http.Handler
	}{
		{"members.yaml", "127.0.0.1:8080", "2 trials: 2 pass", emulator.NewApp("")},
		{"local.yaml", "127.0.0.1:11434", "2 trials: 2 pass", http.HandlerFunc(qwen)},
		{"agent-cli.yaml", "none", "1 trial: 1 pass", http.NotFoundHandler()},
	} {
		server := httptest.NewServer(one.server)
		t.Cleanup(server.Close)
		file := filepath.Join(dir, one.suite)
		text, err := os.ReadFile(file)
		expect.OK(t, err)
		moved := bytes.ReplaceAll(text, []byte(one.address), []byte(strings.TrimPrefix(server.URL, "http://")))
		expect.OK(t, os.WriteFile(file, moved, 0o600))
		var out bytes.Buffer
		a := &app{
			out: &out, err: &out, signals: func() (<-chan os.Signal, func()) { return nil, func() {} },
			getenv: func(name string) string { return map[string]string{"EVALRUN_APP_PASSWORD": "open sesame"}[name] },
		}
		code := a.main(t.Context(), []string{"run", file, "--out", filepath.Join(dir, one.suite+"-run"), "-v"})
		if code != eval.CodeOK || !strings.Contains(out.String(), one.says) {
			t.Errorf("%s: exit %d, want 0 and %q\n%s", one.suite, code, one.says, out.String())
		}
	}
}

func startServer(t *testing.T, dir string) string {
	t.Helper()
	for _, name := range []string{"server", "agent"} {
		build := exec.Command("go", "build", "-trimpath", "-gcflags=all=-dwarf=false", "-ldflags=-s -w", "-o", name, name+".go")
		build.Dir = dir
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("the %s cannot be built: %v\n%s", name, err, out)
		}
	}
	server := exec.Command(filepath.Join(dir, "server"), "127.0.0.1:0")
	lines, err := server.StdoutPipe()
	expect.OK(t, err)
	expect.OK(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	first, err := bufio.NewReader(lines).ReadString('\n')
	expect.OK(t, err)
	return strings.TrimPrefix(strings.TrimSpace(first), "http://")
}
