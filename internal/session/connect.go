package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/flow"
	"github.com/evalrun/evalrun/internal/rates"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/suite"
)

// Session is a job with everything wired that its calls need. Close it.
type Session struct {
	*Job
	Version string       // of evalrun
	Notice  func(string) // reports messages for people during a run
	retries retries

	// The way of a call.
	calls    []string        // names of the services that the plan calls
	link     link            // to the unnamed service
	links    map[string]link // to the named services, by name
	emulator *embedded       // answers instead of services; nil without one
	executor eval.Executor   // makes one attempt of a call
	service  *routes         // executor with retries, limits, caches and records around it
	closed   closings        // services and models that are called no more in this run

	// Limits and waiting.
	limiter *flow.Limiter
	shared  *sharedLedger // limits shared with other processes; nil without a ledger
	waits   *flow.Waits
	stop    *runner.Stop

	batches   *flow.Batches // nil: all calls are sent at once
	continues bool

	// Answers that exist already, and those to keep.
	recorder *recording       // keeps answers for a replay; nil keeps none
	answers  answerSource     // has answers that need no call; nil without any
	replayed *flow.Recordings // answers instead of services; nil without a replay
	rescores *rescoredRun     // the run whose answers are scored again; nil without one
	extends  *extendedRun     // the run that this one continues; nil without one

	// Applications.
	id         string   // part of the names of their sessions
	workspaces *folders // in which programs work
	sandboxes  sandboxes
	endpoints  []interface{ Close() } // their clients
	models     models                 // that programs call
}

