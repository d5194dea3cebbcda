package evalrun_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/reports"
	"github.com/evalrun/evalrun/runner"
)

func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		expect.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

// withKey is an environment with nothing but a key.
func withKey(name string) string { return map[string]string{"EVALRUN_API_KEY": "k"}[name] }

// Runs in several folders run at once, and each keeps to its own: relative suites, scripts, reports, run directories
// and history.
func TestRunsInSeveralFoldersKeepApart(t *testing.T) {
	t.Parallel()
	before := runsHere(t) // of make demo, if any
	var running sync.WaitGroup
	for range 8 {
		dir := write(t, map[string]string{"suite.yaml": capitals, "script.yaml": script})
		running.Go(func() {
			job, err := evalrun.Load(t.Context(), evalrun.Options{
				Caller: runner.Caller{Dir: dir, Suites: []string{"suite.yaml"}},
				Options: eval.Options{
					Emulator: "script.yaml", Reports: []string{"json=report.json"}, SourceOptions: eval.SourceOptions{Record: "answers"},
				},
			})
			if err != nil {
				t.Error(err)
				return
			}
			result, err := evalrun.Run(t.Context(), job)
			if err != nil {
				t.Error(err)
				return
			}
			if below := filepath.Join(dir, ".evalrun", "runs"); filepath.Dir(result.Dir) != below || result.Exit != 1 {
				t.Errorf("exit %d and the run directory %s, want 1 and one in %s", result.Exit, result.Dir, below)
			}
			for _, name := range []string{"report.json", "answers/models.json", ".evalrun/history.db"} {
				if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	expect.Same(t, "runs in the working directory", runsHere(t), before)
}

// runsHere lists what is below .evalrun in the working directory.
func runsHere(t *testing.T) (names []string) {
	t.Helper()
	for _, pattern := range []string{".evalrun/runs/*", ".evalrun/expected-runs/*"} {
		found, err := filepath.Glob(pattern)
		expect.OK(t, err)
		names = append(names, found...)
	}
	return names
}

// Problems of a suite are one error with all their places, and nothing is written.
func TestLoadReportsProblems(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"bad.yaml": strings.ReplaceAll(capitals, "equals", "equal")})
	_, err := evalrun.Load(t.Context(), evalrun.Options{
		Caller:  runner.Caller{Dir: dir, Suites: []string{"bad.yaml"}},
		Options: eval.Options{Emulator: eval.DemoScript},
	})
	if evalrun.ExitCode(err) != 2 {
		t.Fatalf("exit %d with %v, want 2", evalrun.ExitCode(err), err)
	}
	var out strings.Builder
	expect.OK(t, evalrun.WriteError(&out, err, false))
	for _, want := range []string{"bad.yaml:7:56: unknown scorer kind `equal`", "bad.yaml:8:54:", "did you mean `equals`?", "2 errors"} {
		expect.Contains(t, "the report", out.String(), want)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%d files in the folder, want the suite alone (%v)", len(entries), err)
	}
}

// A run that is interrupted can be resumed, a complete one is not sent again, and neither is an error.
func TestAnInterruptedRunCanBeResumed(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"suite.yaml": strings.Replace(capitals, "cases:", "limits: {concurrency: 1}\ncases:", 1), "script.yaml": script,
	})
	interrupt := make(chan os.Signal, 1)
	var once sync.Once // a second interrupt gives up the trial that is being sent
	options := evalrun.Options{
		Caller:  runner.Caller{Dir: dir, Suites: []string{"suite.yaml"}, Interrupt: interrupt},
		Options: eval.Options{Emulator: "script.yaml", Out: "run", SelectionOptions: eval.SelectionOptions{Repeats: 50}},
		Progress: func(e evalrun.Event) {
			if _, ok := e.(evalrun.TrialDone); ok {
				once.Do(func() { interrupt <- os.Interrupt })
			}
		},
	}
	job, err := evalrun.Load(t.Context(), options)
	expect.OK(t, err)
	result, err := evalrun.Run(t.Context(), job)
	if err != nil || result.Exit != 130 || result.Counts.Skip == 0 {
		t.Fatalf("exit %d with %+v, %v, want 130 and trials that were not sent", result.Exit, result.Counts, err)
	}
	sent := 0
	options.Interrupt, options.Progress = nil, func(e evalrun.Event) {
		if _, ok := e.(evalrun.TrialDone); ok {
			sent++
		}
	}
	before := result.Counts.Ran()
	for _, want := range []int{100 - before, 0} {
		sent = 0
		if result, err = evalrun.Resume(t.Context(), "run", options); err != nil || result.Exit != 1 || result.Counts.Ran() != 100 ||
			sent != want {
			t.Errorf("resumed: exit %d with %+v, %v and %d trials sent, want 1, 100 trials and %d", result.Exit, result.Counts, err, sent, want)
		}
	}
}

