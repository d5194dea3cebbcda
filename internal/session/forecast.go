package session

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/gate"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/suite"
)

// Forecast is the estimate for a plan: what it would send, how long it takes within the limits, what it may cost, and what
// its gates can detect.
type Forecast struct {
	Trials            int           `json:"trials"`
	Arms              []ArmForecast `json:"arms"`
	CountCalls        int           `json:"countCalls"`
	GenerateCalls     int           `json:"generateCalls"`      // of models, at least: a live chat makes one per turn
	MostGenerateCalls int           `json:"mostGenerateCalls"`  // at most: a tool loop may use all its steps
	AppCalls          int           `json:"appCalls,omitempty"` // of applications
	EmbedCalls        int           `json:"embedCalls"`         // at least, with full batches
	JudgeCalls        int           `json:"judgeCalls"`         // at most, without retries; equal questions are sent once
	JudgeTokens       int           `json:"judgeTokens"`        // at most, with answers of maximum length; 0: unknown or none
	MaxAttempts       int           `json:"maxCalls"`           // all attempts of all calls
	PromptTokens      int           `json:"promptTokens"`       // estimated for applications
	ReplyTokens       int           `json:"replyTokens"`        // at most: replies that later calls send again
	EmbedTokens       int           `json:"embedTokens"`        // at most: reference texts, and answers of maximum length
	MaxOutputTokens   int           `json:"maxOutputTokens"`    // of models; 0: unknown
	Counted           bool          `json:"counted"`
	Concurrency       int           `json:"concurrency"`
	LeastCost         float64       `json:"leastCost"` // of the prompts; 0 without a price list
	MostCost          float64       `json:"mostCost"`  // with answers and judges' replies of maximum length, without embeddings
	Currency          string        `json:"currency,omitempty"`
	LeastTime         time.Duration `json:"leastTimeNs"` // by the rates, including those of services and models; 0 if there are none
	MostTime          time.Duration `json:"mostTimeNs"`  // with all possible calls and answers of maximum length; 0: the same
	Problems          []string      `json:"problems"`
	Gates             []GateOutlook `json:"gates,omitempty"` // of suites that compare with a baseline
	// Whole is the chance of all these gates to hold in one run.
	Whole []gate.RunOutlook `json:"whole,omitempty"`
	// Races are the races of arms. They make the numbers above upper bounds.
	Races []gate.RaceOutlook `json:"races,omitempty"`
	// Rates and Best are the rules about pass rates and about the best arm.
	Rates []gate.RateOutlook `json:"passRates,omitempty"`
	Best  []gate.BestOutlook `json:"best,omitempty"`
	// Batch is the same with batches; nil if nothing comes by batch.
	Batch *BatchForecast `json:"batch,omitempty"`
}

// ArmForecast is the share of one arm.
type ArmForecast struct {
	Suite           string `json:"suite"`
	Arm             string `json:"arm"`
	Model           string `json:"model"`
	App             string `json:"app,omitempty"` // description of an application; then Model is ""
	APIVersion      string `json:"apiVersion"`
	Service         string `json:"service,omitempty"` // name of the model's service, "" for the unnamed one
	Stream          bool   `json:"stream"`
	Estimated       bool   `json:"estimated,omitempty"` // this service cannot count tokens, although others can
	Trials          int    `json:"trials"`
	Calls           int    `json:"calls"`     // to generate, or to the application; at least
	MostCalls       int    `json:"mostCalls"` // at most: with all steps of tool loops
	PromptTokens    int    `json:"promptTokens"`
	ReplyTokens     int    `json:"replyTokens"` // as in Forecast
	MaxOutputTokens int    `json:"maxOutputTokens"`
}

