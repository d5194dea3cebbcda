package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/clients/emulator"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/harness"
	"github.com/evalrun/evalrun/internal/service"
	"github.com/evalrun/evalrun/suite"
)

// emulateOptions are the flags of `evalrun emulate`.
type emulateOptions struct {
	listen, script, key, prefix string
	aliases                     map[string]string
	seed                        uint64
	consent, project            string
	lifetime                    time.Duration
}

func (a *app) emulateCommand() *cobra.Command {
	o := emulateOptions{aliases: map[string]string{}}
	cmd := &cobra.Command{
		Use: "emulate", Short: "Serve the emulator on its own", Args: atMost(0),
		Long: "Serves the generative-language service without a model behind it: answers come from a\n" +
			"script. The first line on standard output is the base URL; a signal ends it. An OAuth\n" +
			"authorization server is part of it: /emulator/client-secrets is its client secrets file.",
		RunE: func(*cobra.Command, []string) error { return a.emulate(o) },
	}
	fs := cmd.Flags()
	fs.StringVar(&o.listen, "listen", "127.0.0.1:0", "address to listen on; port 0 takes a free one")
	fs.StringVar(&o.script, "script", eval.DemoScript, "script of answers")
	fs.StringVar(&o.key, "key", "", "the one good API key (default: any key is good, none is not)")
	fs.StringVar(&o.prefix, "header-prefix", service.DefaultHeaderPrefix, "prefix of the service's headers")
	fs.Var(vars(o.aliases), "alias", "NAME=MODEL: another name for a model; repeat it for several")
	fs.Uint64Var(&o.seed, "seed", 0, "seed of what is drawn")
	fs.StringVar(
		&o.consent, "consent", emulator.ConsentPage,
		"how OAuth logins are granted: page asks in the browser, auto grants, deny denies",
	)
	fs.Var((*positiveDuration)(&o.lifetime), "token-lifetime", "how long OAuth access tokens are good (default 1h)")
	fs.StringVar(&o.project, "project", "", "the one cloud project in which the API is enabled (default: every one)")
	return cmd
}

func (a *app) emulate(o emulateOptions) error {
	script, err := harness.Script(a.dir, o.script)
	if err != nil {
		return err
	}
	for alias, model := range o.aliases {
		id := strings.TrimPrefix(model, "models/")
		if service.NamedModel(id) == nil {
			return exit.BadInput("--alias %s=%s: the emulator has no such model", alias, model)
		}
		o.aliases[alias] = id
	}
	if !suite.HeaderPrefix.MatchString(o.prefix) {
		return exit.BadInput("%q is not the beginning of a header name", o.prefix)
	}
	if consents := []string{emulator.ConsentPage, emulator.ConsentAuto, emulator.ConsentDeny}; !slices.Contains(consents, o.consent) {
		return exit.BadInput("--consent is one of %s, not %q", strings.Join(consents, ", "), o.consent)
	}
	e := emulator.New(emulator.Options{
		Script: script, Key: o.key, HeaderPrefix: o.prefix, Alias: o.aliases, Seed: o.seed,
		Consent: o.consent, TokenLifetime: o.lifetime, Project: o.project,
	})
	server, err := e.Start(o.listen)
	if err != nil {
		return exit.BadInput("%w", err)
	}
	defer server.Close()
	if _, err := fmt.Fprintln(a.out, server.URL); err != nil {
		return err
	}
	signals, release := a.signals()
	defer release()
	fmt.Fprintln(a.err, "no model is behind this address; Ctrl-C ends it")
	sig := <-signals
	served := []string{}
	for _, m := range emulator.Methods() {
		if n := server.Stats()[m]; n > 0 {
			served = append(served, fmt.Sprintf("%s %d", m, n))
		}
	}
	if len(served) == 0 {
		served = append(served, "nothing was asked")
	}
	fmt.Fprintf(a.err, "%s: %s\n", sig, strings.Join(served, ", "))
	return nil
}
