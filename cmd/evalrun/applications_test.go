package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
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

func startServer(t *testing.T, dir string) string {
	t.Helper()
	binary := filepath.Join(dir, "server")
	build := exec.Command("go", "build", "-o", binary, "server.go")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the server cannot be built: %v\n%s", err, out)
	}
	server := exec.Command(binary, "127.0.0.1:0")
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
