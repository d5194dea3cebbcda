package runner

import (
	"sync"

	"github.com/evalrun/evalrun/eval"
)

// Stop keeps a run from beginning new trials. Trials that have not begun are skipped, with the reason; trials in progress
// finish.
type Stop struct {
	once   sync.Once
	closed chan struct{}
	reason string
}

// NewStop returns a Stop that has not been given.
func NewStop() *Stop { return &Stop{closed: make(chan struct{})} }

// Now stops the run. Only the first reason counts.
func (s *Stop) Now(reason string) {
	s.once.Do(func() {
		s.reason = reason
		close(s.closed)
	})
}

// Done is closed once the run is stopped.
func (s *Stop) Done() <-chan struct{} { return s.closed }

// Reason is why the run was stopped, "" while it is not.
func (s *Stop) Reason() string {
	select {
	case <-s.closed:
		return s.reason
	default:
		return ""
	}
}

// Halt is why a run may have to stop after a result: a SpentBudget, a JudgeTrouble, or Waits. It is nil for most results, also
// for those whose own error affects other trials.
type Halt interface{ halt() }

// SpentBudget says that the trial was skipped, or its answer not judged, because a budget is spent. No further call is made.
type SpentBudget struct{ Message string }

// JudgeTrouble is the error of a call to a judge, which may affect other questions as well.
type JudgeTrouble struct{ Error *eval.Error }

// Waits says that a reply that the trial needs comes with a batch. The trial has no result until then.
type Waits struct{}

func (SpentBudget) halt()  {}
func (JudgeTrouble) halt() {}
func (Waits) halt()        {}
