package authoring

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/job"
	"github.com/evalrun/evalrun/internal/promptfoo"
	"github.com/evalrun/evalrun/internal/regular"
	"github.com/evalrun/evalrun/internal/rundir"
)

// ImportFolder is the default folder of an import. It is next to the configuration, so that the author's
// code finds its modules.
const ImportFolder = "evalrun"

// Imported is the result of an import.
type Imported struct {
	Suite         string   // its path
	Report        string   // its path
	Summary       string   // the number of keys by result
	Needs         []string // programs that the suite starts
	Problems      []string // what `evalrun validate` finds in the suite
	Inexpressible int      // keys that a suite cannot express
}

// ImportPromptfoo converts a promptfoo configuration into a suite in dir. config defaults to the
// configuration in the current folder, and dir to ImportFolder next to it. Invalid YAML is a *job.BadFiles,
// and then nothing is written.
func ImportPromptfoo(config, dir string, getenv func(string) string) (*Imported, error) {
	config, err := configuration(config)
	if err != nil {
		return nil, err
	}
	if dir == "" {
		dir = filepath.Join(filepath.Dir(config), ImportFolder)
	}
	if link := regular.Link(rundir.At("").Abs(""), config); link != "" {
		return nil, exit.BadInput("%s is a link, and an import reads the files next to its configuration: name the file itself", link)
	}
	if link := regular.Link(rundir.At("").Abs(""), dir); link != "" {
		return nil, exit.BadInput("%s is a link, and an import writes into its folder: name the folder itself with --out", link)
	}
	if err := promptfoo.Free(dir); err != nil {
		return nil, err
	}
	var problems promptfoo.Problems
	im, err := promptfoo.Read(config, &problems)
	if err != nil {
		return nil, err
	}
	if im == nil {
		return nil, badFiles(&problems)
	}
	if err := im.Write(dir); err != nil {
		return nil, err
	}
	out := &Imported{
		Suite: filepath.Join(dir, promptfoo.SuiteFile), Report: filepath.Join(dir, promptfoo.ReportFile),
		Summary: im.Summary(), Needs: im.Needs(), Inexpressible: im.Inexpressible(),
	}
	out.Problems = problemsOf(out.Suite, getenv)
	im.SetProblems(out.Problems)
	return out, im.WriteReport(dir)
}

func badFiles(problems *promptfoo.Problems) error {
	bad := &job.Files{Diags: problems.Diags}
	for file, src := range problems.Sources {
		bad.Keep(file, src)
	}
	return &job.BadFiles{Files: bad}
}

// configuration returns the named file, or the configuration in the current folder.
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
	return "", exit.BadInput("there is no %s here; name the configuration: evalrun import promptfoo FILE", names[0])
}

// problemsOf returns what `evalrun validate` finds in a suite.
func problemsOf(file string, getenv func(string) string) (out []string) {
	checked, err := Check([]string{file}, job.Options{}, getenv)
	var bad *job.BadFiles
	if err != nil && !errors.As(err, &bad) && len(checked.problems.Sorted()) == 0 {
		return []string{err.Error()}
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
	return out
}
