package scorers

import (
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/scorers/labels"
)

// Context is what a run provides to scorers, and what they record for it.
type Context struct {
	Trial        eval.Trial
	Prices       *eval.PriceList // nil without a price list
	Vectors      Vectors
	Judgements   Judgements
	PeopleLabels *labels.File // of the suite; nil when no scorer needs them
	// Workspace is the absolute path of the folder of the program under test; "" when there is none or it is gone.
	Workspace string
	// Keys are environment variables that hold keys; programs do not get them.
	Keys []string
	// SnapshotChecks are recorded by snapshot scorers.
	SnapshotChecks []SnapshotCheck
	// Abandoned is closed when the run stops waiting for the score; nil when it always waits.
	Abandoned <-chan struct{}
}

// SnapshotCheck is an answer that a snapshot scorer compared. Blocked answers and those without text are left out.
type SnapshotCheck struct {
	File     string // relative to the suite's folder
	Got      string
	Folded   string          // Got in the form that is compared
	Accepted *AcceptedAnswer // nil: none was accepted yet
}

// AcceptedAnswer is the expected answer of a snapshot.
type AcceptedAnswer struct {
	Text string
	Same bool // whether the answer that was compared equals it
}
