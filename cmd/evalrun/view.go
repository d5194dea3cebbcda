package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/flags"
	"github.com/evalrun/evalrun/internal/view"
)

// viewOptions are the flags of `evalrun view`.
type viewOptions struct {
	listen string
	noOpen bool
}

func (a *app) viewCommand() *cobra.Command {
	var o viewOptions
	cmd := &cobra.Command{
		Use: "view [RUN|DIR...]", Short: "Show runs in the browser, on this machine",
		Long: "Serves the runs of this folder, and the runs that you name, as pages: a list of runs, trends of their\n" +
			"metrics, comparisons of any two, and runs in progress. It only reads. The first line on standard output is\n" +
			"the address. On a terminal evalrun also opens it in the browser; Ctrl-C ends it.",
		Example: "  evalrun view\n  evalrun view latest\n  evalrun view downloaded/artifacts --no-open",
		RunE:    func(_ *cobra.Command, args []string) error { return a.view(args, o) },
	}
	fs := cmd.Flags()
	fs.StringVar(&o.listen, "listen", "127.0.0.1:0", "listen on `ADDRESS`; port 0 takes a free one")
	fs.BoolVar(&o.noOpen, "no-open", false, "open no browser")
	cmd.ValidArgsFunction = func(cmd *cobra.Command, _ []string, text string) ([]string, cobra.ShellCompDirective) {
		return flags.CompleteRuns(cmd, nil, text)
	}
	return cmd
}

// view is `evalrun view` from top to bottom. To be stopped is how it ends well.
func (a *app) view(named []string, o viewOptions) error {
	signals, release := a.signals()
	defer release()
	server, err := view.Start(view.Options{Dir: a.runs.Dir, Listen: o.listen, Named: named})
	if err != nil {
		return err
	}
	defer server.Close()
	if server.Warning != "" {
		fmt.Fprintf(a.err, "warning: %s\n", server.Warning)
	}
	if _, err := fmt.Fprintln(a.out, server.URL); err != nil {
		return err
	}
	if a.outWidth > 0 && !o.noOpen {
		if err := a.browse(server.RunURL()); err != nil {
			fmt.Fprintf(a.err, "the browser could not be opened (%s): open the address yourself\n", diag.CleanLine(err.Error()))
		}
	}
	fmt.Fprintln(a.err, "Ctrl-C ends it")
	<-signals
	return nil
}