// A run compared with itself is an outcome and not an error.
func TestComparingARunWithItselfIsAnOutcome(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"suite.yaml": capitals, "script.yaml": script})
	job, err := evalrun.Load(t.Context(), evalrun.Options{
		Caller:  runner.Caller{Dir: dir, Suites: []string{"suite.yaml"}},
		Options: eval.Options{Emulator: "script.yaml", Out: "run"},
	})
	expect.OK(t, err)
	if _, err := evalrun.Run(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	c, err := evalrun.Compare(t.Context(), "run", "latest", evalrun.CompareOptions{Dir: dir})
	if err == nil {
		t.Errorf("got %s as the latest, want none: the run is not below .evalrun", c.Head.Run)
	}
	if c, err = evalrun.Compare(t.Context(), "run", "run", evalrun.CompareOptions{Dir: dir}); err != nil || c.Verdict != eval.Invalid ||
		c.Why == "" {
		t.Errorf("%+v, %v, want invalid and why", c, err)
	}
}

// What cannot be run says so with the exit code of the command.
// A shard that no plan has would run nothing, and look like a green run.
func TestInvalidShardsAreRefused(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"suite.yaml": capitals})
	for _, s := range []eval.Shard{{Index: 9, Of: 4}, {Of: 4}, {Index: 1}, {Index: -1, Of: -1}, {Index: 1, Of: 10_001}} {
		_, err := evalrun.Load(t.Context(), evalrun.Options{
			Caller:  runner.Caller{Dir: dir, Suites: []string{"suite.yaml"}},
			Options: eval.Options{Emulator: eval.DemoScript, SelectionOptions: eval.SelectionOptions{Shard: s}},
		})
		if err == nil || evalrun.ExitCode(err) != 2 || !strings.Contains(err.Error(), "I from 1 to N") {
			t.Errorf("%+v: got %v, want exit 2 and the form of a shard", s, err)
		}
	}
}

func TestErrorsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"suite.yaml": capitals, "script.yaml": script})
	load := func(o evalrun.Options) error {
		o.Dir = dir
		job, err := evalrun.Load(t.Context(), o)
		if err == nil {
			_, err = evalrun.Run(t.Context(), job)
		}
		return err
	}
	none := func(string) string { return "" }
	for name, test := range map[string]struct {
		options evalrun.Options
		exit    int
		says    string
	}{
		"no suite":      {evalrun.Options{}, 2, "no suite is named"},
		"no such suite": {evalrun.Options{Caller: runner.Caller{Suites: []string{"none.yaml"}}}, 2, "there is no file none.yaml"},
		"no such format": {evalrun.Options{
			Caller:  runner.Caller{Suites: []string{"suite.yaml"}},
			Options: eval.Options{Reports: []string{"jsn=x"}},
		}, 2, "did you mean `json`"},
		"no service": {evalrun.Options{Caller: runner.Caller{Suites: []string{"suite.yaml"}, Getenv: none}}, 2, "no service is configured"},
		"nothing selected": {
			evalrun.Options{
				Caller:  runner.Caller{Suites: []string{"suite.yaml"}},
				Options: eval.Options{Emulator: "script.yaml", SelectionOptions: eval.SelectionOptions{Cases: []string{"frnace"}}},
			},
			4, "did you mean france",
		},
		"a dead service": {evalrun.Options{
			Caller:  runner.Caller{Suites: []string{"suite.yaml"}, Getenv: withKey},
			Options: eval.Options{ServiceOptions: eval.ServiceOptions{BaseURL: "http://127.0.0.1:1"}, LimitOptions: eval.LimitOptions{Attempts: 1}},
		}, 4, "does not answer"},
	} {
		if err := load(test.options); evalrun.ExitCode(err) != test.exit || err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: exit %d with %v, want %d with %q", name, evalrun.ExitCode(err), err, test.exit, test.says)
		}
	}
	err := load(
		evalrun.Options{
			Caller:  runner.Caller{Suites: []string{"suite.yaml"}},
			Options: eval.Options{Emulator: "script.yaml", SelectionOptions: eval.SelectionOptions{Tags: []string{"x"}}},
		},
	)
	if !errors.Is(err, evalrun.ErrNothing) {
		t.Errorf("an empty selection: %v, want ErrNothing", err)
	}
	if _, err := evalrun.Resume(t.Context(), "none", evalrun.Options{Caller: runner.Caller{Dir: dir}}); evalrun.ExitCode(err) != 2 {
		t.Errorf("resuming what is not there: %v, want exit code 2", err)
	}
}

