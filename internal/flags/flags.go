// Package flags binds the choices of a command to the flags that several commands share, and completes them in a shell.
package flags

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/harness"
	"github.com/evalrun/evalrun/internal/regular"
	"github.com/evalrun/evalrun/internal/service"
	"github.com/evalrun/evalrun/reports"
	"github.com/evalrun/evalrun/suite"
)

// Service say where the service is.
func Service(fs *pflag.FlagSet, f *harness.Flags) {
	Address(fs, f)
	fs.StringVar(
		&f.Auth, "auth", "",
		"apiKey, in a header, apiKeyQuery, or oauth (EVALRUN_AUTH; default apiKey); the key itself is EVALRUN_API_KEY",
	)
	Project(fs, f)
	fs.StringVar(&f.ScopeBase, "auth-scope-base", "", "prefix of the deployment's OAuth scopes (EVALRUN_AUTH_SCOPE_BASE)")
	fs.StringVar(&f.Emulator, "emulator", "", "ask the embedded emulator; =SCRIPT gives its answers")
	fs.Lookup("emulator").NoOptDefVal = eval.DemoScript
	Services(fs, f)
	Seed(fs, f)
}

// Services are about the named services.
func Services(fs *pflag.FlagSet, f *harness.Flags) {
	fs.Var(&services{&f.Services}, "service",
		"NAME.baseUrl=URL: address of a named service (services.NAME.baseUrl); repeatable")
	AllowEnv(fs, f)
}

// AllowEnv lets suites name further variables of the environment.
func AllowEnv(fs *pflag.FlagSet, f *harness.Flags) {
	fs.StringArrayVar(
		&f.AllowEnv, "allow-env", nil, "let `keyEnv` name this variable, which is neither EVALRUN_* nor *_API_KEY; "+
			"repeatable",
	)
}

// Seed is the seed of what is drawn.
func Seed(fs *pflag.FlagSet, f *harness.Flags) {
	fs.Uint64Var(&f.Seed, "seed", 0, "seed of --sample, and of what the emulator draws (default 0)")
}

// Address name the service.
func Address(fs *pflag.FlagSet, f *harness.Flags) {
	fs.StringVar(&f.BaseURL, "base-url", "", "address of the service (EVALRUN_BASE_URL, service.baseUrl)")
	fs.StringVar(&f.APIVersion, "api-version", "", "v1 or v1beta (EVALRUN_API_VERSION, service.apiVersion; default v1)")
	fs.StringVar(&f.HeaderPrefix, "header-prefix", "", "prefix of the service's headers (EVALRUN_HEADER_PREFIX; default x-svc)")
}

// Project names the cloud project.
func Project(fs *pflag.FlagSet, f *harness.Flags) {
	fs.StringVar(&f.Project, "project", "", "cloud project, with oauth (EVALRUN_PROJECT; default the one of the client secrets file)")
}

// Limits bound what is asked.
func Limits(fs *pflag.FlagSet, f *harness.Flags) {
	fs.Var(&boundedInt{&f.Concurrency, suite.MaxConcurrency}, "concurrency", "calls under way at once (default 8)")
	Positive(fs, &f.RPM, "rpm", "requests per minute")
	Positive(fs, &f.TPM, "tpm", "tokens per minute")
	Positive(fs, &f.BudgetTokens, "budget-tokens", "tokens to spend at most")
	Positive(fs, &f.BudgetCalls, "budget-calls", "calls to make at most, retries included")
	fs.Var((*positiveFloat)(&f.BudgetMoney), "budget-money", "money to spend at most, in the currency of the price list")
	fs.Var((*Duration)(&f.BudgetTime), "budget-time", "time after which nothing more is asked")
	fs.StringVar(&f.Prices, "prices", "", "price list: what tokens of each model cost (YAML; default the suite's)")
	Attempts(fs, f)
}

// Attempts are about a single call.
func Attempts(fs *pflag.FlagSet, f *harness.Flags) {
	fs.Var(&boundedInt{&f.Attempts, suite.MaxAttempts}, "attempts", "attempts per call at most (default 5)")
	fs.Var((*Duration)(&f.Timeout), "timeout", "time of one attempt, body included (default 60s)")
}

// Select choose trials.
func Select(fs *pflag.FlagSet, f *harness.Flags) {
	fs.Var(&boundedInt{&f.Repeats, suite.MaxRepeats}, "repeats", "ask each case so often, whatever the suite says")
	fs.StringArrayVar(&f.Cases, "case", nil, "only cases whose name fits the glob; repeat it for several")
	fs.StringArrayVar(&f.Tags, "tag", nil, "only cases with a tag that fits the glob; repeat it for several")
	fs.StringArrayVar(&f.Arms, "arm", nil, "only arms (target/prompt) that fit the glob; repeat it for several")
	fs.StringVar(&f.FailedIn, "failed-in", "", "run whose failures and errors to run again, each case on its arms (without SUITE: the suites, --var and --repeats of that run)")
	fs.StringVar(&f.ChangedSince, "changed-since", "", "a run: only what it did not ask as it stands now (prompt, target, variables, scorers)")
	Positive(fs, &f.Sample, "sample", "so many cases of each suite, drawn by --seed; the same seed draws the same")
	fs.Var((*shardFlag)(&f.Shard), "shard", "I/N: ask only the I-th of N parts; evalrun merge joins their runs")
	f.Vars = map[string]string{}
	fs.Var(Vars(f.Vars), "var", "K=V: set a variable of every case; repeat it for several")
}

