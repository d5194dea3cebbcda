package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/site"
)

type viewOptions struct {
	listen string
	noOpen bool
	label  bool
	as     string
}

func (a *app) viewCommand() *cobra.Command {
	var o viewOptions
	cmd := &cobra.Command{
		Use: "view [RUN|DIR...]", Short: "Show runs in the browser, on this machine",
		Long: "Serves the runs of this folder, and the runs that you name, as pages: a list of runs, trends of their\n" +
			"metrics, comparisons of any two, and runs in progress. It only reads; with --label you also label answers of\n" +
			"your own runs, in SUITE.labels.jsonl. The first line on standard output is the address. On a terminal evalrun also\n" +
			"opens it in the browser; Ctrl-C ends it.",
		Example: "  evalrun view\n  evalrun view latest\n  evalrun view downloaded/artifacts --no-open\n  evalrun view latest --label --as Ada",
		RunE:    func(_ *cobra.Command, args []string) error { return a.view(args, o) },
	}
	fs := cmd.Flags()
	fs.StringVar(&o.listen, "listen", "127.0.0.1:0", "listen on `ADDRESS`; port 0 takes a free one")
	fs.BoolVar(&o.noOpen, "no-open", false, "open no browser")
	fs.BoolVar(&o.label, "label", false, "label answers of your own runs: pass, fail and a comment")
	fs.StringVar(&o.as, "as", "", "with --label: label as `NAME` (default git's user.name, else the account)")
	cmd.ValidArgsFunction = func(cmd *cobra.Command, _ []string, text string) ([]string, cobra.ShellCompDirective) {
		return completeRuns(cmd, nil, text)
	}
	return cmd
}

// A signal is how the viewer ends well.
func (a *app) view(named []string, o viewOptions) error {
	if o.as != "" && !o.label {
		return eval.BadInput("--as names the person who labels: add --label")
	}
	signals, release := a.signals()
	defer release()
	server, err := site.Start(site.Options{Dir: a.runs.Dir, Listen: o.listen, Named: named, Label: o.label, As: o.as, Getenv: a.getenv})
	if err != nil && o.label && len(named) > 0 {
		return fmt.Errorf("%w; --label is for labelling by hand, and label:%s selects runs", err, diag.CleanLine(named[len(named)-1]))
	}
	if err != nil {
		return err
	}
	defer server.Close()
	if server.Warning != "" {
		fmt.Fprintf(a.err, "warning: %s\n", server.Warning)
	}
	if _, err := fmt.Fprintln(a.out, server.WithToken(server.URL)); err != nil {
		return err
	}
	if a.outWidth > 0 && !o.noOpen {
		if err := a.browse(server.WithCode(server.RunURL())); err != nil {
			fmt.Fprintf(a.err, "the browser could not be opened (%s): open the address yourself\n", diag.CleanLine(err.Error()))
		}
	}
	fmt.Fprintln(a.err, "Ctrl-C ends it")
	<-signals
	return nil
}
