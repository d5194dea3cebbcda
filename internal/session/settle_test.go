package session

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/runner"
)

// suiteOf writes a suite of one case, and gives its path.
func suiteOf(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name+".yaml")
	text := "version: 1\nname: " + name +
		"\ntargets: [{name: t, model: svc-pro}]\nprompts: [{name: p, text: hi}]\ncases: [{name: c, scorers: [{equals: hi}]}]\n"
	expect.OK(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func settled(t *testing.T, o eval.Options, env map[string]string, files ...string) (*Job, error) {
	t.Helper()
	l, err := Load(Options{Options: o, Caller: runner.Caller{Suites: files, Getenv: func(name string) string { return env[name] }}})
	if err == nil {
		err = l.Bad()
	}
	expect.OK(t, err)
	return l.Settle()
}

// Where neither a suite nor a variable nor a flag says anything the defaults hold. The emulator has its own address, and a key no space
// around it.
func TestSettleHasDefaults(t *testing.T) {
	t.Parallel()
	file := suiteOf(t, "a")
	j, err := settled(t, eval.Options{}, nil, file)
	expect.OK(t, err)
	service, limits := &j.Settings.Service, &j.Settings.Limits
	expect.Same(t, "address and key", [2]string{service.BaseURL, j.Settings.Key()}, [2]string{})
	expect.Same(t, "auth", service.Auth, "apiKey")
	expect.Same(t, "limits", [2]any{limits.Concurrency, limits.Timeout}, [2]any{8, time.Minute})
	env := map[string]string{"EVALRUN_BASE_URL": "https://variable.example", "EVALRUN_API_KEY": " secret "}
	j, err = settled(t, eval.Options{Emulator: eval.DemoScript}, env, file)
	expect.OK(t, err)
	expect.Same(t, "those of the emulator", [2]string{j.Settings.Service.BaseURL, j.Settings.Key()}, [2]string{emulatorURL, "secret"})
}

// The hint names the filter that selects nothing, and what it could have meant.
func TestTheHintNamesTheFilterThatSelectsNothing(t *testing.T) {
	t.Parallel()
	file := suiteOf(t, "a")
	for want, o := range map[string]eval.SelectionOptions{
		": --case d fits none":    {Cases: []string{"d"}},
		": --arm t/q fits none":   {Arms: []string{"t/q"}},
		": --tag x fits none":     {Tags: []string{"x"}},
		"did you mean t/p?":       {Arms: []string{"t/pp"}},
		": --arm none* fits none": {Cases: []string{"c"}, Arms: []string{"none*"}},
	} {
		j, err := settled(t, eval.Options{SelectionOptions: o}, nil, file)
		expect.OK(t, err)
		if n := j.Plan().Size(); n != 0 || !strings.Contains(j.Hint(), want) {
			t.Errorf("%+v selects %d trials with the hint %q, want none and %q", o, n, j.Hint(), want)
		}
	}
}

// A job continues a run with its suites, project file, name, labels and flags. Limits and reports may differ.
func TestAJobContinuesARunOfItsOwn(t *testing.T) {
	t.Parallel()
	files := []string{suiteOf(t, "a"), suiteOf(t, "b")}
	began := func() (*Job, *eval.Run) {
		j, err := settled(t, eval.Options{Seed: 7, Name: "night", Emulator: "demo"}, nil, files...)
		expect.OK(t, err)
		run := &eval.Run{CommandOptions: j.KeptOptions()}
		j.Identify(run)
		for _, s := range j.Suites {
			run.Suites = append(run.Suites, eval.RunSuite{Hash: s.Hash()})
		}
		return j, run
	}
	for name, test := range map[string]struct {
		change func(*Job, *eval.Run)
		want   string
	}{
		"nothing": {func(*Job, *eval.Run) {}, "<nil>"},
		"limits": {func(j *Job, _ *eval.Run) {
			j.Options.Concurrency, j.Options.BudgetCalls, j.Options.Reports, j.Options.Out = 3, 5, []string{"json"}, "x"
		}, "<nil>"},
		"a suite less": {func(_ *Job, r *eval.Run) { r.Suites = r.Suites[:1] }, "it began with 1 suite, and 2 are named"},
		"another suite": {
			func(_ *Job, r *eval.Run) { r.Suites[1].Hash = "x" }, "the suite " + files[1] + " is not as it was when the run began",
		},
		"another project": {func(_ *Job, r *eval.Run) { r.ProjectHash = "x" }, "the project file is not as it was when the run began"},
		"flags": {func(j *Job, r *eval.Run) {
			j.Options.Seed, j.Options.MinPassRate, j.Options.Labels = 8, new(0.5), map[string]string{"a": "b"}
			r.Name = "day"
		}, "it began with other values of --label, --min-pass-rate, --name, --seed"},
	} {
		j, run := began()
		test.change(j, run)
		err := j.Continues(run)
		expect.Same(t, name, fmt.Sprint(err), test.want)
		if err != nil {
			expect.Same(t, "exit code of "+name, eval.CodeOf(err), eval.CodeBadInput)
		}
	}
}
