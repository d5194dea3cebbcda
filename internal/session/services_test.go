package session

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/flow"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/suite"
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

// What a protocol does not have is refused without a request, and no protocol claims what its client cannot do.
func TestWhatProtocolsCannotDoIsReported(t *testing.T) {
	t.Parallel()
	for name, one := range map[eval.ProtocolName]struct{ counts, embeds, lists bool }{
		eval.Generative: {true, true, true},
		eval.OpenAI:     {false, true, true},
		eval.Responses:  {false, false, true},
		eval.Anthropic:  {true, false, true},
	} {
		expect.Same(t, string(name)+" counts", Can(name, wire.MethodCountTokens), one.counts)
		expect.Same(t, string(name)+" embeds", Can(name, wire.MethodEmbed), one.embeds)
		c := contact{NamedService: &suite.NamedService{Name: "s", Protocol: name}, URL: "http://127.0.0.1:1"}
		client := c.Connect()
		defer client.Close()
		to := asService(client, true)
		var refused []error
		if !one.counts {
			_, err := to.CountTokens(t.Context(), &eval.Call{})
			refused = append(refused, err)
		}
		if !one.embeds {
			_, err := to.Embed(t.Context(), &eval.EmbedCall{})
			refused = append(refused, err)
		}
		_, err := to.Models(t.Context(), "") // no metadata are requested
		refused = append(refused, err)
		for _, err := range refused {
			if e := eval.AsError(err); e == nil || !e.Unsent || e.Retry != eval.RetryNever {
				t.Errorf("%s: got %v, want an error of a call that was not sent", name, err)
			}
		}
	}
}

// A secret header counts with the token behind its scheme, and only secret ones do.
func TestSecretHeadersCountWithTheirToken(t *testing.T) {
	t.Parallel()
	c := contact{NamedService: &suite.NamedService{Headers: []eval.Header{
		{Name: "authorization", Value: "Bearer hush", Secret: true}, {Name: "x-team", Value: "open"}, {Name: "x-empty", Secret: true},
	}}}
	expect.Same(t, "secrets", c.Secrets(), []string{"Bearer hush", "hush"})
	expect.Same(t, "headers", len(c.headers()), 3)
}

type answering struct{}

func (answering) Generate(context.Context, *eval.Call) (*eval.Response, error) {
	return &eval.Response{}, nil
}

// Where nothing should be called, a call is an error that says what is missing, not a panic.
func TestStandInsRefuseCalls(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for name, s := range map[string]struct {
		flow.Service
		want refusing
	}{
		"no model":    {absent{refusing: noModel}, noModel},
		"application": {caller{refusing: onlyGenerate, attempter: answering{}}, onlyGenerate},
	} {
		calls := map[string]func() error{
			"generate": func() error { _, err := s.Generate(ctx, &eval.Call{}); return err },
			"count":    func() error { _, err := s.CountTokens(ctx, &eval.Call{}); return err },
			"embed":    func() error { _, err := s.Embed(ctx, &eval.EmbedCall{}); return err },
			"model":    func() error { _, err := s.Model(ctx, "v1", "m"); return err },
			"models":   func() error { _, err := s.Models(ctx, "v1"); return err },
		}
		if name == "application" {
			if err := calls["generate"](); err != nil {
				t.Errorf("%s: got %v, want an answer", name, err)
			}
			delete(calls, "generate")
		}
		for what, call := range calls {
			var e *eval.Error
			if err := call(); !errors.As(err, &e) || e.Message != string(s.want) || e.Retry != eval.RetryNever || !e.Unsent {
				t.Errorf("%s, %s: got %v, want an *eval.Error with %q", name, what, err, s.want)
			}
		}
	}
}

func TestScopesAreTakenByName(t *testing.T) {
	t.Parallel()
	const base = "https://scopes.example/auth"
	for _, test := range []struct {
		base  string
		names []string
		want  []string
		says  string // of the error
	}{
		{base, nil, []string{scopeOf(base, scopeRetriever)}, ""},
		{base, []string{"retriever", scopeRetriever}, []string{scopeOf(base, scopeRetriever)}, ""},
		{"", []string{"https://other.example/whole"}, []string{"https://other.example/whole"}, ""},
		{"", []string{"retriever"}, nil, "needs the prefix of the deployment's scopes"},
		{base, []string{"retreiver"}, nil, "there is no scope"},
	} {
		names, err := scopeNames(test.names)
		var got []string
		if err == nil {
			got, err = loginScopes(test.base, names)
		}
		if test.says == "" {
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("%q: %q, %v; want %q", test.names, got, err, test.want)
			}
			continue
		}
		if eval.CodeOf(err) != eval.CodeBadInput || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%q: %v, want exit 2 and %q", test.names, err, test.says)
		}
	}
}
