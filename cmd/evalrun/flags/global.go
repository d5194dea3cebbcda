package flags

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evalrun/evalrun/eval"
)

// Global holds the flags of all commands.
type Global struct {
	Color     color
	Help      help
	directory string
	entered   bool // a second command of this process must not change the directory again
}

// Add adds the flags to root and all commands below it.
func (g *Global) Add(root *cobra.Command) {
	fs := root.PersistentFlags()
	fs.Var(&g.Color, "color", "use colours `WHEN`: auto, always or never (default auto; also NO_COLOR, FORCE_COLOR)")
	fs.StringVarP(&g.directory, "directory", "C", "", "run as if started in `DIR`")
	fs.VarPF(&g.Help, "help", "h", "show this help; --help=all lists every flag").NoOptDefVal = "true"
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return cmp.Or(notEmpty(cmd), g.enter()) }
}

// notEmpty refuses flags with an empty text, such as an unset variable of a script: a ledger or a recording would be ignored.
func notEmpty(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "string" && f.Value.String() == "" && err == nil {
			err = eval.BadInput("--%s is empty: give it a value, or leave it out", f.Name)
		}
	})
	return err
}

func (g *Global) enter() error {
	if g.directory == "" || g.entered {
		return nil
	}
	g.entered = true
	err := os.Chdir(g.directory)
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return eval.BadInput("-C %s: %w", g.directory, path.Err)
	}
	return err
}

// help is the value of --help, a switch that also accepts "all".
type help struct{ given, All bool }

func (h *help) String() string { return strconv.FormatBool(h.given) }

// Type makes the flag a switch.
func (h *help) Type() string { return "bool" }

// Set accepts what a switch accepts, and all.
func (h *help) Set(s string) (err error) {
	if h.All = s == "all"; h.All {
		s = "true"
	}
	if h.given, err = strconv.ParseBool(s); err != nil {
		return fmt.Errorf("it takes nothing, or all for every flag")
	}
	return nil
}

// color is the value of --color; "" means auto.
type color string

const (
	colorAuto, colorAlways, colorNever = "auto", "always", "never"
)

func (c *color) String() string { return string(*c) }

// Type returns the placeholder of the value in help.
func (c *color) Type() string { return "WHEN" }

// Set accepts auto, always and never.
func (c *color) Set(s string) error {
	if when := []string{colorAuto, colorAlways, colorNever}; !slices.Contains(when, s) {
		return fmt.Errorf("it takes %s", strings.Join(when, ", "))
	}
	*c = color(s)
	return nil
}

// On reports whether to use colours: by the flag, then NO_COLOR, then FORCE_COLOR or CLICOLOR_FORCE, then TERM of a terminal.
func (c *color) On(terminal bool, getenv func(string) string) bool {
	switch {
	case *c == colorAlways || *c == colorNever:
		return *c == colorAlways
	case getenv("NO_COLOR") != "":
		return false
	case forced(getenv("FORCE_COLOR")), forced(getenv("CLICOLOR_FORCE")):
		return true
	}
	return terminal && getenv("TERM") != "dumb"
}

// forced reports whether a variable turns colours on; 0 and false do not.
func forced(value string) bool { return !slices.Contains([]string{"", "0", "false"}, value) }
