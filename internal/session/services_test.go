package session

import (
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// namedSuite has a model under test at a named service, and an application; the judge is at another service.
func namedSuite(name, services string) string {
	return "version: 1\nname: " + name + "\nservices: " + services + `
targets: [{name: t, service: a, model: m}, {name: app, http: {url: "http://127.0.0.1:1/", answer: .text}}]
judges: [{name: editor, service: b, model: j}]
prompts: [{name: p, text: hi}]
cases: [{name: c, scorers: [{judge: {rubric: It is polite.}}]}]
`
}

const bothServices = `{a: {protocol: openai, baseUrl: "https://a.example/v1", keyEnv: A_API_KEY, limits: {concurrency: 2}},` +
	` b: {protocol: anthropic, baseUrl: "https://b.example", keyEnv: B_API_KEY}}`

// Named services are settled one by one: each with its address, its key, and its share of what may be in progress.
func TestNamedServicesAreSettled(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.env["A_API_KEY"] = " open "
	s.write("s.yaml", namedSuite("s", bothServices))
	var f Options
	f.Services = map[string]string{"b": "https://moved.example/"}
	j, err := s.settle(f, "s.yaml")
	expect.OK(t, err)
	a, b := j.Settings.Services["a"], j.Settings.Services["b"]
	expect.Same(t, "addresses", []string{a.URL, b.URL}, []string{"https://a.example/v1", "https://moved.example"})
	expect.Same(t, "keys", []string{a.Key(), b.Key()}, []string{"open", ""})
	expect.Same(t, "callers", []string{a.Caller(), b.Caller()}, []string{"open", ""})
	expect.Same(t, "shares", []int{j.Settings.Limits.Services["a"].Concurrency, j.Settings.Limits.Services["b"].Concurrency}, []int{2, 8})
	expect.Same(t, "called", j.Called(), []string{"a", "b"})
	expect.Same(t, "named", len(j.Named()), 2)
	expect.Same(t, "hidden from programs", j.KeyVariables(), []string{"A_API_KEY", "B_API_KEY"})
	expect.Same(t, "needs the unnamed service", j.NeedsService(), false)
	expect.Same(t, "calls at once: 2 to a, 8 to b, 8 to the application", j.AtOnce(), 18)

	f.Concurrency = 4
	j, err = s.settle(f, "s.yaml")
	expect.OK(t, err)
	expect.Same(t, "calls at once under a limit for all", j.AtOnce(), 4)

	j.Settings.Source = eval.FromRun{Run: "run"}
	expect.Same(t, "called by a rescore", j.Called(), []string{"b"})
	only := "a"
	j.Only = &only
	expect.Same(t, "called where one is looked at", j.Called(), []string{"a"})
}

// Named services that cannot be settled are bad input.
func TestBadNamedServicesAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.write("none.yaml", fourSuite)
	s.write("one.yaml", namedSuite("one", bothServices))
	s.write("two.yaml", namedSuite("two",
		`{a: {protocol: openai, baseUrl: "https://other.example/v1", keyEnv: A_API_KEY, limits: {concurrency: 2}},`+
			` b: {protocol: anthropic, baseUrl: "https://b.example", keyEnv: B_API_KEY}}`))
	moved := func(name, url string) (f Options) {
		f.Services = map[string]string{name: url}
		return f
	}
	emulated := moved("a", "https://x.example")
	emulated.Emulator = eval.DemoScript
	for says, one := range map[string]struct {
		f     Options
		files []string
	}{
		"name no services":      {moved("a", "https://x.example"), []string{"none.yaml"}},
		"there is no service c": {moved("c", "https://x.example"), []string{"one.yaml"}},
		"--service a.baseUrl":   {moved("a", "x"), []string{"one.yaml"}},
		"name two addresses":    {emulated, []string{"one.yaml"}},
		"differ in `baseUrl`":   {Options{}, []string{"one.yaml", "two.yaml"}},
	} {
		_, err := s.settle(one.f, one.files...)
		s.bad(err, says)
	}
	_, err := s.settle(moved("a", "https://x.example"), "one.yaml", "two.yaml") // the flag settles it
	expect.OK(t, err)
	s.env["A_API_KEY"] = "a\nb"
	_, err = s.settle(Options{}, "one.yaml")
	s.bad(err, "A_API_KEY", "in no key")
}
