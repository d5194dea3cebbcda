package main

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// tokenScript prints a token with a number that grows with each run, and notes what it saw of the environment.
const tokenScript = `#!/bin/sh
n=$(($(cat count 2>/dev/null || echo 0) + 1))
echo $n > count
env > seen
echo "noise on standard error: token-number-$n" >&2
echo "token-number-$n"
`

func loginSuite(url, more string) string {
	return fmt.Sprintf(`version: 1
name: s
services:
  one: {baseUrl: %q, metadata: false, auth: {command: [./token.sh]%s}}
  two: {baseUrl: %[1]q, metadata: false, keyEnv: TWO_API_KEY}
targets: [{name: a, service: one, model: m}, {name: b, service: two, model: m}]
prompts: [{name: p, text: hello}]
limits: {concurrency: 1}
cases: [{name: c, repeats: 6, arms: ["a/*"], scorers: [{equals: hi}]}, {name: d, arms: ["b/*"], scorers: [{exec: [./check.sh]}]}]
`, url, more)
}

func newLoginBox(t *testing.T, url, more string) *box {
	b := newBox(t, nil, map[string]string{
		"suite.yaml": loginSuite(url, more), "token.sh": tokenScript,
		"check.sh": "#!/bin/sh\nenv > checked\ncat > /dev/null\necho '{\"score\": 1}'\n",
	})
	for _, name := range []string{"token.sh", "check.sh"} {
		expect.OK(t, os.Chmod(b.path(name), 0o700))
	}
	b.env = append(b.env, "TWO_API_KEY=key-of-the-second", "EVALRUN_PRIVATE=private")
	return b
}

// A program prints the token once, again when the service refuses it, and sees no key. What it prints shows nowhere.
func TestProgramsPrintTokensOnceUnlessRefused(t *testing.T) {
	t.Parallel()
	v := newVendor(t, "", func(w http.ResponseWriter, n int64) {
		if n == 3 {
			status(http.StatusUnauthorized)(w, n)
			return
		}
		says("hi")(w, n)
	})
	b := newLoginBox(t, v.URL, "")
	for _, offline := range []string{"validate suite.yaml", "plan suite.yaml", "run suite.yaml --dry-run", "schema suite"} {
		b.exits(0, strings.Fields(offline)...)
	}
	if _, err := os.Stat(b.path("count")); err == nil {
		t.Fatal("a command that sends nothing has started the program, want it not started")
	}
	b.exits(0, "run", "suite.yaml", "--out", "run", "-v", "-o", "json=run.json", "--record", "kept")
	expect.Same(t, "runs of the program", strings.TrimSpace(b.read("count")), "2")
	expect.Same(t, "calls", v.calls.Load(), 8)
	for _, file := range []string{"seen", "checked"} {
		for _, secret := range []string{"TWO_API_KEY", "EVALRUN_"} {
			if strings.Contains(b.read(file), secret) {
				t.Errorf("got %s in what a program sees (%s), want it hidden", secret, file)
			}
		}
	}
	if strings.Contains(b.out+b.errs+b.read("run/run.jsonl")+b.read("run.json"), "token-number") {
		t.Errorf("got a token, want none:\n%s%s", b.out, b.errs)
	}
}

