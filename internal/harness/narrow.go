package harness

import "github.com/evalrun/evalrun/eval"

// Narrow leaves the given places of the plan and asks nothing else. It comes before Plan. What is left of a suite says nothing
// about the whole, so that it is not compared with a baseline.
func (s *Session) Narrow(places *eval.Places) {
	s.Flags.Selected, s.Settings.selection = places, &selection{places: places}
	s.Flags.Baseline, s.Flags.NoBaseline = "", true
}
