package suite_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/suite"
)

// endpoint loads a target with an http block in flow style.
func endpoint(t testing.TB, block string, opts suite.Options) (*suite.HTTPTarget, *diag.List) {
	t.Helper()
	s, diags := fromText(`version: 1
name: s
targets: [{name: a, http: `+block+`}]
prompts: [{name: p, text: "Hi {{.x}}"}]
cases: [{name: c, vars: {x: X, d: D, l: [a, {b: c}], m: {k: v}}, scorers: [{contains: x}]}]
`, opts)
	e, _ := s.Targets[0].Of.(*suite.HTTPTarget)
	return e, diags
}

func conversation() *eval.Input {
	return &eval.Input{
		Vars:   eval.Dict{"x": "a/b?c#d%&=+ü\"\n{{prompt}}", "l": eval.Array{"a", eval.Dict{"b": "c"}}, "m": eval.Dict{"k": "v"}, "d": ".."},
		System: "be brief", Trial: "t1", Attempt: 2,
		Messages: []eval.Message{{Role: "user", Text: "first"}, {Role: "assistant", Text: "yes"}, {Role: "user", Text: "say \"{{.x}}\"\n\\"}},
	}
}

func rendered(t testing.TB, block string, in *eval.Input) *eval.HTTP {
	t.Helper()
	a, diags := endpoint(t, block, suite.Options{})
	if diags.HasErrors() {
		t.Fatalf("%s: got %v, want no problem", block, diags.Err())
	}
	sent, err := a.Render(in)
	expect.OK(t, err)
	return sent.Payload.(*eval.HTTP)
}

// Values go in as data, and a text of a mapping that is one action keeps the type of its value.
func TestHTTPBodyKeepsTheTypesOfValues(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{q: "{{prompt}}"}`:                                       `{"q":"say \"{{.x}}\"\n\\"}`,
		`{q: "<{{prompt}}>"}`:                                     `{"q":"<say \"{{.x}}\"\n\\>"}`,
		`{q: "{{.l}}", r: "{{.m}}"}`:                              `{"q":["a",{"b":"c"}],"r":{"k":"v"}}`,
		`{q: " {{.l}}"}`:                                          `{"q":" [\"a\",{\"b\":\"c\"}]"}`,
		`{q: "{{len .l}}", r: "{{attempt}}"}`:                     `{"q":2,"r":2}`,
		`{q: "{{eq .d \"..\"}}"}`:                                 `{"q":true}`,
		`{q: "{{trial}}-{{attempt}}"}`:                            `{"q":"t1-2"}`,
		`{q: "{{system}}"}`:                                       `{"q":"be brief"}`,
		`{q: "{{range messages}}{{.role}}:{{.content}};{{end}}"}`: `{"q":"user:first;assistant:yes;user:say \"{{.x}}\"\n\\;"}`,
		`{q: "{{messages}}"}`: `{"q":[{"role":"user","content":"first"},{"role":"assistant","content":"yes"},` +
			`{"role":"user","content":"say \"{{.x}}\"\n\\"}]}`,
		`{z: 1, a: 2.50, t: true, n: null, s: "5", e: {}, l: [], d: 2026-01-31}`: `{"z":1,"a":2.50,"t":true,"n":null,` +
			`"s":"5","e":{},"l":[],"d":"2026-01-31"}`,
		`[{q: "{{.d}}"}, [1, "{{.m.k}}"]]`: `[{"q":".."},[1,"v"]]`,
		`"plain {{prompt | json}}"`:        `plain "say \"{{.x}}\"\n\\"`,
		`"{{json messages}}"`: `[{"role":"user","content":"first"},{"role":"assistant","content":"yes"},` +
			`{"role":"user","content":"say \"{{.x}}\"\n\\"}]`,
		`"${env:EVALRUN_X}"`: `${env:EVALRUN_X}`,
	} {
		got := rendered(t, `{url: http://127.0.0.1/x, body: `+body+`}`, conversation())
		expect.Same(t, body, got.Body, want)
		if mapping := body[0] == '{' || body[0] == '['; mapping != (got.Headers[0].Value == "application/json") ||
			mapping != json.Valid([]byte(got.Body)) && mapping {
			t.Errorf("%s: got %v %s, want JSON with its content type for a mapping alone", body, got.Headers, got.Body)
		}
	}
}

