package evaltest

import (
	"fmt"
	"testing"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/text"
)

// subtest is a subtest that begins before its result is known. Only package testing knows which ones -run and -skip
// select, and shows it by running their bodies or not. The selection must be known before anything is sent, since a
// call costs money and the calls of all cases go out together. So each subtest begins in a goroutine of its own, which
// package testing allows, and its body waits for a result.
//
// The method t.Parallel would do nearly the same, but it refuses to in a test that calls t.Setenv or t.Chdir.
type subtest struct {
	name     string
	selected bool // known once begin has returned
	telling  chan func(*testing.T)
	ended    chan struct{}
}

// begin begins the subtest, and returns when it waits or was not selected.
func (s *subtest) begin(t *testing.T) {
	begun := make(chan struct{})
	s.telling, s.ended = make(chan func(*testing.T), 1), make(chan struct{})
	go func() {
		defer close(s.ended)
		t.Run(s.name, func(t *testing.T) {
			s.selected = true
			close(begun)
			if report := <-s.telling; report != nil {
				report(t)
			}
		})
	}()
	select {
	case <-begun:
	case <-s.ended:
	}
}

// report has the subtest report something and end, and waits for that. Only the first time counts, and of one that
// was not selected none does.
func (s *subtest) report(report func(*testing.T)) {
	if s.telling == nil { // it never began
		return
	}
	select {
	case <-s.ended:
	default:
		s.telling <- report
		<-s.ended
	}
}

// show logs notices, and each answer under -v.
func show(t *testing.T, e evalrun.Event) {
	switch e := e.(type) {
	case evalrun.Notice:
		t.Log(diag.Clean(e.Text))
	case evalrun.Problem:
		t.Log(words(e.Err))
	case evalrun.TrialDone:
		if testing.Verbose() {
			t.Log(diag.CleanLine(trialLine(e.Result)))
		}
	case evalrun.RunOpened, evalrun.RunResumed, evalrun.Started, evalrun.Finished, evalrun.RunWritten, evalrun.RunEnded,
		evalrun.RunRead, evalrun.ReportsDue, evalrun.RetryPlanned: // the log of a test has results only
	}
}

func trialLine(r *eval.Result) string {
	line := fmt.Sprintf("%s %s on %s", r.Outcome(), r.Case, r.Arm)
	if r.Repeat > 1 {
		line += fmt.Sprintf(" (repeat %d)", r.Repeat)
	}
	if r.Usage != nil && r.Timing != nil {
		line += fmt.Sprintf(": %d tokens, %s", r.Usage.TotalTokens, text.Duration(r.Timing.LatencyMs))
	}
	return line
}
