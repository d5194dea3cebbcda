package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/cmd/evalrun/term"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/session"
	"github.com/evalrun/evalrun/internal/yaml"
)

// initOptions are the flags of `evalrun init`. Empty ones are questions at a terminal, or have a default.
type initOptions struct {
	newSuite
	yes     bool
	project bool // a project file too
}

func (a *app) initCommand() *cobra.Command {
	var o initOptions
	cmd := &cobra.Command{
		Use: "init [FILE]", Short: "Write a commented first suite", Args: atMost(1),
		Long: "Writes a suite (suite.yaml, unless you name another file) that runs at once. On a terminal it asks for\n" +
			"the vendor, the model and the prompt, unless you give them as flags. It never overwrites a file.",
		Example: "  evalrun init --vendor openai\n" +
			"  evalrun init tickets.yaml --model anthropic:claude-haiku-4-5 --prompt 'Summarize this ticket: {{.ticket}}'",
		RunE: func(_ *cobra.Command, args []string) error {
			path := "suite.yaml"
			if len(args) == 1 {
				path = args[0]
			}
			return a.init(path, o)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.Vendor, "vendor", "", "test a model of the vendor `NAME` (evalrun vendors lists them)")
	fs.StringVar(&o.BaseURL, "base-url", "", "find the vendor's service at `URL`, such as http://127.0.0.1:8000/v1")
	fs.StringVar(&o.Model, "model", "", "test the model `NAME`, or VENDOR:NAME (default one of the vendor's)")
	fs.StringVar(&o.Prompt, "prompt", "", "test the prompt `TEXT`; {{.name}} is a variable of each case")
	fs.StringVar(&o.Name, "name", "", "call the suite `NAME` (default "+firstName+")")
	fs.BoolVarP(&o.yes, "yes", "y", false, "take the defaults without questions")
	fs.BoolVar(&o.Schema, "schema", false, "write the schema for editors next to the suite")
	fs.BoolVar(&o.project, "project-file", false,
		"write a project file too, so that evalrun run needs no suite")
	return cmd
}

func (a *app) init(path string, o initOptions) error {
	if _, err := os.Lstat(path); err == nil { // before somebody takes the trouble to answer
		return inTheWay(path)
	}
	if !o.yes && o.Vendor == "" && o.Model == "" && o.Prompt == "" && term.Interactive(a.in) {
		if err := a.askFirst(&o.newSuite); err != nil {
			return err
		}
	}
	if err := o.Write(path, a.getenv); err != nil {
		return err
	}
	p := term.Printer{W: a.out}
	p.Printf("wrote %s\n", diag.CleanLine(path))
	if o.Schema {
		if err := a.initSchema(path); err != nil {
			return err
		}
	}
	if o.project {
		if err := a.initProject(path); err != nil {
			return err
		}
	}
	a.printNext(&p, &o.newSuite, diag.CleanLine(quoteShell(path)))
	return p.Err
}

// printNext prints what to do with a suite that was written.
func (a *app) printNext(p *term.Printer, f *newSuite, file string) {
	if f.Prompt != "" {
		p.Printf("edit it:   the case fails until you write what a good answer has\n")
	}
	v := wire.VendorNamed(f.Vendor)
	if v == nil {
		p.Printf("try it:    evalrun run %s --emulator\n", file)
		p.Printf("for real:  evalrun init other.yaml --vendor openai    # evalrun vendors lists more\n")
		return
	}
	if key := a.keyOf(v); key == "" && len(v.KeyEnv) > 0 {
		p.Printf("first:     export %s=...    # %s\n", v.KeyEnv[0], v.Page)
	}
	p.Printf("run it:    evalrun run %s\n", file)
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

// askFirst puts the questions. An empty answer means the value in brackets.
func (a *app) askFirst(o *newSuite) error {
	in := bufio.NewReader(io.LimitReader(a.in, 1<<20))
	ask := func(answer *string, question, byDefault string) error {
		if _, err := fmt.Fprintf(a.err, "%s [%s] ", question, byDefault); err != nil {
			return err
		}
		line, err := in.ReadString('\n')
		if err != nil {
			return eval.BadInput("there was no answer; nothing is written. `evalrun init --yes` needs no answer")
		}
		if line = strings.TrimSpace(line); line != byDefault {
			*answer = line
		}
		return nil
	}
	vendors, model := a.vendorsByKey(), firstModel
	if err := ask(&o.Vendor, "Which vendor? "+strings.Join(vendors, ", ")+"\n", firstVendor); err != nil {
		return err
	}
	if v := wire.VendorNamed(o.Vendor); v != nil {
		model = v.Model
		if v.BaseURL == "" {
			if err := ask(&o.BaseURL, "Which address?", v.Address); err != nil {
				return err
			}
		}
	}
	if err := ask(&o.Model, "Which model?", model); err != nil {
		return err
	}
	return ask(&o.Prompt, "Which prompt? {{.name}} takes the value that each case sets.\n", firstPrompt)
}

// firstVendor is the answer for a suite that runs against the emulator.
const firstVendor = "none"

// vendorsByKey lists the vendors, those whose key is set first.
func (a *app) vendorsByKey() (names []string) {
	all := wire.Vendors()
	slices.SortStableFunc(all, func(v, other wire.Vendor) int {
		return cmp.Compare(min(1, len(a.keyOf(&other))), min(1, len(a.keyOf(&v))))
	})
	for _, v := range all {
		names = append(names, v.Name)
	}
	return names
}

// initProject writes the project file next to a suite, unless there is one.
func (a *app) initProject(suite string) error {
	return a.initBeside("project file", filepath.Join(filepath.Dir(suite), session.FileName),
		"# What `evalrun run` runs in this folder and below. Check it:  evalrun validate\nsuites:\n  - "+yaml.Quote(filepath.Base(suite))+"\n",
		": `evalrun run` in its folder runs the suite", "")
}

// initSchema writes the schema for editors next to a suite, unless there is one.
func (a *app) initSchema(suite string) error {
	return a.initBeside("schema for editors", filepath.Join(filepath.Dir(suite), schemaFile), string(schemaPage("suite")),
		", by which editors check and complete the suite", "; `evalrun schema` prints the one of this evalrun")
}

// initBeside writes a file, which what names in messages, and says so: what it is for, or about the one that is there already.
func (a *app) initBeside(what, path, text, purpose, already string) error {
	there, err := writeOnce(what, path, text)
	switch {
	case err != nil:
		return err
	case there:
		_, err = fmt.Fprintf(a.out, "%s stays as it is%s\n", diag.CleanLine(path), already)
	default:
		_, err = fmt.Fprintf(a.out, "wrote %s%s\n", diag.CleanLine(path), purpose)
	}
	return err
}
