package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

const oneCase = "version: 1\nname: s\ntargets: [{name: t, model: my-model}]\nprompts: [{name: p, text: hello}]\ncases: [{name: c, " +
	"scorers: [{equals: hi}]}]\n"

const hi = `{"candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}]}`

// A service needs no metadata of models: where the list is missing as well, a notice says so, and the run continues.
func TestServiceWithoutModelsIsANotice(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	b := newBox(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "models/my-model:generateContent") {
			http.NotFound(w, r)
			return
		}
		calls.Add(1)
		fmt.Fprint(w, hi)
	}), map[string]string{"suite.yaml": oneCase})
	b.exits(0, "run", "suite.yaml")
	b.says("the service reports no metadata of models", "1 pass")
	expect.Same(t, "calls", calls.Load(), 1)
	b.exits(4, "models", "--attempts", "1")
}

// A model that is missing is reported in the service's words, with the version of the interface that has it.
func TestAMissingModelIsReportedWithItsVersion(t *testing.T) {
	t.Parallel()
	b := newBox(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/models":
			fmt.Fprint(w, `{"models":[{"name":"models/other"}]}`)
		case "/v1beta/models/my-model":
			fmt.Fprint(w, `{"name":"models/my-model"}`)
		case "/v1/models/my-model":
			w.WriteHeader(404)
			fmt.Fprint(w, `{"error":{"code":404,"message":"retired in May, ask for its successor","status":"NOT_FOUND"}}`)
		default:
			t.Errorf("got a request for %s, want one for models", r.URL.Path)
		}
	}), map[string]string{"suite.yaml": oneCase})
	b.exits(2, "run", "suite.yaml")
	b.says(
		"suite.yaml:3:28: the service has no model `my-model` (target `t`): retired in May",
		"version v1beta of the interface has it: set `apiVersion: v1beta`",
	)
	b.exits(2, "models", "my-model")
	b.says("retired in May", "v1beta")
}

// Commands that list models take an error, an empty object and null for what they are.
func TestModelsThatAreNoneAreErrors(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"error":{"code":503,"message":"closed on Sundays","status":"UNAVAILABLE"}}`, `{}`, `null`, `[]`} {
		b := newBox(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }), nil)
		b.exits(4, "models", "--attempts", "1")
		b.exits(4, "models", "x", "--attempts", "1")
	}
}

// The emulator accepts any name for a model, so it has none to suggest.
func TestEmulatorTakesAnyModel(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil, map[string]string{"suite.yaml": oneCase, "script.yaml": "rules: [{reply: hi}]\n"})
	b.exits(0, "run", "suite.yaml", "--emulator=script.yaml")
}
