package main

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/forgetest"
)

func commentedRun(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	expect.OK(t, os.WriteFile(filepath.Join(dir, "suite.yaml"), []byte(manyWords()), 0o600))
	cmd := exec.Command(program(t), "run", "suite.yaml", "--emulator", "--out", "run", "-q")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// comment posts the run in dir to a forge, and returns what it prints and its exit code.
func comment(t *testing.T, dir string, env ...string) (printed string, code int) {
	t.Helper()
	cmd := exec.Command(program(t), "comment", "run", "--number", "5")
	cmd.Dir, cmd.Env = dir, append([]string{"HOME=" + dir, noNap}, env...)
	out, _ := cmd.CombinedOutput()
	return string(out), cmd.ProcessState.ExitCode()
}

// A forge that echoes the token, in whatever form, does not get it printed.
func TestCommentNeverShowsItsToken(t *testing.T) {
	t.Parallel()
	const token = "ghp_+Echo/edToken=0123456789"
	escaped := ""
	for _, r := range token {
		escaped += fmt.Sprintf(`\u%04x`, r)
	}
	dir := commentedRun(t)
	for name, form := range map[string]string{
		"itself": token, "escaped": escaped, "query": url.QueryEscape(token), "path": url.PathEscape(token),
		"base64": base64.StdEncoding.EncodeToString([]byte("x:" + token)), "hex": hex.EncodeToString([]byte(token)),
	} {
		for _, reply := range []string{
			`401 {"message":"bad credentials: FORM"}`, `403 {"error":{"sent":["FORM"]}}`, `200 [{"id":"FORM"}]`,
			`200 {"html_url":"https://f.example/FORM"}`,
			"broken FORM",
		} {
			server := httptest.NewServer(echo(strings.ReplaceAll(reply, "FORM", form)))
			for _, env := range [][]string{
				{"GITHUB_REPOSITORY=o/r", "GITHUB_TOKEN=" + token, "GITHUB_API_URL=" + server.URL},
				{"CI_PROJECT_ID=9", "EVALRUN_GITLAB_TOKEN=" + token, "CI_API_V4_URL=" + server.URL},
			} {
				out, _ := comment(t, dir, env...)
				for _, shown := range []string{token, form, "ghp_", base64.RawStdEncoding.EncodeToString([]byte("x:" + token))[4:20]} {
					if strings.Contains(out, shown) {
						t.Errorf("%s: %s: got %q, want no form of the token", name, reply, out)
					}
				}
			}
			server.Close()
		}
	}
}

func echo(reply string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var status int
		if _, err := fmt.Sscanf(reply, "%d", &status); err != nil { // no HTTP at all, which the error of the client quotes
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_, _ = fmt.Fprintf(conn, "%s\r\n\r\n", reply)
				_ = conn.Close()
			}
			return
		}
		if r.Method == http.MethodGet && status == http.StatusOK && strings.Contains(reply, "html_url") {
			_, _ = fmt.Fprint(w, map[bool]string{true: `{"login":"a","username":"a"}`, false: `[]`}[r.URL.Path == "/user"])
			return
		}
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, reply[4:])
	})
}

// A token is never sent in the clear over a network.
func TestCommentRefusesPlainHTTP(t *testing.T) {
	t.Parallel()
	dir := commentedRun(t)
	for _, env := range [][]string{
		{"GITHUB_REPOSITORY=o/r", "GITHUB_TOKEN=token", "GITHUB_API_URL=http://forge.example/api"},
		{"CI_PROJECT_ID=9", "EVALRUN_GITLAB_TOKEN=token", "CI_API_V4_URL=http://10.1.2.3:8080"},
	} {
		out, code := comment(t, dir, env...)
		expect.Same(t, "exit code", code, 2)
		expect.Contains(t, "the message", out, "in the clear: use https, or an address of this machine")
	}
}

// On machines without a history, the comment of the pull request counts looks at a candidate. It is invalid beyond those planned,
// although the run on its machine could not know that.
func TestCommentCountsLooks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	suite := func(prompt, gate string) {
		text := "version: 1\nname: s\ntargets: [{name: pro, model: svc-pro}]\nprompts: [{name: p, text: '" + prompt + "'}]\n" +
			gate + "cases:\n"
		for i := range 120 {
			text += fmt.Sprintf("  - {name: c%d, vars: {n: %d}, scorers: [{contains: question}]}\n", i, i)
		}
		expect.OK(t, os.WriteFile(filepath.Join(dir, "suite.yaml"), []byte(text), 0o600))
	}
	evalrun := func(args ...string) {
		t.Helper()
		cmd := exec.Command(program(t), args...)
		cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, noNap}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	forge := forgetest.New(t, "body")
	post := func(wantCode int) string {
		t.Helper()
		out, code := comment(t, dir, "GITHUB_REPOSITORY=o/r", "GITHUB_TOKEN=t", "GITHUB_API_URL="+forge.URL)
		if code != wantCode {
			t.Fatalf("got exit code %d, want %d\n%s", code, wantCode, out)
		}
		return fmt.Sprint(forge.Notes()[0]["body"])
	}
	run := func() {
		t.Helper()
		expect.OK(t, os.RemoveAll(filepath.Join(dir, "run")), os.RemoveAll(filepath.Join(dir, ".evalrun", "history.db")))
		evalrun("run", "suite.yaml", "--emulator", "--out", "run", "-q")
	}
	suite("question {{.n}}", "")
	evalrun("run", "suite.yaml", "--emulator", "--out", "base", "-q")
	gated := "gate: {baseline: {run: base, margin: 0.05, looks: 2}}\n"
	suite("question {{.n}}", gated)
	run()
	expect.Contains(t, "first", post(0), "look 1 of 2: over 2 looks the error is at most 5 %")
	expect.Contains(t, "the same run again", post(0), "look 1 of 2")
	run()
	expect.Contains(t, "second", post(0), "look 2 of 2")
	suite("question {{.n}}?", gated)
	run()
	expect.Contains(t, "another candidate", post(0), "look 1 of 2")
	suite("question {{.n}}", gated)
	run()
	third := post(4)
	expect.Contains(t, "third", third, "look 3 at this candidate, and the gate plans 2")
	expect.Contains(t, "third", third, "INVALID")
	suite("question {{.n}}", "gate: {baseline: {run: base, margin: 0.05}}\n")
	run()
	expect.Contains(t, "without a plan", post(0), "look 4: over 4 looks the error is at most 20 %")
}
