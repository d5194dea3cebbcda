package session

import (
	"fmt"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
)

// givenAnswers of a run that is still in progress are not scored again yet.
func TestRescoreWaitsForTheEndOfARun(t *testing.T) {
	t.Parallel()
	var one Session
	one.Job = &Job{}
	err := one.admit(&rescoredRun{from: eval.FromRun{Run: "now"}, doc: &journal.Document{Running: true}})
	expect.Contains(t, "error", fmt.Sprint(err), "now is still in progress: rescore it when it finishes")
}
