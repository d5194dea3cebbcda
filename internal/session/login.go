package session

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/oauth"
)

// LoginWait is the default time that a login waits for the browser.
const LoginWait = oauth.DefaultWait

// LoginOptions configure a login.
type LoginOptions struct {
	oauth.Login        // Scopes are names or identifiers, the retriever's if empty; NewLogin sets Client and Keep
	Secrets     string // path of the client secrets file
	Redirect    string // redirect address; "" is the one of the client
}

type readyLogin struct {
	oauth oauth.Login
	store *oauth.LoginFile
}

// NewLogin checks the options for the service that a job has settled on. It opens no browser.
func NewLogin(service *eval.RunService, o LoginOptions) (*readyLogin, error) {
	client, err := oauth.ReadClient(o.Secrets)
	if err == nil && o.Redirect != "" {
		err = client.Redirect(o.Redirect)
	}
	if err != nil {
		return nil, eval.BadInput("%w", err)
	}
	if service.Project != "" {
		client.Project = service.Project
	}
	names, err := scopeNames(o.Scopes)
	if err != nil {
		return nil, err
	}
	scopes, err := loginScopes(service.AuthScopeBase, names)
	if err != nil {
		return nil, err
	}
	store, err := oauth.UserStore()
	if err == nil {
		err = store.Check()
	}
	if err != nil {
		return nil, eval.Incomplete("%w", err)
	}
	o.Client, o.Scopes, o.Keep = client, scopes, store.Keep
	return &readyLogin{store: store, oauth: o.Login}, nil
}

// LoggedIn is the result of a login.
type LoggedIn struct {
	File    string   // the file that now has the login
	Missing []string // scopes that the server did not grant
	Renewed bool     // there is a refresh token, so the login outlives its access token
}

// Run logs in. A failure is exit 4: the person or the server refused, or no reply came in time.
func (l *readyLogin) Run(ctx context.Context) (*LoggedIn, error) {
	token, err := l.oauth.Run(ctx)
	var coded *eval.CodedError
	switch {
	case errors.As(err, &coded):
		return nil, err
	case err != nil:
		return nil, eval.WithCode(eval.CodeIncomplete, err)
	}
	return &LoggedIn{File: l.store.Path, Missing: token.Missing(l.oauth.Scopes), Renewed: token.RefreshToken != ""}, nil
}

// scopeNames expands the short names of scopes and rejects unknown ones. Whole identifiers stay as they are.
func scopeNames(given []string) ([]string, error) {
	var out []string
	for _, name := range given {
		if name == "retriever" {
			name = scopeRetriever
		}
		known := []string{scopeRetriever, scopeCloudPlatform}
		if !isScope(name) && !slices.Contains(known, name) {
			return nil, eval.BadInput(
				"there is no scope %q; %s; a scope of another kind is given by its whole identifier", name,
				diag.DidYouMean(name, append(known, "retriever")),
			)
		}
		out = append(out, name)
	}
	return out, nil
}

func loginScopes(base string, names []string) ([]string, error) {
	if len(names) == 0 {
		names = []string{scopeRetriever}
	}
	var out []string
	for _, name := range names {
		if base == "" && !isScope(name) {
			return nil, eval.BadInput(
				"the scope %s needs the prefix of the deployment's scopes: give it by --auth-scope-base, EVALRUN_AUTH_SCOPE_BASE or "+
					"service.authScopeBase",
				name,
			)
		}
		if scope := scopeOf(base, name); !slices.Contains(out, scope) {
			out = append(out, scope)
		}
	}
	return out, nil
}

// LoginStatus describes a login. It never contains a token.
type LoginStatus struct {
	ClientID     string    `json:"clientId"`
	Project      string    `json:"project"`
	Scopes       []string  `json:"scopes"`
	Expiry       time.Time `json:"expiry,omitzero"`
	RefreshToken bool      `json:"refreshToken"` // whether there is a refresh token
	File         string    `json:"file"`
	Service      string    `json:"service,omitempty"` // the service on which the login was tried
	Models       int       `json:"models,omitempty"`  // how many models it listed
	Problem      string    `json:"problem,omitempty"` // why the service refused the login
}

