// Package evaltest runs suites from Go tests: each case on an arm is a subtest.
//
//	func TestPrompts(t *testing.T) {
//		var o evaltest.Options
//		o.Record = "testdata/answers"
//		evaltest.Run(t, "testdata/suite.yaml", o)
//	}
//
// A subtest is named SUITE/CASE/TARGET/PROMPT, and -run and -skip choose among them as among all others: `go test -run
// 'TestPrompts/capitals/france'` runs only the chosen trials. They run as with `evalrun run`, as one run with one ledger
// and in parallel. When the run has ended, the subtests report its results in the order of the plan.
//
// The package is a thin layer over the command. It refuses to send requests under -short, and never uses the emulator by
// itself. Options.Report gives a test everything else about a run.
package evaltest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/suite"
)

// Demo is the value of Options.Emulator for the script that evalrun brings.
const Demo = eval.DemoScript

// Options are those of package evalrun, which mean what the flags of `evalrun run` mean. They win over the EVALRUN_* variables,
// which win over the suite. The zero Options use the service that these name. The key is never an option: it is in
// EVALRUN_API_KEY. All fields are optional; Suites is the argument of Run.
//
// With Record, answers are kept in a folder, from which -short takes them. Out is a folder in which each run gets a directory of
// its own, which is kept. Without it the run directory is in the test's artifacts (go test -artifacts), or else a temporary one,
// which is kept when the test fails.
type Options struct {
	evalrun.Options
	// Report is called when the run has ended: for a custom report, or checks of numbers. t is the test of the suite.
	// The gate is applied, unless -run or -skip chose only a part. The document is closed afterwards. Without a trial
	// that ran it is not called.
	Report func(t *testing.T, d *journal.Document)
}

// Run runs the suite in a file, with a subtest for each case on each arm.
//
// A subtest fails when a repeat of its case fails. One whose answer could not be judged fails too, and its text begins with
// "could not be judged". Cases in quarantine that do not pass, and trials that did not run, are skipped, with the reason.
//
// In a suite with a `gate:` block the gate decides, as it does for the command. It is a subtest of its own, called
// SUITE/gate. A case that does not pass then only says so in its log. Where -run or -skip leaves out a part, the gate is not
// applied, and each case counts by itself again.
//
// With -short no request is sent: answers come from Options.Replay, Options.Record or Options.Emulator, and with none of them
// the suite is checked and skipped. Run waits for batches, so give `go test` the -timeout that they take. -v reports each
// answer when it comes. With -count each time is a run of its own. Problems of the suite are fatal, each with its place and a
// hint.
func Run(t *testing.T, file string, o Options) {
	t.Helper()
	options, err := o.options(file)
	if err != nil {
		t.Fatal(err)
	}
	log := t
	options.Progress = func(e evalrun.Event) {
		show(log, e)
		if o.Progress != nil {
			o.Progress(e)
		}
	}
	job, err := evalrun.Load(t.Context(), options)
	if err != nil {
		t.Fatal(words(err))
	}
	one := job.Suites()[0]
	t.Run(one.Name, func(t *testing.T) {
		t.Helper()
		log = t
		if warnings := job.Warnings(); warnings.Len() > 0 {
			var out bytes.Buffer
			_ = job.WriteWarnings(&out, false) // a buffer takes everything
			t.Log("\n" + strings.TrimRight(out.String(), "\n"))
		}
		needAnswers(t, job, &options)
		(&suiteTest{t: t, suite: one, job: job, load: options, options: &o}).run()
	})
}

// needAnswers ends a test that has nowhere to get answers from.
func needAnswers(t *testing.T, job *evalrun.Job, o *evalrun.Options) {
	t.Helper()
	if testing.Short() && o.Emulator == "" && o.Replay == "" {
		t.Skip(
			"-short sends no requests: record answers with Options.Record, which -short then replays, name a folder of recorded ones in " +
				"Options.Replay, or use Options.Emulator",
		)
	}
	if job.NeedsService() && job.Service().BaseURL == "" && o.Replay == "" {
		t.Fatal(
			"no service is configured: set EVALRUN_BASE_URL (and the key in EVALRUN_API_KEY), Options.BaseURL or service.baseUrl in the " +
				"suite; without a service, set Options.Emulator (such as evaltest.Demo) or Options.Replay",
		)
	}
}

// options returns the options of package evalrun. With -short, recorded answers are replayed.
func (o *Options) options(file string) (evalrun.Options, error) {
	f := o.Options
	f.Suites, f.NoHistory, f.Version = []string{file}, true, cmp.Or(o.Version, version())
	f.Wait = true // for batches: a test that does not has no verdict
	if testing.Short() && f.Emulator == "" {
		f.Replay, f.Record = cmp.Or(o.Replay, o.Record), ""
	}
	switch {
	case len(o.Suites) > 0:
		return f, errors.New("evaltest: Options.Suites is the argument of Run: leave it out")
	case f.Emulator != "" && f.Replay != "":
		return f, errors.New("evaltest: Options.Emulator and Options.Replay are two places for answers to come from: choose one")
	case o.Timeout < 0:
		return f, fmt.Errorf("evaltest: Options.Timeout is %s, and takes a time above zero", o.Timeout)
	}
	return f, o.bounds()
}

// bounds checks the numbers that have a largest value.
func (o *Options) bounds() error {
	for _, bounded := range []struct {
		name        string
		value, most int
	}{
		{"Repeats", o.Repeats, suite.MaxRepeats},
		{"Concurrency", o.Concurrency, suite.MaxConcurrency},
		{"Attempts", o.Attempts, suite.MaxAttempts},
		{"RPM", o.RPM, maxBudget},
		{"TPM", o.TPM, maxBudget},
		{"BudgetCalls", o.BudgetCalls, maxBudget},
		{"BudgetTokens", o.BudgetTokens, maxBudget},
	} {
		if bounded.value < 0 || bounded.value > bounded.most {
			return fmt.Errorf("evaltest: Options.%s is %d, and takes 1 to %d", bounded.name, bounded.value, bounded.most)
		}
	}
	return nil
}

// maxBudget is the most that suites take, too.
const maxBudget = 1<<31 - 1

// words are an error as people read it: problems in files with their lines.
func words(err error) string {
	var out bytes.Buffer
	_ = evalrun.WriteError(&out, err, false) // a buffer takes everything
	text := strings.TrimRight(out.String(), "\n")
	if strings.Contains(text, "\n") {
		text = "\n" + text
	}
	return text
}

// version returns the version of the evalrun that the test was built with.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "github.com/evalrun/evalrun" && m.Version != "" {
				return m.Version
			}
		}
	}
	return "development"
}
