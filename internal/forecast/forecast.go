// Package forecast says what a plan would send, how long that takes at the limits that are set, and what it may cost.
package forecast

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/estimate"
	"github.com/evalrun/evalrun/internal/payload"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/internal/verdict"
	"github.com/evalrun/evalrun/pricing"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/suite"
)

// Forecast is what a plan would send.
type Forecast struct {
	Trials            int           `json:"trials"`
	Arms              []ArmForecast `json:"arms"`
	CountCalls        int           `json:"countCalls"`
	GenerateCalls     int           `json:"generateCalls"`      // of models, at least: a live chat takes one for each turn
	MostGenerateCalls int           `json:"mostGenerateCalls"`  // at most: a tool loop may take all of its steps
	AppCalls          int           `json:"appCalls,omitempty"` // of applications
	EmbedCalls        int           `json:"embedCalls"`         // at least: batches that are full
	JudgeCalls        int           `json:"judgeCalls"`         // at most, malformed replies aside: equal questions are sent once
	JudgeTokens       int           `json:"judgeTokens"`        // at most, with answers as long as they may be; 0: not known, or none
	MaxCalls          int           `json:"maxCalls"`           // every attempt of every call
	PromptTokens      int           `json:"promptTokens"`       // estimated for applications
	ReplyTokens       int           `json:"replyTokens"`        // at most: what later calls are sent again, with the replies
	EmbedTokens       int           `json:"embedTokens"`        // at most: the texts compared with, and answers as long as they may be
	MaxOutputTokens   int           `json:"maxOutputTokens"`    // of models; 0: not known
	Counted           bool          `json:"counted"`
	Concurrency       int           `json:"concurrency"`
	LeastCost         float64       `json:"leastCost"` // of the prompts; 0 without a price list
	MostCost          float64       `json:"mostCost"`  // with every answer and every judge's reply as long as it may be, embeddings left out
	Currency          string        `json:"currency,omitempty"`
	LeastTime         time.Duration `json:"leastTimeNs"` // what the rates allow, those of services and models too; 0 when none is set
	MostTime          time.Duration `json:"mostTimeNs"`  // with all possible calls, and answers as long as they may be; 0: does not differ
	Problems          []string      `json:"problems"`
	Gates             []GateOutlook `json:"gates,omitempty"` // of suites that compare with a baseline
	// Races are the races of arms. With a race, the numbers above are upper bounds.
	Races []verdict.RaceOutlook `json:"races,omitempty"`
}

// ArmForecast is the part of one arm.
type ArmForecast struct {
	Suite           string `json:"suite"`
	Arm             string `json:"arm"`
	Model           string `json:"model"`
	App             string `json:"app,omitempty"` // what an application is, in words; the model is "" then
	APIVersion      string `json:"apiVersion"`
	Service         string `json:"service,omitempty"` // the name of the model's service, "" for the unnamed one
	Stream          bool   `json:"stream"`
	Estimated       bool   `json:"estimated,omitempty"` // the prompts of other arms are counted, and this service cannot count
	Trials          int    `json:"trials"`
	Calls           int    `json:"calls"`     // to generate, or of the application; at least
	MostCalls       int    `json:"mostCalls"` // at most: with all steps of tool loops
	PromptTokens    int    `json:"promptTokens"`
	ReplyTokens     int    `json:"replyTokens"` // as in Forecast
	MaxOutputTokens int    `json:"maxOutputTokens"`
}

// PromptCount is how many tokens one prompt has.
type PromptCount struct {
	Suite  string `json:"suite"`
	Case   string `json:"case"`
	Arm    string `json:"arm"`
	Model  string `json:"model"`
	Tokens int    `json:"tokens"`
	// Estimated says that no token was counted: the prompt goes to an application, or to a service that cannot count.
	Estimated bool   `json:"estimated,omitempty"`
	Name      string `json:"-"` // of the trial, for people
}

