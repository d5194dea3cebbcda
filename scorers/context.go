package scorers

import (
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/labels"
	"github.com/evalrun/evalrun/pricing"
)

// Context is what scorers get from a run, and what they leave for it.
type Context struct {
	Trial      eval.Trial
	Prices     *pricing.List // nil without a price list
	Vectors    Vectors
	Judgements Judgements
	Labels     *labels.File // of the suite; nil where no scorer needs them
	// Workspace is the folder in which a program under test has worked, absolute; "" where there is none, or none any more.
	Workspace string
	// Keys are names of variables of the environment that hold keys, which programs do not get.
	Keys []string
	// Snapshots are what snapshot scorers looked at.
	Snapshots []Snapshot
	// Abandoned is closed when the run no longer waits for the score; nil when it always waits.
	Abandoned <-chan struct{}
}

// Snapshot is an answer that a snapshot scorer looked at. Answers without text, and blocked ones, are none.
type Snapshot struct {
	File   string // in the suite's folder
	Want   string // what is expected
	Exists bool   // whether something is expected at all
	Got    string
	Folded string // Got as it is compared
	Same   bool   // as expected
}
