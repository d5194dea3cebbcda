package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// canarySuite sends requests in both ways, and embeds the answers.
const canarySuite = `version: 1
name: s
targets: [{name: pro, model: svc-pro}, {name: flow, model: svc-pro, stream: true}]
prompts: [{name: p, text: hello}]
cases: [{name: c, scorers: [{contains: hello}, {similar: {to: hello, min: 0.5}}, {snapshot: true}]}]
`

// canaryCommands are the columns: the arguments of each command. CALL and META are the addresses of a service that
// fails at calls alone or at everything. QUERY and LIST are the same with the key in the query, past the proxy.
var canaryCommands = []string{
	"run suite.yaml -v --base-url CALL --attempts 1 --out one -o table -o json=one.json -o jsonl=one.jsonl -o junit=one.xml -o " +
		"markdown=one.md -o csv=one.csv -o github=one.txt --record kept --cache",
	"resume one --errors -v -o table -o json=two.json -o junit=two.xml",
	"show one *",
	"run suite.yaml -v --base-url CALL --attempts 1 --out three --auth oauth -o json --record more",
	"count suite.yaml --base-url QUERY --auth apiKeyQuery --attempts 1 --json",
	"plan suite.yaml --base-url CALL --auth oauth --attempts 1 --count",
	"run suite.yaml -v --base-url QUERY --auth apiKeyQuery --attempts 1 --no-content --out four -o table -o jsonl",
	"models --base-url LIST --auth apiKeyQuery --attempts 1",
	"models svc-pro --base-url META --attempts 1 --json",
	"embed text --base-url QUERY --auth apiKeyQuery --attempts 1",
	"auth status --base-url META --attempts 1",
	"auth login --client-secrets secrets.json --scope openid --no-browser --timeout 5s",
	"auth logout --revoke-url REVOKE",
	"rescore one -v --base-url CALL --attempts 1 --out five -o table -o json=five.json",
	"accept one --yes",
	"doctor suite.yaml --base-url META",
	"doctor suite.yaml --base-url LIST --auth apiKeyQuery -o json",
	"doctor --base-url META --auth oauth",
}

// Scenario S1: no secret is in any output or file, whatever the service, the authorization server or the proxy does with it, at the most
// verbose.
func TestCanariesAreInNoOutputOrFile(t *testing.T) {
	t.Parallel()
	evalrun := program(t)
	service := canaryService{}
	server := httptest.NewUnstartedServer(service)
	server.Config.ErrorLog = quiet()
	server.Start()
	defer server.Close()
	byTLS := httptest.NewUnstartedServer(service)
	byTLS.Config.ErrorLog = quiet()
	byTLS.StartTLS()
	defer byTLS.Close()
	host := server.Listener.Addr().String()
	rows := failures(host, byTLS.URL)
	for i, f := range rows {
		service[strconv.Itoa(i)] = f
	}
	var wg sync.WaitGroup
	todo := make(chan int)
	for range 6 {
		wg.Go(func() {
			for i := range todo {
				failRow(t, evalrun, rows[i], strconv.Itoa(i), host)
			}
		})
	}
	for i := range rows {
		todo <- i
	}
	close(todo)
	wg.Wait()
	t.Logf("%d failures, %d commands each", len(rows), len(canaryCommands))
}

