// Package forecast says what a plan would send, how long that takes at the limits that are set, and what it may cost.
package forecast

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/verdict"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/suite"
)

// Forecast is what a plan would ask.
type Forecast struct {
	Trials          int           `json:"trials"`
	Arms            []ArmForecast `json:"arms"`
	CountCalls      int           `json:"countCalls"`
	GenerateCalls   int           `json:"generateCalls"` // a live chat takes one for each turn
	EmbedCalls      int           `json:"embedCalls"`    // at least: batches that are full
	JudgeCalls      int           `json:"judgeCalls"`    // at most, malformed replies aside: equal questions are asked once
	JudgeTokens     int           `json:"judgeTokens"`   // at most: questions with answers as long as they may be, and replies; 0: not known, or none
	MaxCalls        int           `json:"maxCalls"`      // every attempt of every call
	PromptTokens    int           `json:"promptTokens"`
	ReplyTokens     int           `json:"replyTokens"`     // at most: the model's replies in the prompts of later turns of live chats
	EmbedTokens     int           `json:"embedTokens"`     // at most: the texts compared with, and answers as long as they may be
	MaxOutputTokens int           `json:"maxOutputTokens"` // 0: not known
	Counted         bool          `json:"counted"`
	Concurrency     int           `json:"concurrency"`
	LeastCost       float64       `json:"leastCost"` // of the prompts; 0 without a price list
	MostCost        float64       `json:"mostCost"`  // with every answer and every judge's reply as long as it may be, embeddings left out
	Currency        string        `json:"currency,omitempty"`
	LeastTime       time.Duration `json:"leastTimeNs"` // what the rates allow, 0 when none is set
	MostTime        time.Duration `json:"mostTimeNs"`  // the same if every answer is as long as it may be; 0 without a rate of tokens
	Problems        []string      `json:"problems"`
	Gates           []GateOutlook `json:"gates,omitempty"` // of those that compare with a baseline
}

// ArmForecast is the part of one arm.
type ArmForecast struct {
	Suite           string `json:"suite"`
	Arm             string `json:"arm"`
	Model           string `json:"model"`
	APIVersion      string `json:"apiVersion"`
	Stream          bool   `json:"stream"`
	Trials          int    `json:"trials"`
	Calls           int    `json:"calls"` // to generate
	PromptTokens    int    `json:"promptTokens"`
	ReplyTokens     int    `json:"replyTokens"` // as those of the whole
	MaxOutputTokens int    `json:"maxOutputTokens"`
}

// PromptCount is how many tokens one prompt has.
type PromptCount struct {
	Suite  string `json:"suite"`
	Case   string `json:"case"`
	Arm    string `json:"arm"`
	Model  string `json:"model"`
	Tokens int    `json:"tokens"`
}

// GateOutlook is what the gate of an arm can be expected to show, and what that takes.
type GateOutlook struct {
	Suite string `json:"suite"`
	Arm   string `json:"arm"`
	compare.Outlook
	StopEarly bool `json:"stopEarly"`
	Trials    int  `json:"trials"`
	Calls     int  `json:"calls"`  // to generate
	Tokens    int  `json:"tokens"` // of prompts and answers at their longest
}

// Outlooks adds, for each suite whose gate has a baseline, what it takes and what it can show.
func (f *Forecast) Outlooks(checks *verdict.Checks, suites []*suite.Suite) error {
	arms, problems, err := verdict.Outlooks(checks, suites)
	if err != nil {
		return err
	}
	f.Problems = append(f.Problems, problems...)
	f.Gates = []GateOutlook{}
	for _, arm := range arms {
		g := GateOutlook{Suite: arm.Suite, Arm: arm.Arm, StopEarly: arm.StopEarly, Outlook: arm.Outlook}
		for _, a := range f.Arms {
			if a.Suite == arm.Suite && (a.Arm == arm.Arm || a.Arm == arm.Base) {
				g.Trials += a.Trials
				g.Calls += a.Calls
				g.Tokens += a.PromptTokens + a.ReplyTokens + a.MaxOutputTokens
			}
		}
		f.Gates = append(f.Gates, g)
	}
	return nil
}

