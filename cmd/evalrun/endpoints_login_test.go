package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// gatehouse is a service behind a login. It counts who logs in, and forgets tokens.
type gatehouse struct {
	mu      sync.Mutex
	logins  []string
	answers int
	lasts   int  // how many answers a token is good for
	prints  bool // a program prints the tokens
	page    string
	left    map[string]int
	cookies []string
}

func (g *gatehouse) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r.URL.Path == "/login" {
		var in struct{ User, Password string }
		_ = json.NewDecoder(r.Body).Decode(&in)
		g.logins = append(g.logins, in.User)
		switch {
		case g.page != "":
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte(g.page))
		case in.Password != "canary-password":
			http.Error(w, "who are you, "+in.Password+"?", http.StatusForbidden)
		default:
			token := fmt.Sprintf("canary-token-%d", len(g.logins))
			g.left[token] = g.lasts
			http.SetCookie(w, &http.Cookie{Name: "visit", Value: token})
			_, _ = fmt.Fprintf(w, `{"session": {"token": %q}}`, token)
		}
		return
	}
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if _, known := g.left[token]; g.prints && !known && strings.HasPrefix(token, "canary-token-") {
		g.logins, g.left[token] = append(g.logins, token), g.lasts
	}
	if g.left[token] == 0 {
		http.Error(w, "expired: "+token, http.StatusUnauthorized)
		return
	}
	g.left[token]--
	g.answers++
	for _, c := range r.Cookies() {
		g.cookies = append(g.cookies, c.Value)
	}
	_, _ = fmt.Fprintf(w, `{"text": "right %s", "token": %q}`, token, token)
}

// A login comes first: once for a run or for each trial, again when the endpoint forgot it, and nothing shows what it gave.
func TestAnEndpointBehindALogin(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		per, page, password string
		lasts               int
		logins, answers     int
		code                int
		says                string
	}{
		"once":            {"run", "", "canary-password", 100, 1, 6, 0, ""},
		"for each trial":  {"trial", "", "canary-password", 100, 6, 6, 0, ""},
		"again when lost": {"run", "", "canary-password", 4, 2, 6, 0, ""},
		"never enough":    {"run", "", "canary-password", 0, 2, 0, 4, "refuses what it gave: expired"},
		"a wrong password": {
			"run", "", "canary-wrong", 100, 1, 0, 4, "403: the login: who are you, [key]?; look at its `login`",
		},
		"a program once":             {"", "", "echo canary-token-$n", 100, 1, 6, 0, ""},
		"a program again":            {"", "", "echo canary-token-$n", 4, 2, 6, 0, ""},
		"a program, always the same": {"", "", "echo canary-token", 4, 0, 0, 4, "401: the token of `auth`: expired: [key]; look at its `auth`"},
		"a program that never helps": {"", "", "echo canary-token-$n", 0, 2, 0, 4, "the token of `auth`: expired: [key]; look at its `auth`"},
		"a program that fails": {
			"", "", "echo no >&2; exit 3", 1, 0, 0, 4, "the target `shop` has no token: the program \"./token.sh\" ended with exit status 3",
		},
		"a page": {"run", "<html>Welcome</html>", "canary-password", 100, 6, 0, 4, "the login: `take` needs JSON, and the answer is text/html"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			house := &gatehouse{left: map[string]int{}, lasts: test.lasts, page: test.page}
			suite := `version: 1
name: s
targets:
  - name: shop
    http:
      url: URL/answer
      headers: {authorization: "Bearer {{login.token}}"}
      body: {question: "{{prompt}}"}
      answer: .text
      login:
        url: URL/login
        body: {user: me, password: "${env:EVALRUN_PASSWORD}"}
        take: {token: .session.token}
        per: PER
prompts: [{name: p, text: "question {{.n}}"}]
limits: {concurrency: 1}
defaults: {scorers: [{contains: right}]}
cases:
  - {name: a, vars: {n: 1}}
  - {name: b, vars: {n: 2}}
  - {name: c, vars: {n: 3}}
  - {name: d, vars: {n: 4}}
  - {name: e, vars: {n: 5}}
  - {name: f, vars: {n: 6}}
`
			b := newBox(t, house, map[string]string{"token.sh": "#!/bin/sh\necho >>count\nn=$(wc -l <count)\n" + test.password + "\n"})
			expect.OK(t, os.Chmod(b.path("token.sh"), 0o700))
			if house.prints = test.per == ""; house.prints {
				before, _, _ := strings.Cut(suite, "      headers:")
				_, after, _ := strings.Cut(suite, "per: PER\n")
				suite = before + "      answer: .text\n      auth: {command: ./token.sh}\n" + after
			}
			b.write("suite.yaml", strings.NewReplacer("URL", b.url, "PER", test.per).Replace(suite))
			b.env = append(b.env, "EVALRUN_PASSWORD="+test.password)
			b.exits(test.code, "run", "suite.yaml", "--out", "run", "-v", "-o", "html=page.html")
			said := b.out + b.errs
			if !strings.Contains(strings.Join(strings.Fields(said), " "), test.says) {
				t.Errorf("got %s, want %q in it", said, test.says)
			}
			expect.Same(t, "logins and answers", []int{len(house.logins), house.answers}, []int{test.logins, test.answers})
			if test.per == "trial" {
				expect.Same(t, "cookies", len(house.cookies), 6)
			}
			if _, secret, shown := strings.Cut(said+b.read("run/run.jsonl")+b.read("page.html"), "canary"); shown {
				t.Errorf("got a secret: canary%.200s", secret)
			}
		})
	}
}