func failRow(t *testing.T, evalrun string, f failure, id, host string) {
	direct := cmp.Or(f.base, "http://"+host)
	proxied := cmp.Or(f.base, "http://service.invalid")
	proxy := cmp.Or(f.proxy, "http://"+url.UserPassword("user", canaries["password"]).String()+"@"+host)
	tokens := direct // http is for this machine alone there
	dir := t.TempDir()
	client := map[string]any{
		"clientId":     "id",
		"clientSecret": canaries["secret"],
		"project":      "p",
		"authUrl":      "https://auth.invalid",
		"tokenUrl":     tokens + "/" + id + "/token",
	}
	write(t, dir, "suite.yaml", canarySuite)
	write(t, dir, "text", "a text\n")
	write(t, dir, "secrets.json", asJSON(map[string]any{"installed": map[string]any{
		"client_id": "id", "client_secret": canaries["secret"], "project_id": "p", "auth_uri": "https://auth.invalid",
		"token_uri": client["tokenUrl"],
	}}))
	row, _ := strconv.Atoi(id)
	for i, line := range canaryCommands {
		if i > 2 && i%2 == row%2 && !strings.HasPrefix(line, "auth") && os.Getenv("EVALRUN_CANARY_ALL") == "" { // half of what is much alike
			continue
		}
		client["secretInHeader"] = i%2 == 0
		expiry := "0001-01-01T00:00:00Z"
		if strings.HasPrefix(line, "auth") {
			expiry = "2001-01-01T00:00:00Z" // it has to be refreshed
		}
		write(t, dir, "config/evalrun/token.json", asJSON(map[string]any{
			"version": 1, "client": client, "scopes": []string{"openid"}, "accessToken": canaries["access"], "refreshToken": canaries["refresh"],
			"obtainedAt": "2000-01-01T00:00:00Z", "expiry": expiry,
		}))
		line = strings.NewReplacer(
			"CALL", proxied+"/"+id+"/call", "META", proxied+"/"+id+"/meta", "QUERY", direct+"/"+id+"/call", "LIST", direct+"/"+id+"/meta",
			"REVOKE", tokens+"/"+id+"/revoke",
		).Replace(line)
		cmd := exec.Command(evalrun, strings.Fields(line)...)
		cmd.Dir = dir
		cmd.Env = []string{
			noNap,
			"HOME=" + dir, "XDG_CONFIG_HOME=" + filepath.Join(dir, "config"), "EVALRUN_API_KEY=" + canaries["key"],
			"HTTP_PROXY=" + proxy, "HTTPS_PROXY=" + proxy, "EVALRUN_DEBUG=1", "GOTRACEBACK=all",
		}
		for _, leak := range leaks(outputOf(t, cmd)) {
			t.Errorf("%s: evalrun %s, want no secret in\n\t%s", f.name, line, leak)
		}
	}
	for _, leak := range leaksBelow(t, dir) {
		t.Errorf("%s: %s, want no secret", f.name, leak)
	}
}

// outputOf runs a command and gives all that it says. A login is answered as a browser does, and what the browser shows counts too.
func outputOf(t *testing.T, cmd *exec.Cmd) string {
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Error(err)
		return ""
	}
	var printed strings.Builder
	for lines := bufio.NewScanner(io.TeeReader(stdout, &printed)); lines.Scan(); {
		if !strings.HasPrefix(lines.Text(), "https://auth.invalid") {
			continue
		}
		address, _ := url.Parse(lines.Text())
		q := address.Query()
		resp, err := http.Get(q.Get("redirect_uri") + "?" + url.Values{"state": {q.Get("state")}, "code": {canaries["code"]}}.Encode())
		if err == nil {
			page, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			_, _ = printed.Write(page)
		}
	}
	_, _ = io.Copy(&printed, stdout) // a line was too long
	_ = cmd.Wait()                   // its exit code is another test's
	return printed.String() + errOut.String()
}

// leaksBelow searches all files below a folder, except the files that are meant to hold the secrets.
func leaksBelow(t *testing.T, dir string) []string {
	var out []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, dir)
		if err != nil || entry.IsDir() || slices.Contains([]string{"token.json", "secrets.json"}, entry.Name()) {
			return err
		}
		data, err := os.ReadFile(path)
		for _, leak := range leaks(name + "\n" + string(data)) {
			out = append(out, name+": "+leak)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return out
}

func write(t *testing.T, dir, name, text string) {
	path := filepath.Join(dir, name)
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		t.Error(err)
	}
}

