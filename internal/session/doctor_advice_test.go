package session

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/emulator"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/runner"
)

// goodKey is the one that the service of these tests takes.
const goodKey = "open-sesame-0123456789"

func doctorOf(dir rundir.Dir, suite string) *Doctor {
	return &Doctor{Options: Options{Caller: runner.Caller{Dir: dir.Abs(""), Suites: []string{suite}}}}
}

func examine(t *testing.T, d *Doctor, env map[string]string) *Checkup {
	t.Helper()
	d.Options.Getenv, d.Version = func(name string) string { return env[name] }, "test"
	found := d.Examine(t.Context())
	var all strings.Builder
	for _, c := range found.Checks {
		fmt.Fprintf(&all, "%s %s: %s | %s\n", c.State, c.Name, c.Text, c.Advice)
	}
	if key := env["EVALRUN_API_KEY"]; key != "" && strings.Contains(all.String(), key) {
		t.Errorf("got the key, want none in\n%s", &all)
	}
	return found
}

func (c *Checkup) the(name string, state CheckState) *Check {
	for i := range c.Checks {
		if c.Checks[i].Name == name && c.Checks[i].State == state {
			return &c.Checks[i]
		}
	}
	return nil
}

func suiteFor(t *testing.T, service, model string) (dir rundir.Dir, file string) {
	t.Helper()
	dir = rundir.At(t.TempDir())
	text := "version: 1\nname: s\n" + service + "\ntargets: [{name: t, model: " + model + "}]\n" +
		"prompts: [{name: p, text: hi}]\ncases: [{name: c, scorers: [{equals: hi}]}]\n"
	expect.OK(t, os.WriteFile(dir.Join("s.yaml"), []byte(text), 0o600))
	return dir, "s.yaml"
}

// serve is a service of the emulator's models behind a handler that may change what goes in and out.
func serve(t *testing.T, around func(w http.ResponseWriter, r *http.Request, next http.Handler)) string {
	t.Helper()
	service := emulator.New(emulator.Options{Key: goodKey})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { around(w, r, service) }))
	t.Cleanup(server.Close)
	return server.URL
}

func plainly(w http.ResponseWriter, r *http.Request, next http.Handler) { next.ServeHTTP(w, r) }

func at(shift time.Duration) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		w.Header().Set("Date", time.Now().Add(shift).UTC().Format(http.TimeFormat))
		next.ServeHTTP(w, r)
	}
}

// Each failure between this machine and the service has its own finding, with an exit code and something to do or to read.
func TestEachFailureHasItsAdvice(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	secured := httptest.NewUnstartedServer(emulator.New(emulator.Options{Key: goodKey}))
	secured.Config.ErrorLog = log.New(io.Discard, "", 0) // the refused handshake is the point
	secured.StartTLS()
	t.Cleanup(secured.Close)
	good := serve(t, plainly)
	for _, test := range []struct {
		name, url, key string
		exit           int
		check          string
		state          CheckState
		says           []string // in text or advice
	}{
		{"nothing wrong", good, goodKey, eval.CodeOK, "service", OK, []string{good}},
		{"a wrong key", good, "sesame-close-9876543210", eval.CodeIncomplete, "service", Problem, []string{good, "EVALRUN_API_KEY", "key"}},
		{"no key", good, "", eval.CodeBadInput, "key", Problem, []string{"EVALRUN_API_KEY", "export"}},
		{"a key with a line break", good, "a\nb", eval.CodeBadInput, "settings", Problem, []string{"EVALRUN_API_KEY"}},
		{"no service", "", goodKey, eval.CodeBadInput, "service", Problem, []string{"EVALRUN_BASE_URL", "--emulator"}},
		{"no route", closed.URL, goodKey, eval.CodeIncomplete, "service", Problem, []string{closed.URL, "proxy", "firewall"}},
		{"an unknown certificate", secured.URL, goodKey, eval.CodeIncomplete, "service", Problem, []string{secured.URL, "certificate"}},
		{"TLS on a plain port", strings.Replace(good, "http:", "https:", 1), goodKey, eval.CodeIncomplete, "service", Problem, []string{"TLS"}},
		{"another path", good + "/api", goodKey, eval.CodeOK, "service", Warning, []string{good + "/api", "address"}},
		{"a clock that is slow", serve(t, at(time.Hour)), goodKey, eval.CodeOK, "clock", Warning, []string{"behind", "time server"}},
		{"a clock that is fast", serve(t, at(-time.Hour)), goodKey, eval.CodeOK, "clock", Warning, []string{"ahead", "time server"}},
		{"a clock that will do", serve(t, at(-20*time.Second)), goodKey, eval.CodeOK, "clock", OK, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			found := examine(t, &Doctor{}, map[string]string{"EVALRUN_BASE_URL": test.url, "EVALRUN_API_KEY": test.key})
			check := found.the(test.check, test.state)
			if check == nil || found.Exit != test.exit {
				t.Fatalf("exit %d with %+v, want exit %d and %s %s", found.Exit, found.Checks, test.exit, test.state, test.check)
			}
			for _, want := range test.says {
				expect.Contains(t, "text and advice", check.Text+" "+check.Advice, want)
			}
			if test.state == Problem && check.Advice+check.Page == "" {
				t.Errorf("%q: got no advice, want some or a page to read", check.Text)
			}
		})
	}
}

