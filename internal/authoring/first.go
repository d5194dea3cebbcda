// Package authoring helps to write suites: a first one, the JSON Schemas of files for editors, and what the kinds of scorers do.
package authoring

import (
	_ "embed" // the first suite
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/job"
	"github.com/evalrun/evalrun/internal/lazy"
	"github.com/evalrun/evalrun/internal/project"
	"github.com/evalrun/evalrun/internal/service"
	"github.com/evalrun/evalrun/internal/tmpl"
	"github.com/evalrun/evalrun/internal/wirejson"
)

//go:embed first.yaml
var firstSuite string

// What a first suite has where First says nothing.
const (
	FirstModel  = "svc-pro"
	FirstPrompt = "What is the capital of {{.country}}? Answer in one word."
	FirstName   = "first"
)

// First is what a person wants in a first suite. What is empty has a default.
type First struct {
	Model, Prompt, Name string
}

// Emulated reports whether the emulator has the model.
func (f *First) Emulated() bool { return f.Model == "" || service.NamedModel(f.Model) != nil }

// Write writes the suite, which is not there yet. What does not load is not left behind.
func (f *First) Write(path string, getenv func(string) string) error {
	f.Model = strings.TrimPrefix(f.Model, "models/")
	text, err := f.text(path)
	if err != nil {
		return err
	}
	if err := writeNew(path, text); err != nil {
		return err
	}
	l, err := job.Load([]string{path}, job.Flags{}, getenv)
	if err == nil {
		err = l.Bad()
	}
	if err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// InTheWay is the error of a file that is there already.
func InTheWay(path string) error {
	return exit.BadInput("%s exists already; name another file: evalrun init FILE", path)
}

// maxFirstPrompt keeps a prompt readable in its suite.
const maxFirstPrompt = 2000

const oneLine lazy.Pattern = `^[^\pC]*$`

// check wants what is filled in to fit a line of the suite.
func (f *First) check() error {
	named := service.NamedModel(f.Model)
	switch {
	case f.Model != "" && !oneLine.Matches(f.Model):
		return exit.BadInput("invalid model name %q", f.Model)
	case named != nil && !named.Supports(service.MethodGenerate):
		return exit.BadInput(
			"the model %s does not answer prompts; it supports %s", f.Model,
			strings.Join(named.SupportedGenerationMethods, ", "),
		)
	case len(f.Prompt) > maxFirstPrompt || !oneLine.Matches(f.Prompt):
		return exit.BadInput(
			"the prompt is longer than %d bytes or has several lines: write it to a file, and name the file in the suite "+
				"(`file:` instead of `text:`)",
			maxFirstPrompt,
		)
	}
	return nil
}

// text is the text of the suite. With the default prompt it has cases whose answers the emulator knows; with another
// one its cases check what holds of every good answer, and show where more goes.
func (f *First) text(path string) (string, error) {
	if err := f.check(); err != nil {
		return "", err
	}
	text := strings.ReplaceAll(firstSuite, "suite.yaml", filepath.ToSlash(filepath.Base(path)))
	if f.Model != "" {
		text = strings.Replace(text, "model: "+FirstModel, "model: "+quoteYAML(f.Model), 1)
	}
	if f.Name != "" {
		text = strings.Replace(text, "name: "+FirstName, "name: "+quoteYAML(f.Name), 1)
	}
	if f.Prompt == "" {
		return text, nil
	}
	vars, err := f.vars()
	if err != nil {
		return "", err
	}
	head, _, _ := strings.Cut(text, "prompts:")
	head = strings.Replace(head, "description: One-word answers stay one word.\n", "", 1)
	head = strings.Replace(head, ", maxOutputTokens: 64", "", 1)
	return head + fmt.Sprintf(ownCases, quoteYAML(f.Prompt), strings.Join(vars, ", ")), nil
}

// vars are the variables of the prompt, with what to put there.
func (f *First) vars() ([]string, error) {
	parsed, err := tmpl.Parse(f.Prompt)
	if err != nil {
		return nil, exit.BadInput("the prompt: %w (`evalrun help suite#prompts`)", err)
	}
	var vars []string
	seen := map[string]bool{}
	for _, f := range parsed.Fields() {
		if !seen[f.Name] {
			seen[f.Name] = true
			vars = append(vars, quoteYAML(f.Name)+": "+quoteYAML("put a real "+f.Name+" here"))
		}
	}
	return vars, nil
}

// ownCases is what follows the targets when the prompt is the user's own.
const ownCases = `prompts:                            # templates; every target is sent every prompt
  - name: own
    text: %s

defaults:                           # holds for every case
  scorers:
    - finishReason: STOP            # the answer came to its end
    - length: {min: 1, max: 20000}  # characters

cases:                              # variables, and what the answer must satisfy
  - name: one
    vars: {%s}
    scorers: []
    # - contains: what a good answer holds
    # - not: {contains: what none may hold}
    # ` + "`evalrun scorers`" + ` lists what else there is

gate:                               # what the exit code says: 0 the gate holds, 1 it does not
  passRate: {min: 0.9}
`

// quoteYAML is a text as a quoted scalar.
func quoteYAML(text string) string {
	out, err := wirejson.Marshal(text)
	if err != nil { // a text always encodes
		panic(err)
	}
	return string(out)
}

// writeNew writes a file that is not there yet.
func writeNew(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return InTheWay(path)
	}
	if err != nil {
		return exit.BadInput("the suite cannot be written: %w", err)
	}
	if _, err := f.WriteString(text); err != nil {
		return errors.Join(err, f.Close(), os.Remove(path))
	}
	return f.Close()
}

// SchemaFile is what the first line of a first suite names: the schema is next to the suite, and is committed with it.
const SchemaFile = "suite.schema.json"

// WriteSchema writes the schema for editors, unless there is a file of that name, which it reports.
func WriteSchema(path string) (there bool, err error) {
	if there, err = writeOnce(path, string(schemaOf("suite"))); err != nil {
		err = exit.BadInput("the schema for editors cannot be written: %w", err)
	}
	return there, err
}

// WriteProject writes the project file next to a suite, unless there is one, which it reports.
func WriteProject(suite string) (path string, there bool, err error) {
	path = filepath.Join(filepath.Dir(suite), project.FileName)
	text := "# What `evalrun run` runs in this folder and below. Check it:  evalrun validate\nsuites:\n  - " +
		quoteYAML(filepath.Base(suite)) + "\n"
	if there, err = writeOnce(path, text); err != nil {
		err = exit.BadInput("the project file cannot be written: %w", err)
	}
	return path, there, err
}

// writeOnce writes a file, unless there is one of that name, which it reports.
func writeOnce(path, text string) (there bool, err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if _, err := f.WriteString(text); err != nil {
		return false, errors.Join(err, f.Close())
	}
	return false, f.Close()
}
