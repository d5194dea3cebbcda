package session

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/generative"
	"github.com/evalrun/evalrun/internal/clients/oauth"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/flow"
)

// link is the connection of a session to one service.
type link interface {
	Emulated() bool
	// Skew is how far the service's clock is ahead of this machine's; ok is false when the service gave no time.
	Skew() (skew time.Duration, ok bool)
	// refusal explains an error by which the service, or the login, refuses the caller.
	refusal(at *eval.RunService, e *eval.Error) string
	Close()
}

// dialed is a link that leads to a service.
type dialed interface {
	link
	flow.Service
}

// offline is the link of a session that sends nothing.
type offline struct{}

func (offline) Emulated() bool                                    { return false }
func (offline) Skew() (skew time.Duration, ok bool)               { return 0, false }
func (offline) refusal(at *eval.RunService, e *eval.Error) string { return byKey{}.refusal(at, e) }
func (offline) Close()                                            {}

type byKey struct{ *generative.Client }

func (byKey) refusal(at *eval.RunService, e *eval.Error) string {
	return fmt.Sprintf("%s refuses the key in EVALRUN_API_KEY: %s; see `evalrun help running#environment`", at.BaseURL, e)
}

type byLogin struct {
	*generative.Client
	tokens *oauth.AccessTokens
}

func (l byLogin) refusal(at *eval.RunService, e *eval.Error) string {
	switch url := at.BaseURL; {
	case e.Origin == eval.FromLogin:
		return e.Error()
	case e.Retry == eval.RetryWithLogin:
		return fmt.Sprintf("%s refused the access token, which has been replaced since: %s; try again", url, e)
	case e.Status == unauthorized:
		return fmt.Sprintf("%s refuses the login: %s; %s", url, e, oauth.LoginHint)
	}
	return fmt.Sprintf("%s refuses requests for the project %s: %s", at.BaseURL, at.Project, e)
}

func (l byLogin) Close() {
	l.tokens.Close()
	l.Client.Close()
}

// Statuses of HTTP that refuse a caller.
const (
	unauthorized = 401 // the login is invalid or has expired
	forbidden    = 403
)

// Statuses of HTTP for a model that is not there.
const (
	badRequest = 400
	gone       = 410
)

type byEmulator struct{ byKey }

func (byEmulator) Emulated() bool { return true }

// vendorsWithKeys says how to name the vendors whose usual keys are set, "" when none is.
func (s *Session) vendorsWithKeys() string {
	var found []string
	for _, v := range wire.Vendors() {
		if i := slices.IndexFunc(v.KeyEnv, func(name string) bool { return s.Options.Env(name) != "" }); i >= 0 {
			found = append(found, fmt.Sprintf("%s is set, so write `model: \"%s:%s\"`, or ", v.KeyEnv[i], v.Name, v.Model))
		}
	}
	return strings.Join(found[:min(2, len(found))], "")
}

// dial makes the link to the unnamed service from its address and its key, login or emulator.
func (s *Session) dial() (dialed, error) {
	switch {
	case len(s.Suites) > 0 && !slices.Contains(s.calls, ""):
		return absent{refusing: noModel}, nil
	case s.Options.Emulator != "":
		server := s.server()
		server.ToEmulator = true
		return byEmulator{byKey{generative.New(server)}}, nil
	case s.Settings.Service.BaseURL == "":
		return nil, eval.BadInput(
			"no service is configured: %sset --base-url, EVALRUN_BASE_URL or service.baseUrl, or try it out with --emulator; "+
				"see `evalrun help suite#the-service-block`", s.vendorsWithKeys(),
		)
	case s.oauth():
		return s.useLogin()
	case s.Settings.Key() == "":
		return nil, eval.BadInput(
			"no API key: set the environment variable EVALRUN_API_KEY (never a flag or a file: it would show), " +
				"or log in and use --auth oauth; `evalrun doctor` checks the whole set-up",
		)
	}
	return byKey{generative.New(s.server())}, nil
}

func (s *Session) server() wire.Server {
	service := &s.Settings.Service
	return wire.Server{
		BaseURL: service.BaseURL, HeaderPrefix: service.HeaderPrefix, APIVersion: service.APIVersion,
		Key: s.Settings.Key(), KeyInQuery: service.Auth == eval.AuthKeyQuery, Project: service.Project,
		UserAgent: "evalrun/" + s.Version, Connections: s.Settings.Limits.Concurrency,
	}
}

// oauth reports whether the service wants a login. The embedded emulator needs none.
func (s *Session) oauth() bool { return s.Settings.Service.Auth == eval.AuthOAuth }

// useLogin makes a link that uses the login kept in the user's folder.
func (s *Session) useLogin() (dialed, error) {
	store, err := oauth.UserStore()
	if err != nil {
		return nil, eval.WithCode(eval.CodeIncomplete, err)
	}
	login, err := store.Load()
	if err != nil {
		return nil, eval.WithCode(eval.CodeIncomplete, err)
	}
	service := &s.Settings.Service
	if service.Project == "" {
		service.Project = login.Client.Project
	}
	if service.Project == "" {
		return nil, eval.BadInput(
			"no cloud project: name the one in which the API is enabled by --project, EVALRUN_PROJECT or service.project; " +
				"the client secrets file names none; see `evalrun help oauth#using-it`",
		)
	}
	if base := service.AuthScopeBase; base != "" &&
		!slices.ContainsFunc(login.Scopes, func(scope string) bool { return strings.HasPrefix(scope, base+"/") }) {
		s.Notice(fmt.Sprintf("warning: none of the scopes of the login begins with %s: %s", base, strings.Join(login.Scopes, " ")))
	}
	s.Settings.UseKey("")
	tokens := oauth.NewAccessTokens(store, s.Notice)
	server := s.server()
	server.TokenSource = tokens
	return byLogin{generative.New(server), tokens}, nil
}

// refusing is a service that makes no call: it says what is missing. It is used where nothing should be called.
type refusing string

func (r refusing) err() *eval.Error {
	return &eval.Error{Kind: eval.KindTransport, Retry: eval.RetryNever, Unsent: true, Message: string(r)}
}

// Generate refuses.
func (r refusing) Generate(context.Context, *eval.Call) (*eval.Response, error) { return nil, r.err() }

// CountTokens refuses.
func (r refusing) CountTokens(context.Context, *eval.Call) (int, error) { return 0, r.err() }

// Embed refuses.
func (r refusing) Embed(context.Context, *eval.EmbedCall) ([][]float64, error) { return nil, r.err() }

// Model refuses.
func (r refusing) Model(context.Context, string, string) (*eval.Model, error) { return nil, r.err() }

// Models refuses.
func (r refusing) Models(context.Context, string) ([]eval.Model, error) { return nil, r.err() }

// What is missing where a call is refused.
const (
	noModel      refusing = "the plan calls no model, so no service is connected"
	onlyGenerate refusing = "an application only generates answers: it counts no tokens, makes no vectors and has no models"
)
