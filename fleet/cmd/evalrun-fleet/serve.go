package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/cmd/evalrun/flags"
	"github.com/evalrun/evalrun/cmd/evalrun/term"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/fleet"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/reports"
)

// serveOptions holds the flags of `evalrun-fleet serve`.
type serveOptions struct {
	evalrun.Options
	fleet.ServeConfig
	flags.LevelFlags
}

func serveCommand(global *flags.Global) *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use: "serve SUITE... --out RUN", Short: "Plan a run, hand its calls to workers, and apply the gate",
		Long: "The first line on standard error is the address for workers; their credentials are in RUN/fleet.creds. Started again with\n" +
			"the same arguments or with --resume, it continues the run. Without -j, the places of the workers bound the calls.",
		Example: "  evalrun-fleet serve suite.yaml --out nightly\n" +
			"  evalrun-fleet serve suite.yaml --out nightly --listen 0.0.0.0:4222 --tls-cert cert.pem --tls-key key.pem",
		RunE: func(cmd *cobra.Command, args []string) error { return serve(cmd, args, &o, global) },
	}
	fs := flags.Set{FlagSet: pflag.NewFlagSet("", pflag.ContinueOnError)} // flags that may be others when a run continues
	fs.StringVar(&o.Resume, "resume", "", "continue `RUN`, with its suites and flags")
	fs.StringVar(&o.Listen, "listen", "", "listen for workers on `ADDR` (default a free port of this machine alone)")
	fs.StringVar(&o.Host, "host", "", "the `NAME` by which workers reach this machine, if that is not the address of --listen")
	fs.StringVar(&o.TLSCert, "tls-cert", "", "certificate `FILE`, needed beyond this machine")
	fs.StringVar(&o.TLSKey, "tls-key", "", "`FILE` with the key of the certificate")
	fs.StringVar(&o.TLSCA, "tls-ca", "", "`FILE` with the certificates that workers shall trust (default those of their system)")
	fs.StringVar(&o.NATS, "nats", "", "use the NATS server at `URL` instead of one in this process")
	fs.StringVar(&o.Login, "nats-creds", "", "`FILE` of NATS credentials for --nats")
	fs.Limits(&o.Options)
	fs.Ledger(&o.Options)
	fs.Reports(&o.Options)
	fs.Failures(&o.MaxFailures, "")
	o.AddLevel(fs.FlagSet, "report each trial and retry as it ends")
	cmd.Flags().AddFlagSet(fs.FlagSet)
	o.planFlags(flags.Set{FlagSet: cmd.Flags()})
	flags.ConfigSuites(cmd, &o.Options)
	begin := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if o.Resume == "" {
			return begin(cmd, args)
		}
		if err := onlyThese(fs.FlagSet, cmd, args); err != nil {
			return err
		}
		return serve(cmd, nil, &o, global)
	}
	return cmd
}

// planFlags adds the flags that a run keeps from its beginning.
func (o *serveOptions) planFlags(fs flags.Set) {
	fs.Service(&o.Options)
	fs.Select(&o.Options)
	fs.Out(&o.Options)
	fs.Identity(&o.Options)
	fs.Untrusted(&o.Options)
	fs.Gate(&o.Options)
	fs.Baseline(&o.Options)
	fs.Race(&o.Options)
	fs.BoolVar(&o.Cache, "cache", false, "keep answers in .evalrun/cache, and use those of earlier runs for equal requests")
}

// onlyThese refuses suites, and flags of the command that are not in fs.
func onlyThese(fs *pflag.FlagSet, cmd *cobra.Command, suites []string) error {
	others := suites
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Changed && fs.Lookup(f.Name) == nil {
			others = append(others, "--"+f.Name)
		}
	})
	if len(others) > 0 {
		return eval.BadInput("--resume takes the suites and flags of the run: leave out %s", strings.Join(others, ", "))
	}
	return nil
}

func serve(cmd *cobra.Command, suites []string, o *serveOptions, global *flags.Global) error {
	width := term.Columns(os.Stdout)
	columns := func() int { return term.Columns(os.Stderr) }
	if columns() == 0 {
		columns = nil
	}
	bar := term.NewProgress(&term.Visible{W: os.Stderr}, columns, term.Verbosity{
		Color: global.Color.On(columns != nil, os.Getenv), Level: o.Level(),
	})
	cfg := o.ServeConfig
	cfg.Options = o.options(suites)
	cfg.Options.Layout.Width, cfg.Options.Layout.Color = width, global.Color.On(width > 0, os.Getenv)
	cfg.Options.Progress = func(e evalrun.Event) { show(bar, e) }
	cfg.Options.Interrupt = catch()
	cfg.Print = func(url string) { fmt.Fprintln(os.Stderr, url) }
	cfg.Notice = bar.Notice
	result, err := fleet.Serve(cmd.Context(), cfg)
	if result == nil {
		return err
	}
	explain(err)
	if result.Resume != "" {
		fmt.Fprintf(os.Stderr, "to continue: %s\n", diag.CleanLine(again(cmd, result)))
	}
	if result.Exit != eval.CodeOK {
		return eval.WithCode(result.Exit, errSaid)
	}
	return nil
}

// again is the command that continues a run, with the flags of the server for workers.
func again(cmd *cobra.Command, result *evalrun.Result) string {
	words := []string{"evalrun-fleet serve --resume" + strings.TrimPrefix(result.Resume, "evalrun resume")}
	for _, name := range []string{"listen", "host", "tls-cert", "tls-key", "tls-ca", "nats", "nats-creds"} {
		if f := cmd.Flags().Lookup(name); f.Changed {
			words = append(words, "--"+name, text.ShellWord(f.Value.String()))
		}
	}
	return strings.Join(words, " ")
}

// options are the flags together with what this command brings. Without -o there is the table.
func (o *serveOptions) options(suites []string) evalrun.Options {
	out := o.Options
	out.Suites, out.Reports = suites, reports.WithTable(o.Reports)
	out.Stdout = &term.Visible{W: os.Stdout}
	out.Getenv = os.Getenv
	out.Version = version
	o.Arrange(&out.Layout, o.Reports)
	return out
}

// show prints the progress of a run.
func show(bar *term.ProgressBar, e evalrun.Event) {
	switch e := e.(type) {
	case evalrun.Notice:
		bar.Notice(e.Text)
	case evalrun.RetryPlanned:
		if bar.Level == term.Verbose {
			bar.Notice(e.Text)
		}
	case evalrun.Started:
		bar.Waiting = e.Waiting
		bar.Start(e.Trials)
	case evalrun.TrialDone:
		bar.Done(e.Result, e.Spent)
	case evalrun.Finished:
		bar.Finish()
	case evalrun.Problem:
		explain(e.Err)
	case evalrun.ReportsDue:
		if why := e.Run.End.StopReason(); why != "" {
			bar.Notice(why)
		}
	}
}
