package overview

import (
	"github.com/evalrun/evalrun/classification"
	"github.com/evalrun/evalrun/journal"
)

// Classification is what came of the classification of an arm.
type Classification struct {
	classification.Report
	// Errors are the trials that could not be judged, which are not in the matrix; those in quarantine are left out.
	Errors int `json:"errors"`
}

// ClassificationOf is nil where an arm has none.
func ClassificationOf(a *journal.Arm) *Classification {
	if a.Classification == nil {
		return nil
	}
	return &Classification{a.Classification.Report(), a.Unclassified}
}
