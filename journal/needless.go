package journal

// The reasons of trials that did not have to run.
const (
	SkipEarly = "earlyStop" // the verdict on the arm was known
	SkipRace  = "race"      // the arm had left a race
)

// Needless reports whether the reason of a skip says that the trial did not have to run. Such trials are missing from no
// rule, and a run without them is complete.
func Needless(reason string) bool { return reason == SkipEarly || reason == SkipRace }
