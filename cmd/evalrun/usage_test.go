package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/suite"
)

func commands() (out []*cobra.Command) {
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		out = append(out, c)
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk((&app{}).root())
	return out
}

func helpOf(t *testing.T, c *cobra.Command, width int) string {
	t.Helper()
	return printed(t, c, width, "--help=all")
}

func printed(t *testing.T, c *cobra.Command, width int, help string) string {
	t.Helper()
	var out bytes.Buffer
	a := &app{out: &out, err: &out, outWidth: width, getenv: func(string) string { return "" }}
	expect.Same(t, c.CommandPath()+": exit code", a.main(t.Context(), append(strings.Fields(c.CommandPath())[1:], help)), 0)
	return regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(out.String(), "")
}

// The help of every command fits the terminal, but for examples and words that are longer.
func TestHelpFitsTheTerminal(t *testing.T) {
	t.Parallel()
	for _, c := range commands() {
		for _, width := range []int{60, 80, 200} {
			for line := range strings.Lines(helpOf(t, c, width)) {
				line = strings.TrimRight(line, "\n")
				code := strings.HasPrefix(line, "  evalrun") || strings.HasPrefix(line, "  #") || strings.HasPrefix(line, "\t")
				if len([]rune(line)) > min(width, 100) && !code && c.Name() != "help" && len(strings.Fields(line)) > 1 {
					t.Errorf("%s: got %d columns, want at most those of %d: %s", c.CommandPath(), len([]rune(line)), width, line)
				}
			}
		}
	}
}

// Help lists no flag under Other.
func TestFlagsHaveGroups(t *testing.T) {
	t.Parallel()
	for _, cmd := range commands() {
		for _, g := range grouped(cmd.LocalFlags()) {
			if g.Title == "Other" && len(g.Flags) > 0 {
				t.Errorf("%s: --%s is in no group, want it in one of internal/flags", cmd.CommandPath(), g.Flags[0].Name)
			}
		}
	}
}

// Help of run has its flags in groups, and the examples come before the flags.
func TestRunHelpHasGroupsAndExamples(t *testing.T) {
	t.Parallel()
	cmd, _, err := (&app{}).root().Find([]string{"run"})
	expect.OK(t, err)
	var titles []string
	for _, g := range grouped(cmd.LocalFlags()) {
		titles = append(titles, g.Title)
	}
	if want := []string{"Selection", "Service", "Limits", "Gate", "Reports", "Recording", "Other"}; !slices.Equal(titles, want) {
		t.Errorf("got the groups %v, want %v", titles, want)
	}
	expect.Same(t, "examples", len(strings.Split(cmd.Example, "\n")), 4)
	text := helpOf(t, cmd, 80)
	if examples, first := strings.Index(text, "Examples:"), strings.Index(text, "Selection:"); examples < 0 || first < examples {
		t.Errorf("got the examples after the selection, want them first:\n%s", text)
	}
}

// Help of run shows the flags that people use on one screen, and says how to see the others.
func TestRunHelpFitsAScreen(t *testing.T) {
	t.Parallel()
	cmd, _, err := (&app{}).root().Find([]string{"run"})
	expect.OK(t, err)
	text := printed(t, cmd, 80, "-h")
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if last := lines[len(lines)-1]; len(lines) > 50 || !strings.Contains(last, "evalrun run --help=all") {
		t.Errorf("got %d lines and last %q, want at most 50 and how to list all flags", len(lines), last)
	}
	all := helpOf(t, cmd, 80)
	for name := range strings.FieldsSeq(cmd.Annotations[usualFlags]) {
		if cmd.Flags().Lookup(name) == nil || !strings.Contains(text, "--"+name) {
			t.Errorf("--%s is not in the short help", name)
		}
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && !strings.Contains(all, "--"+f.Name) {
			t.Errorf("--%s is not in the help with all flags", f.Name)
		}
	})
}

// A flag has a phrase without a full stop, and a value in words, not a type of Go.
func TestFlagsAreWords(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile(`^(-\w, |    )--[a-z-]+( [A-Z][A-Za-z.@/=\[\]_ -]*|\[=[A-Z]+\])?$`)
	for _, c := range commands() {
		if c.Parent() != nil && c.Parent().Name() == "completion" { // cobra's own
			continue
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || f.Name == "help" || f.Name == "version" {
				return
			}
			if name := namedFlag(f); !named.MatchString(name) {
				t.Errorf("%s: got the flag %q, want a name in the common form", c.CommandPath(), name)
			}
			if phrase := flagPhrase(f); phrase == "" || strings.HasSuffix(phrase, ".") || strings.Contains(phrase, "`") {
				t.Errorf("%s --%s: got the phrase %q, want one without a full stop or backquotes", c.CommandPath(), f.Name, phrase)
			}
		})
	}
}

// A shell is offered names with the prefix, each once, none that it could not take, and not too many.
func TestAShellIsOfferedEachNameOnce(t *testing.T) {
	t.Parallel()
	names := []string{"alpha", "beta", "alpha", "al\x1b[2Jpha", "alp\nha", "also"}
	expect.Same(t, "with a prefix", offered("al", slices.Values(names)), []string{"alpha", "also"})
	expect.Same(t, "without", offered("", slices.Values(names)), []string{"alpha", "beta", "also"})
	count := 0
	many := offered("", func(yield func(string) bool) {
		for ; yield(fmt.Sprint(count)); count++ {
		}
	})
	expect.Same(t, "of endless names", [2]int{len(many), count}, [2]int{maxOffered, maxOffered - 1})
}

// A bar is for a terminal that can draw it, and that no log is made of; all else gets lines.
func TestABarIsShownOnlyOnTerminals(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		width       int
		name, value string
		want        bool
	}{{80, "", "", true}, {0, "", "", false}, {80, "TERM", "dumb", false}, {80, "CI", "1", false}} {
		a := &app{err: io.Discard, errWidth: test.width, getenv: func(name string) string {
			return map[string]string{test.name: test.value}[name]
		}}
		expect.Same(t, fmt.Sprintf("width %d, %s=%s: a bar", test.width, test.name, test.value), a.barColumns() != nil, test.want)
	}
}

// Each price has its page and its day, and the list is one for --prices, as it is and as JSON.
func TestPricesHaveTheirSource(t *testing.T) {
	t.Parallel()
	var diags diag.List
	list := suite.LoadPrices("prices.yaml", pricesFile, &diags)
	for name, of := range list.Models {
		if !strings.HasPrefix(of.Source, "https://") || of.Date < "2026-10-07" || !list.KnowsBatch(name) {
			t.Errorf("%s: got the source %q of %q, want the vendor's page and a day", name, of.Source, of.Date)
		}
	}
	data, err := json.Marshal(list)
	expect.OK(t, err)
	expect.Same(t, "read again", suite.LoadPrices("prices.json", data, &diags), list)
	if diags.Len() > 0 {
		t.Errorf("got %v, want a price list without problems", diags)
	}
}

// The table fits a terminal of 60 columns.
func TestPricesFitTheTerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	a := &app{out: &out, err: &out, outWidth: 60, getenv: func(string) string { return "" }}
	expect.OK(t, a.writePrices(suite.LoadPrices("prices.yaml", pricesFile, &diag.List{})))
	for line := range strings.Lines(out.String()) {
		if text := strings.TrimSpace(line); len(text) > 60 {
			t.Errorf("got %d columns, want at most 60: %s", len(text), text)
		}
	}
	expect.Contains(t, "result", out.String(), "prices change")
}
