package session

import (
	"cmp"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/gate"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/scorers/labels"
	"github.com/evalrun/evalrun/suite"
)

// runSettings are the services and limits of a run, merged from options, environment, suites and the project file.
type runSettings struct {
	Service eval.RunService
	// Services are the named services, by name.
	Services map[string]*namedService
	// Source is where answers come from.
	Source eval.Source
	Limits suite.Limits
	Ledger runner.LedgerOptions
	Prices *eval.PriceList // nil without a price list
	// pricesFile is the file of Prices, as shown to people.
	pricesFile string
	// PeopleLabels are people's labels of answers, by suite name, for the suites with a scorer that compares with them.
	PeopleLabels map[string]*labels.File
	key          string
	batch        map[string]bool // whether services answer in batches, by name; "" is the unnamed one
	Capped       bool            // the user set a concurrency, which then caps the calls to all services together
	trust        *rundir.Keys    // keys to sign runs, and to check their signatures
	Spent        eval.Spent      // what a resumed run has spent already
	Before       []eval.Booking  // the last calls of a resumed run, for limits per minute

	// Selection holds the trials that --failed-in, --changed-since and --sample select; nil without these flags.
	Selection *gate.Selection
}

// Rescored is the run whose answers are scored again; ok is false for answers from elsewhere.
func (s *runSettings) Rescored() (run eval.FromRun, ok bool) {
	run, ok = s.Source.(eval.FromRun)
	return run, ok
}

// Key is the API key, "" without one. It is a secret.
func (s *runSettings) Key() string { return s.key }

// UseKey replaces the API key: an emulator has its own key, and a login needs none.
func (s *runSettings) UseKey(key string) { s.key = key }

// emulatorURL is a placeholder for the embedded emulator's address until it listens on a port.
const emulatorURL = "http://127.0.0.1"

// Defaults of the limits.
const (
	defaultConcurrency = 8
	otherConcurrency   = 512 // with an executor in other processes, which applies its own, lower limit
	defaultTimeout     = 60 * time.Second
	defaultAttempts    = 5
	defaultBatchWait   = 24 * time.Hour
	untrustedCalls     = 10_000 // of an untrusted suite, whose own budget can only be lower
)

// Settle merges options, environment, suites and the project file into the settings of a job. A flag wins over a variable, a
// variable over the suites, and these over the project file. Suites must agree. For files with problems, the error is a
// *BadFiles.
func (l *Loaded) Settle() (*Job, error) {
	if err := l.Bad(); err != nil {
		return nil, err
	}
	s, err := l.settings()
	if err != nil {
		return nil, err
	}
	j := &Job{inputs: l.inputs, Settings: s}
	return j, j.granted()
}

func (l *Loaded) settings() (runSettings, error) {
	f := l.Options
	m := merger{suites: l.Suites, defaults: f.ByProject(), usual: defaultConcurrency, untrusted: f.Untrusted}
	if f.Executor != nil {
		m.usual = otherConcurrency
	}
	if err := f.namedFiles(); err != nil {
		return runSettings{}, err
	}
	if f.Emulator != "" {
		if f.BaseURL != "" {
			return runSettings{}, eval.BadInput("--emulator and --base-url name two services: choose one")
		}
		f.BaseURL = emulatorURL
	}
	s := runSettings{Service: m.service(&f), Limits: m.limits(&f.LimitOptions)}
	s.Capped = m.capped
	s.key = strings.TrimSpace(f.Env("EVALRUN_API_KEY"))
	var err error
	if s.Source, err = f.source(); err != nil {
		return s, err
	}
	if s.Ledger, err = f.ledger(); err != nil {
		return s, err
	}
	if s.Services, err = m.services(&f); err != nil {
		return s, err
	}
	s.Limits.Services = s.serviceLimits()
	s.batch = m.batches(f.Batch, s.Services)
	s.Service.Batch = s.Batches("")
	if s.trust, err = rundir.Load(f.Env); err != nil {
		return s, eval.BadInput("%w", err)
	}
	if s.Prices, s.pricesFile, err = m.prices(f.Prices); err != nil {
		return s, err
	}
	if s.PeopleLabels, err = l.readLabels(); err != nil {
		return s, err
	}
	if len(m.differ) > 0 {
		return s, eval.BadInput(
			"the suites of one run share one service and one ledger, but they differ in %s: "+
				"run them one by one, make them agree, or settle it by flags",
			strings.Join(m.differ, ", "),
		)
	}
	if s.Limits.BudgetMoney > 0 && s.Prices == nil {
		return s, eval.BadInput("a budget of money needs a price list: `prices: FILE` in the suite, or --prices FILE")
	}
	if err := s.check(); err != nil {
		return s, err
	}
	s.Selection, err = gate.NewSelection(&f.Options, f.In(), l.rescored.within, func() *runner.Plan {
		f.Shard = eval.Shard{} // shards divide the selection, so it must not depend on them
		return l.plan(&f, nil, s.Service.APIVersion)
	})
	return s, err
}