func asJSON(v any) string {
	out, _ := json.Marshal(v)
	return string(out)
}

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// An address with a password or a key in it is refused, and not repeated, wherever it comes from; nor is the value of a variable that a
// suite names.
func TestCanaryInAddressIsRefusedAndNotRepeated(t *testing.T) {
	t.Parallel()
	evalrun := program(t)
	secret := url.QueryEscape(canaries["key"])
	for _, address := range []string{
		"https://user:" + secret + "@h.invalid", "https://" + secret + "@h.invalid/v1", "https://h.invalid?key=" + secret,
		"https://h.invalid/#" + secret, "h.invalid?key=" + secret,
		"https://user:" + secret + "@h .invalid", "https://user:" + secret + "%zz@h.invalid",
	} {
		dir := t.TempDir()
		write(t, dir, "suite.yaml", canarySuite)
		write(t, dir, "flow.yaml", "service: {auth: apiKey, baseUrl: \""+address+"\"}\n"+canarySuite)
		write(t, dir, "block.yaml", "service:\n  baseUrl: \""+address+"\"\n"+canarySuite)
		for i, key := range []string{"baseUrl", "apiVersion", "headerPrefix", "auth", "project", "authScopeBase"} {
			write(t, dir, "env"+strconv.Itoa(i)+".yaml", "service: {"+key+": \"${env:EVALRUN_CANARY}\"}\n"+canarySuite)
		}
		for _, line := range []string{
			"run suite.yaml --base-url ADDRESS", "run suite.yaml ", "run flow.yaml", "validate flow.yaml", "plan block.yaml", "models",
			"run suite.yaml --dry-run", "doctor flow.yaml", "doctor --base-url ADDRESS -o json", "doctor env2.yaml",
			"auth logout --revoke-url ADDRESS",
			"validate env0.yaml env1.yaml env2.yaml env3.yaml env4.yaml env5.yaml",
		} {
			args := strings.Fields(line)
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "ADDRESS", address)
			}
			cmd := exec.Command(evalrun, args...)
			cmd.Dir = dir
			cmd.Env = []string{"HOME=" + dir, "EVALRUN_API_KEY=" + canaries["key"], noNap, "EVALRUN_CANARY=" + address}
			if !strings.Contains(line, "ADDRESS") && !strings.Contains(line, "env") {
				cmd.Env = append(cmd.Env, "EVALRUN_BASE_URL="+address)
			}
			for _, leak := range leaks(outputOf(t, cmd)) {
				t.Errorf("%s: evalrun %s, want no secret in\n\t%s", address, line, leak)
			}
		}
	}
}

// The traces of a program that is made to crash while it holds all secrets do not show them.
func TestCanaryInCrashIsNotShown(t *testing.T) {
	t.Parallel()
	evalrun := program(t)
	arrived, done := make(chan struct{}, 1), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-done
	}))
	defer server.Close()
	defer close(done)
	dir := t.TempDir()
	write(t, dir, "suite.yaml", canarySuite)
	var out bytes.Buffer
	cmd := exec.Command(evalrun, "run", "suite.yaml", "-v", "--base-url", "http://service.invalid")
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	cmd.Env = []string{
		noNap,
		"HOME=" + dir, "EVALRUN_API_KEY=" + canaries["key"], "GOTRACEBACK=system", "EVALRUN_DEBUG=1",
		"HTTP_PROXY=http://" + url.UserPassword("user", canaries["password"]).String() + "@" + server.Listener.Addr().String(),
	}
	expect.OK(t, cmd.Start())
	<-arrived
	_ = cmd.Process.Signal(syscall.SIGQUIT)
	_ = cmd.Wait()
	if !strings.Contains(out.String(), "SIGQUIT") || !strings.Contains(out.String(), "goroutine ") {
		t.Errorf("got the output\n%s\nwant traces after SIGQUIT", &out)
	}
	for _, leak := range append(leaks(out.String()), leaksBelow(t, dir)...) {
		t.Errorf("got %s, want no secret", leak)
	}
}
