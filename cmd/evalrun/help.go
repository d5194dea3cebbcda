package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evalrun/evalrun/cmd/evalrun/flags"
	"github.com/evalrun/evalrun/cmd/evalrun/term"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
)

// Commands are listed in the order of the overview. The setting is global, and is set once because programs
// in one process share it.
func init() { cobra.EnableCommandSorting = false } //nolint:gochecknoinits // cobra has no other switch

func group(root *cobra.Command) {
	place := map[string]int{}
	for _, g := range overview {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, name := range strings.Fields(g.commands) {
			place[name] = len(place)
		}
		for _, c := range root.Commands() {
			if slices.Contains(strings.Fields(g.commands), c.Name()) {
				c.GroupID = g.id
			}
		}
	}
	sorted := slices.Clone(root.Commands())
	slices.SortStableFunc(sorted, func(a, b *cobra.Command) int { return cmp.Compare(place[a.Name()], place[b.Name()]) })
	root.RemoveCommand(sorted...)
	root.AddCommand(sorted...)
}

// removedFlags say what replaces flags of earlier versions.
var removedFlags = map[string]string{
	"max-blocked":     "write `gate: {blocked: {max: 0.1}}` in the suite, or maxBlocked in the project file",
	"auth-scope-base": "set EVALRUN_AUTH_SCOPE_BASE, or service.authScopeBase in the suite",
}

// flagError suggests the flag that was meant instead of an unknown one.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
		if instead := removedFlags[unknown.GetSpecifiedName()]; instead != "" {
			return eval.BadInput("--%s was removed: %s", unknown.GetSpecifiedName(), instead)
		}
		if strings.HasSuffix(unknown.GetSpecifiedName(), "-baseline") && !strings.HasPrefix(unknown.GetSpecifiedName(), "no") {
			return eval.BadInput("%w: when the run has ended, `evalrun baseline set main latest` makes it a baseline", err)
		}
		if near := diag.Nearest(unknown.GetSpecifiedName(), names, 1); len(near) > 0 {
			return eval.BadInput("%w; did you mean --%s?", err, near[0])
		}
	}
	var conflict flags.Conflict
	if errors.As(err, &conflict) {
		return eval.BadInput("%w", conflict)
	}
	var invalid *pflag.InvalidValueError
	var number *strconv.NumError // whose text says nothing to people
	switch isNumber := errors.As(err, &invalid) && errors.As(err, &number); {
	case isNumber && number.Func != "ParseBool":
		what := map[string]string{"ParseUint": "a whole number from 0 on", "ParseFloat": "a number"}[number.Func]
		return eval.BadInput("--%s takes %s, and not `%s`", invalid.GetFlag().Name, cmp.Or(what, "a whole number"), invalid.GetValue())
	case isNumber:
		hint := ""
		if invalid.GetFlag().Name == "rank" {
			hint = ": --rank --metric " + invalid.GetValue()
		}
		return eval.BadInput("--%s takes no value such as `%s`%s", invalid.GetFlag().Name, invalid.GetValue(), hint)
	}
	return eval.BadInput("%w; `%s --help` lists the flags", err, cmd.CommandPath())
}

// helpCommand makes cobra's own help show the pages of the documentation too. Where a page and a command have one name,
// as git does it: `help` shows the page, and --help the flags.
func (a *app) helpCommand(help *cobra.Command) {
	help.Use, help.Short = "help [COMMAND | PAGE[#SECTION] | WORDS]", "Help about a command, or a page of the documentation"
	help.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		listPages(cmd)
		cmd.Root().HelpFunc()(cmd, args)
	})
	help.Example = "  evalrun help run\n  evalrun help running#exit-codes\n  evalrun help 'rate limit'"
	help.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var out []string
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		for _, c := range cmd.Root().Commands() {
			if c.IsAvailableCommand() {
				out = append(out, c.Name()+"\t"+c.Short)
			}
		}
		return append(out, pageTitles()...), cobra.ShellCompDirectiveNoFileComp
	}
	help.Run, help.RunE = nil, func(cmd *cobra.Command, args []string) error { return a.help(cmd.Root(), args) }
}

// listPages adds the pages to the text of the help command. Other commands do not read them at their start.
func listPages(help *cobra.Command) {
	help.Long = "Shows the help of a command, a page of the documentation, or one section of it:\n\n" + pageList()
}

func (a *app) help(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return root.Help()
	}
	target, rest, err := root.Find(args)
	command := err == nil && target != root && len(rest) == 0
	var text string
	if len(args) == 1 {
		if text, err = pageText(args[0]); err != nil {
			return err
		}
	}
	switch {
	case text != "":
		if command {
			text += fmt.Sprintf("\n`%s --help` lists the flags of the command.\n", target.CommandPath())
		}
		return term.Page(a.screen(), text)
	case command:
		return target.Help()
	}
	asked := strings.Join(args, " ")
	if text = pageSection(asked); text != "" {
		return term.Page(a.screen(), text)
	}
	if pages := found(asked, ""); pages != "" {
		text = fmt.Sprintf("Pages about %q:\n\n%s\n`evalrun help NAME` shows one.\n", diag.CleanLine(asked), pages)
		return term.Page(a.screen(), text)
	}
	if near := diag.Nearest(asked, pageNames(), 1); len(near) > 0 {
		return eval.BadInput("there is no command or page %q; did you mean `%s`?", asked, near[0])
	}
	return unknownCommand(root, args[0])
}
