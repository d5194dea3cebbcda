package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/cmd/evalrun/flags"
	"github.com/evalrun/evalrun/cmd/evalrun/term"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/promptfoo"
)

type importOptions struct {
	promptfoo.Options
	strict bool
}

func (a *app) importCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "import", Short: "Turn another tool's configuration into a suite", Args: cobra.ArbitraryArgs,
		Long: "Turns the configuration of another tool into a suite. It reads files below the configuration's folder,\n" +
			"or below --root, runs nothing, and fetches nothing but images with --fetch-images.",
		Example: "  evalrun import promptfoo",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				if ext := filepath.Ext(args[0]); ext == ".yaml" || ext == ".yml" || ext == ".json" {
					return eval.BadInput("name the tool first: evalrun import promptfoo %s", diag.CleanLine(args[0]))
				}
				return eval.BadInput(
					"configurations of %q cannot be imported; those of promptfoo can (evalrun import promptfoo FILE), and evals of skills "+
						"(evalrun import evals-json FILE)",
					diag.CleanLine(args[0]),
				)
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(a.importPromptfooCommand(), a.importEvalsCommand())
	return cmd
}

func (a *app) importPromptfooCommand() *cobra.Command {
	var o importOptions
	images := ""
	cmd := &cobra.Command{
		Use:   "promptfoo [promptfooconfig.yaml]",
		Short: "Turn a promptfoo configuration into a suite",
		Args:  atMost(1),
		Long: "Writes suite.yaml, its data files and import-report.md, which has a line for each key of the configuration:\n" +
			"imported, imported with a difference, not expressible, or ignored by promptfoo itself. TODO comments in the\n" +
			"suite mark what it cannot express.",
		Example: "  evalrun import promptfoo\n  evalrun import promptfoo evals/promptfooconfig.yaml --out evals/suite --strict",
		RunE: func(cmd *cobra.Command, args []string) error {
			if images != "" {
				o.Fetch = func(address string) ([]byte, string, error) {
					return wire.FetchImage(cmd.Context(), address, strings.Split(images, ","))
				}
			}
			return a.importPromptfoo(append(args, "")[0], o)
		},
	}
	fs := flags.Set{FlagSet: cmd.Flags()}
	fs.StringVar(
		&o.Out, "out", "", "write the suite into `DIR`, empty or new (default "+importFolder+" next to the configuration)",
	)
	fs.StringVar(
		&o.Root, "root", "", "read files below `DIR`, for a configuration that names ../ (default its own folder)",
	)
	fs.StringArrayVar(
		&o.AllowFile, "allow-file", nil, "read hidden files and keys that match `GLOB`, from the folder that is read (repeatable)",
	)
	fs.BoolVar(&o.strict, "strict", false, "exit 1 if the suite cannot express a key")
	fs.StringVar(
		&images, "fetch-images", "", "fetch images of prompts, of public hosts and of those in `HOSTS` (comma-separated)",
	)
	fs.Lookup("fetch-images").NoOptDefVal = "public"
	fs.MaxTrials(&o.MaxTrials)
	return cmd
}

func (a *app) importEvalsCommand() *cobra.Command {
	var o promptfoo.EvalsOptions
	strict := false
	cmd := &cobra.Command{
		Use:   "evals-json FILE",
		Short: "Turn the evals.json of an Agent Skill into a suite",
		Args:  exactly(1),
		Long: "Writes a suite that runs each eval with the skill and without it. Models get SKILL.md as their system text.\n" +
			"Programs work in a folder with the eval's files, and with the skill in .claude/skills. A judge reads the answers.",
		Example: "  evalrun import evals-json evals/evals.json --target anthropic:claude-sonnet-4-5\n" +
			"  evalrun import evals-json evals/evals.json --target './agent.sh' --judge openai:gpt-5-mini",
		RunE: func(_ *cobra.Command, args []string) error {
			im, err := convertEvals(args[0], o, a.getenv)
			if err != nil {
				return err
			}
			return a.imported(im, strict)
		},
	}
	cmd.Flags().StringVar(&o.Out, "out", "", "write the suite into `DIR`, empty or new (default "+importFolder+" next to the file)")
	cmd.Flags().StringArrayVar(&o.Targets, "target", nil, "test `TARGET`: VENDOR:MODEL, or the command line of a program (repeatable)")
	cmd.Flags().StringVar(&o.Judge, "judge", "", "judge answers with `MODEL`, written VENDOR:MODEL (default the first model of --target)")
	cmd.Flags().StringVar(&o.Skill, "skill", "", "find the skill in `DIR` (default the folder with SKILL.md next to the file)")
	cmd.Flags().BoolVar(&strict, "strict", false, "exit 1 if the suite cannot express a key")
	return cmd
}

func (a *app) importPromptfoo(config string, o importOptions) error {
	im, err := convertPromptfoo(config, o.Options, a.getenv)
	if err != nil {
		return err
	}
	return a.imported(im, o.strict)
}

// imported prints what an import wrote.
func (a *app) imported(im *importResult, strict bool) error {
	p := term.Printer{W: a.out}
	p.Printf("wrote %s\n%s\n", diag.CleanLine(im.Suite), im.Summary)
	if len(im.Needs) > 0 {
		p.Printf("the author's code runs in shims that need %s in PATH\n", strings.Join(im.Needs, " and "))
	}
	if len(im.Variables) > 0 {
		p.Printf("secrets were not copied; set these in the environment of a run: %s\n", strings.Join(im.Variables, ", "))
	}
	if im.KeptKeys > 0 {
		p.Printf("warning: variables of tests that look like keys were copied: %d; see %s\n", im.KeptKeys, diag.CleanLine(im.Report))
	}
	file := diag.CleanLine(quoteShell(im.Suite))
	if len(im.Problems) > 0 {
		p.Printf(
			"the suite has %s; see %s, or: evalrun validate %s\n", diag.Count(len(im.Problems), "problem"),
			diag.CleanLine(im.Report), file,
		)
	} else {
		p.Printf("every key is in %s; first what you have to look at\n", diag.CleanLine(im.Report))
		p.Printf("try it:    evalrun run %s --emulator  # without a model: most answers are echoes, and may fail\n", file)
	}
	if p.Err == nil && strict && im.Inexpressible > 0 {
		return eval.WithCode(
			eval.CodeFailed,
			fmt.Errorf("keys that a suite cannot express: %d; see %s", im.Inexpressible, diag.CleanLine(im.Report)),
		)
	}
	return p.Err
}
