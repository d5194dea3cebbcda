package flow

import (
	"slices"
	"time"
)

// Rates are limits per minute. Zero is unlimited.
type Rates struct {
	RequestsPerMinute int
	TokensPerMinute   int
}

// meter keeps Rates.
type meter struct {
	interval time.Duration  // between two calls; 0: any
	next     time.Time      // when the next call may be made
	turn     chan struct{}  // held by the one caller that waits for room, so that no other overtakes it
	tokens   int            // per minute
	window   []*meteredCall // of the last minute, oldest first
	inWindow int            // tokens
}

// wait is how long a call of some tokens waits at least until the last minute has room for it. A call that is larger
// than the limit goes alone.
func (m *meter) wait(tokens int, now time.Time) time.Duration {
	if m.tokens == 0 || tokens == 0 {
		return 0
	}
	m.forget(now)
	if m.inWindow > 0 && m.inWindow+tokens > m.tokens {
		return m.window[0].at.Add(time.Minute).Sub(now)
	}
	return 0
}

// take takes a call into the window.
func (m *meter) take(held *meteredCall) {
	if m.tokens > 0 && held.tokens > 0 {
		m.window = append(m.window, held)
		m.inWindow += held.tokens
		held.meters = append(held.meters, m)
	}
}

func newMeter(r Rates) *meter {
	m := &meter{tokens: r.TokensPerMinute, turn: make(chan struct{}, 1)}
	if r.RequestsPerMinute > 0 {
		// Evenly spaced: a burst would let more than the limit through in the first minute.
		m.interval = time.Minute / time.Duration(r.RequestsPerMinute)
	}
	return m
}

// recall counts a call that an earlier process made.
func (m *meter) recall(at time.Time, tokens int) {
	if next := at.Add(m.interval); m.interval > 0 && next.After(m.next) {
		m.next = next
	}
	if m.tokens > 0 && tokens > 0 {
		m.window = append(m.window, &meteredCall{at: at, tokens: tokens})
		m.inWindow += tokens
	}
}

// meteredCall is a call in the books. It counts for tokens in the window of the last minute
// until it leaves that.
type meteredCall struct {
	to       peer
	at       time.Time
	reserved amount
	tokens   int
	meters   []*meter      // the meters whose windows include it
	shared   Granted       // by the ledger of several processes; nil without one
	pause    time.Duration // that the service wants
}

// forget drops what is older than a minute from the window.
func (m *meter) forget(now time.Time) {
	for len(m.window) > 0 && now.Sub(m.window[0].at) >= time.Minute {
		old := m.window[0]
		m.inWindow -= old.tokens
		old.meters = slices.DeleteFunc(old.meters, func(other *meter) bool { return other == m })
		m.window = m.window[1:]
	}
}
