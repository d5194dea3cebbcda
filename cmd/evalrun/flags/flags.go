// Package flags binds the choices of a command to the flags that several commands share, and makes the options of package
// evalrun of them.
package flags

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/reports"
	"github.com/evalrun/evalrun/suite"
)

// Set is the flags of a command. Each method adds some, which set what it is given.
type Set struct{ *pflag.FlagSet }

// Service adds the flags that say where the service is and how to authenticate.
func (fs Set) Service(f *evalrun.Options) {
	fs.Address(f)
	fs.StringVar(
		(*string)(&f.Auth), "auth", "",
		"authenticate by `KIND`: apiKey, apiKeyQuery or oauth (EVALRUN_AUTH; default apiKey); the key itself is EVALRUN_API_KEY",
	)
	fs.Project(f)
	fs.Services(f)
}

// Services adds the flags about named services, and the emulator in place of all.
func (fs Set) Services(f *evalrun.Options) {
	fs.StringVar(&f.Emulator, "emulator", "", "use the built-in emulator; answers come from the file `SCRIPT`")
	fs.Lookup("emulator").NoOptDefVal = eval.DemoScript
	fs.services(f)
	fs.Seed(f)
}

func (fs Set) services(f *evalrun.Options) {
	fs.Var(&servicesFlag{&f.Services}, "service", "address of the service NAME of the suites (repeatable)")
	fs.AllowEnv(f)
}

// AllowEnv adds the flag that lets suites read keys from further variables of the environment.
func (fs Set) AllowEnv(f *evalrun.Options) {
	fs.StringArrayVar(
		&f.AllowEnv, "allow-env", nil,
		"let suites take a key from the variable `NAME`, even if it is not EVALRUN_* or *_API_KEY (repeatable)",
	)
}

// Seed adds the flag for the seed of all random draws.
func (fs Set) Seed(f *evalrun.Options) {
	fs.Uint64Var(&f.Seed, "seed", 0, "draw --sample and the emulator's answers from seed `N` (default 0)")
}

// Address adds the flags for the address of the service.
func (fs Set) Address(f *evalrun.Options) {
	fs.StringVar(&f.BaseURL, "base-url", "", "send requests to the service at `URL` (EVALRUN_BASE_URL, service.baseUrl)")
	fs.StringVar(
		&f.APIVersion, "api-version", "",
		"use `VERSION` v1 or v1beta (EVALRUN_API_VERSION, service.apiVersion; default v1)",
	)
	fs.StringVar(
		&f.HeaderPrefix, "header-prefix", "",
		"begin the service's headers with `PREFIX` (EVALRUN_HEADER_PREFIX; default x-svc)",
	)
}

// Project adds the flag for the cloud project.
func (fs Set) Project(f *evalrun.Options) {
	fs.StringVar(
		&f.Project, "project", "",
		"cloud project `ID`, with oauth (EVALRUN_PROJECT; default the one of the client secrets file)",
	)
}

// Limits adds the flags that bound requests, tokens, money and time.
func (fs Set) Limits(f *evalrun.Options) {
	fs.VarP(boundedInt(&f.Concurrency, suite.MaxConcurrency), "concurrency", "j", "keep `N` calls in progress at once (default 8)")
	fs.Positive(&f.RPM, "rpm", "send at most `N` requests per minute")
	fs.Positive(&f.TPM, "tpm", "send at most `N` tokens per minute")
	fs.Positive(&f.BudgetTokens, "budget-tokens", "spend at most `N` tokens")
	fs.Positive(&f.BudgetCalls, "budget-calls", "make at most `N` calls, retries included")
	money := value[float64]{&f.BudgetMoney, "N", positiveFloat}
	fs.Var(money, "budget-money", "spend at most this `AMOUNT`, in the currency of the price list")
	fs.Var((*Duration)(&f.BudgetTime), "budget-time", "stop sending requests after this long")
	fs.StringVar(&f.Prices, "prices", "", "take the price of each model's tokens from a YAML `FILE` (default the suite's)")
	fs.Attempts(f)
}

