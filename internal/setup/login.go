package setup

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/evalrun/evalrun/clients/oauth"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/harness"
	"github.com/evalrun/evalrun/internal/job"
)

// LoginWait is how long a login waits for the browser, if nothing else is said.
const LoginWait = oauth.DefaultWait

// LoginOptions say how a user logs in.
type LoginOptions struct {
	Secrets  string   // the client secrets file
	Redirect string   // redirect address; "" is that of the client
	Scopes   []string // names or identifiers; none is the retriever's
	Wait     time.Duration

	Notice func(text string)          // of what does not end the login
	Show   func(address string)       // shows the address to open
	Open   func(address string) error // opens it; nil leaves that to the user
	Pasted io.Reader                  // where the user pastes the last address; optional
}

// ReadyLogin is a login that can begin.
type ReadyLogin struct {
	oauth oauth.Login
	store *oauth.LoginFile
}

// NewLogin checks what a login needs, for the deployment that a job has settled. It opens no browser.
func NewLogin(service *eval.RunService, o LoginOptions) (*ReadyLogin, error) {
	client, err := oauth.ReadClient(o.Secrets)
	if err == nil && o.Redirect != "" {
		err = client.Redirect(o.Redirect)
	}
	if err != nil {
		return nil, exit.BadInput("%w", err)
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
		return nil, exit.Incomplete("%w", err)
	}
	return &ReadyLogin{store: store, oauth: oauth.Login{
		Client: client,
		Scopes: scopes,
		Wait:   o.Wait,
		Notice: o.Notice,
		Show:   o.Show,
		Open:   o.Open,
		Pasted: o.Pasted,
		Keep:   store.Keep,
	}}, nil
}

// LoggedIn is what a login has led to.
type LoggedIn struct {
	File    string   // in which the login is kept
	Missing []string // scopes that were not granted
	Renewed bool     // it outlives its token
}

// Run logs in. A failure is exit 4: the person or the server said no, or there was no reply.
func (l *ReadyLogin) Run(ctx context.Context) (*LoggedIn, error) {
	token, err := l.oauth.Run(ctx)
	var coded *exit.CodedError
	switch {
	case errors.As(err, &coded):
		return nil, err
	case err != nil:
		return nil, exit.With(exit.CodeIncomplete, err)
	}
	return &LoggedIn{File: l.store.Path, Missing: token.Missing(l.oauth.Scopes), Renewed: token.RefreshToken != ""}, nil
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

// loginScopes are the scopes of a login, by their names or identifiers.
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

// LoginStatus describes a login. It never has a token.
type LoginStatus struct {
	ClientID     string    `json:"clientId"`
	Project      string    `json:"project"`
	Scopes       []string  `json:"scopes"`
	Expiry       time.Time `json:"expiry,omitzero"`
	RefreshToken bool      `json:"refreshToken"` // whether there is one
	File         string    `json:"file"`
	Service      string    `json:"service,omitempty"` // that the status looked at
	Models       int       `json:"models,omitempty"`  // that it listed
	Problem      string    `json:"problem,omitempty"` // of the service
}

// CheckLogin reports an error when there is no login.
func CheckLogin() error {
	store, err := oauth.UserStore()
	if err == nil {
		_, err = store.Load()
	}
	if err != nil {
		return exit.Incomplete("%w", err)
	}
	return nil
}

// NewLoginStatus tries the login on the service of a job. When that fails, the status has the reason as its problem.
// A job without an address is not tried, and without a login there is no status.
func NewLoginStatus(
	ctx context.Context, j *job.Job, connect func(*job.Job) (*harness.Session, error),
) (s *LoginStatus, problem, err error) {
	store, err := oauth.UserStore()
	if err != nil {
		return nil, nil, exit.Incomplete("%w", err)
	}
	out := &LoginStatus{File: store.Path, Service: j.Settings.Service.BaseURL, Project: j.Settings.Service.Project}
	if out.Service != "" {
		if out.Models, problem = countModels(ctx, j, connect); problem != nil {
			out.Problem = problem.Error()
		}
	}
	login, err := store.Load() // it may have been refreshed meanwhile
	if err != nil {
		return nil, nil, exit.Incomplete("%w", err)
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

// countModels returns how many models the service lists.
func countModels(ctx context.Context, j *job.Job, connect func(*job.Job) (*harness.Session, error)) (int, error) {
	session, err := connect(j)
	if err != nil {
		return 0, err
	}
	defer session.Close()
	models, err := session.Models(ctx)
	return len(models), err
}

// Logout is what came of forgetting a login.
type Logout struct {
	None    bool // there was no login
	Damaged bool // the file could not be read, so nothing was sent to the server
	Revoked bool // the server revoked it
}

// ForgetLogin forgets the login and revokes it where the server can: at the endpoint, or at that of the client.
func ForgetLogin(ctx context.Context, endpoint string) (*Logout, error) {
	store, err := oauth.UserStore()
	if err != nil {
		return nil, exit.Incomplete("%w", err)
	}
	if endpoint != "" {
		if err := oauth.CheckEndpoint(endpoint); err != nil {
			return nil, exit.BadInput("--revoke-url %w", err)
		}
	}
	login, err := store.Forget(ctx)
	switch {
	case errors.Is(err, oauth.ErrNoLogin):
		return &Logout{None: true}, nil
	case err != nil:
		return nil, exit.Incomplete("%w", err)
	case login == nil:
		return &Logout{Damaged: true}, nil
	}
	endpoint = cmp.Or(endpoint, login.Client.RevokeURL)
	if endpoint == "" {
		return &Logout{}, nil
	}
	if err := login.Revoke(ctx, endpoint); err != nil {
		return &Logout{}, exit.Incomplete("the server did not revoke it: %w; revoke it in your account there", err)
	}
	return &Logout{Revoked: true}, nil
}