// PromptCount is the number of tokens in one prompt.
type PromptCount struct {
	Suite  string `json:"suite"`
	Case   string `json:"case"`
	Arm    string `json:"arm"`
	Model  string `json:"model"`
	Tokens int    `json:"tokens"`
	// Estimated means that nothing counted the tokens: the prompt goes to an application, or to a service
	// that cannot count.
	Estimated bool   `json:"estimated,omitempty"`
	Name      string `json:"-"` // of the trial, for people
}

// GateOutlook is the expected result of an arm's gate, and the number of cases that it needs.
type GateOutlook struct {
	Suite string `json:"suite"`
	Arm   string `json:"arm"`
	compare.Outlook
	Ratios    []compare.RatioOutlook `json:"ratios,omitempty"`
	StopEarly bool                   `json:"stopEarly"`
	Trials    int                    `json:"trials"`
	Calls     int                    `json:"calls"`  // to generate
	Tokens    int                    `json:"tokens"` // of prompts and of answers of maximum length
}

// Outlooks adds, for each suite whose gate has a baseline, what its comparison costs and can show.
func (f *Forecast) Outlooks(plan *runner.Plan, in rundir.Dir, j *Job) error {
	checks := &gate.Checks{Options: j.Options.WithDefaults(), Dir: in, Plan: plan, Origins: j.origins}
	var err error
	if f.Races, err = checks.Races(j.Suites); err != nil {
		return err
	}
	if f.Rates, f.Best, err = checks.Rules(j.Suites); err != nil {
		return err
	}
	arms, whole, problems, err := gate.Outlooks(checks, j.Suites)
	if err != nil {
		return err
	}
	f.Whole = whole
	f.Problems = append(f.Problems, problems...)
	f.Gates = []GateOutlook{}
	for _, arm := range arms {
		f.Gates = append(f.Gates, f.gateOf(&arm))
	}
	return nil
}

func (f *Forecast) gateOf(arm *gate.ArmOutlook) GateOutlook {
	g := GateOutlook{Suite: arm.Suite, Arm: arm.Arm, StopEarly: arm.StopEarly, Outlook: arm.Outlook, Ratios: arm.Ratios}
	for _, a := range f.Arms {
		if a.Suite == arm.Suite && (a.Arm == arm.Arm || a.Arm == arm.Base) {
			g.Trials += a.Trials
			g.Calls += a.Calls
			g.Tokens += a.PromptTokens + a.ReplyTokens + a.MaxOutputTokens
		}
	}
	return g
}

// CountPrompts reports the tokens in the prompt of each case on each arm. It returns their sum over all
// trials, repeats included.
func CountPrompts(
	ctx context.Context, plan *runner.Plan, counter runner.TokenCounter, report func(PromptCount) error,
) (total int, err error) {
	err = eachPrompt(ctx, plan, counter, func(t *runner.Planned, tokens int, _ bool) error {
		total += tokens
		if !t.First || errors.Is(t.Problem, suite.ErrUnwritten) {
			return nil
		}
		return report(PromptCount{
			Suite: t.Suite, Case: t.Case, Arm: t.Arm, Model: t.Model, Tokens: tokens, Estimated: !t.CanCountTokens(),
			Name: text.DescribeCase(&t.Trial),
		})
	})
	return total, err
}

// eachPrompt yields each trial with the tokens of its prompt, or of the prompts of all turns in a live
// chat. It counts each distinct prompt of a model once; first is set for the trial that caused the count.
func eachPrompt(
	ctx context.Context,
	plan *runner.Plan,
	counter runner.TokenCounter,
	yield func(t *runner.Planned, tokens int, first bool) error,
) error {
	known := map[[32]byte]int{}
	tokens := 0
	for t := range plan.Trials() {
		first := false
		if t.First {
			key := sha256.Sum256(wire.AppendPrompt([]byte(t.Request.Service+" "+t.Request.APIVersion+t.Model+"\n"),
				&t.Request))
			n, ok := known[key]
			if first = !ok; first {
				var err error
				if n, err = countOne(ctx, counter, t); err != nil {
					return err
				}
				known[key] = n
			}
			tokens = n
		}
		if err := yield(t, tokens, first); err != nil {
			return err
		}
	}
	return nil
}