// Wait adds the flag that waits for batches.
func (fs Set) Wait(f *evalrun.Options) {
	fs.BoolVar(&f.Wait, "wait", false, "wait for the batches, and collect them (at most limits.batch.wait, default 24h)")
}

// NoLedger adds the flag that goes without the ledger of an earlier run.
func (fs Set) NoLedger(f *evalrun.Options) {
	fs.BoolVar(&f.Ledger.None, "no-ledger", false, "send without the ledger that granted the calls of the run")
}

// Ledger adds the flags for the ledger that the process shares with others.
func (fs Set) Ledger(f *evalrun.Options) {
	fs.StringVar(&f.Ledger.URL, "ledger", "", "have calls granted by the team's ledger at `URL` (EVALRUN_LEDGER)")
	fs.StringVar(&f.Ledger.CA, "ledger-ca", "", "trust the certificates in the `FILE` for the ledger")
	fs.Var((*Duration)(&f.Ledger.Wait), "ledger-wait", "end the run when the ledger is away for this long (default 10m)")
}

// Attempts adds the flags about the attempts of one call.
func (fs Set) Attempts(f *evalrun.Options) {
	fs.Var(boundedInt(&f.Attempts, suite.MaxAttempts), "attempts", "try each call at most `N` times (default 5)")
	fs.Var((*Duration)(&f.Timeout), "timeout", "end each attempt after this long, body included (default 60s)")
}

// Failures adds --max-failures and --fail-fast, which is 1. more is "more " where failures of an earlier run do not count.
func (fs Set) Failures(p *int, more string) {
	fs.Var((*failFast)(p), "fail-fast", "the same as --max-failures 1")
	fs.Lookup("fail-fast").NoOptDefVal = "true"
	fs.Lookup("fail-fast").Hidden = true
	fs.Positive(p, "max-failures", "stop sending requests after `N` "+more+"failed trials (--max-failures 1: after the first)")
}

// Select adds the flags that select trials.
func (fs Set) Select(f *evalrun.Options) {
	fs.Var(boundedInt(&f.Repeats, suite.MaxRepeats), "repeats", "run each case `N` times (overrides the suite)")
	fs.MaxTrials(&f.MaxTrials)
	fs.Cases(&f.Cases)
	fs.StringArrayVar(&f.Tags, "tag", nil, "select cases with a tag that matches `GLOB` (repeatable)")
	fs.Arms(&f.Arms)
	fs.StringVar(
		&f.FailedIn, "failed-in", "", "select what failed or ended in an error in `RUN` (without SUITE: its suites, --var and --repeats)",
	)
	fs.StringVar(&f.ChangedSince, "changed-since", "", "select what changed since `RUN`: prompt, target, variables or scorers")
	fs.Positive(&f.Sample, "sample", "run a random sample of `N` cases per suite (reproducible with --seed)")
	fs.Var(value[eval.Shard]{&f.Shard, "I/N", shardOf}, "shard", "run the I-th of N parts (evalrun merge joins the runs)")
	f.Vars = map[string]string{}
	fs.Var(Vars(f.Vars), "var", "set the variable NAME of every case (repeatable)")
}

// MaxTrials adds the flag that allows more trials than usual.
func (fs Set) MaxTrials(p *int) {
	fs.Positive(p, "max-trials", fmt.Sprintf("refuse suites with more than `N` trials (default %d)", eval.DefaultMaxTrials))
}

// Cases adds the flag that selects cases by name.
func (fs Set) Cases(p *[]string) {
	fs.StringArrayVar(p, "case", nil, "select cases whose name matches `GLOB` (repeatable)")
}

// Arms adds the flag that selects arms by name.
func (fs Set) Arms(p *[]string) {
	fs.StringArrayVar(p, "arm", nil, "select arms (target/prompt) that match `GLOB` (repeatable)")
}

