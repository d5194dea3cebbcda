package job

import (
	"cmp"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/regular"
	"github.com/evalrun/evalrun/internal/selection"
	"github.com/evalrun/evalrun/internal/service"
	"github.com/evalrun/evalrun/internal/trust"
	"github.com/evalrun/evalrun/labels"
	"github.com/evalrun/evalrun/pricing"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/suite"
)

// Settings are where a run goes and within which limits, settled from flags,
// environment and suites.
type Settings struct {
	Service eval.RunService
	// Services are the named ones, by their names.
	Services map[string]*Named
	Limits   suite.Limits
	Prices   *pricing.List // nil without a price list
	// Labels are those of the suites with a scorer that takes them, by the names of the suites.
	Labels map[string]*labels.File
	key    string
	Capped bool           // limits.concurrency was given, and caps the calls to all services together
	trust  *trust.Keys    // with which runs are signed
	Spent  eval.Spent     // before, by a run that is resumed
	Before []eval.Booking // the last calls of a run that is resumed

	Selection *selection.Selection // by --failed-in, --changed-since and --sample; nil without them
}

// Key is the API key, "" without one. It is a secret.
func (s *Settings) Key() string { return s.key }

// UseKey replaces the API key: an emulator has its own, and a login does without.
func (s *Settings) UseKey(key string) { s.key = key }

// EmulatorURL stands for the embedded emulator's address until that is known.
const EmulatorURL = "http://127.0.0.1"

// Defaults of the limits.
const (
	defaultConcurrency = 8
	otherConcurrency   = 512 // where an executor in other processes bounds the calls by the room that it has
	defaultTimeout     = 60 * time.Second
	defaultAttempts    = 5
)

// Settle merges flags, environment and suites into the settings of a job: a flag wins over a variable, a variable over the
// files, and files must agree. Files with problems are a *BadFiles.
func (l *Loaded) Settle() (*Job, error) {
	if err := l.Bad(); err != nil {
		return nil, err
	}
	s, err := l.settings()
	if err != nil {
		return nil, err
	}
	return &Job{read: l.read, Settings: s}, nil
}

func (l *Loaded) settings() (Settings, error) {
	f, getenv := l.Flags, l.Getenv
	m := merger{suites: l.Suites, defaults: f.ByProject(), usual: defaultConcurrency}
	if f.Executor != nil {
		m.usual = otherConcurrency
	}
	if f.Emulator != "" {
		if f.BaseURL != "" {
			return Settings{}, exit.BadInput("--emulator and --base-url name two services: choose one")
		}
		f.BaseURL = EmulatorURL
	}
	s := Settings{Service: m.service(&f.ServiceOptions, getenv), Limits: m.limits(&f.LimitOptions)}
	s.Capped = m.capped
	s.key = strings.TrimSpace(getenv("EVALRUN_API_KEY"))
	var err error
	if s.Services, err = m.services(&f, getenv); err != nil {
		return s, err
	}
	s.Limits.Services = s.serviceLimits()
	if s.trust, err = trust.Load(getenv); err != nil {
		return s, exit.BadInput("%w", err)
	}
	if s.Prices, err = m.prices(f.Prices); err != nil {
		return s, err
	}
	if s.Labels, err = l.readLabels(); err != nil {
		return s, err
	}
	if len(m.differ) > 0 {
		return s, exit.BadInput(
			"the suites of one run share one service and one ledger, but they differ in %s: run them one by one, make them agree, or settle it "+
				"by flags",
			strings.Join(m.differ, ", "),
		)
	}
	if s.Limits.BudgetMoney > 0 && s.Prices == nil {
		return s, exit.BadInput("a budget of money needs a price list: `prices: FILE` in the suite, or --prices FILE")
	}
	if err := s.check(); err != nil {
		return s, err
	}
	s.Selection, err = selection.New(&f.Options, f.Dir, l.rescored.within, func() *runner.Plan {
		f.Shard = eval.Shard{} // a shard is a part of what is selected
		return l.plan(&f, nil, s.Service.APIVersion)
	})
	return s, err
}

