package flow

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Waits keeps account of who waits, for what, and until when, for people who watch a run.
type Waits struct {
	mu      sync.Mutex
	reasons map[string]*waiting
}

type waiting struct {
	n     int
	until time.Time // the latest that is known
}

// NewWaits makes an empty account.
func NewWaits() *Waits { return &Waits{reasons: map[string]*waiting{}} }

// begin notes that somebody waits for d, or for something that has no time when d is 0. The function
// that it returns ends the waiting.
func (w *Waits) begin(what string, d time.Duration) (end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.reasons[what]
	if one == nil {
		one = &waiting{}
		w.reasons[what] = one
	}
	one.n++
	if until := time.Now().Add(d); d > 0 && until.After(one.until) {
		one.until = until
	}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if one.n--; one.n == 0 {
			delete(w.reasons, what)
		}
	}
}

// String describes the waits, such as "8 wait for requests per minute (up to 12s)"; "" when there are none.
func (w *Waits) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, what := range slices.SortedFunc(maps.Keys(w.reasons), func(a, b string) int {
		return cmp.Or(w.reasons[b].n-w.reasons[a].n, cmp.Compare(a, b))
	}) {
		one := w.reasons[what]
		text := fmt.Sprintf("%d wait for %s", one.n, what)
		if left := time.Until(one.until).Round(time.Second); left > 0 {
			text += fmt.Sprintf(" (up to %s)", left)
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}
