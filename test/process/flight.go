package main

import (
	"sync"
	"time"
)

// openPath is where the server tells its account of calls.
const openPath = "/open"

// flight is the account of the calls that wait for their answer, from the first to the end of the last. The time between
// calls counts too: a program that leaves the server idle has few calls in flight.
type flight struct {
	mutex       sync.Mutex
	open, most  int64
	first, last time.Time
	waited      time.Duration // of all calls together
}

// change notes that a call came, or that it was answered.
func (f *flight) change(by int64, now time.Time) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.first.IsZero() {
		f.first, f.last = now, now
	}
	f.waited += time.Duration(f.open) * now.Sub(f.last)
	f.last = now
	f.open += by
	f.most = max(f.most, f.open)
}

// account returns the most calls and, in thousandths, their mean over time; it begins anew.
func (f *flight) account() (most, mean int64) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	most = f.most
	if took := f.last.Sub(f.first); took > 0 {
		mean = int64(1000 * float64(f.waited) / float64(took))
	}
	f.most, f.first, f.last, f.waited = f.open, time.Time{}, time.Time{}, 0
	return most, mean
}