// Outcomes adds the flag that selects trials by outcome.
func (fs Set) Outcomes(p *[]eval.Outcome) {
	fs.Func("outcome", "select trials with this `OUTCOME`: pass, fail, error or skip (repeatable)", func(text string) error {
		known := []string{string(eval.Pass), string(eval.Fail), string(eval.Err), string(eval.Skip)}
		for word := range strings.SplitSeq(text, ",") {
			if !slices.Contains(known, word) {
				return eval.BadInput("there is no outcome %q; %s", word, diag.DidYouMean(word, known))
			}
			*p = append(*p, eval.Outcome(word))
		}
		return nil
	})
	fs.BoolFunc("failed", "select trials that failed (--outcome fail)", func(string) error {
		*p = append(*p, eval.Fail)
		return nil
	})
}

// Recording adds the flags that keep answers and use them again.
func (fs Set) Recording(f *evalrun.Options) {
	fs.StringVar(&f.Record, "record", "", "keep the answers in `DIR`, for reviews and --replay")
	fs.StringVar(&f.Replay, "replay", "", "use the answers recorded in `DIR` instead of the service; a missing one is an error")
}

// Out adds the flags about the run directory.
func (fs Set) Out(f *evalrun.Options) {
	fs.OutDir(f)
	fs.BoolVar(&f.NoContent, "no-content", false, "keep prompts and answers out of all files, but not hashes, lengths and scores")
}

// OutDir adds the flag that names the run directory.
func (fs Set) OutDir(f *evalrun.Options) {
	fs.StringVar(&f.Out, "out", "", "write the run into `DIR` (default .evalrun/runs/ID)")
}

// Notify adds the flag that names a program to tell of verdicts.
func (fs Set) Notify(f *evalrun.Options) {
	fs.StringVar(&f.Notify, "notify", "", "give the verdict as JSON to the program `COMMAND` when it is another one than before")
}

// Gate adds the flags that override rules of the gate.
func (fs Set) Gate(f *evalrun.Options) {
	fs.Var(&optionalShare{&f.MinPassRate}, "min-pass-rate", "require this pass rate of each arm (overrides the suites)")
	fs.Var(&optionalShare{&f.MaxErrors}, "max-errors", "allow this share of errors (overrides the suites)")
	fs.BoolVar(&f.AllowEmpty, "allow-empty", false, "accept an empty selection")
}

// Reports adds the flag for reports and where to write them.
func (fs Set) Reports(f *evalrun.Options) {
	fs.StringArrayVarP(&f.Reports, "report", "o", nil,
		"write a report as `FORMAT[=FILE]`: "+strings.Join(reports.Names(), ", ")+
			"; without FILE to standard output (default table; --json is -o json; repeatable)")
	json := fs.VarPF(&jsonReport{formats: fs.Lookup("report").Value}, "json", "", "print JSON")
	json.NoOptDefVal, json.Hidden = "true", true
}

// JSON adds --json and -o json. The long name of -o cannot be `report` here: project files have a key of that name.
func (fs Set) JSON(p *bool) {
	fs.BoolVar(p, "json", false, "print JSON")
	fs.VarP((*jsonFormat)(p), "format", "o", "print as table or json")
	fs.Lookup("format").Hidden = true
}

// RunPrograms adds the flag that runs programs of a suite although nothing is sent.
func (fs Set) RunPrograms(p *bool) {
	fs.BoolVar(p, "run-programs", false, "run the programs that write prompts, without which their prompts are left out")
}

// Untrusted adds the flags for suites whose authors must not choose where the key is sent.
func (fs Set) Untrusted(f *evalrun.Options) {
	fs.BoolVar(
		&f.Untrusted, "untrusted", false,
		"treat the suite as untrusted: it cannot name the service, read the environment, start programs or call other hosts",
	)
	fs.Var((*allow)(&f.Allow), "allow",
		"with --untrusted, let the suite use `WHAT`: program, http=HOST[,HOST] or services=HOST[:KEYENV] (repeatable)")
	fs.AllowFile(f)
}

