package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// groups are the headings for help of commands with many flags.
var groups = []struct{ title, flags string }{
	{"Comparison", "rank within arms choose criteria"},
	{"Selection", "case tag arm errors failed-in changed-since sample shard extend programs-from repeats max-trials var seed suite whole"},
	{"Service", "base-url emulator service auth project api-version header-prefix allow-env " +
		"count model models ask-judges untrusted allow allow-file trust config no-config"},
	{"Limits", "concurrency rpm tpm budget-calls budget-tokens budget-money budget-time prices attempts timeout " +
		"max-failures batch wait live ledger ledger-ca ledger-wait no-ledger"},
	{"Gate", "min-pass-rate max-errors allow-empty baseline no-baseline gate-of accept-suite-changes interleave stop-early " +
		"race margin alpha estimand on-inconclusive min-paired metric"},
	{"Reports", "report quiet verbose open watch dry-run run-programs json format out name label notify no-content"},
	{"Recording", "cache record replay replay-or-record answers"},
}

// usualFlags is the annotation of a command that names the flags that people use, where there are many others.
const usualFlags = "usual"

func onlyUsual(cmd *cobra.Command, all []flagGroup) (out []flagGroup) {
	usual := strings.Fields(cmd.Annotations[usualFlags])
	for _, g := range all {
		g.Flags = slices.DeleteFunc(g.Flags, func(f *pflag.Flag) bool { return !slices.Contains(usual, f.Name) })
		if len(g.Flags) > 0 {
			out = append(out, g)
		}
	}
	return out
}

// brief is the beginning of the help text of a flag, without its details.
func brief(f *pflag.Flag) string {
	phrase := flagPhrase(f)
	for _, mark := range []string{" (", "; ", ": ", ", "} {
		phrase, _, _ = strings.Cut(phrase, mark)
	}
	return phrase
}

// helpFlag is listed with the flags of all commands, because every command has it.
const helpFlag = "help"

// Up to few flags are listed without headings.
const few = 16

type flagGroup struct {
	Title string // "" for a list without headings
	Flags []*pflag.Flag
}

// grouped returns the flags in the order of help. Many flags are in groups, and those without a group come last.
func grouped(fs *pflag.FlagSet) []flagGroup {
	var shown []*pflag.Flag
	fs.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != helpFlag {
			shown = append(shown, f)
		}
	})
	if len(shown) <= few {
		return []flagGroup{{Flags: shown}}
	}
	var out []flagGroup
	for _, g := range groups {
		one := flagGroup{Title: g.title}
		for _, name := range strings.Fields(g.flags) {
			if i := slices.IndexFunc(shown, func(f *pflag.Flag) bool { return f.Name == name }); i >= 0 {
				one.Flags = append(one.Flags, shown[i])
				shown = slices.Delete(shown, i, i+1)
			}
		}
		if len(one.Flags) > 0 {
			out = append(out, one)
		}
	}
	return append(out, flagGroup{Title: "Other", Flags: shown})
}

func commonFlags(cmd *cobra.Command) flagGroup {
	cmd.InitDefaultHelpFlag()
	out := flagGroup{Title: "All commands"}
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != helpFlag {
			out.Flags = append(out.Flags, f)
		}
	})
	return flagGroup{out.Title, append(out.Flags, cmd.Flags().Lookup(helpFlag))}
}

// namedFlag returns a flag as help writes it: -o, --report FORMAT[=FILE].
func namedFlag(f *pflag.Flag) string {
	name := "    --" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", --" + f.Name
	}
	value, _ := pflag.UnquoteUsage(f)
	switch {
	case isSwitch(f):
		return name
	case f.NoOptDefVal != "":
		return name + "[=" + word(value) + "]"
	}
	return name + " " + word(value)
}

func isSwitch(f *pflag.Flag) bool { return f.Value.Type() == "bool" || f.Value.Type() == "boolfunc" }

// word returns the placeholder for a value whose flag does not name one.
func word(value string) string {
	switch value {
	case "int", "uint":
		return "N"
	case "string", "strings", "stringArray":
		return "TEXT"
	}
	return value
}

// flagPhrase returns the help text of a flag, with its default.
func flagPhrase(f *pflag.Flag) string {
	_, phrase := pflag.UnquoteUsage(f)
	if isSwitch(f) {
		phrase = f.Usage
	}
	if strings.Contains(phrase, "(default") || slices.Contains([]string{"", "0", "0s", "false", "[]"}, f.DefValue) {
		return phrase
	}
	return phrase + " (default " + f.DefValue + ")"
}