// Data in an address can change neither its path nor its query.
func TestHTTPURLDataChangesNoPathOrQuery(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"http://127.0.0.1/{{.x}}/end?q={{.x}}": "http://127.0.0.1/a%2Fb%3Fc%23d%25%26%3D%2B%C3%BC%22%0A%7B%7Bprompt%7D%7D/end?q=" +
			"a%2Fb%3Fc%23d%25%26%3D%2B%C3%BC%22%0A%7B%7Bprompt%7D%7D",
		"http://127.0.0.1/{{.d}}/{{.d}}x":             "http://127.0.0.1/%2E%2E/%2E%2Ex",
		"http://127.0.0.1/{{if .x}}{{.m.k}}/{{end}}":  "http://127.0.0.1/v/",
		"http://127.0.0.1?a={{trial}}&b={{attempt}}":  "http://127.0.0.1?a=t1&b=2",
		"http://127.0.0.1/a b?q=ü&r={{.m.k | upper}}": "http://127.0.0.1/a%20b?q=%C3%BC&r=V",
		"http://127.0.0.1/{{range .l}}[{{.}}]{{end}}": "http://127.0.0.1/[a][%7B%22b%22%3A%22c%22%7D]",
		"http://[::1]:8080/x":                         "http://[::1]:8080/x",
		"HTTP://127.0.0.1/x":                          "",
	} {
		if want == "" {
			if _, diags := endpoint(t, `{url: "`+address+`"}`, suite.Options{}); !diags.HasErrors() {
				t.Errorf("%s: got no problem, want one", address)
			}
			continue
		}
		expect.Same(t, address, rendered(t, `{url: "`+address+`"}`, conversation()).URL, want)
	}
}

// Header values refuse what would begin another line, whatever it comes from.
func TestHTTPHeadersRefuseLineBreaks(t *testing.T) {
	t.Parallel()
	a, diags := endpoint(t, `{url: http://127.0.0.1/x, headers: {X-One: "{{.x}}", x-two: "t\tab {{.m.k}}",`+
		` Content-Type: text/csv}, body: {a: 1}}`, suite.Options{})
	expect.OK(t, diags.Err())
	for value, fine := range map[string]bool{"plain": true, "ü": true, "a\nb": false, "a\r\nX: y": false, "a\x00": false, "a\x7f": false} {
		in := conversation()
		in.Vars["x"] = value
		sent, err := a.Render(in)
		if (err == nil) != fine {
			t.Errorf("%q: got %v, want it to be fine: %t", value, err, fine)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "s.yaml:3:") {
			t.Errorf("%q: got %v, want the place", value, err)
		}
		if err == nil {
			want := []eval.Header{
				{Name: "X-One", Value: value, Data: true},
				{Name: "x-two", Value: "t\tab v", Data: true},
				{Name: "Content-Type", Value: "text/csv"},
			}
			expect.Same(t, value, sent.Payload.(*eval.HTTP).Headers, want)
		}
	}
}