// CheckLogin returns an error when no login is stored or it cannot be read.
func CheckLogin() error {
	store, err := oauth.UserStore()
	if err == nil {
		_, err = store.Load()
	}
	if err != nil {
		return eval.Incomplete("%w", err)
	}
	return nil
}

// NewLoginStatus describes the stored login, and tries it if the job has an address. It is nil without a login.
func NewLoginStatus(
	ctx context.Context, j *Job, connect func(*Job) (*Session, error),
) (s *LoginStatus, problem, err error) {
	store, err := oauth.UserStore()
	if err != nil {
		return nil, nil, eval.Incomplete("%w", err)
	}
	out := &LoginStatus{File: store.Path, Service: j.Settings.Service.BaseURL, Project: j.Settings.Service.Project}
	if out.Service != "" {
		if out.Models, problem = countModels(ctx, j, connect); problem != nil {
			out.Problem = problem.Error()
		}
	}
	login, err := store.Load() // connecting may have refreshed it
	if err != nil {
		return nil, nil, eval.Incomplete("%w", err)
	}
	out.ClientID = login.Client.ID
	out.Scopes = login.Scopes
	out.Expiry = login.Expiry
	out.RefreshToken = login.RefreshToken != ""
	if out.Project == "" {
		out.Project = login.Client.Project
	}
	return out, problem, nil
}

func countModels(ctx context.Context, j *Job, connect func(*Job) (*Session, error)) (int, error) {
	session, err := connect(j)
	if err != nil {
		return 0, err
	}
	defer session.Close()
	models, err := session.Models(ctx)
	return len(models), err
}

// ForgetLogin deletes the stored login and revokes it at endpoint, or else at the client's own endpoint. It returns what has happened, ""
// when the login may still be there, and a warning about what has not.
func ForgetLogin(ctx context.Context, endpoint string) (said, warning string, err error) {
	store, err := oauth.UserStore()
	if err != nil {
		return "", "", eval.Incomplete("%w", err)
	}
	if endpoint != "" {
		if err := oauth.CheckEndpoint(endpoint); err != nil {
			return "", "", eval.BadInput("--revoke-url %w", err)
		}
	}
	login, err := store.Forget(ctx)
	const forgotten = "The login is forgotten."
	switch {
	case errors.Is(err, oauth.ErrNoLogin):
		return "There was no login.", "", nil
	case err != nil:
		return "", "", eval.Incomplete("%w", err)
	case login == nil:
		return forgotten, "", eval.Incomplete(
			"the login was not revoked on the server, since its file was damaged: revoke it in your account there",
		)
	}
	endpoint = cmp.Or(endpoint, login.Client.RevokeURL)
	if endpoint == "" {
		return forgotten, "the login was not revoked on the server, since no address for that is known (--revoke-url): " +
			"revoke it in your account there", nil
	}
	if err := login.Revoke(ctx, endpoint); err != nil {
		return forgotten, "", eval.Incomplete("the server did not revoke it: %w; revoke it in your account there", err)
	}
	return forgotten + "\nThe server has revoked it.", "", nil
}

// The scopes of the service, without the prefix that the deployment sets.
const (
	scopeRetriever     = "generative-language.retriever"
	scopeCloudPlatform = "cloud-platform"
)

// scopeOf returns the identifier of a scope of the service. It returns identifiers unchanged.
func scopeOf(base, name string) string {
	if isScope(name) {
		return name
	}
	return strings.TrimRight(base, "/") + "/auth/" + name
}

// isScope reports whether a name is complete. Those of OpenID Connect are, without a prefix.
func isScope(name string) bool {
	switch name {
	case "openid", "offline_access", "email", "profile":
		return true
	}
	return strings.Contains(name, "://")
}