// Out are about the run directory.
func Out(fs *pflag.FlagSet, f *harness.Flags) {
	fs.StringVar(&f.Out, "out", "", "run directory (default .evalrun/runs/ID)")
	fs.BoolVar(&f.NoContent, "no-content", false, "keep prompts and answers out of all files; hashes, lengths and scores stay")
}

// Gate are rules of the gate.
func Gate(fs *pflag.FlagSet, f *harness.Flags) {
	fs.Var(&optionalShare{&f.MinPassRate}, "min-pass-rate", "the least pass rate of each arm, whatever the gates of the suites say")
	fs.Var(&optionalShare{&f.MaxErrors}, "max-errors", "the largest share of errors, whatever the gates of the suites say")
	fs.Var(&optionalShare{&f.MaxBlocked}, "max-blocked", "the largest share of blocked answers, whatever the gates of the suites say")
	fs.BoolVar(&f.AllowEmpty, "allow-empty", false, "nothing selected is no error")
}

// Reports names reports and where they go.
func Reports(fs *pflag.FlagSet, f *harness.Flags) {
	fs.StringArrayVarP(&f.Reports, "report", "o", nil,
		"FORMAT[=PATH], repeatable: "+strings.Join(reports.Names(), ", ")+"; without PATH to standard output (default table)")
}

// Untrusted is for suites of people who must not choose where the key goes.
func Untrusted(fs *pflag.FlagSet, f *harness.Flags) {
	fs.BoolVar(
		&f.Untrusted, "untrusted", false,
		"treat the suite as untrusted: it cannot name the service, read the environment, start programs or call other hosts",
	)
	fs.Var((*allow)(&f.Allow), "allow",
		"with --untrusted: `program`, http=HOST[,HOST] or services=HOST[,HOST], which the suite may use nevertheless; "+
			"repeatable")
}

// Trust accepts a run that others made.
func Trust(fs *pflag.FlagSet, f *harness.Flags) {
	fs.BoolVar(&f.Trust, "trust", false, "trust a run that you did not make: send your key to its address and start its programs")
}

// Rule are the flags that decide a comparison.
func Rule(fs *pflag.FlagSet, r *eval.RuleOptions) {
	fs.Var((*share)(&r.Margin), "margin", "how much lower a rate may be and still count as not worse, such as 0.05")
	fs.Var((*share)(&r.Alpha), "alpha", "one-sided error rate of a verdict, 0.2 at most (default 0.05)")
	fs.StringVar(&r.OnInconclusive, "on-inconclusive", "", "fail (default), warn or pass, when there are too few cases to tell")
	fs.Var(&optionalShare{&r.MinPaired}, "min-paired", "the least share of the baseline's cases that must be compared (default 0.9)")
	fs.StringArrayVar(&r.AllowRemoved, "allow-removed", nil, "suites or arms (globs) that only the baseline may have")
	fs.StringArrayVar(&r.Metrics, "metric", nil, "NAME or NAME=MARGIN: a metric that must not get worse (default pass); repeat it for several")
}

// Baseline are the flags that compare a run with a baseline.
func Baseline(fs *pflag.FlagSet, f *harness.Flags) {
	Against(fs, f)
	fs.StringVar(
		&f.Interleave, "interleave", "",
		"SUITE@REF: run an earlier version of a suite (in git), with its own cases and scorers, side by side, and compare with it",
	)
	fs.BoolVar(&f.Rule.StopEarly, "stop-early", false, "ask no more once the verdict is known")
}

// Against say what a run is compared with, and by which rule.
func Against(fs *pflag.FlagSet, f *harness.Flags) {
	fs.StringVar(&f.Baseline, "baseline", "", "compare with this: a named baseline, a run, or an exported file")
	fs.BoolVar(&f.NoBaseline, "no-baseline", false, "do not compare with the baseline of the suite's gate")
	Rule(fs, &f.Rule)
}

// EmbeddingModel names the model that embeds.
func EmbeddingModel(fs *pflag.FlagSet, model *string) {
	fs.StringVar(model, "model", service.DefaultEmbeddingModel, "model that makes the vectors")
}

// WithTable adds the table to the values of -o where nothing else goes to standard output.
func WithTable(formats []string) []string {
	if ToStandard(formats) {
		return formats
	}
	return append(slices.Clone(formats), "table")
}

// ToStandard reports whether one of the values of -o goes to standard output.
func ToStandard(formats []string) bool {
	return slices.ContainsFunc(formats, func(format string) bool {
		_, path, named := strings.Cut(format, "=")
		return !named || path == regular.Standard
	})
}
