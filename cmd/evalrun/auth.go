package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/cli/browser"
	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/clients/oauth"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/harness"
)

func (a *app) authCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "auth", Short: "Log in to the service by OAuth 2.0",
		Long: "Logs in to the service by OAuth 2.0 for desktop applications, for `--auth oauth`. How to get a\n" +
			"client secrets file, and what else to set up, stands in `evalrun help oauth`.",
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

// loginOptions are the flags of `evalrun auth login`.
type loginOptions struct {
	harness.Flags
	secrets   string
	redirect  string
	scopes    []string
	noBrowser bool
}

func (a *app) loginCommand() *cobra.Command {
	var o loginOptions
	cmd := &cobra.Command{
		Use: "login --client-secrets FILE [SUITE...]", Short: "Log in through the browser",
		Long: "Opens the browser, where you grant access, and keeps what comes of it in a file of your\n" +
			"own. Suites may be named for what their `service` block says of the deployment.",
		RunE: func(cmd *cobra.Command, args []string) error { return a.login(cmd.Context(), args, o) },
	}
	fs := cmd.Flags()
	fs.StringVar(&o.secrets, "client-secrets", "", "the client secrets file that you downloaded (required)")
	fs.StringVar(
		&o.ScopeBase, "auth-scope-base", "",
		"prefix of the deployment's OAuth scopes (EVALRUN_AUTH_SCOPE_BASE, service.authScopeBase)",
	)
	fs.StringArrayVar(
		&o.scopes, "scope", nil,
		"retriever (the default), cloud-platform, or the whole identifier of a scope; repeat it for several",
	)
	fs.StringVar(&o.Project, "project", "", "cloud project, if another one than that of the client secrets file")
	fs.BoolVar(&o.noBrowser, "no-browser", false, "open no browser; paste the address to which one on another machine is sent")
	fs.StringVar(
		&o.redirect, "redirect-uri", "",
		"redirect address on this machine that the client has registered, where the server wants it to the letter; the port is free "+
			"(default: 127.0.0.1, with the path in the client secrets file)",
	)
	o.Timeout = oauth.DefaultWait
	fs.Var((*positiveDuration)(&o.Timeout), "timeout", "how long to wait for the browser")
	return cmd
}

func (a *app) login(ctx context.Context, suites []string, o loginOptions) error {
	if o.secrets == "" {
		return exit.BadInput(
			"--client-secrets is missing: it names the file that you downloaded for an OAuth client of type desktop app; see `evalrun help " +
				"oauth#once-in-the-cloud-console`",
		)
	}
	own := eval.ServiceOptions{ScopeBase: o.ScopeBase, Project: o.Project}
	job, err := a.job(suites, harness.Flags{Options: eval.Options{ServiceOptions: own}})
	if err != nil {
		return err
	}
	client, err := oauth.ReadClient(o.secrets)
	if err == nil && o.redirect != "" {
		err = client.Redirect(o.redirect)
	}
	if err != nil {
		return exit.BadInput("%w", err)
	}
	if job.Settings.Service.Project != "" {
		client.Project = job.Settings.Service.Project
	}
	names, err := scopeNames(o.scopes)
	if err != nil {
		return err
	}
	scopes, err := loginScopes(job.Settings.Service.AuthScopeBase, names)
	if err != nil {
		return err
	}
	store, err := oauth.UserStore()
	if err != nil {
		return exit.Incomplete("%w", err)
	}
	if err := store.Check(); err != nil {
		return exit.Incomplete("%w", err)
	}
	return a.interruptible(ctx, func(ctx context.Context) error {
		l := a.newLogin(client, scopes, o)
		l.Keep = store.Keep
		token, err := l.Run(ctx)
		if err != nil {
			return exitOfLogin(err)
		}
		a.tellLogin(token, scopes, store)
		return nil
	})
}

