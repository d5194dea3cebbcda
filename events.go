package evalrun

import "github.com/evalrun/evalrun/eval"

// Event is something that happens while a run is in progress: one of the types in this file. They come in the order of
// the file; Notice, RetryPlanned and Problem may come at any time.
type Event interface{ event() }

// RunOpened says that a run file was opened to resume it.
type RunOpened struct{}

// RunResumed says what a resumed run still has to do.
type RunResumed struct{ Todo Todo }

// Started says that the first trial is about to run.
type Started struct {
	Trials int // how many are about to run
	// Waiting says what the run waits for at the moment, "" when for nothing. It may be called until Finished.
	Waiting func() string
}

// TrialDone is a trial that has ended.
type TrialDone struct {
	Result *eval.Result
	Spent  eval.Spent // by the run so far
}

// Finished says that no more results come.
type Finished struct{}

// RunWritten says that the run file is as complete as it will be. Recording answers and reports follow. From here on the
// caller handles signals again.
type RunWritten struct{}

// RunEnded says that the run file is about to be read for the reports.
type RunEnded struct{}

// RunRead says that the run file was read.
type RunRead struct{}

// ReportsDue says that the reports are about to be written.
type ReportsDue struct {
	Run *Result // what is known so far: Reports is empty
}

// Notice is a message for the person who runs the suites.
type Notice struct{ Text string }

// RetryPlanned says that an attempt failed, and that there will be another.
type RetryPlanned struct{ Text string }

// Problem is a failure that does not end the run.
type Problem struct{ Err error }

func (RunOpened) event()    {}
func (RunResumed) event()   {}
func (Started) event()      {}
func (TrialDone) event()    {}
func (Finished) event()     {}
func (RunWritten) event()   {}
func (RunEnded) event()     {}
func (RunRead) event()      {}
func (ReportsDue) event()   {}
func (Notice) event()       {}
func (RetryPlanned) event() {}
func (Problem) event()      {}

// Todo is the work left in a run that is resumed.
type Todo struct {
	Send    int // trials to send
	Rescore int // recorded answers that only have to be scored again
	Settled int // trials that stay unchanged
	// Twice bounds the calls that may be made twice: those in progress when the run was killed, and Restarted.
	Twice     int
	Restarted int      // answered calls that are made again: chats that an application keeps start again
	Dropped   []string // recorded trials, by case and arm, that the suites do not have any more
}
