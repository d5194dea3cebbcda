package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// signIn is what a gateway serves to those who did not log in in a browser.
const signIn = "<!DOCTYPE html><html><head><title>Sign in</title></head><body>Sign in</body></html>"

// anyAnswer answers a POST request of any protocol with hi.
func anyAnswer(w http.ResponseWriter, r *http.Request) {
	body := hi
	switch {
	case strings.HasSuffix(r.URL.Path, "/chat/completions"):
		body = `{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`
	case strings.HasSuffix(r.URL.Path, "/responses"):
		body = `{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"hi"}]}]}`
	case strings.HasSuffix(r.URL.Path, "/messages"):
		body = `{"type":"message","role":"assistant","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn"}`
	}
	_, _ = io.WriteString(w, body)
}

// everyProtocol is a suite with a service of each protocol at an address.
func everyProtocol(url string) string {
	return fmt.Sprintf(`version: 1
name: s
services:
  g: {baseUrl: "%[1]s/g"}
  o: {protocol: openai, baseUrl: "%[1]s/o/v1"}
  r: {protocol: responses, baseUrl: "%[1]s/r/v1"}
  a: {protocol: anthropic, baseUrl: "%[1]s/a"}
targets:
  - {name: g, service: g, model: m}
  - {name: o, service: o, model: m}
  - {name: r, service: r, model: m}
  - {name: a, service: a, model: m}
prompts: [{name: p, text: hello}]
cases: [{name: c, scorers: [{equals: hi}]}]
`, url)
}

// What a server sends instead of metadata is its answer: evalrun sends one request, the notice names the service and
// what came, and the run continues. Only for a model that is not there a second request looks for the list.
func TestServersWithoutMetadataAreCalledOnce(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status   int
		body     string
		requests int64 // of each service
		says     string
	}{
		"a page":               {200, signIn, 1, "no metadata of the model m (the answer is a page and not JSON"},
		"no JSON":              {200, "{{{", 1, "no metadata of the model m (the answer is not JSON: {{{)"},
		"nothing":              {200, "", 1, "no metadata of the model m (the answer is empty)"},
		"another thing":        {200, `{"hello":1}`, 1, `no metadata of the model m (the answer is not a model: {"hello":1})`},
		"an error in band":     {200, `{"error":{"message":"not here"}}`, 1, "no metadata of the model m (not here)"},
		"forbidden":            {403, `{"error":{"message":"no list for you"}}`, 1, "no metadata of the model m (403: no list for you)"},
		"forbidden, as a page": {403, signIn, 1, "no metadata of the model m (403: <!DOCTYPE html>"},
		"another method":       {405, "Method Not Allowed", 1, "no metadata of the model m (405: Method Not Allowed)"},
		"missing":              {404, `{"error":{"message":"nothing"}}`, 2, "reports no metadata of models"},
		"missing, as a page":   {404, signIn, 2, "reports no metadata of models"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var looked atomic.Int64
			b := newBox(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodGet {
					anyAnswer(w, r)
					return
				}
				looked.Add(1)
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			}), nil)
			b.write("suite.yaml", everyProtocol(b.url))
			b.exits(0, "run", "suite.yaml")
			b.says("PASS  4 trials", test.says)
			for _, service := range []string{"the service `g`", "the service `o`", "the service `r`", "the service `a`"} {
				b.says(service)
			}
			expect.Same(t, "requests for metadata", looked.Load(), 4*test.requests)
			if strings.Contains(b.errs, "trying up to") {
				t.Errorf("got a wait, want none:\n%s", b.errs)
			}
		})
	}
}

// A model that a service says it does not have is an error at its place, also when its list of models is a page.
func TestAMissingModelIsAnErrorWithoutAList(t *testing.T) {
	t.Parallel()
	var looked atomic.Int64
	b := newBox(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		looked.Add(1)
		if strings.HasSuffix(r.URL.Path, "/models/m") {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"error":{"message":"the model 'm' does not exist"}}`)
			return
		}
		_, _ = io.WriteString(w, signIn)
	}), nil)
	b.write("suite.yaml", everyProtocol(b.url))
	b.exits(2, "run", "suite.yaml")
	for _, name := range []string{"g", "o", "r", "a"} {
		b.says(fmt.Sprintf("the service `%s` has no model `m` (target `%s`)", name, name))
	}
	if n := looked.Load(); n > 10 { // the generative one is looked for in the other version of the interface too
		t.Errorf("%d requests, want the model and the list of each", n)
	}
}

// Servers such as vLLM list models and describe no single one: what they list runs, with its limits, and a name that they do
// not list runs with a warning.
func TestAServerThatOnlyListsModelsHasWhatItLists(t *testing.T) {
	t.Parallel()
	b := newBox(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodGet:
			anyAnswer(w, r)
		case strings.HasSuffix(r.URL.Path, "/models"):
			_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"org/listed","object":"model","max_model_len":32768}]}`)
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"detail":"Not Found"}`)
		}
	}), nil)
	suite := "version: 1\nname: s\nservices: {vllm: {vendor: vllm, baseUrl: \"" + b.url + "/v1\"}}\n" +
		"targets: [{name: t, service: vllm, model: org/%s}]\nprompts: [{name: p, text: hello}]\n" +
		"cases: [{name: c, scorers: [{length: {min: 1}}]}]\n"
	b.write("listed.yaml", fmt.Sprintf(suite, "listed"))
	b.exits(0, "run", "listed.yaml")
	if strings.Contains(b.errs, "org/listed") {
		t.Errorf("got a notice, want none for a model that is listed:\n%s", b.errs)
	}
	b.write("other.yaml", fmt.Sprintf(suite, "listd"))
	b.exits(0, "run", "other.yaml")
	b.says("the service `vllm` does not list the model `org/listd` (target `t`); did you mean `org/listed`?")
}
