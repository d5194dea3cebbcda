package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/promptfoo"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/internal/session"
)

// importFolder is the default folder, next to the configuration, so that the author's code finds its modules.
const importFolder = "evalrun"

type importResult struct {
	Suite         string   // its path
	Report        string   // its path
	Summary       string   // the number of keys by result
	Needs         []string // programs that the suite starts
	Problems      []string // what `evalrun validate` finds in the suite
	Variables     []string // that replace secrets, and have to be set
	KeptKeys      int      // variables of tests that look like keys
	Inexpressible int      // keys that a suite cannot express
}

// convertPromptfoo converts a promptfoo configuration into a suite. config defaults to the
// configuration in the current folder, and o.Out to importFolder next to it. Invalid YAML is a *session.BadFiles,
// and then nothing is written.
func convertPromptfoo(config string, o promptfoo.Options, getenv func(string) string) (*importResult, error) {
	config, err := configuration(config)
	if err != nil {
		return nil, err
	}
	return converted(config, &o.Out, o.MaxTrials, getenv, func(problems *promptfoo.Problems) (*promptfoo.Import, error) {
		return promptfoo.Read(config, o, problems)
	})
}

// convertEvals converts the evals of a skill, as convertPromptfoo does a configuration.
func convertEvals(file string, o promptfoo.EvalsOptions, getenv func(string) string) (*importResult, error) {
	return converted(file, &o.Out, 0, getenv, func(problems *promptfoo.Problems) (*promptfoo.Import, error) {
		return promptfoo.ReadEvals(file, o, problems)
	})
}

// converted writes what read returns, and checks the suite. out is set to the folder.
func converted(
	config string, out *string, maxTrials int, getenv func(string) string, read func(*promptfoo.Problems) (*promptfoo.Import, error),
) (*importResult, error) {
	if *out == "" {
		*out = filepath.Join(filepath.Dir(config), importFolder)
	}
	dir := *out
	if link := files.Link(rundir.At("").Abs(""), config); link != "" {
		return nil, eval.BadInput("%s is a link, and an import reads the files next to its configuration: name the file itself", link)
	}
	if link := files.Link(rundir.At("").Abs(""), dir); link != "" {
		return nil, eval.BadInput("%s is a link, and an import writes into its folder: name the folder itself with --out", link)
	}
	if err := promptfoo.Free(dir); err != nil {
		return nil, err
	}
	var problems promptfoo.Problems
	im, err := read(&problems)
	if err != nil {
		return nil, err
	}
	if im == nil {
		return nil, badFiles(&problems)
	}
	if err := im.Write(dir); err != nil {
		return nil, err
	}
	result := &importResult{
		Suite: filepath.Join(dir, promptfoo.SuiteFile), Report: filepath.Join(dir, promptfoo.ReportFile),
		Summary: im.Summary(), Needs: im.Needs(), Variables: im.Variables(), KeptKeys: im.KeptKeys(), Inexpressible: im.Inexpressible(),
	}
	var trials int
	result.Problems, trials = problemsOf(result.Suite, maxTrials, getenv)
	im.SetProblems(result.Problems)
	if err := im.WriteReport(dir); err != nil {
		return nil, err
	}
	if problem, hint := eval.TooManyTrials(trials, maxTrials); problem != "" {
		return nil, eval.BadInput("%s, which was written, has %s: %s", diag.CleanLine(result.Suite), problem, hint)
	}
	return result, nil
}

func badFiles(problems *promptfoo.Problems) error {
	bad := &session.Files{Diags: problems.Diags}
	for file, src := range problems.Sources {
		bad.Keep(file, src)
	}
	return &session.BadFiles{Files: bad}
}

func configuration(name string) (string, error) {
	if name != "" {
		return name, nil
	}
	names := []string{
		"promptfooconfig.yaml",
		"promptfooconfig.yml",
		"promptfooconfig.json",
		"promptfooconfig.js",
		"promptfooconfig.mjs",
		"promptfooconfig.ts",
	}
	there := func(name string) bool { _, err := os.Lstat(name); return err == nil }
	if i := slices.IndexFunc(names, there); i >= 0 {
		return names[i], nil
	}
	return "", eval.BadInput("there is no %s here; name the configuration: evalrun import promptfoo FILE", names[0])
}

// problemsOf returns what `evalrun validate` finds in a suite, and the number of its trials.
func problemsOf(file string, maxTrials int, getenv func(string) string) (out []string, trials int) {
	var o session.Options
	o.MaxTrials, o.Suites, o.Getenv = maxTrials, []string{file}, getenv
	checked, err := checkSuites(o)
	var bad *session.BadFiles
	if err != nil && !errors.As(err, &bad) && len(checked.problems.Sorted()) == 0 {
		return []string{err.Error()}, checked.trials
	}
	for _, d := range checked.problems.Sorted() {
		if d.Severity != diag.Error {
			continue
		}
		at := filepath.Base(d.Pos.File)
		if d.Pos.Line > 0 {
			at = fmt.Sprintf("line %d", d.Pos.Line)
		}
		out = append(out, fmt.Sprintf("%s: %s", at, d.Message))
	}
	return out, checked.trials
}
