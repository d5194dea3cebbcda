package harness

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/clients/oauth"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/suite"
)

// oauth reports whether the session goes with a login. The embedded emulator needs none.
func (s *Session) oauth() bool {
	return s.Settings.Service.Auth == suite.AuthOAuth && s.emulator == nil
}

// useLogin makes the session go with the login that is kept in the user's folder.
func (s *Session) useLogin() error {
	store, err := oauth.UserStore()
	if err != nil {
		return exit.With(exit.CodeIncomplete, err)
	}
	login, err := store.Load()
	if err != nil {
		return exit.With(exit.CodeIncomplete, err)
	}
	service := &s.Settings.Service
	if service.Project == "" {
		service.Project = login.Client.Project
	}
	if service.Project == "" {
		return exit.BadInput(
			"no cloud project: name the one in which the API is enabled by --project, EVALRUN_PROJECT or service.project; the client secrets " +
				"file names none; see `evalrun help oauth#using-it`",
		)
	}
	if base := service.AuthScopeBase; base != "" &&
		!slices.ContainsFunc(login.Scopes, func(scope string) bool { return strings.HasPrefix(scope, base+"/") }) {
		s.Notice(fmt.Sprintf("warning: none of the scopes of the login begins with %s: %s", base, strings.Join(login.Scopes, " ")))
	}
	s.Settings.key, s.login = "", oauth.NewTokens(store, s.Notice)
	return nil
}

// refusal says what it means that the service, or the way to it, refuses who asks.
func (s *Session) refusal(e *eval.Error) string {
	url := s.Settings.Service.BaseURL
	switch {
	case s.login == nil:
		return fmt.Sprintf("%s refuses the key in EVALRUN_API_KEY: %s; see `evalrun help running#environment`", url, e)
	case e.OfLogin:
		return e.Error()
	case e.Renewed:
		return fmt.Sprintf("%s refused the access token, which has been replaced since: %s; try again", url, e)
	case e.Status == unauthorized:
		return fmt.Sprintf("%s refuses the login: %s; %s", url, e, oauth.LoginAgain)
	}
	return fmt.Sprintf("%s refuses what was asked in the name of the project %s: %s", url, s.Settings.Service.Project, e)
}

// unauthorized is the HTTP status of a login that is not good, or no more.
const unauthorized = 401