// What comes from the environment is sent, and neither recorded nor a part of what a trial is known by as it is.
func TestHTTPEnvironmentIsSentAndNotRecorded(t *testing.T) {
	t.Parallel()
	env := map[string]string{"EVALRUN_HOST": "127.0.0.1:8080", "EVALRUN_KEY": "k 1{{.x}}\n", "EVALRUN_TOKEN": "canary-1"}
	opts := suite.Options{Getenv: func(name string) string { return env[name] }}
	const block = `{url: "http://${env:EVALRUN_HOST}/{{.m.k}}?key=${env:EVALRUN_KEY}",` +
		` headers: {x: "T ${env:EVALRUN_TOKEN}", authorization: "{{.d}}"}}`
	render := func() *eval.Rendered {
		t.Helper()
		a, diags := endpoint(t, strings.Replace(block, "{{.d}}", "{{.x}}", 1), opts)
		expect.OK(t, diags.Err())
		in := conversation()
		in.Vars["x"] = "${env:EVALRUN_TOKEN}"
		sent, err := a.Render(in)
		expect.OK(t, err)
		expect.Same(t, "secrets", len(a.Secrets) >= 2, true)
		return sent
	}
	sent := render()
	expect.Same(t, "url", sent.Payload.(*eval.HTTP).URL, "http://127.0.0.1:8080/v?key=k%201%7B%7B.x%7D%7D")
	expect.Same(t, "headers", sent.Payload.(*eval.HTTP).Headers, []eval.Header{
		{Name: "x", Value: "T canary-1", Secret: true},
		{Name: "authorization", Value: "${env:EVALRUN_TOKEN}", Secret: true, Data: true},
	})
	recorded, err := json.Marshal(sent.WithoutSecrets())
	expect.OK(t, err)
	expect.Same(t, "recorded", string(recorded), `{"http":{"method":"POST","url":"http://${env:EVALRUN_HOST}/v?key=${env:EVALRUN_KEY}",`+
		`"headers":[{"name":"x","secret":true},{"name":"authorization","secret":true}]}}`)
	identity := func(r *eval.Rendered) string {
		t.Helper()
		data, err := json.Marshal(r.WithoutSecrets().Identity())
		expect.OK(t, err)
		if strings.Contains(string(data), "8080") || strings.Contains(string(data), "canary") {
			t.Errorf("got %s, want no value of the environment", data)
		}
		return string(data)
	}
	before := identity(sent)
	env["EVALRUN_TOKEN"] = "canary-2"
	expect.Same(t, "identity with another token", identity(render()), before)
	env["EVALRUN_HOST"] = "127.0.0.1:8081"
	if identity(render()) == before {
		t.Error("got the same request for two hosts, want two")
	}
}

// A variable of the environment is data in the path and the query, and as it is where it names the host.
func TestHTTPAddressEscapesVariables(t *testing.T) {
	t.Parallel()
	env := map[string]string{"EVALRUN_URL": "https://h.example/a/b?k=v w", "EVALRUN_HOST": "h.example:8443", "EVALRUN_KEY": "a/b+c=&?"}
	opts := suite.Options{Getenv: func(name string) string { return env[name] }}
	for address, want := range map[string]string{
		"${env:EVALRUN_URL}":                               "https://h.example/a/b?k=v%20w",
		"${env:EVALRUN_URL}&q={{.m.k}}":                    "https://h.example/a/b?k=v%20w&q=v",
		"https://${env:EVALRUN_HOST}/{{.m.k}}":             "https://h.example:8443/v",
		"https://h.example/${env:EVALRUN_KEY}/x":           "https://h.example/a%2Fb%2Bc%3D%26%3F/x",
		"https://${env:EVALRUN_HOST}?k=${env:EVALRUN_KEY}": "https://h.example:8443?k=a%2Fb%2Bc%3D%26%3F",
		"https://h.example/{{.m.k}}/${env:EVALRUN_KEY}":    "https://h.example/v/a%2Fb%2Bc%3D%26%3F",
	} {
		a, diags := endpoint(t, `{url: "`+address+`"}`, opts)
		expect.OK(t, diags.Err())
		sent, err := a.Render(conversation())
		expect.OK(t, err)
		expect.Same(t, address, sent.Payload.(*eval.HTTP).URL, want)
		expect.Same(t, address, sent.Payload.(*eval.HTTP).Shown, strings.Replace(address, "{{.m.k}}", "v", 1))
	}
}

