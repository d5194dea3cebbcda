package session

import (
	"cmp"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/suite"
)

// serviceSetting is a setting of the unnamed service in each place that has it.
type serviceSetting struct {
	name  string // the key in a suite and in a project file
	flag  string
	usual string // the default
	isURL bool   // a slash at its end does not count

	option func(*eval.ServiceOptions) *string
	run    func(*eval.RunService) *string
	suite  func(*suite.UnnamedService) string
}

func unnamedService() []serviceSetting {
	return []serviceSetting{
		{
			"baseUrl", "--base-url", "", true,
			func(o *eval.ServiceOptions) *string { return &o.BaseURL },
			func(r *eval.RunService) *string { return &r.BaseURL },
			func(s *suite.UnnamedService) string { return s.BaseURL },
		},
		{
			"apiVersion", "--api-version", wire.APIVersions[0], false,
			func(o *eval.ServiceOptions) *string { return &o.APIVersion },
			func(r *eval.RunService) *string { return &r.APIVersion },
			func(s *suite.UnnamedService) string { return s.APIVersion },
		},
		{
			"headerPrefix", "--header-prefix", wire.DefaultHeaderPrefix, false,
			func(o *eval.ServiceOptions) *string { return &o.HeaderPrefix },
			func(r *eval.RunService) *string { return &r.HeaderPrefix },
			func(s *suite.UnnamedService) string { return s.HeaderPrefix },
		},
		{
			"auth", "--auth", string(eval.AuthKey), false,
			func(o *eval.ServiceOptions) *string { return (*string)(&o.Auth) },
			func(r *eval.RunService) *string { return (*string)(&r.Auth) },
			func(s *suite.UnnamedService) string { return string(s.Auth) },
		},
		{
			"project", "--project", "", false,
			func(o *eval.ServiceOptions) *string { return &o.Project },
			func(r *eval.RunService) *string { return &r.Project },
			func(s *suite.UnnamedService) string { return s.Project },
		},
		{
			"authScopeBase", "--auth-scope-base", "", true,
			func(o *eval.ServiceOptions) *string { return &o.ScopeBase },
			func(r *eval.RunService) *string { return &r.AuthScopeBase },
			func(s *suite.UnnamedService) string { return s.AuthScopeBase },
		},
	}
}

func (s *serviceSetting) variable() string {
	return "EVALRUN_" + strings.ToUpper(strings.ReplaceAll(strings.TrimPrefix(s.flag, "--"), "-", "_"))
}

func (s *serviceSetting) trimmed(value string) string {
	if s.isURL {
		return strings.TrimRight(value, "/")
	}
	return value
}

// service settles the unnamed service: its address, and how callers authenticate.
func (m *merger) service(o *Options) eval.RunService {
	var r eval.RunService
	for _, s := range unnamedService() {
		given := cmp.Or(*s.option(&o.ServiceOptions), o.Env(s.variable()))
		value := pick(m, "service."+s.name, given, func(one *suite.Suite) string { return s.suite(&one.Service) })
		value = cmp.Or(value, *s.option(&m.defaults.ServiceOptions), s.usual)
		*s.run(&r) = s.trimmed(value)
	}
	return r
}

// useService sends to the service of a run, where options name none if fills.
func (f *Options) useService(of *eval.RunService, fills bool) {
	for _, s := range unnamedService() {
		if to := s.option(&f.ServiceOptions); !fills || *to == "" {
			*to = *s.run(of)
		}
	}
}
