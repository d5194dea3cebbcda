package harness

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/evalrun/evalrun/clients/emulator"
	"github.com/evalrun/evalrun/clients/generative"
	"github.com/evalrun/evalrun/clients/oauth"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/glob"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/flow"
	"github.com/evalrun/evalrun/internal/record"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/suite"
)

// Session is a way to the service with everything wired. Close it.
type Session struct {
	*Job
	Version  string       // of evalrun
	Notice   func(string) // what people should know while a run goes on
	Retrying func(string) // told before each retry; optional

	service  flow.Service
	ledger   *flow.Ledger
	waits    *flow.Waits
	stop     *runner.Stop
	login    *oauth.Tokens // nil without OAuth
	client   *generative.Client
	emulator *emulator.Server
	store    *record.Store      // of recorded answers; nil without
	answers  source             // that were made elsewhere, or are judged again; nil without
	origin   *origin            // of answers that are judged again; nil without
	gates    []*eval.GateConfig // of the suites, with what the flags say
}

// Connect wires a session: the emulator if one is asked for, the client and its
// decorators. It makes no call.
func (j *Job) Connect(version string, notice func(string)) (*Session, error) {
	own := *j // with the address of its own emulator
	s := &Session{Job: &own, Version: version, Notice: notice, stop: runner.NewStop()}
	if err := s.connect(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// connect opens all that the session needs. After an error the caller closes what is open by then.
func (s *Session) connect() error {
	if err := s.openStore(); err != nil {
		return err
	}
	if s.offline() { // nobody is asked
		s.ledger, s.waits = flow.NewLedger(flow.LedgerConfig{}), flow.NewWaits()
		s.service = flow.Replay(s.store, nil)
		return nil
	}
	if s.Flags.Rescore != "" {
		if err := s.openOrigin(); err != nil {
			return err
		}
		if !s.embeds() && !s.asksJudges() {
			return s.judgeOffline()
		}
	}
	return s.reach()
}

// reach settles how the service is reached: its address, and what opens it.
func (s *Session) reach() error {
	if s.Flags.Emulator != "" {
		if err := s.startEmulator(); err != nil {
			return err
		}
	}
	switch {
	case s.Settings.Service.BaseURL == "":
		return exit.BadInput(
			"no service to ask: name one by --base-url, EVALRUN_BASE_URL or service.baseUrl, or try it out with --emulator; `evalrun help " +
				"suite#the-service-block` tells more",
		)
	case s.oauth():
		if err := s.useLogin(); err != nil {
			return err
		}
	case s.Settings.key == "":
		return exit.BadInput(
			"no API key: set the environment variable EVALRUN_API_KEY (never a flag or a file: it would show), or log in and use --auth oauth; " +
				"`evalrun doctor` looks at the whole set-up",
		)
	}
	if suite.PlainHTTP(s.Settings.Service.BaseURL) && !s.warned(s.Settings.Service.BaseURL) {
		s.Notice("warning: the key and the prompts travel in the clear to " + s.Settings.Service.BaseURL)
	}
	s.wire()
	return nil
}

// warned reports whether a suite of its own names the address, and was warned of.
func (j *Job) warned(url string) bool {
	return slices.ContainsFunc(j.Suites, func(s *suite.Suite) bool { return s.Service.BaseURL == url })
}

// Emulated reports whether the session talks to an emulator: the embedded one, or one that said so
// in an answer.
func (s *Session) Emulated() bool {
	return s.emulator != nil || s.client != nil && s.client.Emulated()
}

// Counter counts tokens.
func (s *Session) Counter() runner.TokenCounter { return s.service }

// wire puts the decorators around the client: retry → breaker → adaptive concurrency → ledger → deadline → one
// attempt. So every attempt is limited, counted and bounded by itself.
func (s *Session) wire() {
	settings := s.Settings
	service, limits := settings.Service, settings.Limits
	var tokens generative.Tokens // a nil *oauth.Tokens in it would not be nil
	if s.login != nil {
		tokens = s.login
	}
	s.client = generative.New(generative.Config{
		BaseURL: service.BaseURL, HeaderPrefix: service.HeaderPrefix, APIVersion: service.APIVersion,
		Key: s.Settings.key, KeyInQuery: service.Auth == suite.AuthKeyQuery, Tokens: tokens, Project: service.Project,
		UserAgent: "evalrun/" + s.Version, Connections: limits.Concurrency, ToEmulator: s.emulator != nil,
	})
	models := map[string]flow.Rates{}
	for _, m := range limits.Models {
		models[m.Model] = flow.Rates{RequestsPerMinute: m.RequestsPerMinute, TokensPerMinute: m.TokensPerMinute}
	}
	s.waits = flow.NewWaits()
	s.ledger = flow.NewLedger(flow.LedgerConfig{
		Rates: flow.Rates{RequestsPerMinute: limits.RequestsPerMinute, TokensPerMinute: limits.TokensPerMinute}, Models: models,
		Concurrency: limits.Concurrency, Before: settings.before,
		BudgetCalls: limits.BudgetCalls, BudgetTokens: limits.BudgetTokens, BudgetMoney: limits.BudgetMoney, Prices: settings.Prices,
		CountOutput: limits.CountTokens != suite.CountNever, Stop: s.stop.Done(), Waits: s.waits, Spent: settings.spent,
	})
	breaker := flow.NewBreaker(flow.BreakerConfig{Stop: s.stop.Done(), Waits: s.waits, Notice: func(text string) { s.Notice(text) }})
	adaptive := flow.NewAdaptive(limits.Concurrency, s.stop.Done(), s.waits)
	attempt := flow.Deadline(s.client, limits.Timeout)
	s.service = flow.Retry(breaker.Protect(adaptive.Bound(s.ledger.Limit(attempt))), flow.RetryPolicy{
		Attempts: limits.Attempts, Stop: s.stop.Done(), Notice: s.retrying, Quota: flow.NewRetryQuota(), Waits: s.waits,
	})
	if s.Flags.Cache {
		who := service.BaseURL
		if s.emulator != nil {
			who = "emulator " + s.Flags.Emulator + " " + strconv.FormatUint(s.Flags.Seed, 10)
		}
		s.service = flow.Cache(record.Cache{Dir: s.Flags.Dir.Cache(), Service: who}, s.service, func(text string) { s.Notice(text) })
	}
	if s.origin != nil {
		s.service = judgingAgain{s.service, s.origin.doc.Run.Models, s.Flags.AskJudges}
	}
	if s.store != nil { // what it does not have is asked, and vectors are recorded on the way
		s.service = flow.Replay(s.store, s.service)
	}
}

// Skew is by how much the clock of the service is ahead of this machine's; ok says that the service gave its time.
func (s *Session) Skew() (skew time.Duration, ok bool) { return s.client.Skew() }

// Waiting tells who waits for what, "" when nobody does.
func (s *Session) Waiting() string { return s.waits.String() }

func (s *Session) retrying(err *eval.Error, attempt int, wait time.Duration) {
	if tell := s.Retrying; tell != nil {
		most := s.Settings.Limits.Attempts
		tell(fmt.Sprintf("attempt %d of %d failed (%s); the next in %s", attempt, most, err, wait.Round(10*time.Millisecond)))
	}
}

// Close ends connections and the emulator.
func (s *Session) Close() {
	if s.login != nil {
		s.login.Close()
	}
	if s.client != nil {
		s.client.Close()
	}
	if s.emulator != nil {
		s.emulator.Close()
	}
	if s.origin != nil {
		_ = s.origin.doc.Close() // it was only read
	}
}

// Plan makes the plan of a run and checks it against the service's models. Mistakes of the
// suites are a *BadFiles.
func (s *Session) Plan(ctx context.Context) (*runner.Plan, error) {
	p := s.Job.Plan()
	if err := p.Err(); err != nil {
		return nil, exit.BadInput("a file has changed since it was checked: %w", err)
	}
	if s.Retrying == nil { // a silence would be taken for a hang
		var once sync.Once
		s.Retrying = func(string) {
			once.Do(func() {
				s.Notice(fmt.Sprintf("no good answer from %s yet; trying up to %d times", s.Settings.Service.BaseURL, s.Settings.Limits.Attempts))
			})
		}
		defer func() { s.Retrying = nil }()
	}
	err := p.CheckModels(ctx, s.service, &s.Diags, s.Notice)
	if err != nil {
		return nil, s.Refused(err)
	}
	if err := s.Bad(); err != nil {
		return nil, err
	}
	if s.answers != nil {
		if err := s.answers.Check(p); err != nil {
			return nil, err
		}
	}
	return p, s.priced(p)
}

// priced wants a price for every model that a scorer of costs judges, and for all when there is a budget of money.
func (s *Session) priced(p *runner.Plan) error {
	for _, arm := range p.Arms() {
		i := slices.IndexFunc(p.Suites, func(one *suite.Suite) bool { return one.Name == arm.Suite })
		at, needed := p.Suites[i].NeedsPrice(arm.Arm)
		switch model := arm.Target.Model; {
		case !needed || s.Settings.Prices.Knows(model):
		case s.Settings.Prices == nil:
			s.Diags.Errorf(at, "`prices: FILE` in the suite, or --prices FILE", "what answers cost cannot be judged without a price list")
			return s.Bad()
		default:
			s.Diags.Errorf(
				at, "add it, or narrow `arms` of the scorer",
				"the price list has no price for the model %s, of which the cost is judged", model,
			)
		}
	}
	if err := s.Bad(); err != nil {
		return err
	}
	if s.Settings.Limits.BudgetMoney == 0 {
		return nil
	}
	for _, m := range p.Models {
		if !s.Settings.Prices.Knows(m.ID()) {
			return exit.BadInput("there is a budget of money, and the price list has no price for the model %s", m.ID())
		}
	}
	return nil
}

// Refused says what an error before the first trial means.
func (s *Session) Refused(err error) error {
	e := eval.AsError(err)
	switch {
	case e.OfLogin, e.Kind == eval.KindBudget:
		return exit.Incomplete("%w", err)
	case e.Kind == eval.KindAuth:
		return exit.Incomplete("%s", s.refusal(e))
	case e.Kind == eval.KindTransport:
		return exit.Incomplete("%s does not answer: %w", s.Settings.Service.BaseURL, err)
	}
	return exit.Incomplete("%s: %w", s.Settings.Service.BaseURL, err)
}

// Plan makes the plan of a job without calling the service.
func (j *Job) Plan() *runner.Plan {
	var places *eval.Places
	if j.Settings.selection != nil {
		places = j.Settings.selection.Places
	}
	return j.plan(&j.Flags, places, j.Settings.Service.APIVersion)
}

func (j *Job) plan(f *Flags, places *eval.Places, apiVersion string) *runner.Plan {
	shard, err := runner.ParseShard(f.Shard)
	if err != nil { // it was checked when the flag was read
		panic(err)
	}
	filter := runner.Filter{
		Cases: glob.New(f.Cases), Tags: glob.New(f.Tags), Arms: glob.New(f.Arms), Shard: shard, Places: places,
	}
	return runner.NewPlan(j.Suites, j.table(), filter, apiVersion)
}

// Hint says which filter has left nothing, and names what it could have meant.
func (j *Job) Hint() string {
	f := &j.Flags
	if chosen := j.Settings.selection; chosen != nil && chosen.Nothing != "" && j.plan(f, nil, "").Size() > 0 {
		return chosen.Nothing
	}
	var cases, arms, tags []string
	for _, s := range j.Suites {
		for cell := range s.OutlinedCells() {
			cases = append(cases, cell.Case.Name)
			tags = append(tags, cell.Case.Tags...)
		}
		for _, a := range s.Arms() {
			arms = append(arms, a.Name())
		}
	}
	for _, set := range []struct {
		flag          string
		given, exists []string
	}{{"--case", f.Cases, cases}, {"--arm", f.Arms, arms}, {"--tag", f.Tags, tags}} {
		for _, g := range set.given {
			if slices.ContainsFunc(set.exists, glob.Pattern(g).Match) {
				continue
			}
			if near := diag.Nearest(g, set.exists, 1); len(near) > 0 && near[0] != g {
				return fmt.Sprintf(": %s %s fits none; did you mean %s?", set.flag, g, near[0])
			}
			hint := diag.DidYouMean(g, slices.Compact(slices.Sorted(slices.Values(set.exists))))
			return strings.TrimSuffix(fmt.Sprintf(": %s %s fits none; %s", set.flag, g, hint), "; ")
		}
	}
	return ""
}