// readLabels reads what people say of answers, for the suites whose scorers take that.
func (l *Loaded) readLabels() (map[string]*labels.File, error) {
	out := map[string]*labels.File{}
	var problems []error
	for _, one := range l.Suites {
		for _, s := range one.Versions() {
			if !s.TakesLabels() || out[one.Name] != nil {
				continue
			}
			file, err := labels.Read(l.Flags.Dir.Join("."), one.Name)
			if err == nil {
				err = file.Err()
			}
			problems, out[one.Name] = append(problems, err), file
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, exit.BadInput("%w", err)
	}
	return out, nil
}

// service settles where requests are sent.
func (m *merger) service(o *eval.ServiceOptions, getenv func(string) string) eval.RunService {
	text := func(name, flag, variable string, of func(*suite.Service) string) string {
		return pick(m, "service."+name, cmp.Or(flag, getenv(variable)), func(s *suite.Suite) string { return of(&s.Service) })
	}
	r := eval.RunService{
		BaseURL:       text("baseUrl", o.BaseURL, "EVALRUN_BASE_URL", func(s *suite.Service) string { return s.BaseURL }),
		APIVersion:    text("apiVersion", o.APIVersion, "EVALRUN_API_VERSION", func(s *suite.Service) string { return s.APIVersion }),
		HeaderPrefix:  text("headerPrefix", o.HeaderPrefix, "EVALRUN_HEADER_PREFIX", func(s *suite.Service) string { return s.HeaderPrefix }),
		Auth:          text("auth", o.Auth, "EVALRUN_AUTH", func(s *suite.Service) string { return s.Auth }),
		Project:       text("project", o.Project, "EVALRUN_PROJECT", func(s *suite.Service) string { return s.Project }),
		AuthScopeBase: text("authScopeBase", o.ScopeBase, "EVALRUN_AUTH_SCOPE_BASE", func(s *suite.Service) string { return s.AuthScopeBase }),
	}
	d := m.defaults.ServiceOptions
	r.BaseURL, r.APIVersion = cmp.Or(r.BaseURL, d.BaseURL), cmp.Or(r.APIVersion, d.APIVersion)
	r.HeaderPrefix, r.Auth = cmp.Or(r.HeaderPrefix, d.HeaderPrefix), cmp.Or(r.Auth, d.Auth)
	r.Project, r.AuthScopeBase = cmp.Or(r.Project, d.Project), cmp.Or(r.AuthScopeBase, d.ScopeBase)
	r.BaseURL, r.AuthScopeBase = strings.TrimRight(r.BaseURL, "/"), strings.TrimRight(r.AuthScopeBase, "/")
	r.APIVersion = cmp.Or(r.APIVersion, service.APIVersions[0])
	r.HeaderPrefix, r.Auth = cmp.Or(r.HeaderPrefix, service.DefaultHeaderPrefix), cmp.Or(r.Auth, suite.AuthKey)
	return r
}

// limits settles what bounds the calls.
func (m *merger) limits(o *eval.LimitOptions) suite.Limits {
	number := func(name string, flag int, of func(*suite.Limits) int) int {
		return pick(m, "limits."+name, flag, func(s *suite.Suite) int { return of(&s.Limits) })
	}
	period := func(name string, flag time.Duration, of func(*suite.Limits) time.Duration) time.Duration {
		return pick(m, "limits."+name, flag, func(s *suite.Suite) time.Duration { return of(&s.Limits) })
	}
	l := suite.Limits{
		Concurrency:       number("concurrency", o.Concurrency, func(l *suite.Limits) int { return l.Concurrency }),
		RequestsPerMinute: number("requestsPerMinute", o.RPM, func(l *suite.Limits) int { return l.RequestsPerMinute }),
		TokensPerMinute:   number("tokensPerMinute", o.TPM, func(l *suite.Limits) int { return l.TokensPerMinute }),
		BudgetTokens:      number("budget.tokens", o.BudgetTokens, func(l *suite.Limits) int { return l.BudgetTokens }),
		BudgetCalls:       number("budget.calls", o.BudgetCalls, func(l *suite.Limits) int { return l.BudgetCalls }),
		BudgetMoney:       pick(m, "limits.budget.money", o.BudgetMoney, func(s *suite.Suite) float64 { return s.Limits.BudgetMoney }),
		BudgetTime:        period("budget.time", o.BudgetTime, func(l *suite.Limits) time.Duration { return l.BudgetTime }),
		Timeout:           period("timeout", o.Timeout, func(l *suite.Limits) time.Duration { return l.Timeout }),
		Attempts:          number("attempts", o.Attempts, func(l *suite.Limits) int { return l.Attempts }),
		CountTokens:       pick(m, "limits.countTokens", "", func(s *suite.Suite) string { return s.Limits.CountTokens }),
	}
	d := &m.defaults.LimitOptions
	m.capped = l.Concurrency+d.Concurrency > 0
	l.Concurrency, l.Timeout = cmp.Or(l.Concurrency, d.Concurrency, m.usual),
		cmp.Or(l.Timeout, d.Timeout, defaultTimeout)
	l.Attempts, l.CountTokens = cmp.Or(l.Attempts, d.Attempts, defaultAttempts), cmp.Or(l.CountTokens, suite.CountAuto)
	l.RequestsPerMinute, l.TokensPerMinute = cmp.Or(l.RequestsPerMinute, d.RPM), cmp.Or(l.TokensPerMinute, d.TPM)
	l.BudgetTokens, l.BudgetCalls = cmp.Or(l.BudgetTokens, d.BudgetTokens), cmp.Or(l.BudgetCalls, d.BudgetCalls)
	l.BudgetMoney, l.BudgetTime = cmp.Or(l.BudgetMoney, d.BudgetMoney), cmp.Or(l.BudgetTime, d.BudgetTime)
	l.Models = m.models()
	return l
}

// prices reads the price list of a run: that of the flag, or the one on which the suites agree.
func (m *merger) prices(file string) (*pricing.List, error) {
	if file != "" {
		return readPrices(file)
	}
	var out *pricing.List
	for _, s := range m.suites {
		switch {
		case s.Prices == nil:
		case out == nil:
			out = s.Prices
		case !reflect.DeepEqual(out, s.Prices):
			m.differ = append(m.differ, "prices")
		}
	}
	if list := m.defaults.Prices; out == nil && list != "" {
		return readPrices(list)
	}
	return out, nil
}

// readPrices reads a price list.
func readPrices(file string) (*pricing.List, error) {
	src, err := regular.ReadInput(file, maxInput)
	if err != nil {
		return nil, exit.BadInput("the price list cannot be read: %w", err)
	}
	one := &Files{sources: map[string][]byte{file: src}}
	p := suite.LoadPrices(file, src, &one.Diags)
	if one.Diags.HasErrors() {
		return nil, &BadFiles{one}
	}
	return p, nil
}

func (s *Settings) check() error {
	switch {
	case !slices.Contains(service.APIVersions, s.Service.APIVersion):
		return exit.BadInput("the API version is v1 or v1beta, not %q", s.Service.APIVersion)
	case !slices.Contains(suite.AuthKinds, s.Service.Auth):
		return exit.BadInput("the way to authenticate is %s, not %q", strings.Join(suite.AuthKinds, " or "), s.Service.Auth)
	case !suite.HeaderPrefix.MatchString(s.Service.HeaderPrefix):
		return exit.BadInput("%q is not the beginning of a header name", s.Service.HeaderPrefix)
	case s.Service.Project != "" && !suite.Project.MatchString(s.Service.Project):
		return exit.BadInput("%q is not the id of a cloud project", s.Service.Project)
	case s.Service.AuthScopeBase != "" && service.CheckScopeBase(s.Service.AuthScopeBase) != "":
		return exit.BadInput("%s", service.CheckScopeBase(s.Service.AuthScopeBase))
	case strings.ContainsFunc(s.key, unicode.IsControl):
		return exit.BadInput("EVALRUN_API_KEY holds a line break or another control character")
	case s.Service.BaseURL != "":
		if problem := service.CheckBaseURL(s.Service.BaseURL); problem != "" {
			return exit.BadInput("%s", problem)
		}
	}
	return nil
}

// merger collects the settings in which suites differ.
type merger struct {
	suites   []*suite.Suite
	defaults *eval.Options // of the project file
	differ   []string
	capped   bool // a concurrency was given
	usual    int  // concurrency where none is
}

// models joins the limits of models, on which suites that set them must agree.
func (m *merger) models() []suite.ModelLimits {
	var out []suite.ModelLimits
	for _, s := range m.suites {
		for _, one := range s.Limits.Models {
			i := slices.IndexFunc(out, func(known suite.ModelLimits) bool { return known.Model == one.Model })
			switch {
			case i < 0:
				out = append(out, one)
			case out[i] != one:
				m.differ = append(m.differ, "limits.models."+one.Model)
			}
		}
	}
	return out
}

// pick is the given value, else the one on which the suites that set it agree.
func pick[T comparable](m *merger, name string, given T, of func(*suite.Suite) T) T {
	var zero T
	if given != zero {
		return given
	}
	set := map[T]bool{}
	for _, s := range m.suites {
		if v := of(s); v != zero {
			set[v] = true
		}
	}
	values := slices.Collect(maps.Keys(set))
	if len(values) > 1 {
		m.differ = append(m.differ, name)
	}
	if len(values) == 0 {
		return zero
	}
	return values[0]
}