// A secret leaves this machine by https alone.
func TestHTTPSecretsLeaveByHTTPSAlone(t *testing.T) {
	t.Parallel()
	values := map[string]string{
		"EVALRUN_A": "a-secret", "EVALRUN_URL": "http://app.example/v1", "EVALRUN_QUERY": "http://app.example/?k=a-secret",
	}
	opts := suite.Options{Getenv: func(name string) string { return values[name] }}
	for block, want := range map[string]string{
		`{url: http://app.example/x, headers: {x: "${env:EVALRUN_A}"}}`: "the header `x` is secret, and would travel in " +
			"the clear to app.example",
		`{url: http://app.example/x, headers: {Cookie: "{{.x}}"}}`:                                 "the header `Cookie` is secret",
		`{url: "http://app.example/x?k=${env:EVALRUN_A}"}`:                                         "the url holds a secret",
		`{url: "http://${env:EVALRUN_A}/x", headers: {cookie: "{{.x}}"}}`:                          "would travel in the clear to a-secret",
		`{url: "http://${env:EVALRUN_A}/x"}`:                                                       "",
		`{url: "${env:EVALRUN_URL}/chat"}`:                                                         "",
		`{url: "${env:EVALRUN_QUERY}"}`:                                                            "the url holds a secret",
		`{url: http://localhost/x, headers: {x: "${env:EVALRUN_A}"}}`:                              "",
		`{url: "http://[::1]/x?k=${env:EVALRUN_A}"}`:                                               "",
		`{url: http://127.8.0.1/x, headers: {x: "${env:EVALRUN_A}"}}`:                              "",
		`{url: https://app.example/x, headers: {x: "${env:EVALRUN_A}"}}`:                           "",
		`{url: http://app.example/x, auth: {command: sh}}`:                                         "the token would travel in the clear",
		`{url: https://app.example/x, auth: {command: sh}}`:                                        "",
		`{url: https://app.example/x, auth: {command: sh}, headers: {Authorization: x}}`:           "`auth` sets the header `Authorization`",
		`{url: https://app.example/x, auth: {command: sh}, login: {url: "https://app.example/l"}}`: "a target has a `login` or a program",
	} {
		_, diags := endpoint(t, block, opts)
		got := ""
		if err := diags.Err(); err != nil {
			got = err.Error()
		}
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", block, got, want)
		}
	}
}

// An untrusted suite sends where it is allowed to, and reads answers by paths.
func TestUntrustedHTTPSendsOnlyWhereAllowed(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		block string
		allow []string
		want  string
	}{
		{`{url: http://127.0.0.1:8080/x}`, nil, "an untrusted suite cannot send requests to 127.0.0.1:8080"},
		{`{url: http://127.0.0.1:8080/x}`, []string{"http=127.0.0.1:8081"}, "cannot send requests to 127.0.0.1:8080"},
		{`{url: http://127.0.0.1:8080/x}`, []string{"http=127.0.0.1:8080"}, ""},
		{`{url: http://127.0.0.1:8080/x}`, []string{"http=127.0.0.1"}, ""},
		{`{url: "http://127.0.0.1:8080@evil.example/x"}`, []string{"http=127.0.0.1"}, "must not hold a user"},
		{`{url: "http://127.0.0.1\\@evil.example/x"}`, []string{"http=127.0.0.1"}, "`url` "},
		{`{url: http://127.0.0.1:8080/x, headers: {x: "${env:EVALRUN_X}"}}`, []string{"http=127.0.0.1"}, "cannot read the environment"},
		{`{url: "http://127.0.0.1:8080/${env:EVALRUN_X}"}`, []string{"http=127.0.0.1"}, "cannot read the environment"},
		{`{url: "${env:EVALRUN_X}/x"}`, []string{"http=127.0.0.1"}, "cannot read the environment"},
		{`{url: http://127.0.0.1:8080/x, answer: "[.a] | add"}`, []string{"http=127.0.0.1"}, "jq only takes paths"},
		{`{url: http://127.0.0.1:8080/x, answer: ".a[0].b"}`, []string{"http=127.0.0.1"}, ""},
		{`{url: http://127.0.0.1:8080/x, auth: {command: sh}}`, []string{"http=127.0.0.1"}, "cannot start programs"},
		{`{url: http://127.0.0.1:8080/x, auth: {command: sh}}`, []string{"http=127.0.0.1", "program"}, ""},
	} {
		_, diags := endpoint(t, one.block, suite.Options{Untrusted: true, Allow: one.allow})
		got := ""
		if err := diags.Err(); err != nil {
			got = err.Error()
		}
		if (one.want == "") != (got == "") || !strings.Contains(got, one.want) {
			t.Errorf("%s %v: got %q, want %q", one.block, one.allow, got, one.want)
		}
	}
}

