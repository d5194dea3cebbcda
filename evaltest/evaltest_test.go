package evaltest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/evaltest"
	"github.com/evalrun/evalrun/internal/emulator"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/scorers"
)

// fixture is the compiled tests of testdata/fixture.
var fixture string

func TestMain(m *testing.M) {
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0") // programs with the race detector sleep for a second before they exit
	_ = os.Setenv("CGO_ENABLED", "0")            // built with the flags of make build: packages are compiled once
	dir, err := os.MkdirTemp("", "evaltest-*")
	if err == nil {
		fixture = filepath.Join(dir, "fixture.test.exe") // as Windows wants it
		var out []byte
		compile := exec.Command("go", "test", "-c", "-trimpath", "-gcflags=all=-dwarf=false", "-o", fixture, "./testdata/fixture")
		if out, err = compile.CombinedOutput(); err != nil {
			err = fmt.Errorf("%w\n%s", err, out)
		}
	}
	code := 1
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// service is an emulator that answers as testdata/fixture/script.yaml says, and the environment that names it.
func service(t *testing.T) (*emulator.Emulator, []string) {
	t.Helper()
	src, err := os.ReadFile("testdata/fixture/script.yaml")
	expect.OK(t, err)
	var diags diag.List
	e := emulator.New(emulator.Options{Script: emulator.LoadScript("script.yaml", src, &diags)})
	if diags.HasErrors() {
		t.Fatalf("got %v, want no problem", diags.Err())
	}
	server, err := e.Start("127.0.0.1:0")
	expect.OK(t, err)
	t.Cleanup(server.Close)
	return e, []string{"EVALRUN_BASE_URL=" + server.URL, "EVALRUN_API_KEY=key", "TMPDIR=" + t.TempDir(), "TMP=" + t.TempDir()}
}

// run runs the fixture and gives its exit status and what it printed.
func run(t *testing.T, env []string, args ...string) (int, string) {
	t.Helper()
	cmd := exec.Command(fixture, args...)
	cmd.Dir, cmd.Env = "testdata/fixture", env
	out, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

type fixtureRun struct {
	args   string
	status int
	calls  int64
	wants  []string // in the output, in this order
	never  string
}

func fixtureRuns() []fixtureRun {
	return []fixtureRun{
		{"-test.run=TestOutcomes", 1, 6, []string{
			"a quarantine of more than 90 days",
			"--- FAIL: TestOutcomes/outcomes/the_land_of_/_the_rising_sun/pro/direct", `equals: expected "Tokyo", got "Osaka`,
			"| outcomes.yaml:9:11", "| actual:   Osaka", "| --- PASS: TestOutcomes", `\x1b[31m`,
			"--- FAIL: TestOutcomes/outcomes/nowhere/pro/direct", "could not be judged: status: 400", "the run is in ",
		}, "\n--- PASS"},
		{"-test.run=TestOutcomes/outcomes/france", 0, 2, nil, "FAIL"},
		{"-test.run=TestOutcomes/outcomes/france/warm -test.v", 0, 1, []string{
			"pass france on warm/direct: 10 tokens, ", "--- PASS: TestOutcomes/outcomes/france/warm/direct",
		}, "pro/direct"},
		{"-test.run=TestOutcomes/outcomes/atlantis", 0, 0, []string{"PASS"}, "FAIL"},
		{"-test.run=TestOutcomes/elsewhere", 0, 0, []string{"PASS"}, "FAIL"},
		{"-test.run=TestOutcomes -test.skip=TestOutcomes/outcomes/(nowhere|the) -test.v", 0, 3, []string{
			"in quarantine until 2999-01-31 (geo-team): the wording is ambiguous", "contains: the answer does not contain",
			"--- SKIP: TestOutcomes/outcomes/andorra/pro/direct",
		}, "FAIL: "},
		{"-test.run=TestPassing -test.count=2 -test.v", 0, 4, []string{
			"reported: 2 pass", "--- PASS: TestPassing/passing/france_again", "reported: 2 pass",
			"--- PASS: TestPassing/passing/france_again",
		}, "#01"},
		{"-test.run=TestPassing -test.short -test.v", 0, 0, []string{
			"-short sends no requests: record answers with Options.Record", "--- SKIP: TestPassing/passing",
		}, "FAIL"},
		{"-test.run=TestGated -test.v", 0, 2, []string{
			"does not pass, and the gate decides: equals:", "the gate holds", ", 2 rules",
			"--- PASS: TestGated/gated/japan", "--- PASS: TestGated/gated/gate",
		}, "FAIL:"},
		{"-test.run=TestGated/gated/japan", 1, 1, []string{
			"--- FAIL: TestGated/gated/japan/pro/direct",
		}, "the gate"},
		{"-test.run=TestGated/gated/gate -test.v", 0, 0, []string{
			"the gate judges the whole suite, and only a part of it ran", "--- SKIP: TestGated/gated/gate",
		}, "france"},
		{"-test.run=TestStrict", 1, 2, []string{
			"--- FAIL: TestStrict/strict/gate", "the gate does not hold", "| FAIL japan on pro/direct",
			"passRate at least 0.9; it is 0.5",
		}, "FAIL: TestStrict/strict/japan"},
		{"-test.run=TestStrict -test.skip=TestStrict/strict/gate", 1, 2, []string{
			"--- FAIL: TestStrict/strict/japan/pro/direct",
		}, "the gate"},
		{"-test.run=TestQuarantined", 1, 1, []string{"nothing was judged: every trial is in quarantine"}, "PASS"},
		{"-test.run=TestCompared", 1, 0, []string{
			"--- FAIL: TestCompared/compared", "there is no baseline",
		}, "PASS"},
		{"-test.run=TestCompared/compared/france", 0, 1, nil, "FAIL"},
		{"-test.run=TestBudget -test.v", 1, 1, []string{
			"the run is incomplete: 1 of 6 trials ran: the budget of 1 call is spent",
		}, "FAIL: TestBudget/outcomes/"},
		{"-test.run=TestModel -test.v", 1, 0, []string{
			"model.yaml:3:30: the service has no model", "did you mean", "not run: unknown says why",
			"--- FAIL: TestModel/unknown", "--- SKIP: TestModel/unknown/france",
		}, "PASS"},
		{"-test.run=TestBad", 1, 0, []string{
			"bad.yaml:4:58: case `france` has no variable `contry`", "^", "hint: did you mean `country`",
			"bad.yaml:6:56: unknown scorer kind `equal`", "hint: did you mean `equals`?", "2 errors",
		}, "PASS"},
		{"-test.run=TestMissing", 1, 0, []string{"there is no file missing.yaml"}, "PASS"},
		{"-test.run=TestClash", 1, 0, []string{"there is a kind of scorer `equals` already"}, "PASS"},
		{"-test.run=TestNothingSelected", 1, 0, []string{
			"no trial is selected: --case frnace fits none; did you mean france?",
		}, "PASS"},
		{"-test.run=TestNoService", 1, 0, []string{
			"no service is configured", "EVALRUN_BASE_URL", "Options.Emulator", "Options.Replay",
		}, "PASS"},
		{"-test.run=TestEcho -test.v", 0, 0, []string{"--- PASS: TestEcho/echo/hello/mirror/direct"}, "FAIL"},
		{"-test.run=TestEmulated -test.short -test.v", 0, 0, []string{
			"answers come from a script, not from a model", "--- PASS: TestEmulated/gated/france",
		}, "FAIL"},
	}
}

// TestFixtureTestsFailAsTheyShould runs a user's tests as go test does, against a service that counts its calls.
func TestFixtureTestsFailAsTheyShould(t *testing.T) {
	for _, c := range fixtureRuns() {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			e, env := service(t)
			temporary := t.TempDir()
			status, out := run(t, append(env, "TMPDIR="+temporary), strings.Fields(c.args)...)
			noEmptyFolders(t, temporary)
			expect.Same(t, "exit status", status, c.status)
			expect.Same(t, "calls", e.Stats()["generateContent"], c.calls)
			inOrder(t, out, c.wants)
			if c.never != "" && strings.Contains(out, c.never) {
				t.Errorf("want no %q in:\n%s", c.never, out)
			}
			if t.Failed() {
				t.Log(out)
			}
		})
	}
}

