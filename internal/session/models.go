package session

import (
	"context"
	"sync"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/proxy"
	"github.com/evalrun/evalrun/internal/flow"
	"github.com/evalrun/evalrun/suite"
)

// models are the services that programs under test call, by way of a proxy that starts with the first program.
type models struct {
	lines []*proxy.Service
	way   func(service string) flow.Service // of a call, within limits
	keep  bool                              // what passes, for a replay
	// replay has the exchanges of a trial, which are replayed; nil calls the services.
	replay func(trialID string) ([]eval.ModelExchange, bool)
	// prices are those of the models; priced says that a budget of money needs them all.
	prices *eval.PriceList
	priced bool

	mu     sync.Mutex
	silent map[*suite.Program]bool // those that were said to have made no call
	proxy  *proxy.Proxy
	relay  []string // arguments by which a sandbox starts a relay to the proxy; nil before the first one
}

// open lets the program make calls for a trial; nil where it makes none that are counted.
func (m *models) open(p *suite.Program, call *eval.Call) (*proxy.Trial, error) {
	if len(p.Models) == 0 {
		return nil, nil
	}
	config := proxy.Config{
		ID: call.TrialID, Names: p.AddressEnv, Keep: m.keep, Faults: p.Faults, Prices: m.prices, Priced: m.priced || p.MostMoney > 0,
		Limits: proxy.Limits{Steps: p.MostSteps, Tokens: p.MostTokens, Money: p.MostMoney},
	}
	if m.replay != nil {
		all, ok := m.replay(call.TrialID)
		if !ok {
			const message = "no calls of the program are recorded for this trial"
			return nil, &eval.Error{Kind: eval.KindReplayMiss, Retry: eval.RetryNever, Message: message}
		}
		config.Replay = &proxy.Replay{Exchanges: all}
	}
	for _, one := range p.Models {
		config.Services = append(config.Services, one.Name)
	}
	if err := m.start(); err != nil {
		return nil, err
	}
	return m.proxy.Open(config), nil
}

func (m *models) start() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.proxy == nil {
		for _, one := range m.lines {
			if m.way == nil { // all is replayed
				break
			}
			next := m.way(one.Name)
			one.Send = func(ctx context.Context, call *eval.Call) (*eval.Response, error) { return next.Generate(ctx, call) }
		}
		var err error
		if m.proxy, err = proxy.New(m.lines); err != nil {
			return err
		}
	}
	return nil
}

// address is that of the proxy; "" for a program that calls no models.
func (m *models) address(p *suite.Program) (string, error) {
	if len(p.Models) == 0 {
		return "", nil
	}
	if err := m.start(); err != nil {
		return "", err
	}
	return m.proxy.URL, nil
}

// relayed are the arguments by which a sandbox without a network starts a command with a relay to the proxy. The folder is for its socket.
func (m *models) relayed(dir string) ([]string, error) {
	if err := m.start(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.relay != nil {
		return m.relay, nil
	}
	socket, err := m.proxy.Bind(dir)
	if err == nil {
		m.relay, err = relayArgs(m.proxy.Address, socket)
	}
	return m.relay, err
}

// firstSilent notes that a program made no call, and reports whether it is the first time.
func (m *models) firstSilent(p *suite.Program) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.silent[p]
	if m.silent == nil {
		m.silent = map[*suite.Program]bool{}
	}
	m.silent[p] = true
	return !known
}

func (m *models) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.proxy != nil {
		m.proxy.Close()
	}
}
