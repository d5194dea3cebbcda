package flags

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/evalrun/evalrun/cmd/evalrun/term"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/reports"
)

// The flag wins over the environment, NO_COLOR over what forces colors, and these over what the output is.
func TestTheColorFlagWinsOverTheEnvironment(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		flag     color
		env      string
		terminal bool
		want     bool
	}{
		{"", "", true, true},
		{"", "", false, false},
		{"", "TERM=dumb", true, false},
		{"", "NO_COLOR=1", true, false},
		{"", "NO_COLOR=", true, true},
		{"", "FORCE_COLOR=1", false, true},
		{"", "FORCE_COLOR=0", false, false},
		{"", "FORCE_COLOR=false", true, true},
		{"", "FORCE_COLOR=3 TERM=dumb", false, true},
		{"", "CLICOLOR_FORCE=1", false, true},
		{"", "CLICOLOR_FORCE=0", false, false},
		{"", "NO_COLOR=1 FORCE_COLOR=1 CLICOLOR_FORCE=1", true, false},
		{"auto", "FORCE_COLOR=1", false, true},
		{"auto", "NO_COLOR=1", true, false},
		{"always", "NO_COLOR=1 TERM=dumb", false, true},
		{"never", "FORCE_COLOR=1", true, false},
	} {
		env := map[string]string{}
		for _, pair := range strings.Fields(test.env) {
			name, value, _ := strings.Cut(pair, "=")
			env[name] = value
		}
		if got := test.flag.On(test.terminal, func(name string) string { return env[name] }); got != test.want {
			t.Errorf("--color=%s, %s, terminal %t: got %t, want %t", test.flag, test.env, test.terminal, got, test.want)
		}
	}
	var c color
	if err := c.Set("sometimes"); err == nil || !strings.Contains(err.Error(), "auto, always, never") {
		t.Errorf("got %v, want the values that it takes", err)
	}
}

// -q wins on the terminal, -v holds for tables in files, and a report that -o sends to standard output is complete.
func TestQuietAndVerboseAreALevelAndALayout(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args    []string
		formats []string
		level   term.Level
		layout  reports.Options
	}{
		{nil, nil, term.Usual, reports.Options{}},
		{[]string{"-v"}, nil, term.Verbose, reports.Options{Verbose: true}},
		{[]string{"-q"}, nil, term.Quiet, reports.Options{Quiet: true}},
		{[]string{"-q", "-v"}, nil, term.Quiet, reports.Options{Quiet: true, Verbose: true}},
		{[]string{"-q", "-v"}, []string{"table=run.txt"}, term.Quiet, reports.Options{Quiet: true, Verbose: true}},
		{[]string{"-q"}, []string{"table"}, term.Quiet, reports.Options{}},
		{[]string{"-q", "-v"}, []string{"table=-"}, term.Quiet, reports.Options{Verbose: true}},
	} {
		var level LevelFlags
		fs := pflag.NewFlagSet("run", pflag.ContinueOnError)
		level.AddLevel(fs, "more")
		expect.OK(t, fs.Parse(test.args))
		layout := reports.Options{}
		level.Arrange(&layout, test.formats)
		expect.Same(t, strings.Join(test.args, " "), level.Level(), test.level)
		expect.Same(t, "the layout", layout, test.layout)
	}
}