// GateOutlook is the expected result of an arm's gate, and the number of cases that it takes.
type GateOutlook struct {
	Suite string `json:"suite"`
	Arm   string `json:"arm"`
	compare.Outlook
	Ratios    []compare.RatioOutlook `json:"ratios,omitempty"`
	StopEarly bool                   `json:"stopEarly"`
	Trials    int                    `json:"trials"`
	Calls     int                    `json:"calls"`  // to generate
	Tokens    int                    `json:"tokens"` // of prompts and answers at their longest
}

// CheckRaces says why the arms of suites cannot race as the options want.
func CheckRaces(plan *runner.Plan, o *eval.Options, in rundir.Dir, suites []*suite.Suite) error {
	_, err := (&verdict.Checks{Options: o, Dir: in, Plan: plan}).Races(suites)
	return err
}

// Outlooks adds, for each suite whose gate has a baseline, what it takes and what it can show.
func (f *Forecast) Outlooks(plan *runner.Plan, o *eval.Options, in rundir.Dir, suites []*suite.Suite) error {
	checks := &verdict.Checks{Options: o, Dir: in, Plan: plan}
	var err error
	if f.Races, err = checks.Races(suites); err != nil {
		return err
	}
	arms, problems, err := verdict.Outlooks(checks, suites)
	if err != nil {
		return err
	}
	f.Problems = append(f.Problems, problems...)
	f.Gates = []GateOutlook{}
	for _, arm := range arms {
		f.Gates = append(f.Gates, f.gateOf(&arm))
	}
	return nil
}

