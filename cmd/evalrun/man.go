package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
)

func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man FOLDER", Short: "Write the manual pages", Args: exactly(1),
		Long:    "Writes a manual page for each command into a folder, and makes the folder if needed.",
		Example: "  evalrun man ~/.local/share/man/man1\n  man evalrun-run",
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := writeManual(cmd.Root(), args[0])
			if err != nil {
				return eval.BadInput("the manual cannot be written: %w", err)
			}
			_, err = fmt.Fprintf(a.out, "wrote %s into %s\n", diag.Count(n, "page"), diag.CleanLine(args[0]))
			return err
		},
	}
}

func writeManual(cmd *cobra.Command, dir string) (int, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	page := filepath.Join(dir, pageName(cmd)+".1")
	if err := os.WriteFile(page, []byte(manualPage(cmd)), 0o644); err != nil {
		return 0, err
	}
	n := 1
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() || sub.Name() == "help" {
			if sub.Name() == "help" {
				listPages(sub)
			}
			more, err := writeManual(sub, dir)
			if n += more; err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// pageName is the name of a command's page: evalrun-auth-login.
func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manualPage is the page of a command in roff. It bears no date, so that the same sources give the same bytes.
func manualPage(cmd *cobra.Command) string {
	cmd.InitDefaultHelpFlag()
	var b strings.Builder
	fmt.Fprintf(
		&b, ".TH %s 1 \"\" %s \"evalrun manual\"\n", quoteRoff(strings.ToUpper(pageName(cmd))),
		quoteRoff("evalrun "+cmd.Root().Version),
	)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(pageName(cmd)), roff(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.nf\n%s\n.fi\n", roff(cmd.UseLine()))
	description := cmd.Long
	if description == "" {
		description = cmd.Short + "."
	}
	fmt.Fprintf(&b, ".SH DESCRIPTION\n")
	for paragraph := range strings.SplitSeq(description, "\n\n") {
		if strings.HasPrefix(paragraph, "  ") { // a table
			fmt.Fprintf(&b, ".PP\n.nf\n%s\n.fi\n", roff(strings.TrimRight(paragraph, "\n")))
		} else {
			fmt.Fprintf(&b, ".PP\n%s\n", roff(paragraph))
		}
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString(".SH COMMANDS\n")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&b, ".TP\n.BR %s (1)\n%s\n", quoteRoff(pageName(sub)), roff(sub.Short))
			}
		}
	}
	if cmd.HasAvailableFlags() {
		b.WriteString(".SH OPTIONS\n")
		cmd.Flags().VisitAll(func(f *pflag.Flag) { writeFlag(&b, f) })
	}
	if cmd.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(cmd.Example))
	}
	if parent := cmd.Parent(); parent != nil {
		fmt.Fprintf(&b, ".SH SEE ALSO\n.BR %s (1)\n", quoteRoff(pageName(parent)))
	} else {
		fmt.Fprintf(
			&b, ".SH PAGES\nShown by\n.BR \"evalrun help\" :\n.PP\n.nf\n%s\n.fi\n",
			roff(strings.TrimRight(pageList(), "\n")),
		)
	}
	return b.String()
}

func writeFlag(b *strings.Builder, f *pflag.Flag) {
	if f.Hidden {
		return
	}
	name := strings.TrimSpace(namedFlag(f))
	end := strings.Index(name, "--"+f.Name) + len("--"+f.Name)
	fmt.Fprintf(b, ".TP\n\\fB%s\\fR%s\n%s\n", roff(name[:end]), roff(name[end:]), roff(flagPhrase(f)))
}

// roff escapes a text for troff.
func roff(text string) string {
	lines := strings.Split(strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

func quoteRoff(text string) string { return `"` + strings.ReplaceAll(roff(text), `"`, `\(dq`) + `"` }
