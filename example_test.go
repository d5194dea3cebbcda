package evalrun_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/runner"
)

// capitals is a suite whose last case fails: the answer is Tokyo.
const capitals = `
version: 1
name: capitals
targets: [{name: pro, model: svc-pro}]
prompts: [{name: ask, text: "What is the capital of {{.country}}?"}]
cases:
  - {name: france, vars: {country: France}, scorers: [{equals: Paris}]}
  - {name: japan, vars: {country: Japan}, scorers: [{equals: Kyoto}]}
`

const script = `
rules:
  - {match: {text: "*France*"}, reply: Paris}
  - {match: {text: "*Japan*"}, reply: Tokyo}
`

func folder() string {
	dir, err := os.MkdirTemp("", "evalrun-*")
	if err != nil {
		log.Fatal(err)
	}
	for name, text := range map[string]string{"suite.yaml": capitals, "script.yaml": script} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			log.Fatal(err)
		}
	}
	return dir
}

// A suite runs, and its exit code says whether the answers are good enough.
func Example() {
	dir := folder()
	defer os.RemoveAll(dir)
	ctx := context.Background()
	job, err := evalrun.Load(ctx, evalrun.Options{
		Caller:  runner.Caller{Dir: dir, Suites: []string{"suite.yaml"}},
		Options: eval.Options{Emulator: "script.yaml", Reports: []string{"junit=junit.xml"}},
		Progress: func(e evalrun.Event) {
			if done, ok := e.(evalrun.TrialDone); ok && done.Result.Outcome() != eval.Pass {
				fmt.Println(done.Result.Case, done.Result.Outcome())
			}
		},
	})
	if err != nil {
		log.Fatal(err) // every problem of the suite with file, line and column
	}
	result, err := evalrun.Run(ctx, job)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Headline)
	// Output:
	// japan fail
	// FAIL: 1 trial failed (exit 1)
}

// A run whose budget is spent is incomplete. Resuming it sends what is missing.
func ExampleResume() {
	dir := folder()
	defer os.RemoveAll(dir)
	ctx := context.Background()
	options := evalrun.Options{
		Caller:  runner.Caller{Dir: dir, Suites: []string{"suite.yaml"}},
		Options: eval.Options{Emulator: "script.yaml", Out: "run", LimitOptions: eval.LimitOptions{BudgetCalls: 1, Concurrency: 1}},
	}
	job, err := evalrun.Load(ctx, options)
	if err != nil {
		log.Fatal(err)
	}
	result, err := evalrun.Run(ctx, job)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("exit", result.Exit, "after", result.Counts.Ran(), "trial")
	options.LimitOptions = eval.LimitOptions{BudgetCalls: 100}
	if result, err = evalrun.Resume(ctx, "run", options); err != nil {
		log.Fatal(err)
	}
	fmt.Println("exit", result.Exit, "after", result.Counts.Ran(), "trials")
	// Output:
	// exit 4 after 1 trial
	// exit 1 after 2 trials
}

// Two runs are compared case by case.
func ExampleCompare() {
	dir := folder()
	defer os.RemoveAll(dir)
	ctx := context.Background()
	for _, out := range []string{"before", "after"} {
		job, err := evalrun.Load(ctx, evalrun.Options{
			Caller:  runner.Caller{Dir: dir, Suites: []string{"suite.yaml"}},
			Options: eval.Options{Emulator: "script.yaml", Out: out},
		})
		if err != nil {
			log.Fatal(err)
		}
		if _, err := evalrun.Run(ctx, job); err != nil {
			log.Fatal(err)
		}
	}
	c, err := evalrun.Compare(ctx, "before", "after", evalrun.CompareOptions{Dir: dir, Rule: eval.RuleOptions{Margin: 0.05}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Verdict) // two cases are too few to tell
	// Output: inconclusive
}

// The report of a run is written in any format.
func ExampleReport() {
	dir := folder()
	defer os.RemoveAll(dir)
	ctx := context.Background()
	job, err := evalrun.Load(ctx, evalrun.Options{
		Caller:  runner.Caller{Dir: dir, Suites: []string{"suite.yaml"}},
		Options: eval.Options{Emulator: "script.yaml"},
	})
	if err != nil {
		log.Fatal(err)
	}
	result, err := evalrun.Run(ctx, job)
	if err != nil {
		log.Fatal(err)
	}
	if err := evalrun.Report(ctx, os.Stdout, result.Dir, "github"); err != nil {
		log.Fatal(err)
	}
	// Output:
	// ::notice title=evalrun::against evalrun's emulator: answers come from a script, not from a model
	// ::error file=suite.yaml,title=evalrun%3A the gate does not hold (exit 1)::there are trials that failed or could not be judged
	// ::error file=suite.yaml,line=8,col=12,title=japan%3A failed (0 of 1 passed%2C 1 failed)::pro/ask: equals: expected "Kyoto", got "Tokyo"
}