// A canceled context abandons what is under way; the run is incomplete and can be resumed.
func TestACanceledRunCanBeResumed(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"suite.yaml": strings.Replace(capitals, "cases:", "limits: {concurrency: 1}\ncases:", 1), "script.yaml": script,
	})
	ctx, cancel := context.WithCancel(t.Context())
	options := evalrun.Options{
		Caller:  runner.Caller{Dir: dir, Suites: []string{"suite.yaml"}},
		Options: eval.Options{Emulator: "script.yaml", Out: "run", SelectionOptions: eval.SelectionOptions{Repeats: 50}},
		Progress: func(e evalrun.Event) {
			if _, ok := e.(evalrun.TrialDone); ok {
				cancel()
			}
		},
	}
	job, err := evalrun.Load(ctx, options)
	expect.OK(t, err)
	result, err := evalrun.Run(ctx, job)
	if err != nil || result.Exit != 4 || result.Counts.Ran() == 100 {
		t.Fatalf("%+v, %v, want exit 4 and trials that were not sent", result, err)
	}
	options.Progress = nil
	if result, err = evalrun.Resume(t.Context(), "run", options); err != nil || result.Exit != 1 || result.Counts.Ran() != 100 {
		t.Errorf("resumed: %+v, %v, want exit 1 and 100 trials", result, err)
	}
}

// Every retry is an event in a verbose run, also before the first trial; once the run file is complete, signals are the caller's again.
func TestEventsReportEveryRetry(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"suite.yaml": capitals})
	retries := 0
	job, err := evalrun.Load(t.Context(), evalrun.Options{
		Caller:  runner.Caller{Dir: dir, Suites: []string{"suite.yaml"}, Getenv: withKey},
		Options: eval.Options{ServiceOptions: eval.ServiceOptions{BaseURL: "http://127.0.0.1:1"}, LimitOptions: eval.LimitOptions{Attempts: 2}},
		Layout:  reports.Options{Verbose: true},
		Progress: func(e evalrun.Event) {
			if _, ok := e.(evalrun.RetryPlanned); ok {
				retries++
			}
		},
	})
	expect.OK(t, err)
	if _, err := evalrun.Run(t.Context(), job); err == nil || retries != 1 {
		t.Errorf("%d retries and %v, want one and an error", retries, err)
	}

	dir = write(t, map[string]string{"suite.yaml": capitals, "script.yaml": script})
	var kinds []string
	job, err = evalrun.Load(t.Context(), evalrun.Options{
		Caller:   runner.Caller{Dir: dir, Suites: []string{"suite.yaml"}},
		Options:  eval.Options{Emulator: "script.yaml"},
		Progress: func(e evalrun.Event) { kinds = append(kinds, fmt.Sprintf("%T", e)) },
	})
	expect.OK(t, err)
	if _, err := evalrun.Run(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"evalrun.Started", "evalrun.TrialDone", "evalrun.TrialDone", "evalrun.Finished",
		"evalrun.RunWritten", "evalrun.RunEnded", "evalrun.RunRead", "evalrun.ReportsDue",
	}
	if !slices.Equal(kinds, want) {
		t.Errorf("events %v, want %v", kinds, want)
	}
}
