package session

import (
	"fmt"
	"io"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/gate"
	"github.com/evalrun/evalrun/internal/wirejson"
	"github.com/evalrun/evalrun/runner"
)

// plannedRequest is what a forecast shows about the trials of a case on an arm.
type plannedRequest struct {
	Suite      string        `json:"suite"`
	Case       string        `json:"case"`
	Arm        string        `json:"arm"`
	Model      string        `json:"model,omitempty"`
	APIVersion string        `json:"apiVersion,omitempty"`
	Repeats    int           `json:"repeats"`
	Request    *eval.Request `json:"request"`
	// Judges are the prompts of judges about the answer.
	Judges []runner.JudgePrompt `json:"judges,omitempty"`
}

// WriteRequests writes the requests of a job's plan as JSON lines. Repeats have one line, and secrets are left out. It
// writes nothing for arms that cannot race: a run would end with the same error before it sends anything.
func WriteRequests(w io.Writer, j *Job, plan *runner.Plan) error {
	checks := &gate.Checks{Options: j.Options.WithDefaults(), Dir: j.Options.In(), Plan: plan}
	if _, err := checks.Races(j.Suites); err != nil {
		return err
	}
	var last *plannedRequest
	show := func() error {
		if last == nil {
			return nil
		}
		line, err := wirejson.Marshal(last)
		if err == nil {
			_, err = fmt.Fprintf(w, "%s\n", line)
		}
		return err
	}
	for t := range plan.Trials() {
		if !t.First {
			last.Repeats++
			continue
		}
		if err := show(); err != nil {
			return err
		}
		last = &plannedRequest{t.Suite, t.Case, t.Arm, t.Model, t.Request.APIVersion, 1, &t.Request, plan.JudgePrompts(t)}
	}
	return show()
}