// countOne counts the prompt of a trial. In a live chat, each later turn sends the earlier ones again, with
// the system text and the tools. It leaves out the replies between them, which are not known yet.
func countOne(ctx context.Context, counter runner.TokenCounter, t *runner.Planned) (int, error) {
	if errors.Is(t.Problem, suite.ErrUnwritten) {
		return 0, nil
	}
	count := func(r eval.Request) (int, error) {
		if counter == nil || !t.CanCountTokens() {
			return wire.Request(&r), nil
		}
		return counter.CountTokens(ctx, &eval.Call{Request: r, TrialID: t.ID})
	}
	if !t.Request.Live {
		return count(t.Request)
	}
	sum := 0
	for i := range t.Request.Contents {
		one := t.Request
		if one.Contents = t.Request.Contents[i : i+1]; i > 0 { // system text and tools count with the first turn
			one.System = ""
			one.Tools = nil
			one.ToolChoice = nil
		}
		n, err := count(one)
		if err != nil {
			return 0, err
		}
		sum += n * (len(t.Request.Contents) - i)
	}
	return sum, nil
}

// NewForecast estimates a plan within limits. prices and batches may be nil. Without a counter it estimates tokens.
func NewForecast(
	ctx context.Context, plan *runner.Plan, limits *suite.Limits, prices *eval.PriceList, counter runner.TokenCounter, batches batchBounds,
) (*Forecast, error) {
	s := &forecaster{
		Forecast: Forecast{Counted: counter != nil, Concurrency: limits.Concurrency, Problems: []string{}},
		plan:     plan, within: limits, prices: prices, arms: map[armKey]*ArmForecast{},
		loads: map[runner.ModelRef]load{}, embedded: map[runner.EmbeddingModel]*embeddedTexts{},
		batch: batchForecaster{
			of: batches, prices: prices, known: map[string]*wire.BatchBounds{}, loads: map[runner.ModelRef]*batchLoad{},
		},
	}
	if err := eachPrompt(ctx, plan, counter, s.trial); err != nil {
		return nil, err
	}
	return s.whole(), nil
}

type forecaster struct {
	Forecast
	plan   *runner.Plan
	within *suite.Limits
	prices *eval.PriceList
	batch  batchForecaster

	arms     map[armKey]*ArmForecast
	loads    map[runner.ModelRef]load
	embedded map[runner.EmbeddingModel]*embeddedTexts
	steps    int  // calls to count tokens for possible steps of tool loops
	unknown  bool // the length of some answer is unknown
	unjudged bool // the cost of judging some answer is unknown
}

type embeddedTexts struct {
	texts   map[string]bool // reference texts
	answers int
	tokens  int // at most
}

type armKey struct{ suite, arm string }

func (s *forecaster) trial(t *runner.Planned, tokens int, first bool) error {
	s.generating(t, tokens)
	s.counting(t, first)
	s.judging(s.plan.JudgeCosts(t))
	s.embedding(t)
	if t.Request.Live { // at least the last turn's
		tokens = wire.Request(&t.Request)
	}
	if limit := t.InputLimit(); t.First && limit > 0 && tokens > limit {
		s.Problems = append(s.Problems, fmt.Sprintf(
			"%s: the prompt has %d tokens, and %s takes at most %d", text.DescribeCase(&t.Trial), tokens, t.Model, limit,
		))
	}
	return nil
}

