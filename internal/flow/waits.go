package flow

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/evalrun/evalrun/eval"
)

// Waits knows who waits, for what, and until when, for people who watch a run. It ends all waiting when the run stops.
type Waits struct {
	stop    <-chan struct{}
	mu      sync.Mutex
	reasons map[string]*waiting
}

type waiting struct {
	n     int
	until time.Time // the latest that is known
}

// NewWaits makes empty Waits. Closing stop ends waiting and forbids attempts; nil: the run never stops.
func NewWaits(stop <-chan struct{}) *Waits { return &Waits{stop: stop, reasons: map[string]*waiting{}} }

func (w *Waits) stopped() bool { return isClosed(w.stop) }

// wait waits for d, or for a change if a channel is given. It returns false if the run ends first.
func (w *Waits) wait(ctx context.Context, what string, d time.Duration, changed <-chan struct{}) bool {
	if d <= 0 && changed == nil {
		return true
	}
	defer w.begin(what, d)()
	var over <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-over:
	case <-changed:
	case <-ctx.Done():
		return false
	case <-w.stop:
		return false
	}
	return true
}

// begin notes that a call waits for d, or for something that has no time when d is 0. The function that it returns ends
// the waiting.
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

func queued(timing *eval.Timing, since time.Time) {
	timing.QueuedMs += eval.Milliseconds(time.Since(since))
}

func errStopped() error {
	return eval.Errorf(eval.KindCanceled, "the run was stopped before this call")
}
