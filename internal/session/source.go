package session

import (
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/flow"
	"github.com/evalrun/evalrun/runner"
)

// answerSource is where answers come from that need not be sent for: unanswered, a file of --answers, or a *rescoredRun.
type answerSource interface {
	// Check compares the answers with the plan before anything is written.
	Check(plan *runner.Plan) error
	// known returns the answer or result of a trial; false says that the trial must be sent.
	known(t *runner.Planned) (runner.EarlierTrial, bool)
}

// unanswered is the source of a session whose service answers.
type unanswered struct{}

func (unanswered) Check(*runner.Plan) error                          { return nil }
func (unanswered) known(*runner.Planned) (runner.EarlierTrial, bool) { return nil, false }

// fromFile is a file with answers that were made elsewhere.
type fromFile struct{ *Answers }

func (f fromFile) known(t *runner.Planned) (runner.EarlierTrial, bool) { return f.Earlier(t), true }

// readAnswers takes the answers of a file, and returns records without any: what is not in the file is missed.
func (s *Session) readAnswers(path string) (*flow.Recordings, error) {
	given, err := ReadAnswers(path)
	if err != nil {
		return nil, err
	}
	s.answers = fromFile{given}
	return flow.Open("")
}

// answeringRun is which run got the answers: ownAnswers, or a *rescoredRun.
type answeringRun interface {
	// id is the id of the run; "" for the run that is beginning.
	id() string
	// signs reports whether the user stands for the answers, so that a run with them is signed.
	signs() bool
	// around answers from the run where it can, and calls the service, by its name, for the rest.
	around(next flow.Service, of string) flow.Service
	// recordSource records where the answers are from.
	recordSource(run *eval.Run)
	close()
}

// ownAnswers is for answers that a run gets itself.
type ownAnswers struct{}

func (ownAnswers) id() string                                      { return "" }
func (ownAnswers) signs() bool                                     { return true }
func (ownAnswers) around(next flow.Service, _ string) flow.Service { return next }
func (ownAnswers) recordSource(*eval.Run)                          {}
func (ownAnswers) close()                                          {}
