package flags

import (
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/session"
)

// Identity adds the flags for the name and the labels of a run, by which it can be found later.
func Identity(fs *pflag.FlagSet, f *session.Options) {
	fs.Var((*runName)(&f.Name), "name", "name the run; name:NAME finds it again")
	f.Labels = map[string]string{}
	fs.Var(labels(f.Labels), "label", "label the run: WORD or KEY=VALUE; label:WORD finds it again (repeatable)")
}

// Config makes the values of the project file the defaults of a command's flags.
func Config(cmd *cobra.Command, f *session.Options) {
	c, run := configFlags(cmd), cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := useProject(cmd, f, *c, nil); err != nil {
			return err
		}
		return run(cmd, args)
	}
}

// ConfigSuites is Config for a command whose arguments are suites. Without arguments it uses the suites of
// the run of --failed-in, or else those of the project file.
func ConfigSuites(cmd *cobra.Command, f *session.Options) {
	c := configFlags(cmd)
	run := cmd.RunE
	check := cmd.Args
	cmd.Args = cobra.ArbitraryArgs // checked once the suites are known
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var err error
		if len(args) == 0 && f.FailedIn != "" {
			if args, err = f.LikeFailed(os.Getenv); err != nil {
				return err
			}
		}
		err = useProject(cmd, f, *c, args)
		if err == nil && len(args) == 0 {
			args, err = f.ProjectSuites()
		}
		if err == nil && check != nil {
			err = check(cmd, args)
		}
		if err != nil {
			return err
		}
		return run(cmd, args)
	}
}

// configFlags adds the flags that choose a project file.
func configFlags(cmd *cobra.Command) *session.ProjectSource {
	var c session.ProjectSource
	cmd.Flags().StringVar(&c.File, "config", "",
		"use the project file `FILE` (default "+session.FileName+" of this folder or one above it)")
	cmd.Flags().BoolVar(&c.None, "no-config", false, "use no project file")
	return &c
}

// useProject reads the project file and sets flags that were not given.
func useProject(cmd *cobra.Command, f *session.Options, c session.ProjectSource, suites []string) error {
	if err := f.UseProject(c, suites); err != nil {
		return err
	}
	return preset(cmd.Flags(), f.ProjectFile)
}

// replaced reports whether a flag on the command line replaces the project file's value for this one.
func replaced(fs *pflag.FlagSet, name string) bool {
	// Each group has flags that exclude each other: where answers are kept, and when a failing run ends.
	// One of them on the command line replaces the whole group of the project file.
	together := [][]string{{"record", "replay", "replay-or-record", "answers"}, {"fail-fast", "max-failures"}}

	return slices.ContainsFunc(together, func(names []string) bool {
		return slices.Contains(names, name) && slices.ContainsFunc(names, fs.Changed)
	})
}

// preset sets flags that were not given to the values of the project file.
func preset(fs *pflag.FlagSet, file *session.File) error {
	if file == nil {
		return nil
	}
	for _, one := range file.Flags {
		flag := fs.Lookup(one.Name)
		if flag == nil || flag.Changed || replaced(fs, one.Name) {
			continue
		}
		for _, value := range one.Values {
			if err := flag.Value.Set(value); err != nil {
				return eval.BadInput("%s: --%s %s: %w", file.Shown(), one.Name, value, err)
			}
		}
	}
	return nil
}

type runName string

func (n *runName) String() string { return string(*n) }
func (n *runName) Type() string   { return "NAME" }
func (n *runName) Set(s string) error {
	if err := session.CheckName(s); err != nil {
		return err
	}
	*n = runName(s)
	return nil
}

type labels map[string]string

func (l labels) String() string { return "" }
func (l labels) Type() string   { return "LABEL" }
func (l labels) Set(s string) error {
	key, value, err := session.ParseLabel(s)
	if err != nil {
		return err
	}
	l[key] = value
	return nil
}
