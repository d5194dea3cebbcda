package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/session"
)

func (a *app) ledgerCommand() *cobra.Command {
	var o session.LedgerService
	o.Listen, o.State = "127.0.0.1:0", ".evalrun/ledger"
	o.Notice = func(text string) { fmt.Fprintln(a.err, diag.CleanLine(text)) }
	cmd := &cobra.Command{
		Use: "ledger --config FILE", Short: "Serve limits that several processes share", Args: atMost(0),
		Long: "Serves a ledger: runs that are started with --ledger URL, on this machine or others, keep the limits of\n" +
			"an account together. The file has requests, tokens and concurrency per account, and budgets. The first\n" +
			"line on standard output is the URL; a signal ends it. Every grant is in a file before it is answered, and\n" +
			"budgets continue where they were when you start the ledger again.",
		Example: "  evalrun ledger --config limits.yaml\n" +
			"  evalrun ledger --config limits.yaml --listen :8421 --tls-cert cert.pem --tls-key key.pem",
		RunE: func(*cobra.Command, []string) error { return a.ledger(o) },
	}
	fs := cmd.Flags()
	fs.StringVar(&o.Listen, "listen", o.Listen, "listen on `ADDRESS`; port 0 takes a free one")
	fs.StringVar(&o.LimitsFile, "config", "", "take the limits of the accounts from the YAML `FILE`")
	fs.StringVar(&o.State, "state", o.State, "keep what was granted in the `FOLDER`")
	fs.StringVar(&o.Cert, "tls-cert", "", "serve https with the certificate in the `FILE`; beyond this machine it is needed")
	fs.StringVar(&o.CertKey, "tls-key", "", "`FILE` with the key of the certificate")
	return cmd
}

// A signal is how the ledger ends well.
func (a *app) ledger(o session.LedgerService) error {
	signals, release := a.signals()
	defer release()
	server, err := o.Start(a.runs.Dir, a.getenv)
	if err != nil {
		return err
	}
	defer server.Close()
	if _, err := fmt.Fprintln(a.out, server.URL); err != nil {
		return err
	}
	fmt.Fprintln(a.err, "Ctrl-C ends it; what was granted stays in "+o.State)
	sig := <-signals
	calls, tokens := 0, 0
	for _, b := range server.Balances() {
		calls, tokens = calls+b.Granted.Calls, tokens+b.Settled.Tokens
	}
	fmt.Fprintf(a.err, "%s: %s and %s so far\n", sig, diag.Count(calls, "call"), diag.Count(tokens, "token"))
	return nil
}
