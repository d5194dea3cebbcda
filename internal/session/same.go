package session

import (
	"cmp"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
)

// KeptOptions are the options of a job as the run file keeps them.
func (j *Job) KeptOptions() *eval.RunOptions {
	kept := j.Options
	if kept.NoContent { // what variables hold is part of prompts
		kept.Vars = nil
	}
	kept.Absolute()
	if kept.Race != "" { // what the project file says is not in the header
		kept.Rule.Alpha = cmp.Or(kept.Rule.Alpha, kept.ByProject().Rule.Alpha)
	}
	if chosen := j.Settings.Selection; chosen != nil {
		kept.FailedIn = chosen.FailedIn
		kept.ChangedSince = chosen.ChangedSince
		kept.Sample = chosen.Sample
		kept.Selected = chosen.Places
	}
	return &eval.RunOptions{Options: kept.Options}
}

// Continues returns an error if a run did not begin with the suites and options of this job. Limits and reports may differ.
func (j *Job) Continues(run *eval.Run) error {
	if len(j.Suites) != len(run.Suites) {
		return eval.BadInput("it began with %s, and %d are named", diag.Count(len(run.Suites), "suite"), len(j.Suites))
	}
	for i, s := range j.Suites {
		if s.Hash() != run.Suites[i].Hash {
			return eval.BadInput("the suite %s is not as it was when the run began", s.File)
		}
	}
	var now eval.Run
	j.Identify(&now)
	if now.ProjectHash != run.ProjectHash {
		return eval.BadInput("the project file is not as it was when the run began")
	}
	was := *run.Options()
	was.Name, was.Labels = run.Name, run.Labels
	flags := eval.Differing(&j.KeptOptions().Options, &was)
	if len(flags) > 0 {
		return eval.BadInput("it began with other values of %s", strings.Join(flags, ", "))
	}
	return nil
}
