package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/cli/browser"
	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/cmd/evalrun/flags"
	"github.com/evalrun/evalrun/cmd/evalrun/term"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/session"
)

func (a *app) authCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "auth", Short: "Log in to the service by OAuth 2.0",
		Long: "Logs in to the service by OAuth 2.0 for desktop applications, for `--auth oauth`. `evalrun help oauth`\n" +
			"says how to get a client secrets file and what else to set up.",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(a.loginCommand(), a.statusCommand(), a.logoutCommand())
	return cmd
}

type loginOptions struct {
	evalrun.Options
	secrets   string
	redirect  string
	scopes    []string
	noBrowser bool
}

func (a *app) loginCommand() *cobra.Command {
	var o loginOptions
	cmd := &cobra.Command{
		Use: "login --client-secrets FILE [SUITE...]", Short: "Log in through the browser",
		Long: "Opens the browser, where you grant access, and keeps the login in a file that only you can read.\n" +
			"Name a suite to use the deployment of its `service` block.",
		RunE: func(cmd *cobra.Command, args []string) error { return a.login(cmd.Context(), args, o) },
	}
	fs := cmd.Flags()
	fs.StringVar(&o.secrets, "client-secrets", "", "client secrets `FILE` that you downloaded (required)")
	fs.StringVar(
		&o.ScopeBase, "auth-scope-base", "",
		"`PREFIX` of the deployment's OAuth scopes (EVALRUN_AUTH_SCOPE_BASE, service.authScopeBase)",
	)
	fs.StringArrayVar(
		&o.scopes, "scope", nil,
		"request `SCOPE`: retriever, cloud-platform, or a whole identifier (default retriever; repeatable)",
	)
	fs.StringVar(&o.Project, "project", "", "cloud project `ID` (default the one of the client secrets file)")
	fs.BoolVar(&o.noBrowser, "no-browser", false, "open no browser; log in on another machine and paste the address that it ends at")
	fs.StringVar(
		&o.redirect, "redirect-uri", "",
		"redirect `URL` on this machine that the client has registered; the port is free "+
			"(default 127.0.0.1, with the path in the client secrets file)",
	)
	o.Timeout = session.LoginWait
	fs.Var((*flags.Duration)(&o.Timeout), "timeout", "wait this long for the browser")
	return cmd
}

func (a *app) login(ctx context.Context, suites []string, o loginOptions) error {
	if o.secrets == "" {
		return eval.BadInput(
			"--client-secrets is missing: it names the file that you downloaded for an OAuth client of type desktop app; see `evalrun help " +
				"oauth#once-in-the-cloud-console`",
		)
	}
	var own evalrun.Options // only the settings of the deployment that a login needs
	own.ScopeBase, own.Project, own.Suites = o.ScopeBase, o.Project, suites
	j, err := a.job(&own)
	if err != nil {
		return err
	}
	l, err := session.NewLogin(&j.Settings.Service, a.loginBy(o))
	if err != nil {
		return err
	}
	return a.interruptible(ctx, func(ctx context.Context) error {
		if o.noBrowser {
			fmt.Fprint(
				a.err,
				"If your browser is on another machine, it ends on a page that it cannot open.\nCopy the address of that page, paste it "+
					"here, and press Enter.\n\n",
			)
		}
		granted, err := l.Run(ctx)
		if err == nil {
			a.printLogin(granted)
		}
		return err
	})
}

func (a *app) loginBy(o loginOptions) session.LoginOptions {
	by := session.LoginOptions{Secrets: o.secrets, Redirect: o.redirect}
	by.Scopes, by.Wait = o.scopes, o.Timeout
	by.Notice = func(text string) { fmt.Fprintln(a.err, diag.CleanLine(text)) }
	by.Show = func(address string) {
		fmt.Fprintf(a.out, "Open this address in a browser and grant access:\n\n%s\n\n", diag.CleanLine(address))
	}
	if !o.noBrowser {
		by.Open = a.browse
		return by
	}
	by.Pasted = a.in
	return by
}

func openBrowser(address string) error {
	files.Foreign()
	browser.Stdout, browser.Stderr = io.Discard, io.Discard
	return browser.OpenURL(address)
}

