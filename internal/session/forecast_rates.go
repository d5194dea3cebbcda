package session

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/gate"
	"github.com/evalrun/evalrun/internal/wirejson"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/suite"
)

// load is the demand of calls on the rates that count them. The upper bounds assume answers of maximum
// length and no two equal calls.
type load struct{ calls, mostCalls, tokens, mostTokens int }

func (l load) plus(o load) load {
	return load{l.calls + o.calls, l.mostCalls + o.mostCalls, l.tokens + o.tokens, l.mostTokens + o.mostTokens}
}

// spread is how long the calls take at rates. The first call and the tokens of the first minute need no waiting. most
// is 0 where no rate makes it differ.
func (l load) spread(requests, tokens int) (least, most time.Duration) {
	if requests > 0 {
		least = minutes(max(0, l.calls-1), requests)
		if l.mostCalls > l.calls {
			most = minutes(l.mostCalls-1, requests)
		}
	}
	if tokens > 0 {
		least = max(least, minutes(max(0, l.tokens-tokens), tokens))
		most = max(least, most, minutes(max(0, l.mostTokens-tokens), tokens))
	}
	return least, most
}

func (s *forecaster) take(of runner.ModelRef, l load) { s.loads[of] = s.loads[of].plus(l) }

func (s *forecaster) embeddings() (texts int) {
	for of, e := range s.embedded {
		own := e.answers + len(e.texts)
		calls := (own + wire.MaxEmbedTexts - 1) / wire.MaxEmbedTexts
		s.EmbedCalls += calls
		s.EmbedTokens += e.tokens
		s.take(runner.ModelRef{Service: of.Service, Model: of.Model}, load{calls: calls, mostCalls: own, mostTokens: e.tokens})
		texts += own
	}
	return texts
}

// times says how long the calls take at the rates of all, of services and of models.
func (s *forecaster) times(within *suite.Limits) {
	var all load
	services := map[string]load{}
	for of, l := range s.loads {
		all, services[of.Service] = all.plus(l), services[of.Service].plus(l)
		for _, own := range within.Models {
			if own.Model == of.Model {
				s.lasts(l, own.RequestsPerMinute, own.TokensPerMinute)
			}
		}
	}
	s.lasts(all, within.RequestsPerMinute, within.TokensPerMinute)
	for name, own := range within.Services {
		s.lasts(services[name], own.RequestsPerMinute, own.TokensPerMinute)
	}
}

// lasts takes the rates of some calls into account.
func (f *Forecast) lasts(l load, requests, tokens int) {
	least, most := l.spread(requests, tokens)
	f.LeastTime, f.MostTime = max(f.LeastTime, least), max(f.MostTime, most)
}

func minutes(n, perMinute int) time.Duration {
	return time.Duration(float64(n) / float64(perMinute) * float64(time.Minute))
}

type plannedRequest struct {
	Suite      string        `json:"suite"`
	Case       string        `json:"case"`
	Arm        string        `json:"arm"`
	Model      string        `json:"model,omitempty"`
	APIVersion string        `json:"apiVersion,omitempty"`
	Repeats    int           `json:"repeats"`
	Request    *eval.Request `json:"request"`
	// Judges are the prompts of judges about the answer.
	Judges []runner.JudgePrompt `json:"judges,omitempty"`
}

// WriteRequests writes the requests of a job's plan as JSON lines. Repeats have one line, and secrets are left out. It
// writes nothing for arms that cannot race: a run would end with the same error before it sends anything.
func WriteRequests(w io.Writer, j *Job, plan *runner.Plan) error {
	checks := &gate.Checks{Options: j.Options.WithDefaults(), Dir: j.Options.In(), Plan: plan}
	if _, err := checks.Races(j.Suites); err != nil {
		return err
	}
	var last *plannedRequest
	show := func() error {
		if last == nil {
			return nil
		}
		line, err := wirejson.Marshal(last)
		if err == nil {
			_, err = fmt.Fprintf(w, "%s\n", line)
		}
		return err
	}
	for t := range plan.Trials() {
		if errors.Is(t.Problem, suite.ErrUnwritten) {
			continue
		}
		if !t.First {
			last.Repeats++
			continue
		}
		if err := show(); err != nil {
			return err
		}
		last = &plannedRequest{t.Suite, t.Case, t.Arm, t.Model, t.Request.APIVersion, 1, &t.Request, plan.JudgePrompts(t)}
	}
	return show()
}
