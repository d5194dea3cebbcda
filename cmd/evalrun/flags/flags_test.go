package flags

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/session"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/suite"
)

func all() (*pflag.FlagSet, *evalrun.Options) {
	var f evalrun.Options
	fs := pflag.NewFlagSet("run", pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	for _, bind := range []func(Set, *evalrun.Options){
		Set.Service, Set.Limits, Set.Select, Set.Out, Set.Gate, Set.Reports, Set.Untrusted, Set.Trust, Set.Baseline,
	} {
		bind(Set{fs}, &f)
	}
	return fs, &f
}

// Each flag sets its own choice, and no other. A run that continues may have other limits and reports, and goes to the same place;
// by all other flags it differs.
func TestEachFlagSetsItsChoice(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]func(f *evalrun.Options){
		"--base-url=http://x":             func(f *evalrun.Options) { f.BaseURL = "http://x" },
		"--api-version=v1beta":            func(f *evalrun.Options) { f.APIVersion = "v1beta" },
		"--header-prefix=x-own":           func(f *evalrun.Options) { f.HeaderPrefix = "x-own" },
		"--auth=oauth":                    func(f *evalrun.Options) { f.Auth = "oauth" },
		"--project=p":                     func(f *evalrun.Options) { f.Project = "p" },
		"--emulator":                      func(f *evalrun.Options) { f.Emulator = eval.DemoScript },
		"--emulator=own.yaml":             func(f *evalrun.Options) { f.Emulator = "own.yaml" },
		"--seed=7":                        func(f *evalrun.Options) { f.Seed = 7 },
		"--concurrency=3":                 func(f *evalrun.Options) { f.Concurrency = 3 },
		"-j 3":                            func(f *evalrun.Options) { f.Concurrency = 3 },
		"--rpm=60":                        func(f *evalrun.Options) { f.RPM = 60 },
		"--tpm=600":                       func(f *evalrun.Options) { f.TPM = 600 },
		"--budget-tokens=5":               func(f *evalrun.Options) { f.BudgetTokens = 5 },
		"--budget-calls=6":                func(f *evalrun.Options) { f.BudgetCalls = 6 },
		"--budget-money=0.5":              func(f *evalrun.Options) { f.BudgetMoney = 0.5 },
		"--budget-time=2m":                func(f *evalrun.Options) { f.BudgetTime = 2 * time.Minute },
		"--prices=p.yaml":                 func(f *evalrun.Options) { f.Prices = "p.yaml" },
		"--attempts=2":                    func(f *evalrun.Options) { f.Attempts = 2 },
		"--timeout=500ms":                 func(f *evalrun.Options) { f.Timeout = 500 * time.Millisecond },
		"--repeats=4":                     func(f *evalrun.Options) { f.Repeats = 4 },
		"--case=a --case=b,c":             func(f *evalrun.Options) { f.Cases = []string{"a", "b,c"} },
		"--tag=a":                         func(f *evalrun.Options) { f.Tags = []string{"a"} },
		"--arm=t/*":                       func(f *evalrun.Options) { f.Arms = []string{"t/*"} },
		"--failed-in=night":               func(f *evalrun.Options) { f.FailedIn = "night" },
		"--changed-since=night":           func(f *evalrun.Options) { f.ChangedSince = "night" },
		"--sample=9":                      func(f *evalrun.Options) { f.Sample = 9 },
		"--shard=2/3":                     func(f *evalrun.Options) { f.Shard = eval.Shard{Index: 2, Of: 3} },
		"--var=a=1 --var=b=x=y --var=a=2": func(f *evalrun.Options) { f.Vars = map[string]string{"a": "2", "b": "x=y"} },
		"--out=dir":                       func(f *evalrun.Options) { f.Out = "dir" },
		"--no-content":                    func(f *evalrun.Options) { f.NoContent = true },
		"--min-pass-rate=0":               func(f *evalrun.Options) { f.MinPassRate = new(0.0) },
		"--max-errors=1":                  func(f *evalrun.Options) { f.MaxErrors = new(1.0) },
		"--allow-empty":                   func(f *evalrun.Options) { f.AllowEmpty = true },
		"-o json --report junit=x.xml":    func(f *evalrun.Options) { f.Reports = []string{"json", "junit=x.xml"} },
		"--untrusted":                     func(f *evalrun.Options) { f.Untrusted = true },
		"--trust":                         func(f *evalrun.Options) { f.Trust = true },
		"--untrusted --allow=program --allow http=a,b": func(f *evalrun.Options) { f.Untrusted, f.Allow = true, []string{"program", "http=a,b"} },
		"--baseline=main":          func(f *evalrun.Options) { f.Baseline = eval.NamedBaseline("main") },
		"--no-baseline":            func(f *evalrun.Options) { f.Baseline = eval.NoBaseline{} },
		"--interleave=s.yaml@HEAD": func(f *evalrun.Options) { f.Interleave = "s.yaml@HEAD" },
		"--gate-of=@main":          func(f *evalrun.Options) { f.GateOf = "@main" },
		"--accept-suite-changes":   func(f *evalrun.Options) { f.AcceptSuiteChanges = true },
		"--stop-early":             func(f *evalrun.Options) { f.Rule.StopEarly = true },
		"--margin=0.05":            func(f *evalrun.Options) { f.Rule.Margin = 0.05 },
		"--alpha=0.1":              func(f *evalrun.Options) { f.Rule.Alpha = 0.1 },
		"--on-inconclusive=warn":   func(f *evalrun.Options) { f.Rule.OnInconclusive = "warn" },
		"--min-paired=0":           func(f *evalrun.Options) { f.Rule.MinPaired = new(0.0) },
		"--allow-removed=old":      func(f *evalrun.Options) { f.Rule.AllowRemoved = []string{"old"} },
		"--metric=tone=0.1":        func(f *evalrun.Options) { f.Rule.Metrics = []string{"tone=0.1"} },
	} {
		fs, got := all()
		expect.OK(t, fs.Parse(strings.Fields(text)))
		expected := &evalrun.Options{}
		expected.Vars = map[string]string{}
		want(expected)
		expect.Same(t, text, got.Options, expected.Options)
		expect.Same(t, text+": trust", got.Trust, expected.Trust)
		may := pflag.NewFlagSet("continued", pflag.ContinueOnError)
		for _, bind := range []func(Set, *evalrun.Options){Set.Limits, Set.Reports, Set.OutDir, Set.Trust} {
			bind(Set{may}, &evalrun.Options{})
		}
		var differing []string
		fs.Visit(func(f *pflag.Flag) {
			if may.Lookup(f.Name) == nil {
				differing = append(differing, "--"+f.Name)
			}
		})
		expect.Same(t, text+": differing from none", session.Differing(&got.Options, &eval.Options{}), differing)
		expect.Same(t, text+": differing from itself", session.Differing(&got.Options, &got.Options), nil)
	}
}

