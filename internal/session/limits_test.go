package session

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/suite"
)

func limitedSuite(name, keys string) string {
	return "version: 1\nname: " + name + "\n" + keys +
		"\ntargets: [{name: t, model: svc-pro}]\nprompts: [{name: p, text: hi}]\ncases: [{name: c, scorers: [{equals: hi}]}]\n"
}

const allLimits = `prices: suite-prices.yaml
limits:
  concurrency: 2
  requestsPerMinute: 60
  tokensPerMinute: 600
  budget: {tokens: 1000, calls: 10, money: 1.5, time: 1m}
  timeout: 2s
  attempts: 3
  batch: {wait: 3h}
  countTokens: never
  models: {svc-pro: {requestsPerMinute: 30}}`

// Each limit of a suite holds until its own flag is given, and no flag touches another limit.
func TestEveryLimitOfAFlagWins(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.write("suite-prices.yaml", "currency: USD\nmodels: {svc-pro: {input: 1, output: 2}}\n")
	s.write("flag-prices.yaml", "currency: EUR\nmodels: {svc-pro: {input: 3, output: 4}}\n")
	s.write("s.yaml", limitedSuite("s", allLimits))
	whole := suite.Limits{
		Concurrency: 2, RequestsPerMinute: 60, TokensPerMinute: 600, BudgetTokens: 1000, BudgetCalls: 10, BudgetMoney: 1.5,
		BudgetTime: time.Minute, Timeout: 2 * time.Second, Attempts: 3, CountTokens: suite.CountNever, BatchWait: 3 * time.Hour,
		Models: []suite.ModelLimits{{Model: "svc-pro", RequestsPerMinute: 30}},
	}
	for name, test := range map[string]struct {
		given  eval.LimitOptions
		change func(*suite.Limits)
	}{
		"none":           {eval.LimitOptions{}, func(*suite.Limits) {}},
		"--concurrency":  {eval.LimitOptions{Concurrency: 9}, func(l *suite.Limits) { l.Concurrency = 9 }},
		"--rpm":          {eval.LimitOptions{RPM: 9}, func(l *suite.Limits) { l.RequestsPerMinute = 9 }},
		"--tpm":          {eval.LimitOptions{TPM: 9}, func(l *suite.Limits) { l.TokensPerMinute = 9 }},
		"--budget-token": {eval.LimitOptions{BudgetTokens: 9}, func(l *suite.Limits) { l.BudgetTokens = 9 }},
		"--budget-calls": {eval.LimitOptions{BudgetCalls: 9}, func(l *suite.Limits) { l.BudgetCalls = 9 }},
		"--budget-money": {eval.LimitOptions{BudgetMoney: 9}, func(l *suite.Limits) { l.BudgetMoney = 9 }},
		"--budget-time":  {eval.LimitOptions{BudgetTime: 9}, func(l *suite.Limits) { l.BudgetTime = 9 }},
		"--timeout":      {eval.LimitOptions{Timeout: 9}, func(l *suite.Limits) { l.Timeout = 9 }},
		"--attempts":     {eval.LimitOptions{Attempts: 9}, func(l *suite.Limits) { l.Attempts = 9 }},
	} {
		j, err := s.settle(Options{Options: eval.Options{LimitOptions: test.given}}, "s.yaml")
		if err != nil {
			t.Errorf("%s: %v, want no error", name, err)
			continue
		}
		want := whole
		test.change(&want)
		expect.Same(t, name, j.Settings.Limits, want)
		expect.Same(t, name+": currency", j.Settings.Prices.Currency, "USD")
	}
	j, err := s.settle(Options{Options: eval.Options{LimitOptions: eval.LimitOptions{Prices: s.at.Join("flag-prices.yaml")}}}, "s.yaml")
	if err != nil || j.Settings.Prices.Currency != "EUR" {
		t.Errorf("with --prices: %v, %v, want prices in EUR", j.Settings.Prices, err)
	}
}

// Each setting of the service comes from its flag, else from its variable, else from the suite.
func TestEverySettingOfTheServiceHasItsOwnPrecedence(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.write("s.yaml", limitedSuite("s", `service:
  {baseUrl: 'https://suite.example', apiVersion: v1, headerPrefix: x-suite, auth: apiKeyQuery, project: suite,
   authScopeBase: 'https://suite.example/auth/'}`))
	inSuite := eval.RunService{
		BaseURL: "https://suite.example", APIVersion: "v1", HeaderPrefix: "x-suite", Auth: "apiKeyQuery", Project: "suite",
		AuthScopeBase: "https://suite.example/auth",
	}
	s.env = map[string]string{}
	want := inSuite
	check := func(what string, o eval.ServiceOptions) {
		t.Helper()
		j, err := s.settle(Options{Options: eval.Options{ServiceOptions: o}}, "s.yaml")
		expect.OK(t, err)
		expect.Same(t, what, j.Settings.Service, want)
	}
	check("the suite alone", eval.ServiceOptions{})
	for _, one := range []struct {
		variable, value string
		field           *string
	}{
		{"EVALRUN_BASE_URL", "https://variable.example", &want.BaseURL},
		{"EVALRUN_API_VERSION", "v1beta", &want.APIVersion},
		{"EVALRUN_HEADER_PREFIX", "x-variable", &want.HeaderPrefix},
		{"EVALRUN_AUTH", "oauth", (*string)(&want.Auth)},
		{"EVALRUN_PROJECT", "variable", &want.Project},
		{"EVALRUN_AUTH_SCOPE_BASE", "https://variable.example/auth", &want.AuthScopeBase},
	} { // one after the other, so that each changes its own setting only
		s.env[one.variable], *one.field = one.value, one.value
		check(one.variable, eval.ServiceOptions{})
	}
	want = eval.RunService{
		BaseURL: "https://flag.example", APIVersion: "v1", HeaderPrefix: "x-flag", Auth: "apiKey", Project: "flag",
		AuthScopeBase: "https://flag.example/auth",
	}
	check("flags", eval.ServiceOptions{
		BaseURL: want.BaseURL + "/", APIVersion: "v1", HeaderPrefix: "x-flag", Auth: "apiKey", Project: "flag", ScopeBase: want.AuthScopeBase,
	})
}