// AllowFile adds the flag for files that suites cannot read otherwise.
func (fs Set) AllowFile(f *evalrun.Options) {
	fs.StringArrayVar(
		&f.AllowFile, "allow-file", nil,
		"let suites read hidden files and keys that match `GLOB`, from the folder of the project (repeatable)",
	)
}

// Trust adds the flag that accepts a run of somebody else.
func (fs Set) Trust(f *evalrun.Options) {
	fs.BoolVar(&f.Trust, "trust", false, "trust a run that you did not make: send your key to its address and start its programs")
}

// Within adds the flag that names the arms of a ranking that are close to the best.
func (fs Set) Within(p *float64) {
	fs.Var(
		value[float64]{p, "RATE", share}, "within",
		"with --rank, name the arms that are less than this worse than the best, and the cheapest of them",
	)
}

// Rule adds the flags that decide a comparison.
func (fs Set) Rule(r *eval.RuleOptions) {
	fs.Var(value[float64]{&r.Margin, "RATE", share}, "margin", "allow the rate to be lower by this much, such as 0.05")
	fs.Var(value[float64]{&r.Alpha, "RATE", errorRate}, "alpha", "one-sided error rate of a verdict, 0.2 at most (default 0.05)")
	action := (*string)(&r.OnInconclusive)
	fs.StringVar(action, "on-inconclusive", "", "`ACTION` when there are too few cases: fail, warn or pass (default fail)")
	fs.Var(&optionalShare{&r.MinPaired}, "min-paired", "require this share of the baseline's cases in the comparison (default 0.9)")
	fs.StringArrayVar(&r.AllowRemoved, "allow-removed", nil, "accept that suites or arms matching `GLOB` were removed (repeatable)")
	fs.Lookup("allow-removed").Hidden = true
	fs.StringArrayVar(&r.Metrics, "metric", nil, "require that the metric `NAME[=MARGIN]` is not worse (default pass; repeatable)")
}

// Estimand adds the flag for what a verdict is about.
func (fs Set) Estimand(r *eval.RuleOptions) {
	fs.StringVar(
		(*string)(&r.Estimand), "estimand", "", "`WHAT` the verdict is about: population (cases like these; default) or suite (these)",
	)
}

// Baseline adds the flags that compare a run with a baseline.
func (fs Set) Baseline(f *evalrun.Options) {
	fs.Against(f)
	fs.StringVar(
		&f.Interleave, "interleave", "",
		"run an earlier version of a suite (in git) side by side and compare with it: `SUITE@REF`",
	)
	fs.BoolVar(&f.Rule.StopEarly, "stop-early", false, "stop sending requests when the verdict is known")
}

// Race adds the flag that lets the arms of a suite race.
func (fs Set) Race(f *evalrun.Options) {
	metric := value[string]{&f.Race, "METRIC", raceMetric}
	fs.Var(metric, "race", "stop sending cases to arms that cannot be the best by `METRIC` (default pass)")
	fs.Lookup("race").NoOptDefVal = eval.MetricPass
}

// Against adds the flags for the baseline of a comparison and its rule.
func (fs Set) Against(f *evalrun.Options) {
	fs.Var(&baselineFlag{&f.Baseline}, "baseline", "compare with `RUN`: a named baseline, a run, or an exported file")
	fs.Var(&noBaselineFlag{&f.Baseline}, "no-baseline", "skip the comparison that the suite's gate has")
	fs.Lookup("no-baseline").NoOptDefVal = "true"
	fs.StringVar(
		&f.GateOf, "gate-of", "", "apply the stricter rules of this gate and the suite's: `RUN`, a suite file, or @REF in git",
	)
	fs.BoolVar(
		&f.AcceptSuiteChanges, "accept-suite-changes", false,
		"with --gate-of, let a changed baseline file, new suites and new entries of accepted count",
	)
	fs.Rule(&f.Rule)
}

// EmbeddingModel adds the flag for the model that makes vectors.
func (fs Set) EmbeddingModel(model *string) {
	fs.StringVar(model, "model", eval.DefaultEmbeddingModel, "make the vectors with the model `NAME`")
}