// noEmptyFolders wants every folder that is left to hold a run: tests that fail keep theirs.
func noEmptyFolders(t *testing.T, dir string) {
	t.Helper()
	folders, err := filepath.Glob(filepath.Join(dir, "evalrun-*"))
	expect.OK(t, err)
	for _, folder := range folders {
		if _, err := os.Stat(filepath.Join(folder, journal.FileName)); err != nil {
			t.Errorf("got a folder without a run (%v), want none", err)
		}
	}
}

// inOrder wants texts one after the other.
func inOrder(t *testing.T, out string, wants []string) {
	t.Helper()
	for _, want := range wants {
		_, after, found := strings.Cut(out, want)
		if !found {
			t.Errorf("got no %q, or not in its place, want it there", want)
			continue
		}
		out = after
	}
}

// What was recorded is replayed by -short, without a service.
func TestShortReplaysWithoutAService(t *testing.T) {
	e, env := service(t)
	answers := "ANSWERS=" + filepath.Join(t.TempDir(), "answers")
	if status, out := run(t, []string{answers}, "-test.run=TestPassing", "-test.short"); status != 1 ||
		!strings.Contains(out, "with recorded answers") {
		t.Errorf("exit status %d, want 1 because nothing is recorded\n%s", status, out)
	}
	if status, out := run(t, append(env, answers), "-test.run=TestPassing"); status != 0 {
		t.Fatalf("exit status %d, want 0\n%s", status, out)
	}
	for _, offline := range [][]string{append(env, answers), {answers}} {
		if status, out := run(t, offline, "-test.run=TestPassing", "-test.short", "-test.v"); status != 0 ||
			!strings.Contains(out, "reported: 2 pass") {
			t.Errorf("exit status %d, want 0 and 2 passed\n%s", status, out)
		}
	}
	expect.Same(t, "calls", e.Stats()["generateContent"], 2)
}

