package harness

import (
	"fmt"
	"testing"

	"github.com/evalrun/evalrun/internal/expect"
	"github.com/evalrun/evalrun/internal/job"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/option"
)

// Answers of a run that is still in progress are not scored again yet.
func TestRescoreWaitsForTheEndOfARun(t *testing.T) {
	t.Parallel()
	var one Session
	one.Job = &job.Job{}
	err := one.admit(&rescoredRun{from: option.FromRun{Run: "now"}, doc: &journal.Document{Running: true}})
	expect.Contains(t, "error", fmt.Sprint(err), "now is still in progress: rescore it when it finishes")
}
