package main

import (
	"bufio"
	_ "embed" // the first suite
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/evalrun/evalrun/internal/exit"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/harness"
	"github.com/evalrun/evalrun/internal/service"
	"github.com/evalrun/evalrun/internal/tmpl"
	"github.com/evalrun/evalrun/internal/wirejson"
)

//go:embed init.yaml
var firstSuite string

// The answers to the questions of `evalrun init` that are taken when none are given; they stand in the first suite.
const (
	firstModel  = "svc-pro"
	firstPrompt = "What is the capital of {{.country}}? Answer in one word."
	firstName   = "first"
)

// initOptions are the flags of `evalrun init`. Empty ones are asked for, or have a default.
type initOptions struct {
	model, prompt, name string
	yes                 bool
}

func (a *app) initCommand() *cobra.Command {
	var o initOptions
	cmd := &cobra.Command{
		Use: "init [FILE]", Short: "Write a commented first suite", Args: atMost(1),
		Long: "Writes a suite (suite.yaml, if no other file is named) that runs at once. On a terminal it asks for\n" +
			"the model and the prompt, unless flags say them. A file that exists is never overwritten.",
		Example: "  evalrun init\n  evalrun init tickets.yaml --prompt 'Summarize this ticket: {{.ticket}}' --model svc-pro",
		RunE: func(_ *cobra.Command, args []string) error {
			path := "suite.yaml"
			if len(args) == 1 {
				path = args[0]
			}
			return a.init(path, o)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.model, "model", "", "model to ask (default "+firstModel+")")
	fs.StringVar(&o.prompt, "prompt", "", "prompt to ask it; {{.name}} stands for what differs from case to case")
	fs.StringVar(&o.name, "name", "", "name of the suite (default "+firstName+")")
	fs.BoolVarP(&o.yes, "yes", "y", false, "ask nothing, and take the defaults")
	return cmd
}

// init is `evalrun init` from top to bottom.
func (a *app) init(path string, o initOptions) error {
	if _, err := os.Lstat(path); err == nil { // before somebody takes the trouble to answer
		return inTheWay(path)
	}
	if !o.yes && o.model == "" && o.prompt == "" && a.asks() {
		if err := a.askFirst(&o); err != nil {
			return err
		}
	}
	text, err := o.suite(path)
	if err != nil {
		return err
	}
	if err := writeNew(path, text); err != nil {
		return err
	}
	job, err := harness.Load([]string{path}, harness.Flags{}, a.getenv)
	if err == nil {
		err = job.Bad()
	}
	if err != nil { // what does not load is not left behind
		return errors.Join(err, os.Remove(path))
	}
	file := path
	if strings.ContainsFunc(path, func(r rune) bool { return !strings.ContainsRune("/._-", r) && !isWord(r) }) {
		file = "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	p := printer{w: a.out}
	p.printf("wrote %s\n", diag.CleanLine(path))
	if err := a.initSchema(filepath.Join(filepath.Dir(path), schemaFile)); err != nil {
		return err
	}
	if o.model == "" || service.NamedModel(o.model) != nil {
		p.printf("try it:    evalrun run %s --emulator\n", diag.CleanLine(file))
	} else {
		p.printf("the emulator has no model %s; it has %s\n", diag.CleanLine(o.model), firstModel)
	}
	p.printf("for real:  export EVALRUN_API_KEY=...; evalrun run %s --base-url https://...\n", diag.CleanLine(file))
	return p.err
}

func isWord(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

func inTheWay(path string) error {
	return exit.BadInput("%s exists already; name another file: evalrun init FILE", path)
}

// asks reports whether there is somebody to ask.
func (a *app) asks() bool {
	f, ok := a.in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// askFirst asks the two questions. An empty answer takes what stands in brackets.
func (a *app) askFirst(o *initOptions) error {
	in := bufio.NewReader(io.LimitReader(a.in, 1<<20))
	for _, q := range []struct {
		answer              *string
		question, byDefault string
	}{
		{&o.model, "Which model?", firstModel},
		{&o.prompt, "Which prompt? {{.name}} stands for what differs from case to case.\n", firstPrompt},
	} {
		if _, err := fmt.Fprintf(a.err, "%s [%s] ", q.question, q.byDefault); err != nil {
			return err
		}
		line, err := in.ReadString('\n')
		if err != nil {
			return exit.BadInput("there was no answer; nothing is written. `evalrun init --yes` asks nothing")
		}
		if line = strings.TrimSpace(line); line != q.byDefault {
			*q.answer = line
		}
	}
	return nil
}

// maxFirstPrompt keeps a prompt readable in its suite.
const maxFirstPrompt = 2000

var oneLine = regexp.MustCompile(`^[^\pC]*$`)

// suite is the text of the suite. With the default prompt it has cases whose answers the emulator knows; with another one its cases check what
// holds of every good answer, and show where more goes.
func (o *initOptions) suite(path string) (string, error) {
	o.model = strings.TrimPrefix(o.model, "models/")
	named := service.NamedModel(o.model)
	switch {
	case o.model != "" && !oneLine.MatchString(o.model):
		return "", exit.BadInput("%q is no name of a model", o.model)
	case named != nil && !named.Supports(service.MethodGenerate):
		return "", exit.BadInput(
			"the model %s does not answer prompts; it supports %s", o.model,
			strings.Join(named.SupportedGenerationMethods, ", "),
		)
	case len(o.prompt) > maxFirstPrompt || !oneLine.MatchString(o.prompt):
		return "", exit.BadInput(
			"the prompt is longer than %d bytes or than a line: write it into a file, and let the suite name that (`file:` in the place of `text:`)",
			maxFirstPrompt,
		)
	}
	text := strings.ReplaceAll(firstSuite, "suite.yaml", filepath.ToSlash(filepath.Base(path)))
	if o.model != "" {
		text = strings.Replace(text, "model: "+firstModel, "model: "+quoteYAML(o.model), 1)
	}
	if o.name != "" {
		text = strings.Replace(text, "name: "+firstName, "name: "+quoteYAML(o.name), 1)
	}
	if o.prompt == "" {
		return text, nil
	}
	parsed, err := tmpl.Parse(o.prompt)
	if err != nil {
		return "", exit.BadInput("the prompt: %w (`evalrun help suite#prompts`)", err)
	}
	var vars []string
	seen := map[string]bool{}
	for _, f := range parsed.Fields() {
		if !seen[f.Name] {
			seen[f.Name] = true
			vars = append(vars, quoteYAML(f.Name)+": "+quoteYAML("put a real "+f.Name+" here"))
		}
	}
	head, _, _ := strings.Cut(text, "prompts:")
	head = strings.Replace(head, "description: One-word answers stay one word.\n", "", 1)
	head = strings.Replace(head, ", maxOutputTokens: 64", "", 1)
	return head + fmt.Sprintf(ownCases, quoteYAML(o.prompt), strings.Join(vars, ", ")), nil
}

// ownCases is what follows the targets when the prompt is the user's own.
const ownCases = `prompts:                            # templates; every target is asked every prompt
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
		return inTheWay(path)
	}
	if err != nil {
		return exit.BadInput("the suite cannot be written: %w", err)
	}
	if _, err := f.WriteString(text); err != nil {
		return errors.Join(err, f.Close(), os.Remove(path))
	}
	return f.Close()
}

// schemaFile is what the first line of a first suite names: the schema stands beside the suite, and is committed with it.
const schemaFile = "suite.schema.json"

// initSchema writes the schema for editors, unless there is a file of that name.
func (a *app) initSchema(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		_, err = fmt.Fprintf(a.out, "%s stays as it is; `evalrun schema` prints the one of this evalrun\n", diag.CleanLine(path))
		return err
	}
	if err != nil {
		return exit.BadInput("the schema for editors cannot be written: %w", err)
	}
	if _, err := f.Write(schemaOf("suite")); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "wrote %s, by which editors check and complete the suite\n", diag.CleanLine(path))
	return err
}
