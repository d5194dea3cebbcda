package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evalrun/evalrun/cmd/evalrun/flags"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/session"
)

func (a *app) emulateCommand() *cobra.Command {
	o := session.NewEmulation()
	var app bool
	cmd := &cobra.Command{
		Use: "emulate", Short: "Serve the emulator on its own", Args: atMost(0),
		Long: "Serves the generative-language service without a model: answers come from a script. The first\n" +
			"line on standard output is the base URL; a signal ends it. It includes an OAuth authorization\n" +
			"server, whose client secrets file is at /emulator/client-secrets.\n\n" +
			"With --app it serves a small HTTP application instead, to try http targets: POST /chat, /stream and /text\n" +
			"answer questions, and /fail/STATUS, /hang, /redirect and /empty misbehave.",
		Example: "  evalrun emulate --script script.yaml\n  evalrun emulate --app --listen 127.0.0.1:8080",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if app {
				return a.emulateApp(cmd, o)
			}
			return a.emulate(o)
		},
	}
	fs := cmd.Flags()
	fs.BoolVar(&app, "app", false, "serve a small HTTP application to try things with, instead of the service")
	fs.StringVar(&o.Listen, "listen", o.Listen, "listen on `ADDRESS`; port 0 takes a free one")
	fs.StringVar(&o.ScriptFile, "script", o.ScriptFile, "take the answers from the script `FILE`")
	fs.StringVar(&o.Key, "key", "", "accept this `KEY` only (default: any key); with --app, the bearer token")
	fs.StringVar(&o.HeaderPrefix, "header-prefix", o.HeaderPrefix, "begin the service's headers with `PREFIX`")
	fs.Var(flags.Vars(o.Alias), "alias", "give a model another name: `NAME=MODEL` (repeatable)")
	fs.Uint64Var(&o.Seed, "seed", 0, "draw from seed `N`")
	fs.StringVar(
		&o.Consent, "consent", o.Consent,
		"grant OAuth logins by `MODE`: page (a page in the browser), auto or deny",
	)
	fs.Var((*flags.Duration)(&o.TokenLifetime), "token-lifetime", "let OAuth access tokens expire after this long (default 1h)")
	fs.BoolVar(&o.CORS, "cors", false, "let pages of any origin in a browser call the emulator")
	fs.StringVar(&o.Project, "project", "", "enable the API in the cloud project `ID` only (default all)")
	return cmd
}

func (a *app) emulate(o session.Emulation) error {
	server, err := o.Start(a.runs.Dir)
	if err != nil {
		return err
	}
	defer server.Close()
	return a.serveUntilSignal(server.URL, server.Warning, server.Served)
}

func (a *app) emulateApp(cmd *cobra.Command, o session.Emulation) error {
	var useless []string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains([]string{"app", "listen", "key"}, f.Name) {
			useless = append(useless, "--"+f.Name)
		}
	})
	if len(useless) > 0 {
		return eval.BadInput("--app serves an application instead of the service: leave out %s", strings.Join(useless, ", "))
	}
	server, err := o.StartApp()
	if err != nil {
		return err
	}
	defer server.Close()
	return a.serveUntilSignal(server.URL, server.Warning, server.Served)
}

func (a *app) serveUntilSignal(address, warning string, served func() []string) error {
	signals, release := a.signals()
	defer release()
	if _, err := fmt.Fprintln(a.out, address); err != nil {
		return err
	}
	if warning != "" {
		fmt.Fprintf(a.err, "warning: %s\n", warning)
	}
	fmt.Fprintln(a.err, "no model is behind this address; Ctrl-C ends it")
	sig := <-signals
	calls := served()
	if len(calls) == 0 {
		calls = append(calls, "no requests")
	}
	fmt.Fprintf(a.err, "%s: %s\n", sig, strings.Join(calls, ", "))
	return nil
}