// A token is replaced when its lifetime ends. A program that fails stops its own service alone, and its words are shown without the token.
func TestTokensAreReplacedWhenTheirLifetimeEnds(t *testing.T) {
	t.Parallel()
	v := newVendor(t, "", says("hi"))
	b := newLoginBox(t, v.URL, ", lifetime: 1ns")
	b.exits(0, "run", "suite.yaml")
	expect.Same(t, "runs of the program", strings.TrimSpace(b.read("count")), "6")
	for words, want := range map[string]string{
		"echo 'not logged in' >&2; exit 3": "the service `one` has no token: " +
			`the program "./token.sh" ended with exit status 3; its standard error: not logged in`,
		"echo eyJhbGciOiJub25lIn0; echo 'got eyJhbGciOiJub25lIn0' >&2; exit 3": `ended with exit status 3; its standard error: got [key]`,
		"echo short; echo 'got short' >&2; exit 3":                             `ended with exit status 3; its standard error: got [key]`,
		"echo 'cannot refresh ya29.a0AfB_byC0123456789 of /home/me/.config/x.json' >&2; exit 4": "ended with exit status 4; " +
			"its standard error: cannot refresh [key] of /home/me/.config/x.json",
		`echo '{"access_token": "Ab1Cd2Ef"}' >&2; exit 5`: `ended with exit status 5; its standard error: {"access_token": "[key]"}`,
		"true":                                  `the program "./token.sh" printed nothing`,
		"echo one; echo two":                    `the program "./token.sh" printed more than a token`,
		"head -c 100000 /dev/zero | tr '\\0' x": `the program "./token.sh" wrote more than 65536 bytes`,
	} {
		b.write("token.sh", "#!/bin/sh\n"+words+"\n")
		b.exits(4, "run", "suite.yaml", "-o", "table", "-v")
		b.says(want, "7 trials: 1 pass, 0 fail, 1 error, 5 skip")
		for _, token := range []string{"eyJhbG", "short", "ya29", "Ab1Cd2Ef"} {
			if strings.Contains(b.out+b.errs, token) {
				t.Errorf("%s: got the token, want it hidden:\n%s%s", words, b.out, b.errs)
			}
		}
	}
	b.exits(2, "run", "suite.yaml", "--untrusted", "--allow", "services=127.0.0.1")
	b.says("an untrusted suite cannot start programs", "add --allow program")
}

// Headers that come from the environment are secret, and a service without metadata is one with a notice.
func TestServicesBehindGatewaysKeepHeadersSecret(t *testing.T) {
	t.Parallel()
	var paths []string
	var gateway string
	b := newBox(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			http.NotFound(w, r)
			return
		}
		paths, gateway = append(paths, r.URL.Path), r.Header.Get("X-Gateway")
		says("hi, "+gateway)(w, 1)
	}), nil)
	b.write("suite.yaml", fmt.Sprintf(`version: 1
name: s
services:
  gate: {baseUrl: "%s/v1/projects/p", path: "publishers/{model}:{method}", headers: {x-gateway: "${env:EVALRUN_GATEWAY}", x-plain: yes}}
targets: [{name: a, service: gate, model: m}]
prompts: [{name: p, text: hello}]
cases: [{name: c, scorers: [{contains: hi}]}]
`, b.url))
	b.exits(2, "run", "suite.yaml")
	b.says("the environment variable EVALRUN_GATEWAY is not set, and the service `gate` needs it (suite.yaml:4:")
	b.env = append(b.env, "EVALRUN_GATEWAY=secret-of-the-gateway")
	b.exits(0, "run", "suite.yaml", "--out", "run")
	b.says("the service `gate` reports no metadata of models")
	expect.Same(t, "paths", paths, []string{"/v1/projects/p/publishers/m:generateContent"})
	expect.Same(t, "the header", gateway, "secret-of-the-gateway")
	if strings.Contains(b.out+b.errs+b.read("run/run.jsonl"), "secret-of") {
		t.Error("the output or the run file shows the header, want it hidden")
	}
	b.exits(0, "doctor", "suite.yaml")
	b.says("`gate` (" + b.url + "/v1/projects/p) reports no metadata of models")
}

// A run of somebody else sends no key to its services and starts none of their programs, unless it is trusted. A resumed run goes where it
// went.
func TestServicesOfRunsOfOthersGetNoKey(t *testing.T) {
	t.Parallel()
	v := newVendor(t, "", status(http.StatusForbidden))
	b := newLoginBox(t, v.URL, "")
	b.exits(4, "run", "suite.yaml", "--out", "run")
	calls := v.calls.Load()
	mine := b.env
	b.env = append(b.env, "XDG_CONFIG_HOME="+b.path("another"))
	b.exits(2, "resume", "run")
	b.says(
		"was signed by somebody else", "send requests to "+v.URL+" (the service `one`), without a key",
		"send requests to "+v.URL+" (the service `two`), with your key in TWO_API_KEY", `start the program "./token.sh"`,
	)
	expect.Same(t, "calls for the run of somebody else", v.calls.Load(), calls)
	b.env = mine
	b.exits(2, "resume", "run", "--service", "two.baseUrl=http://127.0.0.1:1")
	b.says("sends to " + v.URL + " as the service `two`, and --service says http://127.0.0.1:1")
	v.answers(says("hi"))
	b.exits(0, "resume", "run")
	b.says("7 pass")
}

