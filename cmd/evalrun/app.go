package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/cmd/evalrun/flags"
	"github.com/evalrun/evalrun/cmd/evalrun/term"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/session"
	"github.com/evalrun/evalrun/reports"
)

// app is the world around a command: streams, environment, signals.
type app struct {
	in       io.Reader
	out, err io.Writer
	getenv   func(string) string
	// signals begins to catch interrupts; the function it returns ends that, so that they act as
	// usual again.
	signals            func() (caught <-chan os.Signal, release func())
	outWidth, errWidth int  // columns, 0 when it is no terminal
	together           bool // people read both streams in one place
	// resized returns the current columns of standard error; optional.
	resized func() int
	browse  func(address string) error
	global  flags.Global
	args    []string
	// watching is the state of `run --watch`; nil without it.
	watching *watching
	runs     folder // where relative paths begin
}

// version is set by the linker in releases.
var version = ""

func buildVersion() string {
	info, _ := debug.ReadBuildInfo()
	return versionOf(version, info)
}

// versionOf returns the version that the linker set, or else that of the module (go install), or the commit.
func versionOf(linked string, info *debug.BuildInfo) string {
	if linked != "" || info == nil {
		return cmp.Or(linked, "development")
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	return "development" + commitOf(info.Settings)
}

func commitOf(settings []debug.BuildSetting) string {
	commit, changed := "", ""
	for _, s := range settings {
		switch {
		case s.Key == "vcs.revision":
			commit = "-" + s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = "+dirty"
		}
	}
	return commit + changed
}

// main runs a command line and returns its exit code.
func (a *app) main(ctx context.Context, args []string) (code int) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(a.err, "evalrun: this is a bug in evalrun, not in what you did: %v\n", p)
			if a.getenv("EVALRUN_DEBUG") != "" {
				fmt.Fprintf(a.err, "%s\n", debug.Stack())
			}
			code = eval.CodeIncomplete
		}
	}()
	root := a.root()
	a.args = twoArms(args)
	root.SetArgs(a.args)
	root.SetOut(a.out)
	root.SetErr(a.err)
	err := root.ExecuteContext(ctx)
	var coded *eval.CodedError
	if errors.Is(err, syscall.EPIPE) && !errors.As(err, &coded) { // the reader has seen enough
		return eval.CodeOK
	}
	a.explain(err)
	return eval.CodeOf(err)
}

// errSaid is wrapped by errors that were printed already.
var errSaid = errors.New("")

// exitWith ends a command with a code and no further words.
func exitWith(code int) error {
	if code == eval.CodeOK {
		return nil
	}
	return eval.WithCode(code, errSaid)
}

// explain prints what went wrong.
func (a *app) explain(err error) {
	var bad *session.BadFiles
	switch {
	case err == nil, errors.Is(err, errSaid):
	case errors.As(err, &bad):
		_ = bad.WriteProblems(a.err, a.errColor()) // standard error is the only place for it
	default:
		all := messages(err)
		if n := len(all) - mostProblems; n > 1 {
			all = append(all[:mostProblems:mostProblems], "and "+diag.Count(n, "more problem")+" like these")
		}
		if errors.Is(err, syscall.EADDRINUSE) {
			all[len(all)-1] += "; --listen 127.0.0.1:0 takes a free port"
		}
		for _, message := range all {
			fmt.Fprintf(a.err, "evalrun: %s\n", diag.CleanLine(strings.TrimSpace(message)))
		}
	}
}

// mostProblems bounds the problems of a file that are listed.
const mostProblems = 5

// messages are the lines of an error: one for each error that it joins.
func messages(err error) (out []string) {
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) || errors.Join(joined.Unwrap()...).Error() != err.Error() {
		return []string{err.Error()}
	}
	for _, one := range joined.Unwrap() {
		out = append(out, one.Error())
	}
	return out
}

func (a *app) color(width int) bool {
	return a.global.Color.On(width > 0, a.getenv)
}

func (a *app) errColumns() int {
	if a.resized != nil {
		if n := a.resized(); n > 0 {
			return n
		}
	}
	return a.errWidth
}

func (a *app) errColor() bool { return a.color(a.errWidth) }

func (a *app) screen() term.Screen {
	return term.Screen{Writer: a.out, Width: a.outWidth, Color: a.color(a.outWidth)}
}

// settings are options as package session takes them.
func (a *app) settings(o *evalrun.Options) session.Options {
	o.Getenv = a.getenv
	return session.OptionsOf(o.Options, o.Caller, reports.Names())
}

func (a *app) job(o *evalrun.Options) (*session.Job, error) {
	l, err := a.load(o)
	if err != nil {
		return nil, err
	}
	return l.Settle()
}