func (s *forecaster) generating(t *runner.Planned, tokens int) {
	key := armKey{t.Suite, t.Arm}
	a, ok := s.arms[key]
	if !ok {
		a = &ArmForecast{
			Suite: t.Suite, Arm: t.Arm, Model: t.Model, APIVersion: t.Request.APIVersion, Service: t.Request.Service,
			Stream: t.Request.Stream, Estimated: s.Counted && t.Request.App == nil && !t.CanCountTokens(),
		}
		s.arms[key] = a
	}
	turns, most := t.Request.UserTurns(), t.MaxCalls()
	output, replies := t.OutputLimit()*most, t.OutputLimit()*most*(most-1)/2
	if most > turns { // each step sends the prompt again; the size of results is unknown
		replies += (most - turns) * wire.Request(&t.Request)
	}
	a.Trials++
	a.Calls += turns
	a.MostCalls += most
	a.PromptTokens += tokens
	a.ReplyTokens += replies
	a.MaxOutputTokens += output
	longest := tokens + t.OutputLimit()*(most-1)
	if !s.Counted || !t.CanCountTokens() {
		longest = wire.MostTokens(longest)
	}
	least := &eval.Usage{PromptTokens: tokens}
	if turns == 1 {
		least = least.OfCall(false)
	}
	mostly := &eval.Usage{PromptTokens: tokens + replies, OutputTokens: output}
	s.LeastCost += s.prices.Of(t.Model, least)
	s.MostCost += s.prices.MostOf(t.Model, mostly, longest)
	if after := min(1, len(t.Judges())+len(t.References())); t.Request.App == nil && s.batch.batches(t.Request.Service) {
		s.batch.trial(turns+after, most+after)
		bytes := int64(turns) * int64(wire.Size(t.Request.Contents)+len(t.Request.System)+itemBytes)
		s.batch.take(modelOf(t), batchLoad{turns, most, turns, bytes}, least, mostly, longest)
	} else {
		s.batch.take(modelOf(t), batchLoad{}, least, mostly, longest)
	}
	s.unknown = s.unknown || output == 0 && t.Request.App == nil
	s.take(modelOf(t), load{turns, most, tokens, tokens + replies + output})
}

// modelOf returns the model of a trial, the zero value for an application.
func modelOf(t *runner.Planned) runner.ModelRef {
	return runner.ModelRef{Service: t.Request.Service, Model: t.Model}
}

func (s *forecaster) counting(t *runner.Planned, first bool) {
	counting := runner.CountingUnder(s.within)
	turns := t.Request.UserTurns()
	steps := t.MaxCalls() - turns
	calls, more := 0, 0
	if t.MustCount(counting) {
		calls, more = turns-1, steps // later turns of a live chat differ
		if first {
			calls++
		}
	}
	if counting.TokensMatter && counting.Mode != suite.CountNever && t.CanCountTokens() {
		calls, more = calls+turns, more+steps // for the answers
	}
	s.CountCalls += calls
	s.steps += more
	s.take(modelOf(t), load{calls: calls, mostCalls: calls + more})
}

func (s *forecaster) embedding(t *runner.Planned) {
	references := t.References()
	if len(references) == 0 {
		return
	}
	e := s.embedded[*t.Embedding]
	if e == nil {
		e = &embeddedTexts{texts: map[string]bool{}}
		s.embedded[*t.Embedding] = e
	}
	e.answers++
	e.tokens += t.OutputLimit()
	for _, text := range references {
		if !e.texts[text] {
			e.tokens += wire.Tokens(len(text))
		}
		e.texts[text] = true
	}
}

// whole adds up the arms. In a shard, an arm of the plan may have no trial.
func (s *forecaster) whole() *Forecast {
	f := &s.Forecast
	for _, planned := range s.plan.Arms() {
		if a, ok := s.arms[armKey{planned.Suite, planned.Name()}]; ok {
			f.arm(a, planned.Target, s.within.Attempts)
		}
	}
	if s.unknown { // a part of the sum would mislead
		f.MaxOutputTokens = 0
	}
	if s.unjudged {
		f.JudgeTokens = 0
	}
	// The maximum assumes that each text is embedded alone, and each judge called twice.
	f.MaxAttempts += (f.CountCalls + s.steps + s.embeddings() + 2*f.JudgeCalls) * s.within.Attempts
	if s.prices != nil {
		f.Currency = s.prices.Currency
	}
	s.times(s.within)
	f.Batch = s.batch.whole()
	f.budgets(s.within, s.steps)
	return f
}

