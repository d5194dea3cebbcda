package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// The suites over published data sets read their files as they are: right answers pass, and each wrong one fails.
func TestExamplesOfDatasetsPassRightAnswersOnly(t *testing.T) {
	t.Parallel()
	folder, err := filepath.Abs("../../examples/datasets")
	expect.OK(t, err)
	suites, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	expect.OK(t, err)
	expect.Same(t, "the number of suites", len(suites), 6)
	for _, suite := range suites {
		for answers, want := range map[string]int{"right": eval.CodeOK, "wrong": eval.CodeFailed} {
			t.Run(strings.TrimSuffix(filepath.Base(suite), ".yaml")+" "+answers, func(t *testing.T) {
				t.Parallel()
				script := filepath.Join(folder, "answers", answers+".yaml")
				report := filepath.Join(t.TempDir(), "report.json")
				code, out := executed("run", suite, "--emulator="+script, "--out", filepath.Join(t.TempDir(), "run"), "-o", "json="+report)
				if _, err := exec.LookPath("python3"); err != nil && strings.HasSuffix(suite, "humaneval.yaml") {
					if code != eval.CodeBadInput || !strings.Contains(out, "there is no program python3 in PATH") {
						t.Errorf("without Python: exit %d, want %d and the program's name\n%s", code, eval.CodeBadInput, out)
					}
					return
				}
				if code != want || strings.Contains(out, "warning") {
					t.Errorf("exit %d, want %d and no warning\n%s", code, want, out)
				}
				holdsAnswers(t, report, answers)
			})
		}
	}
}

func executed(args ...string) (code int, out string) {
	var b bytes.Buffer
	a := &app{
		out: &b, err: &b, getenv: func(string) string { return "" },
		signals: func() (<-chan os.Signal, func()) { return nil, func() {} },
	}
	code = a.main(context.Background(), args)
	return code, b.String()
}

// holdsAnswers wants all trials of a report to have passed, or every one to have failed.
func holdsAnswers(t *testing.T, report, answers string) {
	t.Helper()
	text, err := os.ReadFile(report)
	expect.OK(t, err)
	var doc struct {
		Summary struct{ Trials, Pass, Fail int }
	}
	expect.OK(t, json.Unmarshal(text, &doc))
	n := doc.Summary.Trials
	if got := map[string]int{"right": doc.Summary.Pass, "wrong": doc.Summary.Fail}[answers]; n < 2 || got != n {
		t.Errorf("%d of %d trials are as the %s answers make them, want all", got, n, answers)
	}
}