// What an endpoint is not sent of a prompt is a warning.
func TestHTTPWarnsOfWhatIsNotSent(t *testing.T) {
	t.Parallel()
	for _, one := range []struct{ body, prompt, want string }{
		{`{a: 1}`, `text: hi`, "is not sent anything of the prompt `p`"},
		{`{a: "{{prompt}}"}`, `text: hi`, ""},
		{`{a: "{{prompt}}"}`, `text: hi, system: be brief`, "is not sent the system text of the prompt `p`"},
		{`{a: "{{prompt}}", s: "{{system}}"}`, `text: hi, system: be brief`, ""},
		{`{a: "{{prompt}}"}`, `turns: [{user: a}, {model: b}, {user: c}]`, "is not sent the turns of the prompt `p` before the last one"},
		{`{a: "{{messages}}"}`, `turns: [{user: a}, {model: b}, {user: c}]`, ""},
		{`{a: "{{prompt}}"}`, `live: true, turns: [{user: a}, {user: c}]`, "is not sent what was said before the last turn of the chat `p`"},
		{`{a: "{{prompt}}", s: "{{trial}}"}`, `live: true, turns: [{user: a}, {user: c}]`, ""},
	} {
		_, diags := fromText("version: 1\nname: s\ntargets: [{name: a, http: {url: http://127.0.0.1/x, body: "+one.body+
			"}}]\nprompts: [{name: p, "+
			one.prompt+"}]\ncases: [{name: c, scorers: [{contains: x}]}]\n", suite.Options{})
		got := ""
		for _, d := range diags.Sorted() {
			got += d.Message + "\n"
		}
		if (one.want == "") != (got == "") || !strings.Contains(got, one.want) {
			t.Errorf("%s, %s: got %q, want %q", one.body, one.prompt, got, one.want)
		}
	}
}

// FuzzHTTP holds that a prompt and a variable are data wherever they are inserted. The body stays JSON with them in it,
// the address keeps its host, path and query, and a header is one line or refused.
func FuzzHTTP(f *testing.F) {
	for _, s := range hostile.Strings() {
		f.Add(s)
	}
	for _, s := range []string{"{{prompt}}", "\"}", "a\r\nX: y", "../..", "?#/%2e", "${env:EVALRUN_TOKEN}", "{{", "\\u0022"} {
		f.Add(s)
	}
	opts := suite.Options{Getenv: func(string) string { return "canary" }}
	const block = `{url: "https://h.example/a/{{.x}}/b?q={{prompt}}&k=1", headers: {x: "{{.x}}", y: "${env:EVALRUN_TOKEN}"}, ` +
		`body: {q: "{{prompt}}", m: "{{messages}}", mixed: "<{{.x}}>", s: "{{system}}", l: ["{{.x | json}}"], n: 5}}`
	a, diags := endpoint(f, block, opts)
	expect.OK(f, diags.Err())
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 10_000 {
			return
		}
		sent, err := a.Render(&eval.Input{Vars: eval.Dict{"x": text}, System: text, Messages: []eval.Message{{Role: "user", Text: text}}})
		if oneLine := !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }); oneLine != (err == nil) {
			t.Fatalf("%q: got %v, want it to be taken: %t", text, err, oneLine)
		}
		if err != nil {
			return
		}
		checkInserted(t, sent.Payload.(*eval.HTTP), text)
	})
}

// checkInserted looks for a text where it was inserted.
func checkInserted(t *testing.T, sent *eval.HTTP, text string) {
	t.Helper()
	u, err := url.Parse(sent.URL)
	expect.OK(t, err)
	expect.Same(t, "host", u.Host, "h.example")
	expect.Same(t, "path", u.Path, "/a/"+text+"/b")
	expect.Same(t, "parts of the path", strings.Count(u.EscapedPath(), "/"), 3)
	expect.Same(t, "query", u.Query().Get("q")+"&"+u.Query().Get("k"), text+"&1")
	expect.Same(t, "header", sent.Headers[0].Value, text)
	var body struct {
		Q, Mixed, S string
		M           []struct{ Role, Content string }
		L           []string
		N           int
	}
	expect.OK(t, json.Unmarshal([]byte(sent.Body), &body))
	if !utf8.ValidString(text) { // which JSON cannot hold
		return
	}
	quoted := ""
	expect.OK(t, json.Unmarshal([]byte(body.L[0]), &quoted))
	for where, got := range map[string]string{
		"prompt": body.Q, "messages": body.M[0].Content, "variable": body.Mixed[1 : len(body.Mixed)-1], "system": body.S, "json": quoted,
	} {
		expect.Same(t, where, got, text)
	}
	expect.Same(t, "number", body.N, 5)
}
