package evalrun_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/eval"
)

// A suite runs against the emulator, and the exit code says what the gate makes of it.
func Example() {
	dir, err := os.MkdirTemp("", "evalrun-*")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(dir+"/suite.yaml", []byte(capitals), 0o600); err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	job, err := evalrun.Load(ctx, evalrun.Options{Dir: dir, Suites: []string{"suite.yaml"}, Emulator: eval.DemoScript})
	if err != nil {
		log.Fatal(err)
	}
	result, err := evalrun.Run(ctx, job)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("exit", result.Exit)
	fmt.Println(result.Verdict)
	// Output:
	// X
}

// capitals is a suite whose last case fails: the emulator knows better.
const capitals = `
version: 1
name: capitals
targets: [{name: pro, model: svc-pro}]
prompts: [{name: ask, text: "What is the capital of {{.country}}? Answer with one word."}]
cases:
  - {name: france, vars: {country: France}, scorers: [{equals: Paris}]}
  - {name: japan, vars: {country: Japan}, scorers: [{equals: Kyoto}]}
`