// arm adds the calls of an arm. attempts applies unless its target sets its own.
func (f *Forecast) arm(a *ArmForecast, target *suite.Target, attempts int) {
	if to := target.App(); to != nil {
		a.App = to.String()
		f.AppCalls += a.Calls
	} else {
		f.GenerateCalls += a.Calls
		f.MostGenerateCalls += a.MostCalls
	}
	f.Arms = append(f.Arms, *a)
	f.Trials += a.Trials
	f.MaxAttempts += a.MostCalls * cmp.Or(target.Attempts, attempts)
	f.PromptTokens += a.PromptTokens
	f.ReplyTokens += a.ReplyTokens
	f.MaxOutputTokens += a.MaxOutputTokens
}

func (s *forecaster) judging(all []runner.JudgeCost) {
	for _, j := range all {
		s.JudgeCalls += j.Calls
		s.JudgeTokens += j.PromptTokens + j.OutputTokens
		longest := wire.MostTokens(j.PromptTokens / max(1, j.Calls))
		most := &eval.Usage{PromptTokens: j.PromptTokens, OutputTokens: j.OutputTokens}
		s.MostCost += s.prices.MostOf(j.Model, most, longest)
		bytes := int64(wire.MostTokens(j.PromptTokens) + j.Calls*itemBytes)
		s.batch.take(j.ModelRef, batchLoad{0, j.Calls, 1, bytes}, &eval.Usage{}, most, longest)
		s.unjudged = s.unjudged || !j.Known
		s.take(j.ModelRef, load{mostCalls: j.Calls, mostTokens: j.PromptTokens + j.OutputTokens})
	}
}

func (f *Forecast) calls() int { return f.GenerateCalls + f.AppCalls + f.CountCalls + f.EmbedCalls }

// budgets compares the forecast with budgets. steps is the number of token counts for steps of tool loops.
func (f *Forecast) budgets(l *suite.Limits, steps int) {
	tokens := f.PromptTokens + f.ReplyTokens + f.MaxOutputTokens + f.EmbedTokens + f.JudgeTokens
	if l.BudgetCalls > 0 && f.calls() > l.BudgetCalls {
		f.Problems = append(f.Problems, fmt.Sprintf("the budget of %s is too small for %d", diag.Count(l.BudgetCalls, "call"), f.calls()))
	} else if most := f.calls() + f.JudgeCalls + f.MostGenerateCalls - f.GenerateCalls + steps; l.BudgetCalls > 0 && most > l.BudgetCalls {
		f.Problems = append(
			f.Problems, fmt.Sprintf("the budget of %s may be too small: up to %d are possible", diag.Count(l.BudgetCalls, "call"), most),
		)
	}
	money := f.MostCost
	if f.Batch != nil {
		money = f.Batch.MostCost
	}
	if l.BudgetMoney > 0 && money > l.BudgetMoney {
		f.Problems = append(
			f.Problems,
			fmt.Sprintf(
				"the budget of %s %s may be too small: up to %s are possible",
				text.Money(l.BudgetMoney), f.Currency, text.Money(money),
			),
		)
	}
	if l.BudgetTime > 0 && f.LeastTime > l.BudgetTime {
		f.Problems = append(
			f.Problems, fmt.Sprintf("the budget of %s is too small: the limits take %s", l.BudgetTime, f.LeastTime.Round(time.Second)),
		)
	}
	if l.BudgetTokens > 0 && tokens > l.BudgetTokens {
		f.Problems = append(
			f.Problems,
			fmt.Sprintf("the budget of %s may be too small: up to %d are possible", diag.Count(l.BudgetTokens, "token"), tokens),
		)
	}
}
