package runner

import "github.com/evalrun/evalrun/eval"

// Halt is why a run may have to stop after a result: a SpentBudget or a JudgeTrouble. It is nil for most results, also for
// those whose own error affects other trials.
type Halt interface{ halt() }

// SpentBudget says that the trial was skipped, or its answer not judged, because a budget is spent. No further call is made.
type SpentBudget struct{ Message string }

// JudgeTrouble is the error of a call to a judge. Its reason may affect other questions as well. The error of the result only
// says that the answer could not be judged.
type JudgeTrouble struct{ Error *eval.Error }

func (SpentBudget) halt()  {}
func (JudgeTrouble) halt() {}