// form is a service with a page to log in, which answers by a redirect.
type form struct {
	mu           sync.Mutex
	to           string // where the login redirects to
	status       int
	cookie       http.Cookie
	lasts        int // how many answers a cookie is good for
	logins, left int
}

func (f *form) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch r.URL.Path {
	case "/login":
		f.logins++
		if f.cookie.Name != "" {
			one := f.cookie
			one.Value, f.left = fmt.Sprintf("canary-%d", f.logins), f.lasts
			http.SetCookie(w, &one)
		}
		if f.status == http.StatusOK {
			_, _ = w.Write([]byte("<html>Wrong password</html>"))
			return
		}
		http.Redirect(w, r, f.to, f.status)
	case "/answer":
		if c, err := r.Cookie("visit"); err != nil || f.left == 0 || c.Value != fmt.Sprintf("canary-%d", f.logins) {
			http.Redirect(w, r, "/accounts/login/?next=/answer", http.StatusFound)
			return
		}
		f.left--
		_, _ = w.Write([]byte(`{"text": "right"}`))
	default:
		http.Error(w, "followed", http.StatusTeapot)
	}
}

// A form answers a login by a redirect, which is not followed: its cookies count.
func TestALoginThatRedirects(t *testing.T) {
	t.Parallel()
	visit := http.Cookie{Name: "visit", HttpOnly: true, Path: "/"}
	foreign, secure, gone := visit, visit, visit
	foreign.Domain, secure.Secure, gone.MaxAge = "evil.example", true, -1
	for name, test := range map[string]struct {
		*form
		take   string
		logins int
		code   int
		says   string
	}{
		"home":                  {&form{to: "/home", status: 303, cookie: visit, lasts: 100}, "", 1, 0, "3 trials"},
		"home, by the old code": {&form{to: "/home", status: 302, cookie: visit, lasts: 100}, "", 1, 0, "3 trials"},
		"forgotten":             {&form{to: "/home", status: 303, cookie: visit, lasts: 1}, "", 3, 0, "3 trials"},
		"itself":                {&form{to: "/login?error=1", status: 303, cookie: visit}, "", 1, 4, "the login: it redirects to itself"},
		"elsewhere":             {&form{to: "http://evil.invalid/home", status: 303, cookie: visit}, "", 1, 4, "to http://evil.invalid/home;"},
		"to send it again":      {&form{to: "/home", status: 307, cookie: visit}, "", 1, 4, "redirects are not followed"},
		"without a cookie":      {&form{to: "/home", status: 303}, "", 1, 4, "without a cookie that can be sent back"},
		"cookie of others":      {&form{to: "/home", status: 303, cookie: foreign}, "", 1, 4, "without a cookie that can be sent back"},
		"cookie for https":      {&form{to: "/home", status: 303, cookie: secure, lasts: 100}, "", 1, 0, "3 trials"}, // this machine is as good
		"cookie that is gone":   {&form{to: "/home", status: 303, cookie: gone}, "", 1, 4, "without a cookie that can be sent back"},
		"a page":                {&form{status: 200}, "", 1, 4, "it sets no cookie that can be sent back, and the suite takes nothing"},
		"take":                  {&form{to: "/home", status: 303, cookie: visit}, "take: {token: .token}", 3, 4, "the answer is a redirect"},
		"no use": {
			&form{to: "/home", status: 303, cookie: visit, lasts: 0},
			"", 2, 4,
			"the login: it was accepted, and the endpoint refuses what it gave: it redirects to /accounts/login/; look at its `login`",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t, test.form, nil)
			b.write("suite.yaml", strings.NewReplacer("URL", b.url, "TAKE", test.take).Replace(`version: 1
name: s
targets:
  - name: shop
    http:
      url: URL/answer
      body: {question: "{{prompt}}"}
      answer: .text
      login:
        url: URL/login
        headers: {content-type: application/x-www-form-urlencoded}
        body: "user=me&password=${env:EVALRUN_PASSWORD}"
        TAKE
prompts: [{name: p, text: "question {{.n}}"}]
limits: {concurrency: 1}
defaults: {scorers: [{contains: right}]}
cases: [{name: a, vars: {n: 1}}, {name: b, vars: {n: 2}}, {name: c, vars: {n: 3}}]
`))
			b.env = append(b.env, "EVALRUN_PASSWORD=canary-password")
			b.exits(test.code, "run", "suite.yaml", "--out", "run", "-v")
			said := strings.Join(strings.Fields(b.out+b.errs), " ")
			if !strings.Contains(said, test.says) || strings.Contains(said+b.read("run/run.jsonl"), "canary-password") {
				t.Errorf("got %s, want %q in it, and no secret", said, test.says)
			}
			expect.Same(t, "logins", test.form.logins, test.logins)
		})
	}
}
