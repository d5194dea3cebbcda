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
		"never enough":    {"run", "", "canary-password", 0, 2, 0, 4, "expired"},
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
				before, after, _ := strings.Cut(suite, "      login:")
				suite = strings.Replace(before, "      headers: {authorization: \"Bearer {{login.token}}\"}\n", "", 1) +
					"      auth: {command: ./token.sh}\n" + after[strings.Index(after, "prompts:"):]
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
