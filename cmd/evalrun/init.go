package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/cmd/evalrun/term"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
)

// initOptions are the flags of `evalrun init`. Empty ones are questions at a terminal, or have a default.
type initOptions struct {
	First
	yes     bool
	project bool // a project file too
}

func (a *app) initCommand() *cobra.Command {
	var o initOptions
	cmd := &cobra.Command{
		Use: "init [FILE]", Short: "Write a commented first suite", Args: atMost(1),
		Long: "Writes a suite (suite.yaml, unless you name another file) that runs at once. On a terminal it asks for\n" +
			"the model and the prompt, unless you give them as flags. It never overwrites a file.",
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
	fs.StringVar(&o.Model, "model", "", "test the model `NAME` (default "+firstModel+")")
	fs.StringVar(&o.Prompt, "prompt", "", "test the prompt `TEXT`; {{.name}} is a variable of each case")
	fs.StringVar(&o.Name, "name", "", "call the suite `NAME` (default "+firstName+")")
	fs.BoolVarP(&o.yes, "yes", "y", false, "take the defaults without questions")
	fs.BoolVar(&o.project, "project-file", false,
		"write a project file too, so that evalrun run needs no suite")
	return cmd
}

func (a *app) init(path string, o initOptions) error {
	if _, err := os.Lstat(path); err == nil { // before somebody takes the trouble to answer
		return inTheWay(path)
	}
	if !o.yes && o.Model == "" && o.Prompt == "" && term.Interactive(a.in) {
		if err := a.askFirst(&o.First); err != nil {
			return err
		}
	}
	if err := o.Write(path, a.getenv); err != nil {
		return err
	}
	p := term.Printer{W: a.out}
	p.Printf("wrote %s\n", diag.CleanLine(path))
	if err := a.initSchema(filepath.Join(filepath.Dir(path), schemaFile)); err != nil {
		return err
	}
	if o.project {
		if err := a.initProject(path); err != nil {
			return err
		}
	}
	file := quoteShell(path)
	if o.Emulated() {
		p.Printf("try it:    evalrun run %s --emulator\n", diag.CleanLine(file))
	} else {
		p.Printf("the emulator has no model %s; it has %s\n", diag.CleanLine(o.Model), firstModel)
	}
	p.Printf("for real:  export EVALRUN_API_KEY=...; evalrun run %s --base-url https://...\n", diag.CleanLine(file))
	return p.Err
}

func quoteShell(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool { return !strings.ContainsRune("/._-", r) && !isWord(r) }) {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

func isWord(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// askFirst puts the two questions. An empty answer means the value in brackets.
func (a *app) askFirst(o *First) error {
	in := bufio.NewReader(io.LimitReader(a.in, 1<<20))
	for _, q := range []struct {
		answer              *string
		question, byDefault string
	}{
		{&o.Model, "Which model?", firstModel},
		{&o.Prompt, "Which prompt? {{.name}} takes the value that each case sets.\n", firstPrompt},
	} {
		if _, err := fmt.Fprintf(a.err, "%s [%s] ", q.question, q.byDefault); err != nil {
			return err
		}
		line, err := in.ReadString('\n')
		if err != nil {
			return eval.BadInput("there was no answer; nothing is written. `evalrun init --yes` needs no answer")
		}
		if line = strings.TrimSpace(line); line != q.byDefault {
			*q.answer = line
		}
	}
	return nil
}

// initProject writes the project file next to a suite, unless there is one.
func (a *app) initProject(suite string) error {
	path, there, err := writeProject(suite)
	switch {
	case err != nil:
		return err
	case there:
		_, err = fmt.Fprintf(a.out, "%s stays as it is\n", diag.CleanLine(path))
	default:
		_, err = fmt.Fprintf(a.out, "wrote %s: `evalrun run` in its folder runs the suite\n", diag.CleanLine(path))
	}
	return err
}

func (a *app) initSchema(path string) error {
	there, err := writeSchema(path)
	switch {
	case err != nil:
		return err
	case there:
		_, err = fmt.Fprintf(a.out, "%s stays as it is; `evalrun schema` prints the one of this evalrun\n", diag.CleanLine(path))
	default:
		_, err = fmt.Fprintf(a.out, "wrote %s, by which editors check and complete the suite\n", diag.CleanLine(path))
	}
	return err
}
