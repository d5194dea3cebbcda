package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/internal/flags"
	"github.com/evalrun/evalrun/internal/harness"
)

func (a *app) emulateCommand() *cobra.Command {
	o := harness.NewEmulation()
	cmd := &cobra.Command{
		Use: "emulate", Short: "Serve the emulator on its own", Args: atMost(0),
		Long: "Serves the generative-language service without a model behind it: answers come from a\n" +
			"script. The first line on standard output is the base URL; a signal ends it. An OAuth\n" +
			"authorization server is part of it: /emulator/client-secrets is its client secrets file.",
		RunE: func(*cobra.Command, []string) error { return a.emulate(o) },
	}
	fs := cmd.Flags()
	fs.StringVar(&o.Listen, "listen", o.Listen, "address to listen on; port 0 takes a free one")
	fs.StringVar(&o.Script, "script", o.Script, "script of answers")
	fs.StringVar(&o.Key, "key", "", "the one good API key (default: any key is good, none is not)")
	fs.StringVar(&o.HeaderPrefix, "header-prefix", o.HeaderPrefix, "prefix of the service's headers")
	fs.Var(flags.Vars(o.Alias), "alias", "NAME=MODEL: another name for a model; repeat it for several")
	fs.Uint64Var(&o.Seed, "seed", 0, "seed of what is drawn")
	fs.StringVar(
		&o.Consent, "consent", o.Consent,
		"how OAuth logins are granted: page asks in the browser, auto grants, deny denies",
	)
	fs.Var((*flags.Duration)(&o.Lifetime), "token-lifetime", "how long OAuth access tokens are good (default 1h)")
	fs.StringVar(&o.Project, "project", "", "the one cloud project in which the API is enabled (default: every one)")
	return cmd
}

func (a *app) emulate(o harness.Emulation) error {
	server, err := o.Start(a.runs.Dir)
	if err != nil {
		return err
	}
	defer server.Close()
	if _, err := fmt.Fprintln(a.out, server.URL); err != nil {
		return err
	}
	signals, release := a.signals()
	defer release()
	fmt.Fprintln(a.err, "no model is behind this address; Ctrl-C ends it")
	sig := <-signals
	served := server.Served()
	if len(served) == 0 {
		served = append(served, "nothing was asked")
	}
	fmt.Fprintf(a.err, "%s: %s\n", sig, strings.Join(served, ", "))
	return nil
}
