package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evalrun/evalrun/internal/harness"
	"github.com/evalrun/evalrun/reports"
)

// serviceFlags say where the service is.
func serviceFlags(fs *pflag.FlagSet, f *harness.Flags) {
	fs.StringVar(&f.BaseURL, "base-url", "", "address of the service (EVALRUN_BASE_URL, service.baseUrl)")
	fs.StringVar(&f.APIVersion, "api-version", "", "v1 or v1beta (EVALRUN_API_VERSION, service.apiVersion; default v1)")
	fs.StringVar(&f.HeaderPrefix, "header-prefix", "", "prefix of the service's headers (EVALRUN_HEADER_PREFIX; default x-svc)")
	fs.StringVar(&f.Auth, "auth", "", "apiKey, in a header, or apiKeyQuery (EVALRUN_AUTH; default apiKey); the key itself is EVALRUN_API_KEY")
	fs.StringVar(&f.Emulator, "emulator", "", "ask the embedded emulator; =SCRIPT gives its answers")
	fs.Lookup("emulator").NoOptDefVal = harness.DemoScript
	fs.Uint64Var(&f.Seed, "seed", 0, "seed of what the emulator draws")
}

// limitFlags bound what is asked.
func limitFlags(fs *pflag.FlagSet, f *harness.Flags) {
	positive(fs, &f.Concurrency, "concurrency", "calls under way at once (default 8)")
	positive(fs, &f.RPM, "rpm", "requests per minute")
	positive(fs, &f.TPM, "tpm", "tokens per minute")
	positive(fs, &f.BudgetTokens, "budget-tokens", "tokens to spend at most")
	positive(fs, &f.BudgetCalls, "budget-calls", "calls to make at most, retries included")
	positive(fs, &f.Attempts, "attempts", "attempts per call at most (default 5)")
	fs.DurationVar(&f.Timeout, "timeout", 0, "time of one attempt, body included (default 60s)")
}

// selectFlags choose trials.
func selectFlags(fs *pflag.FlagSet, f *harness.Flags) {
	positive(fs, &f.Repeats, "repeats", "ask each case so often, whatever the suite says")
	fs.StringArrayVar(&f.Cases, "case", nil, "only cases whose name fits the glob; repeat it for several")
	fs.StringArrayVar(&f.Tags, "tag", nil, "only cases with a tag that fits the glob; repeat it for several")
	fs.StringArrayVar(&f.Arms, "arm", nil, "only arms (target/prompt) that fit the glob; repeat it for several")
	f.Vars = map[string]string{}
	fs.Var(vars(f.Vars), "var", "K=V: set a variable of every case; repeat it for several")
}

func reportFlags(fs *pflag.FlagSet, f *harness.Flags) {
	fs.StringArrayVarP(&f.Reports, "report", "o", nil,
		"FORMAT[=PATH], repeatable: "+strings.Join(reports.Names(), ", ")+"; without PATH to standard output (default table)")
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
	fs.Var((*positiveInt)(p), name, usage)
}

type positiveInt int

func (p *positiveInt) String() string {
	if *p == 0 {
		return ""
	}
	return fmt.Sprint(int(*p))
}
func (p *positiveInt) Type() string { return "int" }
func (p *positiveInt) Set(s string) error {
	var v int
	if n, err := fmt.Sscanf(s, "%d", &v); n != 1 || err != nil || fmt.Sprint(v) != s || v < 1 {
		return fmt.Errorf("it takes a whole number above zero")
	}
	*p = positiveInt(v)
	return nil
}

// atLeastOne wants the names of suites.
func atLeastOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return harness.Exitf(harness.ExitBadInput, "name %s: %s", what, cmd.UseLine())
		}
		return nil
	}
}

// exactly wants so many arguments.
func exactly(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return harness.Exitf(harness.ExitBadInput, "usage: %s", cmd.UseLine())
		}
		return nil
	}
}
