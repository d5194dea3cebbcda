package runner

import (
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/scorers"
)

// programsPerCPU is how many answers may be scored by programs at once, for each CPU: programs may do nothing but wait.
const programsPerCPU = 4

// slots holds the tokens for scoring; each answer takes one. Programs have their own, so that they hold up only each
// other.
func (r *run) slots(a *scoring) chan struct{} {
	if slices.ContainsFunc(a.trial.scorers, func(s *scorers.Compiled) bool { return len(s.Programs()) > 0 }) {
		return r.programs
	}
	return r.scoring
}

// folder is where the program of a trial has worked, "" where that is nowhere any more.
func (r *run) folder(t *Planned, earlier *eval.Result) string {
	switch {
	case earlier != nil:
		return earlier.Workspace
	case r.Environment.Workspaces == nil || t.Program() == nil:
		return ""
	}
	return r.Environment.Workspaces.Folder(TrialName(r.Environment.NameSalt, t.N))
}
