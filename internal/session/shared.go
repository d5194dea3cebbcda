package session

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/flow"
	"github.com/evalrun/evalrun/internal/ledger"
	"github.com/evalrun/evalrun/internal/rates"
	"github.com/evalrun/evalrun/runner"
)

// ledgerWait is how long a ledger may be away where nothing else is said.
const ledgerWait = 10 * time.Minute

// sharedLedger is the ledger that a session shares with other processes, as its calls see it; nil: its limits are its own.
type sharedLedger struct {
	*ledger.Client
	session *Session
	tokens  bool // whether it limits tokens
	note    *eval.Ledger

	ending sync.Once
	ended  string // why it ended the run, "" while it has not
}

func (s *Session) openLedger() error {
	o := s.Settings.Ledger
	if o.URL == "" {
		return nil
	}
	out := &sharedLedger{session: s}
	var err error
	out.note = &eval.Ledger{URL: o.URL}
	if o.CA != "" {
		out.note.CA = s.Options.In().Abs(o.CA)
	}
	out.Client, err = ledger.Dial(ledger.Options{
		URL:    o.URL,
		Token:  strings.TrimSpace(s.Options.Env("EVALRUN_LEDGER_TOKEN")),
		CA:     o.CA,
		Wait:   cmp.Or(o.Wait, ledgerWait),
		Notice: func(text string) { s.Notice(text) },
		Lost:   out.end,
	})
	if err != nil {
		return err
	}
	s.shared = out
	return nil
}

// grants returns the ledger that grants calls; nil: calls need no grant.
func (s *sharedLedger) grants() flow.Shared {
	if s == nil {
		return nil
	}
	return s
}

// around puts the attempts of a worker under the ledger. The limits of the run are the coordinator's.
func (s *sharedLedger) around(next flow.Service, name string) flow.Service {
	if s == nil {
		return next
	}
	s.tokens = true
	of := s.session
	return flow.NewLimiter(flow.LimiterConfig{Prices: of.Settings.Prices, Waits: of.waits, Shared: s}).Limit(next, name, false)
}

// reason is why the ledger ended the run, "" while it has not.
func (s *sharedLedger) reason() string {
	if s == nil {
		return ""
	}
	return s.ended
}

// noted is the ledger as run files have it, nil for none.
func (s *sharedLedger) noted() *eval.Ledger {
	if s == nil {
		return nil
	}
	return s.note
}

// end lets no call begin any more, and says why.
func (s *sharedLedger) end(reason string) {
	s.ending.Do(func() {
		if s.session.Options.Ledger.Lost != nil {
			s.session.Options.Ledger.Lost(reason)
			return
		}
		s.session.Notice(reason)
		s.ended = reason
		s.session.stop.Now(reason)
	})
}

// check finds out whether the ledger has limits for every model that the plan calls, before anything is sent.
func (s *sharedLedger) check(ctx context.Context, p *runner.Plan) error {
	if s == nil {
		return nil
	}
	of := s.session
	var accounts []ledger.ModelAccount
	for _, ref := range p.CalledModels(of.callsTargets()) {
		accounts = append(accounts, of.account(ref.Service, ref.Model))
	}
	all, err := s.Check(ctx, accounts)
	switch refused := (*ledger.Refused)(nil); {
	case errors.As(err, &refused):
		return eval.BadInput("%s", refused.Reason)
	case err != nil && ctx.Err() == nil:
		return eval.Incomplete("%s", of.stop.Reason())
	case err != nil:
		return eval.Incomplete("%w", err)
	}
	s.tokens = slices.ContainsFunc(all, func(n ledger.CallTerms) bool { return n.Tokens })
	of.Settings.Limits.SharedTokens = s.tokens
	for i, n := range all {
		if n.Money && !of.Settings.Prices.Knows(accounts[i].Model) {
			return eval.BadInput(
				"the ledger has a budget of money for the %s, and no price list has its price: `prices: FILE` in the suite, or --prices FILE",
				accounts[i],
			)
		}
	}
	return nil
}

func (s *Session) account(name, model string) ledger.ModelAccount {
	a := ledger.ModelAccount{Service: ledger.Address(s.Settings.Service.BaseURL), Model: model}
	one := s.Settings.Services[name]
	switch {
	case s.Options.Emulator != "":
		a.Service = emulated
	case one == nil && s.oauth():
		a.Key = wire.Fingerprint("project " + s.Settings.Service.Project)
	case one == nil:
		a.Key = wire.Fingerprint(s.Settings.Key())
	default:
		a.Service, a.Key = ledger.Address(one.URL), wire.Fingerprint(one.Caller())
	}
	return a
}

// LimitsTokens reports whether the ledger limits tokens of any account that the run uses.
func (s *sharedLedger) LimitsTokens() bool { return s.tokens }

// Grant has a call granted.
func (s *sharedLedger) Grant(ctx context.Context, service, model string, cost rates.Amount) (flow.Settle, error) {
	g, err := s.Client.Grant(ctx, s.session.account(service, model), cost)
	var refused *ledger.Refused
	switch {
	case err == nil:
		return g.Settle, nil
	case errors.As(err, &refused) && refused.Budget:
		return nil, eval.Errorf(eval.KindBudget, "%s", refused.Reason)
	case errors.As(err, &refused):
		s.end(refused.Reason)
	}
	if s.session.Options.Ledger.Lost != nil && ctx.Err() == nil {
		return nil, &eval.Error{
			Kind: eval.KindTransport, Origin: eval.FromProcess, Unsent: true, Message: "the ledger of the worker grants nothing",
		}
	}
	return nil, eval.Errorf(eval.KindCanceled, "the run was stopped before this call")
}
