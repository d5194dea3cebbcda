package session

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/runner"
)

type answeredDoctor struct {
	name    string
	answer  http.HandlerFunc
	exit    int
	says    []string // beginnings of checks: state name: text
	without string
}

var answers = []answeredDoctor{
	{
		"no models", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"models":[]}`)) }, eval.CodeOK,
		[]string{"warning models: the service lists none", "ok clock:"},
		"",
	},
	{
		"a refusal that shows the key", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"error":{"code":403,"message":"bad key ` + r.Header.Get("x-svc-api-key") + `"}}`))
		}, eval.CodeIncomplete, []string{"problem service:"}, "ok models",
	},
	noAnswer("an error with status 200", `{"error":{"code":503,"message":"closed on Sundays"}}`),
	noAnswer("an empty object", `{}`), noAnswer("null", `null`), noAnswer("something else than the service", `<html>`),
}

// noAnswer is a service that answers with something else than models.
func noAnswer(name, body string) answeredDoctor {
	return answeredDoctor{
		name, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }, eval.CodeIncomplete,
		[]string{"problem service:"},
		"ok models",
	}
}

func TestDoctorSaysWhatItFinds(t *testing.T) {
	for _, test := range answers {
		t.Run(test.name, test.check)
	}
}

func (test answeredDoctor) check(t *testing.T) {
	const key = "sesame-sesame-sesame"
	server := httptest.NewServer(test.answer)
	defer server.Close()
	t.Chdir(t.TempDir())
	env := map[string]string{
		"EVALRUN_API_KEY":  key,
		"EVALRUN_BASE_URL": server.URL,
		"HTTP_PROXY":       "http://me:" + key + "@[::1]:1",
		"https_proxy":      "http://" + key + "@ x",
	}
	d := Doctor{Options: Options{Caller: runner.Caller{Getenv: func(name string) string { return env[name] }}}, Version: "test"}
	found := d.Examine(context.Background())
	var report strings.Builder
	for _, c := range found.Checks {
		fmt.Fprintf(&report, "%s %s: %s | %s\n", c.State, c.Name, c.Text, c.Advice)
	}
	for _, want := range append(
		test.says, "ok key: EVALRUN_API_KEY is set, 20 characters", "warning proxy: HTTPS_PROXY is not an address",
		"ok proxy: HTTP_PROXY is http://[::1]:1 with", "ok emulator:", "ok runs:",
	) {
		expect.Contains(t, "the report", report.String(), want)
	}
	if found.Exit != test.exit || strings.Contains(report.String(), "sesame") ||
		test.without != "" && strings.Contains(report.String(), test.without) {
		t.Errorf("exit %d, want %d:\n%s", found.Exit, test.exit, &report)
	}
	expect.Same(t, "source of the address", found.Settings[0].From, "EVALRUN_BASE_URL")
}
