package session

import (
	"slices"
	"sync"
)

// retries decides which failed attempts are reported. The zero value reports none.
type retries struct {
	mu     sync.Mutex
	phase  phase
	report func(string) // takes each retry
	early  bool         // whether retries before the run are reported too
	named  []string     // peers that let a run wait before it begins
}

type phase int

const (
	connected phase = iota // nothing is reported
	planning               // a silence would be taken for a hang: each peer is named once
	running                // each retry is reported
)

func (r *retries) enter(p phase) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.phase = p
}

// each returns the function that receives every retry, nil in phases that do not report them one by one.
func (r *retries) each() func(string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.phase == running || r.early {
		return r.report
	}
	return nil
}

// first reports whether this is the first retry of a peer in a plan whose retries are not reported one by one.
func (r *retries) first(peer string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.phase != planning || r.early || slices.Contains(r.named, peer) {
		return false
	}
	r.named = append(r.named, peer)
	return true
}

// ReportRetries has report take each retry during a run, and before it where early says so. Else a peer that lets the
// plan wait is one notice. It is called before Plan.
func (s *Session) ReportRetries(report func(string), early bool) {
	s.retries.report, s.retries.early = report, early
}