func (a *app) newLogin(client *oauth.Client, scopes []string, o loginOptions) *oauth.Login {
	l := &oauth.Login{
		Client: client, Scopes: scopes, Wait: o.Timeout,
		Notice: func(text string) { fmt.Fprintln(a.err, diag.CleanLine(text)) },
		Show: func(address string) {
			fmt.Fprintf(a.out, "Open this address in a browser and grant access:\n\n%s\n\n", diag.CleanLine(address))
		},
	}
	if o.noBrowser {
		fmt.Fprintf(
			a.err,
			"On a machine with another browser than this one's, the browser ends on a page that it cannot\nopen: copy the address of that page, "+
				"paste it here, and press Enter.\n\n",
		)
		l.Pasted = a.in
		return l
	}
	l.Open = a.browse
	return l
}

// openBrowser opens an address in the system's browser.
func openBrowser(address string) error {
	browser.Stdout, browser.Stderr = io.Discard, io.Discard
	return browser.OpenURL(address)
}

func (a *app) tellLogin(token *oauth.Token, wanted []string, store *oauth.Store) {
	fmt.Fprintln(a.out, "You are logged in.")
	if missing := token.Missing(wanted); len(missing) > 0 {
		fmt.Fprintf(a.err, "warning: not granted: %s\n", diag.CleanLine(strings.Join(missing, " ")))
	}
	if token.RefreshToken == "" {
		fmt.Fprintln(a.err, "warning: the server gave no refresh token: the login ends when its token expires")
	}
	fmt.Fprintf(a.err, "the login is kept in %s; use it by --auth oauth\n", store.Path)
}

// scopeNames completes the short names of scopes.
func scopeNames(given []string) ([]string, error) {
	var out []string
	for _, name := range given {
		if name == "retriever" {
			name = oauth.ScopeRetriever
		}
		known := []string{oauth.ScopeRetriever, oauth.ScopeCloudPlatform}
		if !oauth.IsScope(name) && !slices.Contains(known, name) {
			return nil, exit.BadInput(
				"there is no scope %q; %s; a scope of another kind is given by its whole identifier", name,
				diag.DidYouMean(name, append(known, "retriever")),
			)
		}
		out = append(out, name)
	}
	return out, nil
}

// statusOptions are the flags of `evalrun auth status`.
type statusOptions struct {
	harness.Flags
	json bool
}

func (a *app) statusCommand() *cobra.Command {
	var o statusOptions
	cmd := &cobra.Command{
		Use: "status", Short: "Tell who is logged in, and try it", Args: atMost(0),
		Long: "Tells of which client, project and scopes the login is, and when it expires. With the address\n" +
			"of a service it asks that for its models.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.interruptible(cmd.Context(), func(ctx context.Context) error { return a.status(ctx, o) })
		},
	}
	addressFlags(cmd.Flags(), &o.Flags)
	projectFlag(cmd.Flags(), &o.Flags)
	attemptFlags(cmd.Flags(), &o.Flags)
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
	return cmd
}

// loginStatus is what is told of a login: never a token.
type loginStatus struct {
	ClientID     string    `json:"clientId"`
	Project      string    `json:"project"`
	Scopes       []string  `json:"scopes"`
	Expiry       time.Time `json:"expiry,omitzero"`
	RefreshToken bool      `json:"refreshToken"` // whether there is one
	File         string    `json:"file"`
	Service      string    `json:"service,omitempty"` // that was asked
	Models       int       `json:"models,omitempty"`  // that it listed
	Problem      string    `json:"problem,omitempty"` // with asking
}

func (a *app) status(ctx context.Context, o statusOptions) error {
	store, err := oauth.UserStore()
	if err != nil {
		return exit.Incomplete("%w", err)
	}
	if _, err := store.Load(); err != nil {
		return exit.Incomplete("%w", err)
	}
	o.Auth = "oauth"
	job, err := a.job(nil, o.Flags)
	if err != nil {
		return err
	}
	out := loginStatus{File: store.Path, Service: job.Settings.Service.BaseURL, Project: job.Settings.Service.Project}
	var problem error
	if out.Service != "" {
		var models []eval.Model
		models, problem = a.tryLogin(ctx, o.Flags)
		out.Models = len(models)
		if problem != nil {
			out.Problem = problem.Error()
		}
	}
	login, err := store.Load() // it may have been refreshed meanwhile
	if err != nil {
		return exit.Incomplete("%w", err)
	}
	out.ClientID, out.Scopes, out.Expiry, out.RefreshToken = login.Client.ID, login.Scopes, login.Expiry, login.RefreshToken != ""
	if out.Project == "" {
		out.Project = login.Client.Project
	}
	if o.json {
		err = a.printJSON(out)
	} else {
		err = a.writeStatus(&out)
	}
	return errors.Join(err, problem)
}