// The check-up costs nothing: it lists the models, and calls none.
func TestTheCheckupCallsNoModel(t *testing.T) {
	t.Parallel()
	service := emulator.New(emulator.Options{Key: goodKey})
	server := httptest.NewServer(service)
	defer server.Close()
	dir, file := suiteFor(t, "", "svc-pro")
	found := examine(t, doctorOf(dir, file), map[string]string{"EVALRUN_BASE_URL": server.URL, "EVALRUN_API_KEY": goodKey})
	if found.Exit != eval.CodeOK || found.the("models", OK) == nil {
		t.Errorf("exit %d with %+v, want the model to be there", found.Exit, found.Checks)
	}
	for method, calls := range service.Stats() {
		if method != "models" && calls != 0 {
			t.Errorf("%d calls of %s, want none", calls, method)
		}
	}
}

// Models that a suite names and the service does not have are each a problem, with the name that was meant.
func TestModelsOfSuitesAreLookedUp(t *testing.T) {
	t.Parallel()
	dir, file := suiteFor(t, "", "svc-prro")
	found := examine(t, doctorOf(dir, file), map[string]string{"EVALRUN_BASE_URL": serve(t, plainly), "EVALRUN_API_KEY": goodKey})
	c := found.the("models", Problem)
	if c == nil || found.Exit != eval.CodeBadInput || !strings.Contains(c.Text, "svc-prro") || !strings.Contains(c.Text, "svc-pro`") {
		t.Errorf("exit %d with %+v, want svc-prro to be missing, and svc-pro as the hint", found.Exit, found.Checks)
	}
	if c := found.the("models", OK); c != nil {
		t.Errorf("got %q, want a problem: one is missing", c.Text)
	}
}

// Each setting says where it comes from, and a flag hides a variable, which hides a suite.
func TestSettingsSayWhereTheyComeFrom(t *testing.T) {
	t.Parallel()
	url := serve(t, plainly)
	service := "service: {baseUrl: 'https://suite.example', apiVersion: v1beta, headerPrefix: x-suite, project: suite}"
	dir, file := suiteFor(t, service, "svc-pro")
	doctor := doctorOf(dir, file)
	doctor.Options.BaseURL = url
	found := examine(t, doctor, map[string]string{
		"EVALRUN_BASE_URL": "https://variable.example", "EVALRUN_HEADER_PREFIX": "x-svc", "EVALRUN_API_KEY": goodKey,
	})
	want := []setting{
		{"baseUrl", url, "--base-url"},
		{"apiVersion", "v1beta", "service.apiVersion in s.yaml"},
		{"headerPrefix", "x-svc", "EVALRUN_HEADER_PREFIX"},
		{"auth", "apiKey", "default"},
		{"project", "suite", "service.project in s.yaml"},
		{"authScopeBase", "", "not set"},
	}
	expect.Same(t, "result", found.Settings, want)
}

// A suite with problems is one of the check-up, its service is not taken, and the rest is looked at all the same.
func TestABadSuiteHidesNothingElse(t *testing.T) {
	t.Parallel()
	dir, file := suiteFor(t, "service: {baseUrl: 'https://suite.example'}\ntypo: 1", "svc-pro")
	for name, missing := range map[string]bool{file: false, "gone.yaml": true} {
		found := examine(t, doctorOf(dir, name), nil)
		c := found.the("suites", Problem)
		if c == nil || !strings.Contains(c.Text, name) || !missing && !strings.Contains(c.Advice, "evalrun validate "+name) {
			t.Errorf("%s: %+v, want a problem with its name", name, c)
		}
		if found.the("service", Problem) == nil || found.the("emulator", OK) == nil || found.Exit != eval.CodeBadInput {
			t.Errorf("%s: exit %d with %+v, want no service to be named, and the emulator to work", name, found.Exit, found.Checks)
		}
	}
}

// Input that is wrong outweighs a service that is not there.
func TestBadInputIsTheExitOfSeveralProblems(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	dir, _ := suiteFor(t, "", "svc-pro")
	found := examine(t, doctorOf(dir, "gone.yaml"), map[string]string{"EVALRUN_BASE_URL": closed.URL, "EVALRUN_API_KEY": goodKey})
	if found.the("suites", Problem) == nil || found.the("service", Problem) == nil || found.Exit != eval.CodeBadInput {
		t.Errorf("exit %d with %+v, want both problems and exit %d", found.Exit, found.Checks, eval.CodeBadInput)
	}
}