// A run directory holds the whole run. It is kept where the options name one, in the artifacts, and when a test fails.
func TestRunDirectoriesHoldTheWholeRun(t *testing.T) {
	for _, c := range []struct {
		test, where  string
		args         []string
		runs, trials int
	}{
		{"TestOutcomes", "out", []string{"-test.count=2"}, 2, 6},
		{"TestPassing", "tmp", nil, 0, 0},
		{"TestStrict", "tmp", nil, 1, 2},
		{"TestPassing", "artifacts", []string{"-test.artifacts"}, 1, 2},
	} {
		t.Run(c.test+" "+c.where, func(t *testing.T) {
			_, env := service(t)
			dir := t.TempDir()
			for _, sub := range []string{"tmp", "artifacts", "out"} {
				expect.OK(t, os.Mkdir(filepath.Join(dir, sub), 0o700))
			}
			env = append(env, "TMPDIR="+filepath.Join(dir, "tmp"), "TMP="+filepath.Join(dir, "tmp"), "OUT="+filepath.Join(dir, "out"))
			_, out := run(t, env, append(c.args, "-test.run="+c.test, "-test.outputdir="+filepath.Join(dir, "artifacts"))...)
			found := runsIn(t, filepath.Join(dir, c.where))
			expect.Same(t, "runs after "+out, len(found), c.runs)
			for _, path := range found {
				ended(t, path, c.trials)
			}
		})
	}
}