func (a *app) printLogin(granted *session.LoggedIn) {
	fmt.Fprintln(a.out, "You are logged in.")
	if len(granted.Missing) > 0 {
		fmt.Fprintf(a.err, "warning: not granted: %s\n", diag.CleanLine(strings.Join(granted.Missing, " ")))
	}
	if !granted.Renewed {
		fmt.Fprintln(a.err, "warning: the server gave no refresh token: the login ends when its token expires")
	}
	fmt.Fprintf(a.err, "the login is kept in %s; use it by --auth oauth\n", granted.File)
}

type statusOptions struct {
	evalrun.Options
	json bool
}

func (a *app) statusCommand() *cobra.Command {
	var o statusOptions
	cmd := &cobra.Command{
		Use: "status", Short: "Show who is logged in, and try the login", Args: atMost(0),
		Long: "Shows the client, project and scopes of the login, and when it expires. With the address of a\n" +
			"service it also lists that service's models.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.interruptible(cmd.Context(), func(ctx context.Context) error { return a.status(ctx, o) })
		},
	}
	fs := flags.Set{FlagSet: cmd.Flags()}
	fs.Address(&o.Options)
	fs.Project(&o.Options)
	fs.Attempts(&o.Options)
	fs.JSON(&o.json)
	return cmd
}

func (a *app) status(ctx context.Context, o statusOptions) error {
	if err := session.CheckLogin(); err != nil {
		return err
	}
	o.Auth = eval.AuthOAuth
	j, err := a.job(&o.Options)
	if err != nil {
		return err
	}
	status, problem, err := session.NewLoginStatus(ctx, j, a.caller().Connect)
	switch {
	case err != nil:
		return err
	case o.json:
		err = a.screen().JSON(status)
	default:
		err = a.writeStatus(status)
	}
	return errors.Join(err, problem)
}

func (a *app) writeStatus(s *session.LoginStatus) error {
	p := term.Printer{W: a.out}
	line := func(name, value string) { p.Printf("%-9s %s\n", name, diag.CleanLine(value)) }
	line("client", s.ClientID)
	line("project", orNone(s.Project))
	line("scopes", strings.Join(s.Scopes, " "))
	line("expires", expiry(s, time.Now()))
	line("file", s.File)
	switch {
	case s.Service == "":
		line("service", "not checked: no address is given (--base-url or EVALRUN_BASE_URL)")
	case s.Problem == "":
		line("service", fmt.Sprintf("%s takes the login and lists %s", s.Service, diag.Count(s.Models, "model")))
	}
	return p.Err
}

func orNone(s string) string {
	if s == "" {
		return "none; name one by --project"
	}
	return s
}

func expiry(s *session.LoginStatus, now time.Time) string {
	renewal := "; evalrun refreshes it"
	if !s.RefreshToken {
		renewal = "; there is no refresh token, so log in again then"
	}
	switch left := s.Expiry.Sub(now).Round(time.Second); {
	case s.Expiry.IsZero():
		return "never, as far as the server said"
	case left <= 0:
		return fmt.Sprintf("%s ago (%s)%s", -left, s.Expiry.Format(time.RFC3339), renewal)
	default:
		return fmt.Sprintf("in %s (%s)%s", left, s.Expiry.Format(time.RFC3339), renewal)
	}
}

func (a *app) logoutCommand() *cobra.Command {
	var revokeURL string
	cmd := &cobra.Command{
		Use: "logout", Short: "Forget the login, and revoke it where the server can", Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.logout(cmd.Context(), revokeURL) },
	}
	cmd.Flags().
		StringVar(
			&revokeURL, "revoke-url", "",
			"`URL` of the server's revocation endpoint (default revoke_uri of the client secrets file)",
		)
	return cmd
}

func (a *app) logout(ctx context.Context, revokeURL string) error {
	said, warning, err := session.ForgetLogin(ctx, revokeURL)
	if said != "" {
		fmt.Fprintln(a.out, said)
	}
	if warning != "" {
		fmt.Fprintln(a.err, warning)
	}
	return err
}