// gateOf adds what both sides of a comparison take.
func (f *Forecast) gateOf(arm *verdict.ArmOutlook) GateOutlook {
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

// CountPrompts reports how many tokens the prompt of each case on each arm has, and returns those of all trials,
// repeats included.
func CountPrompts(
	ctx context.Context, plan *runner.Plan, counter runner.TokenCounter, report func(PromptCount) error,
) (total int, err error) {
	err = eachPrompt(ctx, plan, counter, func(t *runner.Planned, tokens int, _ bool) error {
		total += tokens
		if !t.First {
			return nil
		}
		return report(PromptCount{
			Suite: t.Suite, Case: t.Case, Arm: t.Arm, Model: t.Model, Tokens: tokens, Estimated: !t.CanCountTokens(),
			Name: runner.DescribeCase(&t.Trial),
		})
	})
	return total, err
}

// eachPrompt yields each trial with the tokens of its prompt, or of the prompts of all turns of a live chat. Each
// distinct prompt of a model is counted once; first says that it was counted for this trial.
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
			key := sha256.Sum256(payload.AppendPrompt([]byte(t.Request.Service+" "+t.Request.APIVersion+t.Model+"\n"),
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

// countOne counts the prompt of a trial. In a live chat all later turns send each turn again, and the system text and
// the tools with it. The replies in between are not known yet and left out.
func countOne(ctx context.Context, counter runner.TokenCounter, t *runner.Planned) (int, error) {
	count := func(r eval.Request) (int, error) {
		if counter == nil || !t.CanCountTokens() {
			return estimate.Request(&r), nil
		}
		return counter.CountTokens(ctx, &eval.Call{Request: r, TrialID: t.ID})
	}
	if !t.Request.Live {
		return count(t.Request)
	}
	sum := 0
	for i := range t.Request.Contents {
		one := t.Request
		if one.Contents = t.Request.Contents[i : i+1]; i > 0 { // what goes with every call is counted with the first turn
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

// New adds up a plan within limits. prices may be nil; without a counter tokens are estimated.
func New(
	ctx context.Context, plan *runner.Plan, limits *suite.Limits, prices *pricing.PriceList, counter runner.TokenCounter,
) (*Forecast, error) {
	s := &sums{
		Forecast: Forecast{Counted: counter != nil, Concurrency: limits.Concurrency, Problems: []string{}},
		plan:     plan, within: limits, prices: prices, arms: map[armKey]*ArmForecast{},
		loads: map[runner.ModelRef]load{}, embedded: map[runner.EmbeddingModel]*embedded{},
	}
	if err := eachPrompt(ctx, plan, counter, s.trial); err != nil {
		return nil, err
	}
	return s.whole(), nil
}

// sums adds up the trials of a plan.
type sums struct {
	Forecast
	plan   *runner.Plan
	within *suite.Limits
	prices *pricing.PriceList

	arms     map[armKey]*ArmForecast
	loads    map[runner.ModelRef]load
	embedded map[runner.EmbeddingModel]*embedded
	steps    int  // calls that count tokens, of steps that tool loops may take
	unknown  bool // how long some answer may be
	unjudged bool // what judging some answer may take
}

// embedded are the texts that one model embeds.
type embedded struct {
	texts   map[string]bool // that answers are compared with
	answers int
	tokens  int // at most
}

type armKey struct{ suite, arm string }

// trial adds a trial; first says that its prompt was counted for it.
func (s *sums) trial(t *runner.Planned, tokens int, first bool) error {
	s.generating(t, tokens)
	s.counting(t, first)
	s.judging(s.plan.JudgeCosts(t))
	s.embedding(t)
	if t.Request.Live { // at least the last turn's
		tokens = estimate.Request(&t.Request)
	}
	if limit := t.InputLimit(); t.First && limit > 0 && tokens > limit {
		s.Problems = append(s.Problems, fmt.Sprintf(
			"%s: the prompt has %d tokens, and %s takes at most %d", runner.DescribeCase(&t.Trial), tokens, t.Model, limit,
		))
	}
	return nil
}

// generating adds the calls that get answers.
func (s *sums) generating(t *runner.Planned, tokens int) {
	key := armKey{t.Suite, t.Arm}
	a, ok := s.arms[key]
	if !ok {
		a = &ArmForecast{
			Suite: t.Suite, Arm: t.Arm, Model: t.Model, APIVersion: t.Request.APIVersion, Service: t.Request.Service,
			Stream: t.Request.Stream, Estimated: s.Counted && t.Request.App == nil && !t.CanCountTokens(),
		}
		s.arms[key] = a
	}
	turns, most := t.Request.Turns(), t.MaxCalls()
	output, replies := t.OutputLimit()*most, t.OutputLimit()*most*(most-1)/2
	if most > turns { // steps are sent the whole prompt again; what results hold is not known
		replies += (most - turns) * estimate.Request(&t.Request)
	}
	a.Trials++
	a.Calls += turns
	a.MostCalls += most
	a.PromptTokens += tokens
	a.ReplyTokens += replies
	a.MaxOutputTokens += output
	s.LeastCost += s.prices.Of(t.Model, &eval.Usage{PromptTokens: tokens})
	s.MostCost += s.prices.Of(t.Model, &eval.Usage{PromptTokens: tokens + replies, OutputTokens: output})
	s.unknown = s.unknown || output == 0 && t.Request.App == nil
	s.take(modelOf(t), load{turns, most, tokens, tokens + replies + output})
}

// modelOf is the model under test in a trial; both names are "" for an application.
func modelOf(t *runner.Planned) runner.ModelRef {
	return runner.ModelRef{Service: t.Request.Service, Model: t.Model}
}

// counting adds the calls that count tokens.
func (s *sums) counting(t *runner.Planned, first bool) {
	matter := s.within.TokensMatter()
	turns := t.Request.Turns()
	steps := t.MaxCalls() - turns
	calls, more := 0, 0
	if t.MustCount(s.within.CountTokens, matter) {
		calls, more = turns-1, steps // later turns of a live chat are not alike
		if first {
			calls++
		}
	}
	if matter && s.within.CountTokens != suite.CountNever && t.CanCountTokens() {
		calls, more = calls+turns, more+steps // of the answers
	}
	s.CountCalls += calls
	s.steps += more
	s.take(modelOf(t), load{calls: calls, mostCalls: calls + more})
}

// embedding adds the texts to embed.
func (s *sums) embedding(t *runner.Planned) {
	references := t.References()
	if len(references) == 0 {
		return
	}
	e := s.embedded[*t.Embedding]
	if e == nil {
		e = &embedded{texts: map[string]bool{}}
		s.embedded[*t.Embedding] = e
	}
	e.answers++
	e.tokens += t.OutputLimit()
	for _, text := range references {
		if !e.texts[text] {
			e.tokens += estimate.Tokens(len(text))
		}
		e.texts[text] = true
	}
}

// whole adds up the arms. An arm of the plan may have no trial in a shard.
func (s *sums) whole() *Forecast {
	f := &s.Forecast
	for _, planned := range s.plan.Arms() {
		if a, ok := s.arms[armKey{planned.Suite, planned.Name()}]; ok {
			f.arm(a, planned.Target, s.within.Attempts)
		}
	}
	if s.unknown { // a part of a sum is no sum
		f.MaxOutputTokens = 0
	}
	if s.unjudged {
		f.JudgeTokens = 0
	}
	// At most each text is embedded by itself, and each judge called again.
	f.MaxCalls += (f.CountCalls + s.steps + s.embeddings() + 2*f.JudgeCalls) * s.within.Attempts
	if s.prices != nil {
		f.Currency = s.prices.Currency
	}
	s.times(s.within)
	f.budgets(s.within, s.steps)
	return f
}

// arm adds an arm, whose calls are sent so often at most where its target does not say.
func (f *Forecast) arm(a *ArmForecast, target *suite.Target, attempts int) {
	if target.App != nil {
		a.App = target.App.String()
		f.AppCalls += a.Calls
	} else {
		f.GenerateCalls += a.Calls
		f.MostGenerateCalls += a.MostCalls
	}
	f.Arms = append(f.Arms, *a)
	f.Trials += a.Trials
	f.MaxCalls += a.MostCalls * cmp.Or(target.Attempts, attempts)
	f.PromptTokens += a.PromptTokens
	f.ReplyTokens += a.ReplyTokens
	f.MaxOutputTokens += a.MaxOutputTokens
}

// judging adds what judging an answer takes.
func (s *sums) judging(all []runner.JudgeCost) {
	for _, j := range all {
		s.JudgeCalls += j.Calls
		s.JudgeTokens += j.PromptTokens + j.OutputTokens
		s.MostCost += s.prices.Of(j.Model, &eval.Usage{PromptTokens: j.PromptTokens, OutputTokens: j.OutputTokens})
		s.unjudged = s.unjudged || !j.Known
		s.take(j.ModelRef, load{mostCalls: j.Calls, mostTokens: j.PromptTokens + j.OutputTokens})
	}
}

// calls is how many calls there are at least.
func (f *Forecast) calls() int { return f.GenerateCalls + f.AppCalls + f.CountCalls + f.EmbedCalls }

// budgets compares the forecast with budgets. Steps of tool loops may take this number of additional calls that count
// tokens.
func (f *Forecast) budgets(l *suite.Limits, steps int) {
	tokens := f.PromptTokens + f.ReplyTokens + f.MaxOutputTokens + f.EmbedTokens + f.JudgeTokens
	if l.BudgetCalls > 0 && f.calls() > l.BudgetCalls {
		f.Problems = append(f.Problems, fmt.Sprintf("the budget of %d calls is too small for %d", l.BudgetCalls, f.calls()))
	} else if most := f.calls() + f.JudgeCalls + f.MostGenerateCalls - f.GenerateCalls + steps; l.BudgetCalls > 0 && most > l.BudgetCalls {
		f.Problems = append(
			f.Problems, fmt.Sprintf("the budget of %d calls may be too small: up to %d are possible", l.BudgetCalls, most),
		)
	}
	if l.BudgetMoney > 0 && f.MostCost > l.BudgetMoney {
		f.Problems = append(
			f.Problems,
			fmt.Sprintf("the budget of %g %s may be too small: up to %.4f are possible", l.BudgetMoney, f.Currency, f.MostCost),
		)
	}
	if l.BudgetTokens > 0 && tokens > l.BudgetTokens {
		f.Problems = append(
			f.Problems,
			fmt.Sprintf("the budget of %d tokens may be too small: up to %d are possible", l.BudgetTokens, tokens),
		)
	}
}
