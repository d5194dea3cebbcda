package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/harness"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/reports"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/suite"
)

// serviceFlags say where the service is.
func serviceFlags(fs *pflag.FlagSet, f *harness.Flags) {
	addressFlags(fs, f)
	fs.StringVar(
		&f.Auth, "auth", "",
		"apiKey, in a header, apiKeyQuery, or oauth (EVALRUN_AUTH; default apiKey); the key itself is EVALRUN_API_KEY",
	)
	projectFlag(fs, f)
	fs.StringVar(&f.ScopeBase, "auth-scope-base", "", "prefix of the deployment's OAuth scopes (EVALRUN_AUTH_SCOPE_BASE)")
	fs.StringVar(&f.Emulator, "emulator", "", "ask the embedded emulator; =SCRIPT gives its answers")
	fs.Lookup("emulator").NoOptDefVal = eval.DemoScript
	seedFlag(fs, f)
}

func seedFlag(fs *pflag.FlagSet, f *harness.Flags) {
	fs.Uint64Var(&f.Seed, "seed", 0, "seed of --sample, and of what the emulator draws (default 0)")
}

// addressFlags name the service.
func addressFlags(fs *pflag.FlagSet, f *harness.Flags) {
	fs.StringVar(&f.BaseURL, "base-url", "", "address of the service (EVALRUN_BASE_URL, service.baseUrl)")
	fs.StringVar(&f.APIVersion, "api-version", "", "v1 or v1beta (EVALRUN_API_VERSION, service.apiVersion; default v1)")
	fs.StringVar(&f.HeaderPrefix, "header-prefix", "", "prefix of the service's headers (EVALRUN_HEADER_PREFIX; default x-svc)")
}

func projectFlag(fs *pflag.FlagSet, f *harness.Flags) {
	fs.StringVar(&f.Project, "project", "", "cloud project, with oauth (EVALRUN_PROJECT; default the one of the client secrets file)")
}

// limitFlags bound what is asked.
func limitFlags(fs *pflag.FlagSet, f *harness.Flags) {
	fs.Var(&boundedInt{&f.Concurrency, suite.MaxConcurrency}, "concurrency", "calls under way at once (default 8)")
	positive(fs, &f.RPM, "rpm", "requests per minute")
	positive(fs, &f.TPM, "tpm", "tokens per minute")
	positive(fs, &f.BudgetTokens, "budget-tokens", "tokens to spend at most")
	positive(fs, &f.BudgetCalls, "budget-calls", "calls to make at most, retries included")
	fs.Var((*positiveFloat)(&f.BudgetMoney), "budget-money", "money to spend at most, in the currency of the price list")
	fs.Var((*positiveDuration)(&f.BudgetTime), "budget-time", "time after which nothing more is asked")
	fs.StringVar(&f.Prices, "prices", "", "price list: what tokens of each model cost (YAML; default the suite's)")
	attemptFlags(fs, f)
}

// positiveFloat is a flag for a number above zero.
type positiveFloat float64

func (p *positiveFloat) String() string {
	if *p == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(*p), 'g', -1, 64)
}
func (p *positiveFloat) Type() string { return "number" }
func (p *positiveFloat) Set(s string) error {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v > 0) || v > math.MaxInt32 {
		return fmt.Errorf("it takes a number above zero")
	}
	*p = positiveFloat(v)
	return nil
}

// attemptFlags are about a single call.
func attemptFlags(fs *pflag.FlagSet, f *harness.Flags) {
	fs.Var(&boundedInt{&f.Attempts, suite.MaxAttempts}, "attempts", "attempts per call at most (default 5)")
	fs.Var((*positiveDuration)(&f.Timeout), "timeout", "time of one attempt, body included (default 60s)")
}

// positiveDuration is a flag for a time above zero.
type positiveDuration time.Duration

func (p *positiveDuration) String() string {
	if *p == 0 {
		return ""
	}
	return time.Duration(*p).String()
}
func (p *positiveDuration) Type() string { return "duration" }
func (p *positiveDuration) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return fmt.Errorf("it takes a time above zero, such as 500ms or 2s")
	}
	*p = positiveDuration(d)
	return nil
}

// selectFlags choose trials.
func selectFlags(fs *pflag.FlagSet, f *harness.Flags) {
	fs.Var(&boundedInt{&f.Repeats, suite.MaxRepeats}, "repeats", "ask each case so often, whatever the suite says")
	fs.StringArrayVar(&f.Cases, "case", nil, "only cases whose name fits the glob; repeat it for several")
	fs.StringArrayVar(&f.Tags, "tag", nil, "only cases with a tag that fits the glob; repeat it for several")
	fs.StringArrayVar(&f.Arms, "arm", nil, "only arms (target/prompt) that fit the glob; repeat it for several")
	fs.StringVar(&f.FailedIn, "failed-in", "", "a run: only what failed there or ended in an error, each case on those arms on which it did")
	fs.StringVar(&f.ChangedSince, "changed-since", "", "a run: only what it did not ask as it stands now (prompt, target, variables, scorers)")
	positive(fs, &f.Sample, "sample", "so many cases of each suite, drawn by --seed; the same seed draws the same")
	fs.Var((*shardFlag)(&f.Shard), "shard", "I/N: ask only the I-th of N parts; evalrun merge joins their runs")
	f.Vars = map[string]string{}
	fs.Var(vars(f.Vars), "var", "K=V: set a variable of every case; repeat it for several")
}

