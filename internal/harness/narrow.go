package harness

import "github.com/evalrun/evalrun/eval"

// Narrow leaves the given places of the plan and asks nothing else. It comes after Settle and before Plan. What is left of a suite says nothing
// about the whole, so that it is not compared with a baseline.
func (j *Job) Narrow(places *eval.Places) {
	j.Flags.Selected, j.Settings.selection = places, &selection{places: places}
	j.Flags.Baseline, j.Flags.NoBaseline = "", true
}
