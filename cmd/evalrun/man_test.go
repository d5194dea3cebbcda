package main

import (
	"runtime/debug"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func TestRoffIsEscaped(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                      "",
		".TH evil":              `\&.TH evil`,
		"a\n'b":                 "a\n\\&'b",
		`C:\path --flag`:        `C:\epath \-\-flag`,
		"é עברית":               "é עברית",
		"say \".so /etc/passwd": "say \".so /etc/passwd",
	} {
		expect.Same(t, in, roff(in), want)
	}
	expect.Same(t, "quoted", quoteRoff(`a "b" -c`), `"a \(dqb\(dq \-c"`)
}

// Each command is in the overview, and its manual page has all its flags.
func TestEachCommandIsShown(t *testing.T) {
	t.Parallel()
	var known []string
	for _, g := range overview {
		known = append(known, strings.Fields(g.commands)...)
	}
	root := (&app{}).root()
	for _, c := range root.Commands() {
		if c.GroupID == "" && !c.Hidden {
			t.Errorf("got %s in no group of the overview, want one of %v", c.Name(), known)
		}
	}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		page := manualPage(c)
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !strings.Contains(page, roff("--"+f.Name)) {
				t.Errorf("the page of %s: got no --%s, want each flag", c.Name(), f.Name)
			}
		})
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
}

func TestVersionNamesTheBuild(t *testing.T) {
	t.Parallel()
	info := func(module string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: module}, Settings: settings}
	}
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123"}
	for _, test := range []struct {
		linked string
		info   *debug.BuildInfo
		want   string
	}{
		{"v1.2.3", info("v9.9.9"), "v1.2.3"},
		{"", info("v9.9.9"), "v9.9.9"},
		{"", info("(devel)"), "development"},
		{"", info("(devel)", commit), "development-0123456789ab"},
		{"", info("", commit, debug.BuildSetting{Key: "vcs.modified", Value: "true"}), "development-0123456789ab+dirty"},
		{"", nil, "development"},
	} {
		expect.Same(t, test.linked, versionOf(test.linked, test.info), test.want)
	}
}
