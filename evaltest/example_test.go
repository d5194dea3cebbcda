package evaltest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/evaltest"
	"github.com/evalrun/evalrun/internal/clients/generative"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/emulator"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// In a test, with answers that are recorded for `go test -short`, and a look at the numbers of the run.
func ExampleRun() {
	var t *testing.T // of func TestPrompts(t *testing.T)
	var o evaltest.Options
	o.Record, o.BudgetCalls = "testdata/answers", 100
	o.Report = func(t *testing.T, d *journal.Document) {
		if rate, ok := d.Summary.Suites[0].Arms[0].PassRate(); ok && rate < 0.9 {
			t.Errorf("the pass rate is %.2f, want at least 0.90", rate)
		}
	}
	evaltest.Run(t, "testdata/suite.yaml", o)
}

// Two runs; the second has another prompt.
func ExampleCompare() {
	dir, err := os.MkdirTemp("", "runs-*")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	base, err := carryOut(filepath.Join(dir, "base"), "What is the capital of {{.country}}? Answer with its name alone.")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer base.Close()
	head, err := carryOut(filepath.Join(dir, "head"), "The capital, please: {{.country}}")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer head.Close()

	c, err := evaltest.Compare(base, head, eval.MetricMargin{Name: eval.MetricPass, Margin: 0.05})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Verdict)
	for _, arm := range c.Arms {
		for _, m := range arm.Metrics {
			if m.Gated {
				fmt.Printf("%s of %s: %.2f, was %.2f\n", m.Name, arm.HeadArm, m.Head, m.Base)
			}
		}
	}
	// Output:
	// regressed
	// pass of pro/direct: 0.00, was 1.00
}

// carryOut runs a suite with that prompt against an emulator, and writes the run down. It is what evaltest.Run and the
// command do, without limits, retries and a gate.
func carryOut(dir, prompt string) (*journal.Document, error) {
	text := fmt.Sprintf("version: 1\nname: capitals\ntargets: [{name: pro, model: svc-pro}]\nprompts: [{name: direct, text: %q}]\n", prompt) +
		"defaults: {scorers: [{contains: Paris}]}\ncases:\n"
	for n := range 40 {
		text += fmt.Sprintf("  - {name: 'France %d', vars: {country: 'France %d'}}\n", n, n)
	}
	var diags diag.List
	s := suite.Load(fstest.MapFS{"s.yaml": {Data: []byte(text)}}, "s.yaml", scorers.Builtin(), suite.Options{}, &diags)
	script := emulator.LoadScript(
		"script.yaml", []byte("rules: [{match: {text: '*capital of France*'}, reply: Paris}, {reply: 'What?'}]"), &diags,
	)
	if diags.HasErrors() {
		return nil, diags.Err()
	}
	server, err := emulator.New(emulator.Options{Script: script}).Start("127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer server.Close()
	client := generative.New(wire.Server{BaseURL: server.URL, Key: "any"})
	defer client.Close()

	plan := runner.NewPlan([]*suite.Suite{s}, scorers.Builtin(), runner.Filter{}, "v1")
	w, err := journal.Create(dir, &eval.Run{ID: filepath.Base(dir), Plan: eval.RunPlan{Trials: plan.Size()}}, nil)
	if err != nil {
		return nil, err
	}
	end := eval.End{Reason: eval.EndCompleted}
	for r := range runner.Run(context.Background(), plan, runner.Config{
		Services: runner.Services{Generator: client, Counter: client, Embedder: client, Concurrency: 4},
		Counting: runner.Counting{Mode: suite.CountNever},
		Stop:     runner.NewStop(),
	}) {
		if err := w.Append(&r); err != nil {
			return nil, err
		}
		end.Counts.Add(r.Outcome())
	}
	if err := w.Finish(&end); err != nil {
		return nil, err
	}
	return journal.Open(dir)
}
