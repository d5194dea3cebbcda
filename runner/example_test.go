package runner_test

import (
	"context"
	"fmt"
	"os"
	"testing/fstest"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/clients/generative"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/emulator"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// A plan is carried out by anything that generates answers: here the client of the service, with an emulator. Results
// come as they are ready, here one by one. The client makes one attempt for each call; callers that want retries and
// limits put them around it.
func ExampleRun() {
	files := fstest.MapFS{"s.yaml": {Data: []byte(`
version: 1
name: capitals
targets: [{name: pro, model: svc-pro}]
prompts: [{name: direct, text: "What is the capital of {{.country}}?"}]
defaults: {scorers: [{contains: "{{.capital}}"}]}
cases:
  - {name: france, vars: {country: France, capital: Paris}}
  - {name: atlantis, vars: {country: Atlantis, capital: Poseidonis}}
`)}}
	var diags diag.List
	s := suite.Load(files, "s.yaml", scorers.Builtin(), suite.Options{}, &diags)
	if diags.HasErrors() {
		_ = diag.Renderer{}.Render(os.Stdout, &diags)
		return
	}

	server, err := emulator.New(emulator.Options{Script: emulator.DemoScript()}).Start("127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	client := generative.New(wire.Server{BaseURL: server.URL, Key: "any"})
	defer client.Close()

	plan := runner.NewPlan([]*suite.Suite{s}, scorers.Builtin(), runner.Filter{}, "v1")
	for r := range runner.Run(context.Background(), plan, runner.Config{
		Services: runner.Services{Generator: client, Counter: client, Embedder: client, Concurrency: 1},
		Counting: runner.Counting{Mode: suite.CountNever},
		Stop:     runner.NewStop(),
	}) {
		fmt.Println(r.Case, r.Outcome(), r.Scores[0].Reason)
	}
	// Output:
	// france pass the answer contains "Paris"
	// atlantis fail the answer does not contain "Poseidonis": "What is the capital of Atlantis?"
}