// Connect wires a session: the emulator if the options name one, the client and its decorators. It makes no call.
func Connect(j *Job, version string, notice func(string)) (*Session, error) {
	own := *j // a copy, since an embedded emulator changes the address
	s := newSession(&own, version, notice)
	if err := s.connect(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// connectTo is Connect for one service; "" is the unnamed one. The others may lack keys and addresses.
func connectTo(j *Job, name, version string, notice func(string)) (*Session, error) {
	only := *j
	only.Only = &name
	return Connect(&only, version, notice)
}

func newSession(j *Job, version string, notice func(string)) *Session {
	stop := runner.NewStop()
	s := &Session{
		Job:     j,
		Version: version,
		Notice:  notice,

		link:  offline{},
		links: map[string]link{},

		limiter: flow.NewLimiter(flow.LimiterConfig{}),
		waits:   flow.NewWaits(stop.Done()),
		stop:    stop,

		id:         rand.Text(),
		workspaces: newFolders(!j.Options.NoContent),
	}
	s.executor = &here{session: s}
	return s
}

// connect opens everything that the session needs. After an error the caller closes what was opened.
func (s *Session) connect() (err error) {
	s.calls = s.Called()
	if err = s.checkVariables(false); err != nil {
		return err
	}
	switch from := s.Settings.Source.(type) {
	case eval.FromFile:
		return s.answerFrom(s.readAnswers(from.Path))
	case eval.FromRecords:
		return s.answerFrom(recordedAnswers(from.Dir))
	case eval.FromRun:
		return s.scoreAgain(from)
	case eval.FromService:
		if s.extends, err = s.openExtended(); err != nil {
			return err
		}
		if s.recorder, err = s.openRecorder(from); err != nil {
			return err
		}
	}
	return s.reach()
}

// scoreAgain answers from an earlier run, and reaches services for embeddings and judges alone.
func (s *Session) scoreAgain(from eval.FromRun) error {
	o, err := s.openRescored(from)
	if err != nil {
		return err
	}
	s.rescores, s.answers = o, o
	if !s.embeds() && !s.callsJudges() {
		way, err := o.judgeOffline()
		s.service = s.through(way)
		return err
	}
	return s.reach()
}

// answerFrom answers every call from records, and sends nothing.
func (s *Session) answerFrom(store *flow.Recordings, err error) error {
	if err != nil {
		return err
	}
	s.replayed = store
	programs, err := s.replayedPrograms(store)
	s.service = s.through(func(of string) flow.Service {
		next := flow.Replay(store, nil, of)
		if of == "" && len(programs) > 0 {
			return replaying{next, programs}
		}
		return next
	})
	return err
}

// reach opens the links to the services, and wires the decorators that every call passes.
func (s *Session) reach() (err error) {
	if given := s.Options.Executor; given != nil {
		if err := s.CheckBatches(); err != nil {
			return err
		}
		s.executor, s.link = given, elsewhere{given}
	} else if s.executor, err = s.openHere(); err != nil {
		return err
	}
	if err := s.openLedger(); err != nil {
		return err
	}
	s.wire()
	return nil
}

// warned reports whether a suite names the address: loading the suite has warned of it then.
func (s *Session) warned(url string) bool {
	return slices.ContainsFunc(s.Suites, func(each *suite.Suite) bool { return each.Service.BaseURL == url })
}

// Emulated reports whether the embedded emulator answers, or an emulator that said so.
func (s *Session) Emulated() bool {
	if s.emulator != nil { // which says so only once it has answered
		return true
	}
	for _, named := range s.links {
		if named.Emulated() {
			return true
		}
	}
	return s.link.Emulated()
}

// Counter counts the tokens of prompts.
func (s *Session) Counter() runner.TokenCounter { return s.service }

// wire puts the decorators around the executor: retry → breaker → adaptive concurrency → room → limiter → deadline → one
// attempt. Since retries are outermost, every attempt is limited, counted and timed on its own.
func (s *Session) wire() {
	settings := s.Settings
	limits := settings.Limits
	models := map[string]rates.Rates{}
	for _, m := range limits.Models {
		models[m.Model] = rates.Rates{RequestsPerMinute: m.RequestsPerMinute, TokensPerMinute: m.TokensPerMinute}
	}
	config := flow.LimiterConfig{
		Rates:        rates.Rates{RequestsPerMinute: limits.RequestsPerMinute, TokensPerMinute: limits.TokensPerMinute},
		Models:       models,
		Concurrency:  limits.Concurrency,
		BudgetCalls:  limits.BudgetCalls,
		BudgetTokens: limits.BudgetTokens,
		BudgetMoney:  limits.BudgetMoney,
		Prices:       settings.Prices,
		CountOutput:  limits.CountTokens != suite.CountNever,
		Before:       settings.Before,
		Spent:        settings.Spent,
		Shared:       s.shared.grants(),
		Waits:        s.waits,
	}
	divide(&settings, &config)
	s.limiter = flow.NewLimiter(config)
	s.batches.Under(s.limiter)
	if s.Options.Cache && !s.Options.Caches() {
		s.Notice("--cache is not used with --untrusted, since the answers in .evalrun/cache could come with the suite; " +
			"--replay-or-record DIR keeps answers in a folder that you name")
	}
	s.service = s.through(func(of string) flow.Service {
		next, address := s.wayTo(of)
		if s.Options.Caches() {
			next = s.cached(next, address)
		}
		return s.recorder.around(s.rescores.around(next, of), of)
	})
	s.models.keep = s.recorder != nil
	s.models.prices, s.models.priced = settings.Prices, limits.BudgetMoney > 0
	s.models.way = func(name string) flow.Service { next, _ := s.wayTo(name); return next }
}

// wayTo wires the service with a name, and returns it with its address.
func (s *Session) wayTo(name string) (next flow.Service, address string) {
	limits := &s.Settings.Limits
	if name == "" {
		to := way{peer: theService, timeout: limits.Timeout, concurrency: limits.Concurrency, counts: true}
		return routed{s.batches.Around(s.decorated(to), name), s.applications()}, s.Settings.Service.BaseURL
	}
	named := s.Settings.Services[name]
	to := way{
		peer:        runner.Served(name),
		timeout:     limits.Timeout,
		concurrency: limits.Services[name].Concurrency,
		counts:      Can(named.Protocol, wire.MethodCountTokens),
		address:     named.URL,
		name:        name,
	}
	return s.batches.Around(s.decorated(to), name), named.URL
}

// cached keeps the answers of a service across runs. Answers of an emulator are kept until its script or seed changes.
func (s *Session) cached(next flow.Service, who string) flow.Service {
	if s.Options.Emulator != "" {
		who = "emulator " + s.emulator.script.Sum() + " " + strconv.FormatUint(s.Options.Seed, 10)
	}
	return flow.Cache(s.Options.In().Cache(), who, next, func(text string) { s.Notice(text) })
}

// divide gives each service its share of the limits. Without named services, all limits belong to the only one.
func divide(s *runSettings, c *flow.LimiterConfig) {
	if len(s.Services) == 0 {
		return
	}
	c.Services = map[string]flow.Share{"": {Concurrency: s.Limits.Concurrency}}
	for name, own := range s.Limits.Services {
		c.Services[name] = flow.Share{
			Rates:       rates.Rates{RequestsPerMinute: own.RequestsPerMinute, TokensPerMinute: own.TokensPerMinute},
			Concurrency: own.Concurrency,
		}
	}
	if !s.Capped { // each service has its own concurrency, so that a slow one does not hold up the others
		c.Concurrency = 0
	}
}

type way struct {
	peer        string // its name in messages
	timeout     time.Duration
	concurrency int
	counts      bool   // whether it can count tokens
	address     string // of a named service, "" otherwise
	name        string // of a named service, "" otherwise
}

const theService = "the service"

// prefix begins a notice about a peer other than the unnamed service.
func (w way) prefix() string {
	if w.peer == theService {
		return ""
	}
	return w.peer + ": "
}

// decorated puts the decorators of one peer around the executor.
func (s *Session) decorated(to way) flow.Service {
	next := flow.By(s.executor, to.name)
	if s.Options.Executor != nil {
		next = flow.Allowing(next, to.timeout)
	} else {
		next = flow.Deadline(next, to.timeout)
	}
	next = s.placed(s.limiter.Limit(next, to.name, to.counts))
	next = flow.Adapt(next, to.concurrency, s.waits)
	next = flow.Protect(next, to.peer, s.waits, func(text string) { s.Notice(to.prefix() + text) })
	return flow.Retry(next, s.retryPolicy(to))
}

func (s *Session) placed(next flow.Service) flow.Service {
	return flow.Placed(next, s.executor, s.stop.Done())
}

func (s *Session) retryPolicy(to way) flow.RetryPolicy {
	return flow.RetryPolicy{Attempts: s.Settings.Limits.Attempts, Notice: s.retrying(to), Waits: s.waits}
}

// Skew is how far the service's clock is ahead of this machine's; ok is false when the service gave no time.
func (s *Session) Skew() (skew time.Duration, ok bool) { return s.link.Skew() }

// Waiting says which calls wait for what, "" when none waits.
func (s *Session) Waiting() string { return s.waits.String() }

// retrying reports failed attempts that will be repeated. It names the peer unless that is the unnamed service.
func (s *Session) retrying(to way) func(err *eval.Error, attempt, most int, wait time.Duration) {
	return func(err *eval.Error, attempt, most int, wait time.Duration) {
		if s.retries.first(to.peer) {
			s.Notice(fmt.Sprintf("no good answer from %s yet; trying up to %d times",
				cmp.Or(to.address, s.Settings.Service.BaseURL), most))
		}
		if report := s.retries.each(); report != nil {
			wait = wait.Round(10 * time.Millisecond)
			report(fmt.Sprintf("%sattempt %d of %d failed (%s); the next in %s", to.prefix(), attempt, most, err, wait))
		}
	}
}

// Close ends connections and the emulator.
func (s *Session) Close() {
	s.batches.Close()
	s.models.close()
	s.link.Close()
	for _, client := range s.endpoints {
		client.Close()
	}
	if s.shared != nil {
		s.shared.Close()
	}
	if s.emulator != nil {
		s.emulator.Close()
	}
	if s.extends != nil {
		_ = s.extends.doc.Close() // it was only read
	}
	if s.rescores != nil {
		_ = s.rescores.doc.Close() // it was only read
	}
	_ = s.recorder.finish() // what a run that broke off left; why it did is the error to report
}

// Plan makes the plan of a run and checks it against the service's models. Problems of the suites are a *session.BadFiles.
func (s *Session) Plan(ctx context.Context) (*runner.Plan, error) {
	p := s.Job.Plan()
	s.warnUncounted(p)
	if err := p.Err(); err != nil {
		return nil, eval.BadInput("a file has changed since it was checked: %w", err)
	}
	if s.extends != nil {
		if err := s.extends.Check(p); err != nil {
			return nil, err
		}
	}
	if err := s.shared.check(ctx, p); err != nil {
		return nil, err
	}
	s.retries.enter(planning)
	defer s.retries.enter(connected)
	err := p.CheckModels(ctx, s.service, &s.Diags, s.Notice)
	if err == nil && s.allClosed() {
		return nil, eval.Incomplete("%s", s.closed.all())
	}
	if err != nil {
		return nil, s.Refused(err)
	}
	if s.callsTargets() {
		p.CheckLimits(&s.Settings.Limits, &s.Diags)
	}
	if err := s.Bad(); err != nil {
		return nil, err
	}
	if err := s.checkRounds(p); err != nil {
		return nil, err
	}
	if s.answers != nil {
		if err := s.answers.Check(p); err != nil {
			return nil, err
		}
	}
	if s.replayed != nil {
		for t := range p.Trials() {
			s.replayed.Expect(&t.Trial)
		}
	}
	return p, s.priced(p)
}

// callsTargets reports whether the models under test are called. Answers that are there already need no limits.
func (s *Session) callsTargets() bool {
	_, none := s.link.(offline)
	_, rescored := s.Settings.Rescored()
	return !none && !rescored
}

// priced reports models without a price: those whose costs a scorer judges, and all models when there is a budget of
// money.
func (s *Session) priced(p *runner.Plan) error {
	if err := s.pricedArms(p); err != nil {
		return err
	}
	if s.Settings.Limits.BudgetMoney == 0 {
		return nil
	}
	for _, m := range p.Models {
		if !s.Settings.Prices.Knows(m.ID()) {
			return eval.BadInput(
				"the price list %s has no price for the model %s, which a budget of money needs: add it, or leave out the budget",
				s.Settings.pricesFile, m.ID(),
			)
		}
	}
	return nil
}

// pricedArms reports arms whose costs a scorer judges, or a program bounds, without a price.
func (s *Session) pricedArms(p *runner.Plan) error {
	for _, arm := range p.Arms() {
		if of, ok := arm.Target.Of.(*suite.Program); ok && of.MostMoney > 0 && s.Settings.Prices == nil {
			return eval.BadInput(
				"the target `%s` has a limit of money, and there is no price list: `prices: FILE` in the suite, or --prices FILE", arm.Target.Name,
			)
		}
		i := slices.IndexFunc(p.Suites, func(one *suite.Suite) bool { return one.Name == arm.Suite })
		at, needed := p.Suites[i].NeedsPrice(arm.Arm)
		switch model := arm.Target.Model(); {
		case !needed || model != nil && s.Settings.Prices.Knows(model.ID):
		case model == nil && arm.Target.CallsModels() && s.Settings.Prices != nil: // which ones, its calls say
		case model == nil && !arm.Target.CallsModels():
			s.Diags.Errorf(
				at, "narrow `arms` of the scorer",
				"what the target `%s` costs is not known: it is an application (%s)", arm.Target.Name, arm.Target.App(),
			)
		case s.Settings.Prices == nil:
			s.Diags.Errorf(
				at, "`prices: FILE` in the suite, or --prices FILE",
				"what answers cost cannot be scored without a price list",
			)
			return s.Bad()
		default:
			s.Diags.Errorf(
				at, "add it, or narrow `arms` of the scorer",
				"the price list has no price for the model %s, whose cost is scored", model.ID,
			)
		}
	}
	return s.Bad()
}

// Refused makes an error before the first trial one that says what it means and what to do.
func (s *Session) Refused(err error) error {
	e := eval.AsError(err)
	switch {
	case e.Origin == eval.FromLogin, e.Kind == eval.KindBudget:
		return eval.Incomplete("%w", err)
	case e.Service != "" && e.Kind == eval.KindAuth:
		return eval.Incomplete("%s", s.reasonOf(e.Service, e))
	case e.Service != "":
		return eval.Incomplete("%s: %w", runner.Served(e.Service), err)
	case e.Kind == eval.KindAuth:
		return eval.Incomplete("%s", s.link.refusal(&s.Settings.Service, e))
	case e.Kind == eval.KindTransport:
		return eval.Incomplete("%s does not answer: %w", s.Settings.Service.BaseURL, err)
	}
	return eval.Incomplete("%s: %w", s.Settings.Service.BaseURL, err)
}