// outFlags are about the run directory.
func outFlags(fs *pflag.FlagSet, f *harness.Flags) {
	fs.StringVar(&f.Out, "out", "", "run directory (default .evalrun/runs/ID)")
	fs.BoolVar(&f.NoContent, "no-content", false, "keep prompts and answers out of all files; hashes, lengths and scores stay")
}

// gateFlags are rules of the gate.
func gateFlags(fs *pflag.FlagSet, f *harness.Flags) {
	fs.Var(&optionalShare{&f.MinPassRate}, "min-pass-rate", "the least pass rate of each arm, whatever the gates of the suites say")
	fs.Var(&optionalShare{&f.MaxErrors}, "max-errors", "the largest share of errors, whatever the gates of the suites say")
	fs.Var(&optionalShare{&f.MaxBlocked}, "max-blocked", "the largest share of blocked answers, whatever the gates of the suites say")
	fs.BoolVar(&f.AllowEmpty, "allow-empty", false, "nothing selected is no error")
}

func reportFlags(fs *pflag.FlagSet, f *harness.Flags) {
	fs.StringArrayVarP(&f.Reports, "report", "o", nil,
		"FORMAT[=PATH], repeatable: "+strings.Join(reports.Names(), ", ")+"; without PATH to standard output (default table)")
}

// completeFormats completes -o with the report formats.
func completeFormats(cmd *cobra.Command) {
	err := cmd.RegisterFlagCompletionFunc("report", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var out []string
		for _, f := range reports.Formats() {
			out = append(out, f.Name+"\t"+f.Summary)
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil { // the flag was added a moment ago
		panic(err)
	}
}

// completeRuns completes the first argument with the runs there are.
func completeRuns(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return append(rundir.At("").IDs(), "latest"), cobra.ShellCompDirectiveDefault
}

// untrustedFlag is for suites of people who must not choose where the key goes.
func untrustedFlag(fs *pflag.FlagSet, f *harness.Flags) {
	fs.BoolVar(&f.Untrusted, "untrusted", false, "the suite is a stranger's: it cannot say where the service is, nor read the environment")
}

// trustFlag accepts a run that others made.
func trustFlag(fs *pflag.FlagSet, f *harness.Flags) {
	fs.BoolVar(&f.Trust, "trust", false, "trust a run that you did not make: send your key to its address and start its programs")
}

// shardFlag is a flag of the form I/N.
type shardFlag string

func (f *shardFlag) String() string { return string(*f) }
func (f *shardFlag) Type() string   { return "I/N" }
func (f *shardFlag) Set(s string) error {
	if shard, err := runner.ParseShard(s); err != nil || shard.Of == 0 {
		return fmt.Errorf("it takes a part of a whole, such as 1/4")
	}
	*f = shardFlag(s)
	return nil
}

// vars is a flag of the form K=V.
type vars map[string]string

func (v vars) String() string { return "" }
func (v vars) Type() string   { return "K=V" }
func (v vars) Set(s string) error {
	name, value, ok := strings.Cut(s, "=")
	if !ok || name == "" {
		return fmt.Errorf("write it as NAME=VALUE")
	}
	v[name] = value
	return nil
}

// positive adds a flag for a whole number above zero.
func positive(fs *pflag.FlagSet, p *int, name, usage string) {
	fs.Var(&boundedInt{p, math.MaxInt32}, name, usage)
}

// boundedInt is a flag for a whole number from 1 to most.
type boundedInt struct {
	p    *int
	most int
}

func (b *boundedInt) String() string {
	if b.p == nil || *b.p == 0 {
		return ""
	}
	return strconv.Itoa(*b.p)
}
func (b *boundedInt) Type() string { return "int" }
func (b *boundedInt) Set(s string) error {
	v, err := strconv.Atoi(s)
	if err != nil || v < 1 {
		return fmt.Errorf("it takes a whole number above zero")
	}
	if v > b.most {
		return fmt.Errorf("it takes at most %d", b.most)
	}
	*b.p = v
	return nil
}

// suites wants the names of suites as arguments.
func suites(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return exit.BadInput("name at least one suite: %s", cmd.UseLine())
	}
	return nil
}

// atMost wants no more arguments than that.
func atMost(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > n {
			return exit.BadInput("usage: %s", cmd.UseLine())
		}
		return nil
	}
}

// exactly wants so many arguments.
func exactly(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return exit.BadInput("usage: %s", cmd.UseLine())
		}
		return nil
	}
}

// share is a flag of a number between 0 and 1, both left out.
type share float64

func (s *share) String() string {
	if *s == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(*s), 'g', -1, 64)
}
func (s *share) Type() string { return "share" }
func (s *share) Set(text string) error {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0 && v < 1) {
		return fmt.Errorf("%s is no number between 0 and 1, such as 0.05", text)
	}
	*s = share(v)
	return nil
}

// optionalShare is a flag of a number from 0 to 1 that may not be given at all.
type optionalShare struct{ value **float64 }

func (s *optionalShare) String() string {
	if s.value == nil || *s.value == nil {
		return ""
	}
	return strconv.FormatFloat(**s.value, 'g', -1, 64)
}
func (s *optionalShare) Type() string { return "share" }
func (s *optionalShare) Set(text string) error {
	v, err := strconv.ParseFloat(text, 64)
	if inRange := v >= 0 && v <= 1; err != nil || !inRange {
		return fmt.Errorf("%s is no number from 0 to 1", text)
	}
	*s.value = &v
	return nil
}
