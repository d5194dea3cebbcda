package runner

import "github.com/evalrun/evalrun/eval"

// Recorded is what earlier runs have of a trial: a SettledTrial, a FinalResult, an AnsweredTrial or a BegunTrial.
type Recorded interface{ recorded() }

// SettledTrial is neither sent nor yielded.
type SettledTrial struct{}

// FinalResult is yielded as it is.
type FinalResult struct{ Result *eval.Result }

// AnsweredTrial only has to be judged. The workspace of its result is an absolute path.
type AnsweredTrial struct{ Result *eval.Result }

// BegunTrial has the turns of a live chat that were answered before the run broke off.
type BegunTrial struct{ Turns []eval.Turn }

func (SettledTrial) recorded()  {}
func (FinalResult) recorded()   {}
func (AnsweredTrial) recorded() {}
func (BegunTrial) recorded()    {}