func runsIn(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if filepath.Base(path) == journal.FileName {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return found
}

// ended wants a complete run file with this number of trials.
func ended(t *testing.T, path string, trials int) {
	t.Helper()
	d, err := journal.Open(path)
	expect.OK(t, err)
	if d.Len() != trials || d.End == nil {
		t.Errorf("%s: %d trials, ended %v, want %d and an end", path, d.Len(), d.End, trials)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// What go test makes of it: an outcome for each subtest, whatever the answers hold.
func TestEachSubtestHasAnOutcome(t *testing.T) {
	_, env := service(t)
	cmd := exec.Command("go", "test", "-json", "-trimpath", "-gcflags=all=-dwarf=false", "-count=1", "-run=TestOutcomes", "./testdata/fixture")
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.Output()
	if err == nil {
		t.Errorf("a failing suite passes, want it to fail:\n%s", out)
	}
	var got []string
	for line := range bytes.Lines(out) {
		var event struct{ Action, Test string }
		if err := json.Unmarshal(line, &event); err != nil {
			t.Fatalf("%s: %v, want an event", line, err)
		}
		if slices.Contains([]string{"pass", "fail", "skip"}, event.Action) && event.Test != "" {
			got = append(got, event.Action+" "+event.Test)
		}
	}
	want := []string{
		"pass TestOutcomes/outcomes/france/pro/direct", "pass TestOutcomes/outcomes/france/warm/direct",
		"fail TestOutcomes/outcomes/the_land_of_/_the_rising_sun/pro/direct",
		"fail TestOutcomes/outcomes/the_land_of_/_the_rising_sun/warm/direct",
		"fail TestOutcomes/outcomes/nowhere/pro/direct", "skip TestOutcomes/outcomes/andorra/pro/direct",
		"fail TestOutcomes/outcomes", "fail TestOutcomes",
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// Several suites at once, and nothing of them is left.
func TestRunLeavesNothingBehind(t *testing.T) {
	defer goleak.VerifyNone(t)
	t.Setenv("EVALRUN_BASE_URL", "") // and t.Parallel is forbidden
	t.Setenv("EVALRUN_API_KEY", "")
	longer := scorers.New("capital", func(want string) (scorers.Func, error) {
		return func(a *scorers.Answer) scorers.Finding {
			return scorers.Graded(0.5, len(a.Candidate.Text) >= len(want), "it has %d bytes", len(a.Candidate.Text))
		}, nil
	})
	var trials []int
	for _, emulator := range []string{"testdata/fixture/script.yaml", evaltest.Demo} {
		var o evaltest.Options
		o.Emulator, o.Scorers, o.Repeats, o.Arms = emulator, []scorers.Kind{longer}, 20, []string{"pro/*"}
		o.Vars, o.Batch = map[string]string{"country": "France"}, emulator == evaltest.Demo // for which a test waits
		o.Report = func(t *testing.T, d *journal.Document) {
			trials = append(trials, d.Len())
			for r, err := range d.Trials() {
				if err != nil || len(r.Scores) != 1 || r.Scores[0].Grade != (eval.Graded{Value: 0.5, Passed: true}) {
					t.Errorf("%+v %v, want one score of 0.5", r, err)
				}
			}
		}
		evaltest.Run(t, "testdata/fixture/passing.yaml", o)
	}
	if !slices.Equal(trials, []int{40, 40}) {
		t.Errorf("%v trials, want 40 and 40", trials)
	}
}

// Programs that write prompts run once, although the suite is loaded again when testing has chosen the subtests.
func TestProgramsThatWritePromptsRunOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"write.sh": "echo x >>calls\nsed 's/.*\"c\":\"\\([a-z]*\\)\".*/where is \\1, '$$'?/'\n",
		"suite.yaml": "version: 1\nname: written\ntargets: [{name: t, model: svc-pro}]\nprompts: [{name: p, program: [sh, write.sh]}]\n" +
			"cases: [{matrix: {c: [spain, peru]}, name: \"{{.c}}\", scorers: [{contains: \"where is {{.c}}\"}]}]\n",
	} {
		expect.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	var o evaltest.Options
	o.Emulator = evaltest.Demo
	evaltest.Run(t, filepath.Join(dir, "suite.yaml"), o)
	calls, err := os.ReadFile(filepath.Join(dir, "calls"))
	expect.OK(t, err)
	expect.Same(t, "calls of the program", string(calls), "x\nx\n")
}