// Services of the project file are there for suites that define none of the name, when a run is resumed or compared too.
func TestServicesOfProjectsServeSuitesWithoutTheirOwn(t *testing.T) {
	t.Parallel()
	one, own := newVendor(t, "key-of-one", status(http.StatusUnauthorized)), newVendor(t, "", says("own"))
	b := newBox(t, nil, map[string]string{
		"evalrun.yaml": fmt.Sprintf(
			"suites: evals/*.yaml\nservices:\n  one: {baseUrl: %q, keyEnv: ONE_API_KEY}\n  two: {baseUrl: %[1]q}\n", one.URL,
		),
		"evals/a.yaml": "version: 1\nname: a\ntargets: [{name: t, service: one, model: m}]\n" +
			"judges: [{name: j, service: one, model: m, choose: {}}]\n" +
			"prompts: [{name: p, text: hello}]\ncases: [{name: c, scorers: [{equals: one}]}]\n",
		"own.yaml": fmt.Sprintf("version: 1\nname: own\nservices: {one: {baseUrl: %q}}\ntargets: [{name: t, service: one, model: m}]\n"+
			"prompts: [{name: p, text: hello}]\ncases: [{name: c, scorers: [{equals: own}]}]\n", own.URL),
	})
	b.env = append(b.env, "ONE_API_KEY=key-of-one")
	b.exits(4, "run", "--out", "run")
	b.says("the service `one` (" + one.URL + ") refuses the key in ONE_API_KEY")
	b.exits(0, "run", "own.yaml", "--out", "other")
	one.answers(says("one"))
	b.write("evalrun.yaml", "suites: evals/*.yaml\n") // the run has its copy
	b.exits(0, "resume", "run")
	expect.Same(t, "calls with the key", one.keyed.Load(), one.calls.Load())
	b.exits(2, "run")
	b.says("there is no service `one`: the suite names none")
	b.write("evalrun.yaml", "suites: evals/*.yaml\nservices: {one: {baseUrl: http://example.invalid, keyEnv: TOKEN}}\n")
	b.exits(2, "run")
	b.says("evalrun.yaml:2:59: `keyEnv` names TOKEN", "evalrun.yaml:2:27: ")
	b.exits(2, "run", "evals/a.yaml", "--untrusted")
	b.says("there is no service `one`")
}

// Answers that a service refused to embed are kept: once it has the right key, they are compared, and no answer is
// requested again.
func TestAnswersThatWereNotEmbeddedAreKept(t *testing.T) {
	t.Parallel()
	model, embedding := newVendor(t, "", says("hi")), newVendor(t, "", status(http.StatusUnauthorized))
	b := newBox(t, nil, map[string]string{"suite.yaml": fmt.Sprintf(`version: 1
name: s
services:
  model: {baseUrl: %q}
  embedding: {protocol: openai, baseUrl: %q, metadata: false}
targets: [{name: t, service: model, model: m}]
embedding: {service: embedding, model: text-embedding}
prompts: [{name: p, text: hello}]
cases: [{name: compared, scorers: [{similar: {to: good day, min: 0.9}}]}]
`, model.URL, embedding.URL)})
	b.exits(4, "run", "suite.yaml", "--out", "run")
	embedding.answers(nil)
	b.exits(0, "resume", "run")
	b.says("PASS  1 trial")
	expect.Same(t, "calls of the model", model.calls.Load(), 1)
}