// CountPrompts yields each trial with the tokens of its prompt, or of the prompts of all turns of a live chat, each distinct prompt of a model
// counted once; first says that it was counted for this trial.
func CountPrompts(
	ctx context.Context,
	plan *runner.Plan,
	counter eval.TokenCounter,
	yield func(t *runner.Planned, tokens int, first bool) error,
) error {
	known := map[[32]byte]int{}
	tokens := 0
	for t := range plan.Trials() {
		first := false
		if t.Repeat == 1 {
			key := sha256.Sum256(eval.AppendContents([]byte(t.Request.APIVersion+t.Model+"\n"), t.Request.Contents))
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

// countOne counts the prompt of a trial. In a live chat each turn is asked again by all later ones; the replies in between, which nobody
// knows yet, are left out.
func countOne(ctx context.Context, counter eval.TokenCounter, t *runner.Planned) (int, error) {
	count := func(contents []eval.Content) (int, error) {
		if counter == nil {
			return eval.EstimatePrompt(contents), nil
		}
		request := t.Request
		request.Contents = contents
		return counter.CountTokens(ctx, &eval.Call{Request: request, TrialID: t.ID})
	}
	if !t.Request.Live {
		return count(t.Request.Contents)
	}
	sum := 0
	for i := range t.Request.Contents {
		n, err := count(t.Request.Contents[i : i+1])
		if err != nil {
			return 0, err
		}
		sum += n * (len(t.Request.Contents) - i)
	}
	return sum, nil
}

// New adds up a plan within limits. prices may be nil; without a counter tokens are estimated.
func New(ctx context.Context, plan *runner.Plan, limits *suite.Limits, prices *eval.Prices, counter eval.TokenCounter) (*Forecast, error) {
	f := &Forecast{Counted: counter != nil, Concurrency: limits.Concurrency, Problems: []string{}}
	type key struct{ suite, arm string }
	arms := map[key]*ArmForecast{}
	unknown, unjudged := false, false
	matter := limits.TokensMatter()
	texts := map[string]bool{} // that answers are compared with
	answers := 0               // to be embedded
	err := CountPrompts(ctx, plan, counter, func(t *runner.Planned, tokens int, first bool) error {
		a, ok := arms[key{t.Suite, t.Arm}]
		if !ok {
			a = &ArmForecast{Suite: t.Suite, Arm: t.Arm, Model: t.Model, APIVersion: t.Request.APIVersion, Stream: t.Request.Stream}
			arms[key{t.Suite, t.Arm}] = a
		}
		turns := t.Request.Turns()
		output, replies := t.OutputLimit()*turns, t.OutputLimit()*turns*(turns-1)/2
		a.Trials++
		a.Calls += turns
		a.PromptTokens += tokens
		a.ReplyTokens += replies
		a.MaxOutputTokens += output
		f.LeastCost += prices.Of(t.Model, &eval.Usage{PromptTokens: tokens})
		f.MostCost += prices.Of(t.Model, &eval.Usage{PromptTokens: tokens + replies, OutputTokens: output})
		unknown = unknown || output == 0
		if t.MustCount(limits.CountTokens, matter) {
			f.CountCalls += turns - 1 // later turns of a live chat are not alike
			if first {
				f.CountCalls++
			}
		}
		if matter && limits.CountTokens != suite.CountNever {
			f.CountCalls += turns // of the answers
		}
		unjudged = f.judging(plan.Judging(t), prices) || unjudged
		if references := t.References(); len(references) > 0 {
			answers++
			f.EmbedTokens += t.OutputLimit()
			for _, text := range references {
				if !texts[text] {
					f.EmbedTokens += eval.EstimateTokens(len(text))
				}
				texts[text] = true
			}
		}
		if t.Request.Live { // that of its last turn at least
			tokens = eval.EstimatePrompt(t.Request.Contents)
		}
		if t.Repeat == 1 {
			if limit := t.InputLimit(); limit > 0 && tokens > limit {
				f.Problems = append(
					f.Problems,
					fmt.Sprintf("%s: the prompt has %d tokens, and %s takes at most %d", runner.Describe(&t.Trial), tokens, t.Model, limit),
				)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, planned := range plan.Arms() {
		a := arms[key{planned.Suite, planned.Name()}]
		f.Arms = append(f.Arms, *a)
		f.Trials += a.Trials
		f.GenerateCalls += a.Calls
		f.PromptTokens += a.PromptTokens
		f.ReplyTokens += a.ReplyTokens
		f.MaxOutputTokens += a.MaxOutputTokens
	}
	if unknown { // a part of a sum is no sum
		f.MaxOutputTokens = 0
	}
	if unjudged {
		f.JudgeTokens = 0
	}
	f.EmbedCalls = (answers + len(texts) + eval.MaxEmbedTexts - 1) / eval.MaxEmbedTexts
	f.MaxCalls = (f.GenerateCalls + f.CountCalls + answers + len(texts) + 2*f.JudgeCalls) * limits.Attempts // each text embedded by itself, each judge asked again
	if prices != nil {
		f.Currency = prices.Currency
	}
	f.limits(limits)
	return f, nil
}

// judging adds what judging an answer takes; unknown says that it has no bound.
func (f *Forecast) judging(all []runner.Judging, prices *eval.Prices) (unknown bool) {
	for _, j := range all {
		f.JudgeCalls += j.Calls
		f.JudgeTokens += j.PromptTokens + j.OutputTokens
		f.MostCost += prices.Of(j.Model, &eval.Usage{PromptTokens: j.PromptTokens, OutputTokens: j.OutputTokens})
		unknown = unknown || !j.Known
	}
	return unknown
}

// calls is how many calls there are at least.
func (f *Forecast) calls() int { return f.GenerateCalls + f.CountCalls + f.EmbedCalls }

func minutes(n, perMinute int) time.Duration {
	return time.Duration(float64(n) / float64(perMinute) * float64(time.Minute))
}

// limits compares the forecast with rates and budgets.
func (f *Forecast) limits(l *suite.Limits) {
	tokens := f.PromptTokens + f.ReplyTokens + f.MaxOutputTokens + f.EmbedTokens + f.JudgeTokens
	if l.RequestsPerMinute > 0 {
		f.LeastTime = minutes(f.calls()-1, l.RequestsPerMinute)
	}
	if l.TokensPerMinute > 0 { // the first minute's tokens need no waiting
		f.LeastTime = max(f.LeastTime, minutes(max(0, f.PromptTokens-l.TokensPerMinute), l.TokensPerMinute))
		f.MostTime = max(f.LeastTime, minutes(max(0, tokens-l.TokensPerMinute), l.TokensPerMinute))
	}
	if l.BudgetCalls > 0 && f.calls() > l.BudgetCalls {
		f.Problems = append(f.Problems, fmt.Sprintf("the budget of %d calls is too small for %d", l.BudgetCalls, f.calls()))
	} else if most := f.calls() + f.JudgeCalls; l.BudgetCalls > 0 && most > l.BudgetCalls {
		f.Problems = append(f.Problems, fmt.Sprintf("the budget of %d calls may be too small: up to %d are possible", l.BudgetCalls, most))
	}
	if l.BudgetMoney > 0 && f.MostCost > l.BudgetMoney {
		f.Problems = append(
			f.Problems,
			fmt.Sprintf("the budget of %g %s may be too small: up to %.4f are possible", l.BudgetMoney, f.Currency, f.MostCost),
		)
	}
	if l.BudgetTokens > 0 && tokens > l.BudgetTokens {
		f.Problems = append(f.Problems, fmt.Sprintf("the budget of %d tokens may be too small: up to %d are possible", l.BudgetTokens, tokens))
	}
}