// writtenJob is job after the programs that write prompts ran, if run says so, until ctx is done.
func (a *app) writtenJob(ctx context.Context, o *evalrun.Options, run bool) (*session.Job, error) {
	settings := a.settings(o)
	settings.RunPrograms, settings.StopPrograms = run, ctx.Done()
	l, err := a.loaded(session.Load(settings))
	if err != nil {
		return nil, err
	}
	return l.Settle()
}

// load reads suites, as Run does, and prints problems and warnings; a problem is an error.
func (a *app) load(o *evalrun.Options) (*session.Loaded, error) {
	return a.loaded(session.Load(a.settings(o)))
}

func (a *app) loaded(l *session.Loaded, err error) (*session.Loaded, error) {
	if err == nil {
		err = l.Bad()
	}
	if err != nil {
		return nil, err
	}
	if l.Diags.Len() > 0 {
		if err := l.WriteProblems(a.err, a.errColor()); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// overview orders the commands by purpose, the most used first.
var overview = []struct{ id, title, commands string }{
	{"run", "Run:", "run resume rescore accept merge proxy"},
	{"look", "Look:", "show report comment view publish history prune"},
	{"compare", "Compare:", "compare baseline selftest judge-check"},
	{"service", "Service:", "vendors prices models count embed auth emulate ledger"},
	{"setup", "Set up:", "init import validate plan scorers schema doctor completion man version help"},
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "evalrun",
		Short: "evalrun tests prompts: it sends them to your model, scores the answers, and fails the build when quality drops.",
		Long:  "`evalrun help help` lists the pages of the documentation.",
		Example: "  evalrun init                              write a first suite\n" +
			"  evalrun run suite.yaml --emulator         run it without a service or a key\n" +
			"  evalrun help tutorial                     learn the rest in fifteen minutes",
		Version: buildVersion(), SilenceUsage: true, SilenceErrors: true, Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	root.SetVersionTemplate("evalrun {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		if err := a.usage(cmd); !errors.Is(err, syscall.EPIPE) { // a reader has seen enough
			a.explain(err)
		}
	})
	a.global.Add(root)
	root.AddCommand(a.commands()...)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	a.amendOwn(root)
	group(root)
	return root
}

func (a *app) commands() []*cobra.Command {
	return []*cobra.Command{
		a.runCommand(),
		a.resumeCommand(),
		a.rescoreCommand(),
		a.acceptCommand(),
		a.mergeCommand(),
		a.proxyCommand(),
		a.compareCommand(),
		a.baselineCommand(),
		a.selfTestCommand(),
		a.judgeCheckCommand(),
		a.validateCommand(),
		a.planCommand(),
		a.showCommand(),
		a.reportCommand(),
		a.commentCommand(),
		a.historyCommand(),
		a.pruneCommand(),
		a.viewCommand(),
		a.publishCommand(),
		a.modelsCommand(),
		a.countCommand(),
		a.embedCommand(),
		a.authCommand(),
		a.emulateCommand(),
		a.ledgerCommand(),
		a.scorersCommand(),
		a.vendorsCommand(),
		a.pricesCommand(),
		a.schemaCommand(),
		a.initCommand(),
		a.importCommand(),
		a.doctorCommand(),
		a.manCommand(),
		a.versionCommand(),
	}
}

// amendOwn makes cobra's own commands refuse words that they do not know, and gives help the pages of the documentation.
func (a *app) amendOwn(root *cobra.Command) {
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args, c.RunE = cobra.ArbitraryArgs, func(c *cobra.Command, args []string) error {
				if len(args) > 0 {
					return eval.BadInput("there is no completion for %q: name bash, fish, powershell or zsh", args[0])
				}
				return c.Help()
			}
		}
		if c.Name() == "help" {
			a.helpCommand(c)
		}
	}
}

// synonyms are the names of commands in other tools.
var synonyms = map[string]string{
	"eval": "run", "test": "run", "check": "validate", "lint": "validate", "diff": "compare", "serve": "view", "open": "view",
	"login": "auth login", "logout": "auth logout", "new": "init", "create": "init", "providers": "vendors", "list": "history",
}

func unknownCommand(root *cobra.Command, name string) error {
	var names []string
	for _, c := range root.Commands() {
		names = append(names, c.Name())
	}
	hint := cmp.Or(diag.DidYouMean(name, names), "`evalrun --help` lists the commands")
	if command := synonyms[name]; command != "" {
		hint = "that is `evalrun " + command + "`"
	}
	return eval.BadInput("there is no command %q; %s", name, hint)
}

func (a *app) versionCommand() *cobra.Command {
	var json bool
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version", Args: atMost(0),
		RunE: func(*cobra.Command, []string) error {
			if json {
				return a.screen().JSON(map[string]string{"version": buildVersion()})
			}
			_, err := fmt.Fprintln(a.out, "evalrun "+buildVersion())
			return err
		},
	}
	fs := flags.Set{FlagSet: cmd.Flags()}
	fs.JSON(&json)
	return cmd
}
