package site

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
)

// Only this machine may send requests, under the server's own names, and only to read.
func TestGuardLetsOnlyThisMachineRead(t *testing.T) {
	t.Chdir(t.TempDir())
	record(t, "r1", trial(0, eval.Pass))
	s := serve(t)
	_, port, _ := net.SplitHostPort(s.hosts.own)
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	header := func(pairs ...string) func(*http.Request) {
		return func(r *http.Request) {
			for i := 0; i < len(pairs); i += 2 {
				r.Header.Set(pairs[i], pairs[i+1])
			}
		}
	}
	method := func(m string) func(*http.Request) { return func(r *http.Request) { r.Method = m } }
	for name, test := range map[string]struct {
		change func(*http.Request)
		want   int
	}{
		"own":              {nil, 200},
		"localhost":        {host("localhost:" + port), 200},
		"LOCALHOST":        {host("LocalHost:" + port), 200},
		"v6":               {host("[::1]:" + port), 200},
		"another name":     {host("evil.example:" + port), 421},
		"no port":          {host("127.0.0.1"), 421},
		"another port":     {host("127.0.0.1:1"), 421},
		"like localhost":   {host("localhost.evil.example:" + port), 421},
		"another address":  {host("127.0.0.2:" + port), 421},
		"trailing dot":     {host("localhost.:" + port), 421},
		"head":             {method("HEAD"), 200},
		"post":             {method("POST"), 405},
		"put":              {method("PUT"), 405},
		"delete":           {method("DELETE"), 405},
		"options":          {method("OPTIONS"), 405},
		"odd":              {method("BREW"), 405},
		"own page":         {header("Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty"), 200},
		"other page":       {header("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "script"), 403},
		"other local port": {header("Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty"), 403},
		"frame":            {header("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"), 403},
		"link":             {header("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"), 200},
	} {
		for _, path := range []string{"/", "/data/runs", "/style.css", "/program.js"} {
			resp, _ := ask(t, s, path, test.change)
			if resp.StatusCode != test.want {
				t.Errorf("%s %s: %s, want %d", name, path, resp.Status, test.want)
			}
			for key, want := range map[string]string{
				"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
				"Cross-Origin-Resource-Policy": "same-origin",
				"Cross-Origin-Opener-Policy":   "same-origin", "Cross-Origin-Embedder-Policy": "require-corp", "X-Frame-Options": "DENY",
				"Cache-Control": "no-store", "Access-Control-Allow-Origin": "",
			} {
				expect.Same(t, fmt.Sprintf("%s %s: %s", name, path, key), resp.Header.Get(key), want)
			}
		}
	}
}

// Beyond this machine there is a warning, addresses are good, and names only when they were given.
func TestHostsBeyondThisMachineAreWarnedOf(t *testing.T) {
	for _, test := range []struct {
		given, at string
		host      string
		allowed   bool
		warns     bool
	}{
		{"127.0.0.1:0", "127.0.0.1:9", "127.0.0.1:9", true, false},
		{"127.0.0.3:0", "127.0.0.3:9", "127.0.0.3:9", true, false},
		{"box:0", "127.0.1.1:9", "127.0.1.1:9", true, false},
		{"[::1]:0", "[::1]:9", "[::1]:9", true, false},
		{":9", "[::]:9", "192.0.2.1:9", true, true},
		{"0.0.0.0:9", "0.0.0.0:9", "evil.example:9", false, true},
		{"box.example:9", "192.0.2.1:9", "box.example:9", true, true},
		{"box.example:9", "192.0.2.1:9", "other.example:9", false, true},
		{"0.0.0.0:80", "0.0.0.0:80", "192.0.2.1", true, true},
		{"0.0.0.0:9", "0.0.0.0:9", "", false, true},
	} {
		at, err := net.ResolveTCPAddr("tcp", test.at)
		expect.OK(t, err)
		h := newHosts(test.given, at)
		if got := h.allow(test.host); got != test.allowed || (h.warning() != "") != test.warns {
			t.Errorf("%s asked as %q: got %v, warning %q, want %v, a warning: %v",
				test.given, test.host, got, h.warning(), test.allowed, test.warns)
		}
	}
}

// No text of a request leads to a file.
func TestNoRequestLeadsToAFile(t *testing.T) {
	t.Chdir(t.TempDir())
	record(t, "r1", trial(0, eval.Pass))
	secret := "very secret"
	expect.OK(t, os.WriteFile("secret", []byte(secret), 0o600))
	s := serve(t)
	key := data[[]viewedRun](t, s, "/data/runs")[0].Key
	names := append(
		hostile.Strings(), "..", "../secret", "../../secret", "secret", "./secret", "/etc/passwd", "..%2fsecret", `..\secret`,
		"r1", ".evalrun", "", "%00", "0/../../secret", "-1", "1e9", "00", "+0",
	)
	patterns := []string{
		"/%s", "/run/%s/", "/run/%s/data/head", "/data/runs/%s", "/run/" + key + "/data/%s", "/run/" + key + "/data/rows/%s",
		"/run/" + key + "/data/trials/%s", "/run/" + key + "/data/image/%s", "/compare/%s/" + key + "/",
		"/compare/" + key + "/%s/data/head", "/run/%s/events",
	}
	for _, name := range names {
		for _, pattern := range patterns {
			for _, written := range []string{escapeAll(name), name} {
				leadsNowhere(t, s, fmt.Sprintf(pattern, written), secret)
			}
		}
	}
}

// leadsNowhere fails for a path whose answer is a file or an error of the server.
func leadsNowhere(t *testing.T, s *Server, path, secret string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
	expect.OK(t, err)
	r.URL.Opaque = "//" + s.hosts.own + path // as it is
	resp, err := client.Do(r)
	if err != nil {
		return // no request at all
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || strings.Contains(string(body), secret) || strings.Contains(string(body), "root:") {
		t.Errorf("%s: %v %s, want neither the secret nor a file of the machine", path, err, body)
	}
	plain := strings.Contains(path, "data/image/") || path == "/"
	if resp.StatusCode == http.StatusOK && !plain || resp.StatusCode >= http.StatusInternalServerError {
		t.Errorf("%q: %s, want a status below 500, and a page for plain paths alone", path, resp.Status)
	}
}

func escapeAll(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		fmt.Fprintf(&b, "%%%02x", c)
	}
	return b.String()
}