// Values out of range are refused, and say what is taken.
func TestValuesOutOfRangeAreRefused(t *testing.T) {
	t.Parallel()
	const above = "it takes a whole number above zero"
	for flag, want := range map[string]string{
		"--concurrency=0":      above,
		"--concurrency=many":   above,
		"--rpm=-1":             above,
		"--sample=1.5":         above,
		"--budget-tokens=3e3":  above,
		"--rpm=3000000000":     "it takes at most 2147483647",
		"--budget-money=0":     "it takes a number above zero",
		"--budget-money=NaN":   "it takes a number above zero",
		"--budget-money=+Inf":  "it takes a number above zero",
		"--timeout=0s":         "it takes a time above zero, such as 500ms or 2s",
		"--timeout=5":          "it takes a time above zero, such as 500ms or 2s",
		"--budget-time=-1h":    "it takes a time above zero, such as 500ms or 2s",
		"--shard=0/4":          "it takes a part of a whole, such as 1/4",
		"--shard=5/4":          "it takes a part of a whole, such as 1/4",
		"--shard=":             "it takes a part of a whole, such as 1/4",
		"--var=name":           "write it as NAME=VALUE",
		"--var==value":         "write it as NAME=VALUE",
		"--margin=0":           "0 is not a number above 0 and below 1, such as 0.05",
		"--margin=1":           "1 is not a number above 0 and below 1, such as 0.05",
		"--margin=5%":          "5% is not a number above 0 and below 1, such as 0.05",
		"--alpha=NaN":          "NaN is not a number above 0 and below 1, such as 0.05",
		"--min-pass-rate=1.01": "1.01 is not a number from 0 to 1",
		"--max-errors=-0.1":    "-0.1 is not a number from 0 to 1",
		fmt.Sprint("--concurrency=", suite.MaxConcurrency+1): fmt.Sprint("it takes at most ", suite.MaxConcurrency),
		fmt.Sprint("--attempts=", suite.MaxAttempts+1):       fmt.Sprint("it takes at most ", suite.MaxAttempts),
		fmt.Sprint("--repeats=", suite.MaxRepeats+1):         fmt.Sprint("it takes at most ", suite.MaxRepeats),
	} {
		fs, _ := all()
		if err := fs.Parse([]string{flag}); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", flag, err, want)
		}
	}
}

// A flag that was not given shows no default in the help but the one that it names.
func TestFlagsThatAreNotGivenAreEmpty(t *testing.T) {
	t.Parallel()
	fs, _ := all()
	fs.VisitAll(func(f *pflag.Flag) {
		if value := f.Value.String(); !slices.Contains([]string{"", "0", "false", "[]"}, value) {
			t.Errorf("--%s: got the default %q, want none", f.Name, value)
		}
		if f.Usage == "" || f.Value.Type() == "" {
			t.Errorf("--%s: got no help, want some", f.Name)
		}
	})
	var model string
	Set{fs}.EmbeddingModel(&model)
	expect.Same(t, "the embedding model", model, "embedding-001")
}
