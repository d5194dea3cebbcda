package flags

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/evalrun/evalrun/cmd/evalrun/term"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/reports"
)

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
