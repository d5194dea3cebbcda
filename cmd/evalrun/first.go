package main

import (
	"cmp"
	_ "embed" // the first suite
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/expr"
	"github.com/evalrun/evalrun/internal/session"
	"github.com/evalrun/evalrun/internal/yaml"
)

//go:embed first.yaml
var firstSuite string

// The defaults of newSuite.
const (
	firstModel  = "svc-pro"
	firstPrompt = "What is the capital of {{.country}}? Answer in one word."
	firstName   = "first"
)

// newSuite configures the suite that `evalrun init` writes. Empty fields have defaults.
type newSuite struct {
	Vendor, BaseURL, Model, Prompt, Name string
	Schema                               bool // the schema lies next to the suite
}

// Write writes the suite to a new file, and removes the file if the suite does not load.
func (f *newSuite) Write(path string, getenv func(string) string) error {
	f.Model = strings.TrimPrefix(f.Model, "models/")
	if vendor, model, found := strings.Cut(f.Model, ":"); found && f.Vendor == "" && wire.VendorNamed(vendor) != nil {
		f.Vendor, f.Model = vendor, model
	}
	text, err := f.text(path)
	if err != nil {
		return err
	}
	there, err := writeOnce("suite", path, text)
	switch {
	case err != nil:
		return err
	case there:
		return inTheWay(path)
	}
	var o session.Options
	o.Suites, o.Getenv = []string{path}, getenv
	l, err := session.Load(o)
	if err == nil {
		err = l.Bad()
	}
	if err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

func inTheWay(path string) error {
	return eval.BadInput("%s exists already; name another file: evalrun init FILE", path)
}

// maxFirstPrompt bounds the prompt, in bytes, so that it stays readable in the suite.
const maxFirstPrompt = 2000

var oneLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[^\pC]*$`)
})

func (f *newSuite) check() error {
	named, vendor := wire.NamedModel(f.Model), wire.VendorNamed(f.Vendor)
	switch {
	case f.Vendor != "" && vendor == nil:
		return eval.BadInput("there is no vendor %q; %s", f.Vendor, cmp.Or(
			diag.DidYouMean(f.Vendor, wire.VendorNames()), "`evalrun vendors` lists them"))
	case vendor != nil && vendor.BaseURL == "" && f.BaseURL == "":
		return eval.BadInput("%s has another address for each customer: add --base-url, such as %s", f.Vendor, vendor.Address)
	case vendor == nil && f.BaseURL != "":
		return eval.BadInput("--base-url needs a --vendor: openai-compatible for a server that speaks like OpenAI")
	case f.Model != "" && !oneLine().MatchString(f.Model):
		return eval.BadInput("invalid model name %q: write it in one line, such as svc-pro", f.Model)
	case named != nil && !named.Supports(wire.MethodGenerate):
		return eval.BadInput(
			"the model %s does not answer prompts; it supports %s: name another one, such as svc-pro", f.Model,
			strings.Join(named.SupportedGenerationMethods, ", "),
		)
	case len(f.Prompt) > maxFirstPrompt || !oneLine().MatchString(f.Prompt):
		return eval.BadInput(
			"the prompt is longer than %d bytes or has several lines: write it to a file, and name the file in the suite "+
				"(`file:` instead of `text:`)",
			maxFirstPrompt,
		)
	}
	return nil
}

// text returns the suite. Cases of the default prompt have answers that the emulator knows; others check what every good answer has.
func (f *newSuite) text(path string) (string, error) {
	if err := f.check(); err != nil {
		return "", err
	}
	text := strings.ReplaceAll(firstSuite, "suite.yaml", filepath.ToSlash(filepath.Base(path)))
	if f.Schema {
		text = strings.Replace(text, schemaAddress, schemaFile, 1)
	}
	text = f.place(text, filepath.ToSlash(filepath.Base(path)))
	if f.Name != "" {
		text = strings.Replace(text, "name: "+firstName, "name: "+yaml.Quote(f.Name), 1)
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
	return head + fmt.Sprintf(ownCases, yaml.Quote(f.Prompt), strings.Join(vars, ", ")), nil
}

// place puts the vendor and the model into a suite.
func (f *newSuite) place(text, file string) string {
	v := wire.VendorNamed(f.Vendor)
	if v == nil {
		if f.Model != "" {
			text = strings.Replace(text, "model: "+firstModel, "model: "+yaml.Quote(f.Model), 1)
		}
		return text
	}
	text = strings.Replace(text, "# Try it:    evalrun run "+file+" --emulator\n", "# Run it:    evalrun run "+file+"\n", 1)
	text = strings.Replace(text, "name: pro\n", "name: "+f.Vendor+"\n", 1)
	text = strings.Replace(text, "    generationConfig: {temperature: 0, maxOutputTokens: 64}\n", "", 1) // which some models refuse
	model := cmp.Or(f.Model, v.Model)
	if f.BaseURL == "" {
		return strings.Replace(text, "model: "+firstModel, "model: "+yaml.Quote(f.Vendor+":"+model), 1)
	}
	key := ""
	if len(v.KeyEnv) > 0 && !v.Owns(f.BaseURL) {
		key = ", keyEnv: " + v.KeyEnv[0]
	}
	service := fmt.Sprintf("services:\n  %s: {vendor: %s, baseUrl: %s%s}\n\n", f.Vendor, f.Vendor, yaml.Quote(f.BaseURL), key)
	text = strings.Replace(text, "targets:", service+"targets:", 1)
	return strings.Replace(text, "model: "+firstModel, "service: "+f.Vendor+"\n    model: "+yaml.Quote(model), 1)
}

func (f *newSuite) vars() ([]string, error) {
	parsed, err := expr.Parse(f.Prompt)
	if err != nil {
		return nil, eval.BadInput("the prompt: %w (`evalrun help suite#prompts`)", err)
	}
	var vars []string
	seen := map[string]bool{}
	for _, f := range parsed.Fields() {
		if !seen[f.Name] {
			seen[f.Name] = true
			vars = append(vars, yaml.Quote(f.Name)+": "+yaml.Quote("put a real "+f.Name+" here"))
		}
	}
	return vars, nil
}

// ownCases follows the targets when the user gives a prompt.
const ownCases = `prompts:                            # templates; every target is sent every prompt
  - name: own
    text: %s

defaults:                           # holds for every case
  scorers:
    - finishReason: STOP            # the answer is complete

cases:                              # variables, and what the answer must satisfy
  - name: one
    vars: {%s}
    scorers:
      - contains: "EDIT ME: words that only a good answer has"
      # ` + "`evalrun scorers`" + ` lists what else there is, such as: judge: {rubric: ...}

gate:                               # what the exit code says: 0 the gate holds, 1 it does not
  passRate: {min: 0.9}
`

// The schema that the first line of a suite names: the file that `evalrun init --schema` writes, or its address.
const (
	schemaFile    = "suite.schema.json"
	schemaAddress = "https://raw.githubusercontent.com/evalrun/evalrun/main/docs/schemas/suite.schema.json"
)

// writeOnce writes a file, which what names in messages; there reports that one existed, which stays as it is.
func writeOnce(what, path, text string) (there bool, err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return true, nil
	}
	if err != nil {
		return false, eval.BadInput("the %s cannot be written: %w", what, err)
	}
	if _, err := f.WriteString(text); err != nil {
		return false, eval.BadInput("the %s cannot be written: %w", what, errors.Join(err, f.Close(), os.Remove(path)))
	}
	return false, f.Close()
}
