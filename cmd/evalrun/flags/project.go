package flags

import (
	"cmp"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/session"
	"github.com/evalrun/evalrun/reports"
)

// Identity adds the flags for the name and the labels of a run, by which it can be found later.
func (fs Set) Identity(f *evalrun.Options) {
	fs.Var(value[string]{&f.Name, "NAME", runName}, "name", "name the run; name:NAME finds it again")
	f.Labels = map[string]string{}
	fs.Var(labels(f.Labels), "label", "label the run: WORD or KEY=VALUE; label:WORD finds it again (repeatable)")
}

// settings are options as package session takes them.
func settings(f *evalrun.Options) session.Options {
	return session.OptionsOf(f.Options, f.Caller, reports.Names())
}

// Config makes the values of the project file the defaults of a command's flags.
func Config(cmd *cobra.Command, f *evalrun.Options) {
	none, run := configFlags(cmd, f), cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if _, err := useProject(cmd, f, *none); err != nil {
			return err
		}
		return run(cmd, args)
	}
}

// ConfigSuites is Config for a command whose arguments are suites. Without arguments it uses the suites of
// the run of --failed-in, or else those of the project file.
func ConfigSuites(cmd *cobra.Command, f *evalrun.Options) {
	none, run, check := configFlags(cmd, f), cmd.RunE, cmd.Args
	cmd.Args = cobra.ArbitraryArgs // checked once the suites are known
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f.Suites = args
		if like := cmp.Or(f.Extend, f.FailedIn); like != "" && (len(args) == 0 || f.Extend != "") {
			completed := settings(f)
			if err := cmp.Or(completed.CheckExtend(), completed.Like(like)); err != nil {
				return err
			}
			f.Options, f.Suites = completed.Options, completed.Suites
		}
		options, err := useProject(cmd, f, *none)
		if err == nil {
			err = options.TakeSuites()
		}
		if err == nil && check != nil && len(options.Suites) == 0 {
			err = options.TakeOnlySuite()
		}
		f.Suites = options.Suites
		if err == nil && check != nil {
			err = check(cmd, f.Suites)
		}
		if err != nil {
			return err
		}
		return run(cmd, f.Suites)
	}
}

// configFlags adds the flags that choose a project file, and returns whether none is used.
func configFlags(cmd *cobra.Command, f *evalrun.Options) (none *bool) {
	cmd.Flags().StringVar(&f.ProjectFile, "config", "",
		"use the project file `FILE` (default "+session.FileName+" of this folder or one above it)")
	return cmd.Flags().Bool("no-config", false, "use no project file")
}

// useProject reads the project file and sets flags that were not given.
func useProject(cmd *cobra.Command, f *evalrun.Options, none bool) (session.Options, error) {
	options := settings(f)
	switch named := f.ProjectFile != ""; {
	case none && named:
		return options, eval.BadInput("--config names a project file, and --no-config uses none: choose one")
	case !none && !named:
		options.FindProject()
		f.ProjectFile, f.ProjectFound = options.ProjectFile, options.ProjectFound
	}
	if err := options.UseProject(); err != nil {
		return options, err
	}
	return options, preset(cmd.Flags(), &options)
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

func preset(fs *pflag.FlagSet, options *session.Options) error {
	file, presets := options.Presets()
	for _, one := range presets {
		flag := fs.Lookup(one.Name)
		if flag == nil || flag.Changed || replaced(fs, one.Name) {
			continue
		}
		for _, value := range one.Values {
			if err := flag.Value.Set(value); err != nil {
				return eval.BadInput("%s: --%s %s: %w", file, one.Name, value, err)
			}
		}
	}
	return nil
}

func runName(text string) (string, error) { return text, session.CheckName(text) }

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