// A service's own choice wins over --batch, which is recorded, and which a resume keeps.
func TestServicesAnswerInBatchesAsTheySayOrAsTheFlag(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.write("s.yaml", limitedSuite("s", `services:
  always: {protocol: openai, baseUrl: 'https://a.example/v1', batch: true}
  never: {protocol: openai, baseUrl: 'https://b.example/v1', batch: false}
  other: {protocol: openai, baseUrl: 'https://c.example/v1'}`))
	for _, all := range []bool{false, true} {
		j, err := s.settle(Options{Options: eval.Options{Batch: all}}, "s.yaml")
		expect.OK(t, err)
		var got []bool
		for _, name := range []string{"", "always", "never", "other"} {
			got = append(got, j.Settings.Batches(name))
		}
		expect.Same(t, fmt.Sprint("batch: ", all), got, []bool{all, true, false, all})
	}
	s.write("own.yaml", limitedSuite("own", "service: {batch: true}"))
	j, err := s.settle(Options{}, "own.yaml")
	expect.OK(t, err)
	if !j.Settings.Service.Batch {
		t.Error("batch: true of the unnamed service: got false in the header of the run, want true")
	}
}

// Suites of one run share their limits: one that sets none takes part, two that differ need a flag.
func TestSuitesAgreeOrAFlagSettlesIt(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.write("none.yaml", limitedSuite("none", ""))
	s.write("two.yaml", limitedSuite("two", "limits: {concurrency: 2, models: {svc-pro: {requestsPerMinute: 30}}}"))
	s.write("three.yaml", limitedSuite("three", "limits: {concurrency: 3, models: {other: {requestsPerMinute: 5}}}"))
	s.write("model.yaml", limitedSuite("model", "limits: {models: {svc-pro: {requestsPerMinute: 31}}}"))
	j, err := s.settle(Options{}, "none.yaml", "two.yaml")
	if err != nil || j.Settings.Limits.Concurrency != 2 {
		t.Errorf("a suite without limits and one with 2 calls at once: %+v, %v, want limits and no error", j.Settings.Limits, err)
	}
	_, err = s.settle(Options{}, "two.yaml", "three.yaml")
	s.bad(err, "limits.concurrency")
	j, err = s.settle(Options{Options: eval.Options{LimitOptions: eval.LimitOptions{Concurrency: 4}}}, "two.yaml", "three.yaml")
	if err != nil || j.Settings.Limits.Concurrency != 4 || len(j.Settings.Limits.Models) != 2 {
		t.Errorf("settled by a flag: %+v, %v, want 4 calls at once and limits of both models", j.Settings.Limits, err)
	}
	_, err = s.settle(Options{}, "two.yaml", "model.yaml")
	s.bad(err, "limits.models.svc-pro")
	_, err = s.settle(Options{}, "two.yaml", "three.yaml", "model.yaml")
	s.bad(err, "limits.concurrency", "limits.models.svc-pro")
}

// A price list with problems is reported with their places, like a suite.
func TestPriceListsReportPlaces(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.write("s.yaml", limitedSuite("s", ""))
	s.write("p.yaml", "currency: USD\nmodels: {svc-pro: {inptu: 1, output: -2}}\n")
	_, err := s.settle(Options{Options: eval.Options{LimitOptions: eval.LimitOptions{Prices: s.at.Join("p.yaml")}}}, "s.yaml")
	s.bad(err, "p.yaml:2:20", "`input`", "p.yaml:2:38")
	_, err = s.settle(Options{Options: eval.Options{LimitOptions: eval.LimitOptions{Prices: s.at.Join("gone.yaml")}}}, "s.yaml")
	s.bad(err, "gone.yaml")
}

// Selected places are all that is left of a plan.
func TestSelectedPlacesAreThePlan(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.write("s.yaml", fourSuite)
	var places eval.Places
	places.Add(1, 1)
	places.Add(3, 1)
	j, err := s.settle(Options{Options: eval.Options{SelectionOptions: eval.SelectionOptions{Selected: &places}}}, "s.yaml")
	expect.OK(t, err)
	var names []string
	for trial := range j.Plan().Trials() {
		names = append(names, trial.Case)
	}
	if got := strings.Join(names, " "); got != "two four" || j.Plan().Size() != 2 {
		t.Errorf("left are %s, want two four", got)
	}
}