// readLabels reads people's labels of answers, by suite name, for the suites with a scorer that compares with them.
func (l *Loaded) readLabels() (map[string]*labels.File, error) {
	files := map[string]*labels.File{}
	var problems []error
	for _, s := range l.Suites {
		for _, version := range s.Versions() {
			if !version.TakesPeopleLabels() || files[s.Name] != nil {
				continue
			}
			file, err := l.labelsOf(s.Name)
			problems = append(problems, err)
			files[s.Name] = file
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, eval.BadInput("%w", err)
	}
	return files, nil
}

// labelsOf reads people's labels of the answers to a suite.
func (l *Loaded) labelsOf(name string) (*labels.File, error) {
	path, err := labels.FileName(name)
	if err == nil {
		err = l.Options.unlinked(path)
	}
	if err != nil {
		return nil, err
	}
	file, err := labels.Read(l.Options.In().Join("."), name)
	if err == nil {
		err = file.Err()
	}
	return file, err
}

func (m *merger) limits(o *eval.LimitOptions) suite.Limits {
	d := &m.defaults.LimitOptions
	number := func(name string, flag, byProject int, of func(*suite.Limits) int) int {
		return cmp.Or(pick(m, "limits."+name, flag, func(s *suite.Suite) int { return of(&s.Limits) }), byProject)
	}
	period := func(name string, flag, byProject time.Duration, of func(*suite.Limits) time.Duration) time.Duration {
		return cmp.Or(pick(m, "limits."+name, flag, func(s *suite.Suite) time.Duration { return of(&s.Limits) }), byProject)
	}
	money := func(s *suite.Suite) float64 { return s.Limits.BudgetMoney }
	countTokens := func(s *suite.Suite) suite.TokenCounting { return s.Limits.CountTokens }
	l := suite.Limits{
		Concurrency:       number("concurrency", o.Concurrency, d.Concurrency, func(l *suite.Limits) int { return l.Concurrency }),
		RequestsPerMinute: number("requestsPerMinute", o.RPM, d.RPM, func(l *suite.Limits) int { return l.RequestsPerMinute }),
		TokensPerMinute:   number("tokensPerMinute", o.TPM, d.TPM, func(l *suite.Limits) int { return l.TokensPerMinute }),
		BudgetTokens:      number("budget.tokens", o.BudgetTokens, d.BudgetTokens, func(l *suite.Limits) int { return l.BudgetTokens }),
		BudgetCalls:       number("budget.calls", o.BudgetCalls, d.BudgetCalls, func(l *suite.Limits) int { return l.BudgetCalls }),
		BudgetMoney:       cmp.Or(pick(m, "limits.budget.money", o.BudgetMoney, money), d.BudgetMoney),
		BudgetTime:        period("budget.time", o.BudgetTime, d.BudgetTime, func(l *suite.Limits) time.Duration { return l.BudgetTime }),
		Timeout:           period("timeout", o.Timeout, d.Timeout, func(l *suite.Limits) time.Duration { return l.Timeout }),
		BatchWait:         cmp.Or(period("batch.wait", 0, 0, func(l *suite.Limits) time.Duration { return l.BatchWait }), defaultBatchWait),
		Attempts:          number("attempts", o.Attempts, d.Attempts, func(l *suite.Limits) int { return l.Attempts }),
		CountTokens:       cmp.Or(pick(m, "limits.countTokens", "", countTokens), suite.CountAuto),
		Models:            m.models(),
	}
	m.capped = l.Concurrency > 0
	l.Concurrency = cmp.Or(l.Concurrency, m.usual)
	l.Timeout = cmp.Or(l.Timeout, defaultTimeout)
	l.Attempts = cmp.Or(l.Attempts, defaultAttempts)
	if m.untrusted && o.BudgetCalls == 0 {
		l.BudgetCalls = min(cmp.Or(l.BudgetCalls, untrustedCalls), untrustedCalls)
	}
	return l
}

// batches returns whether services answer in batches, by name. A service's own choice wins over --batch.
func (m *merger) batches(all bool, services map[string]*namedService) map[string]bool {
	own := pick(m, "service.batch", "", func(s *suite.Suite) suite.Choice { return s.Service.Batch })
	out := map[string]bool{"": cmp.Or(own, suite.Choice(strconv.FormatBool(all))) == suite.Yes}
	for name, of := range services {
		out[name] = cmp.Or(of.Batch, suite.Choice(strconv.FormatBool(all))) == suite.Yes
	}
	return out
}

// Batches reports whether calls to a service are answered in batches. "" is the unnamed service.
func (s *runSettings) Batches(service string) bool { return s.batch[service] }

// prices returns the price list of a run: from the flag, from the suites, which must agree, or from the project file. It
// is nil without one. from is its file.
func (m *merger) prices(file string) (list *eval.PriceList, from string, err error) {
	if file != "" {
		list, err = readPrices(file)
		return list, file, err
	}
	for _, s := range m.suites {
		switch {
		case s.Prices == nil:
		case list == nil:
			list, from = s.Prices, s.PricesFile
		case !reflect.DeepEqual(list, s.Prices):
			m.differ = append(m.differ, "prices")
		}
	}
	if list == nil && m.defaults.Prices != "" {
		from = m.defaults.Prices
		list, err = readPrices(from)
	}
	return list, from, err
}

func readPrices(file string) (*eval.PriceList, error) {
	src, err := files.ReadInput(file, maxInput)
	if err != nil {
		return nil, eval.BadInput("the price list cannot be read: %w", err)
	}
	files := &Files{sources: map[string][]byte{file: src}}
	p := suite.LoadPrices(file, src, &files.Diags)
	if files.Diags.HasErrors() {
		return nil, &BadFiles{files}
	}
	return p, nil
}

func (s *runSettings) check() error {
	switch {
	case !slices.Contains(wire.APIVersions, s.Service.APIVersion):
		return eval.BadInput("the API version is v1 or v1beta, not %q", s.Service.APIVersion)
	case !slices.Contains(eval.AuthKinds(), string(s.Service.Auth)):
		return eval.BadInput("the way to authenticate is %s, not %q", strings.Join(eval.AuthKinds(), " or "), s.Service.Auth)
	case !suite.HeaderPrefix.MatchString(s.Service.HeaderPrefix):
		return eval.BadInput("%q is not the beginning of a header name", s.Service.HeaderPrefix)
	case s.Service.Project != "" && !suite.Project.MatchString(s.Service.Project):
		return eval.BadInput("%q is not the id of a cloud project", s.Service.Project)
	case s.Service.AuthScopeBase != "" && wire.CheckScopeBase(s.Service.AuthScopeBase) != "":
		return eval.BadInput("%s", wire.CheckScopeBase(s.Service.AuthScopeBase))
	case strings.ContainsFunc(s.key, inNoKey):
		return eval.BadInput("EVALRUN_API_KEY %s", unusualKey)
	case s.Service.BaseURL != "":
		if problem := wire.CheckBaseURL(s.Service.BaseURL); problem != "" {
			return eval.BadInput("%s", problem)
		}
	}
	return nil
}

type merger struct {
	suites   []*suite.Suite
	defaults *eval.Options // of the project file
	differ   []string      // keys in which suites differ
	capped   bool          // the user set a concurrency
	usual    int           // default concurrency

	untrusted bool // the suites are
}

// models merges the limits of models. Suites that limit the same model must agree.
func (m *merger) models() []suite.ModelLimits {
	var all []suite.ModelLimits
	for _, s := range m.suites {
		for _, limits := range s.Limits.Models {
			i := slices.IndexFunc(all, func(known suite.ModelLimits) bool { return known.Model == limits.Model })
			switch {
			case i < 0:
				all = append(all, limits)
			case all[i] != limits:
				m.differ = append(m.differ, "limits.models."+limits.Model)
			}
		}
	}
	return all
}

// pick returns the given value, or else the one that the suites set. If they set several, it notes the name in m.differ.
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