// tryLogin asks the service for its models.
func (a *app) tryLogin(ctx context.Context, flags harness.Flags) ([]eval.Model, error) {
	session, err := a.connect(flags)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	return session.Models(ctx)
}

func (a *app) writeStatus(s *loginStatus) error {
	p := printer{w: a.out}
	line := func(name, value string) { p.printf("%-9s %s\n", name, diag.CleanLine(value)) }
	line("client", s.ClientID)
	line("project", orNone(s.Project))
	line("scopes", strings.Join(s.Scopes, " "))
	line("expires", expiry(s, time.Now()))
	line("file", s.File)
	switch {
	case s.Service == "":
		line("service", "not asked: no address is given (--base-url or EVALRUN_BASE_URL)")
	case s.Problem == "":
		line("service", fmt.Sprintf("%s takes the login and lists %s", s.Service, diag.Count(s.Models, "model")))
	}
	return p.err
}

func orNone(s string) string {
	if s == "" {
		return "none; name one by --project"
	}
	return s
}

func expiry(s *loginStatus, now time.Time) string {
	renewal := "; it is refreshed by itself"
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
		StringVar(&revokeURL, "revoke-url", "", "address of the server's revocation endpoint (default: revoke_uri of the client secrets "+
			"file, if any)")
	return cmd
}

func (a *app) logout(ctx context.Context, revokeURL string) error {
	store, err := oauth.UserStore()
	if err != nil {
		return exit.Incomplete("%w", err)
	}
	if revokeURL != "" {
		if err := oauth.CheckEndpoint(revokeURL); err != nil {
			return exit.BadInput("--revoke-url %w", err)
		}
	}
	login, err := store.Forget(ctx)
	switch {
	case errors.Is(err, oauth.ErrNoLogin):
		fmt.Fprintln(a.out, "Nobody was logged in.")
		return nil
	case err != nil:
		return exit.Incomplete("%w", err)
	}
	fmt.Fprintln(a.out, "The login is forgotten.")
	if login == nil {
		return exit.Incomplete("its file was damaged, so that the server could not be told: revoke it in your account there")
	}
	if revokeURL == "" {
		revokeURL = login.Client.RevokeURL
	}
	if revokeURL == "" {
		fmt.Fprintln(a.err, "the server was not told: --revoke-url would have named where; revoke it in your account there")
		return nil
	}
	if err := login.Revoke(ctx, revokeURL); err != nil {
		return exit.Incomplete("the server did not revoke it: %w; revoke it in your account there", err)
	}
	fmt.Fprintln(a.out, "The server has revoked it.")
	return nil
}

// loginScopes are the scopes that a login asks for, by their names or identifiers.
func loginScopes(base string, names []string) ([]string, error) {
	if len(names) == 0 {
		names = []string{oauth.ScopeRetriever}
	}
	var out []string
	for _, name := range names {
		if base == "" && !oauth.IsScope(name) {
			return nil, exit.BadInput(
				"the scope %s needs the prefix of the deployment's scopes: give it by --auth-scope-base, EVALRUN_AUTH_SCOPE_BASE or "+
					"service.authScopeBase",
				name,
			)
		}
		if scope := oauth.Scope(base, name); !slices.Contains(out, scope) {
			out = append(out, scope)
		}
	}
	return out, nil
}

// exitOfLogin is the exit code of a login that failed: the person or the server said no, or nobody
// answered.
func exitOfLogin(err error) error {
	var coded *exit.Error
	if err == nil || errors.As(err, &coded) {
		return err
	}
	return exit.With(exit.CodeIncomplete, err)
}
