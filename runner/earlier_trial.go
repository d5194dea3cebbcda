package runner

import "github.com/evalrun/evalrun/eval"

// EarlierTrial is what earlier runs have of a trial: a SettledTrial, a FinalResult, an AnsweredTrial or a BegunTrial.
type EarlierTrial interface{ earlierTrial() }

// SettledTrial is neither sent nor yielded.
type SettledTrial struct{}

// FinalResult is yielded as it is.
type FinalResult struct{ Result *eval.Result }

// AnsweredTrial only has to be scored. The workspace of its result is an absolute path.
type AnsweredTrial struct{ Result *eval.Result }

// BegunTrial has the calls of a live chat that were answered before the run broke off.
type BegunTrial struct{ Calls []eval.AnsweredCall }

func (SettledTrial) earlierTrial()  {}
func (FinalResult) earlierTrial()   {}
func (AnsweredTrial) earlierTrial() {}
func (BegunTrial) earlierTrial()    {}
