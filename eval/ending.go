package eval

// Outcome is the result of a trial. The zero Outcome is invalid.
type Outcome string

// The four outcomes, never merged.
const (
	Pass Outcome = "pass"
	Fail Outcome = "fail"  // judged and found wanting
	Err  Outcome = "error" // could not be judged
	Skip Outcome = "skip"  // did not run
)

// Ending is how a trial ended: Passed, Failed, Errored, Skipped, SkippedDecided or SkippedRuledOut.
type Ending interface {
	written() writtenEnding
}

// Passed is the ending of a trial whose answer is good enough.
type Passed struct{}

// Failed is the ending of a trial whose answer was judged and found wanting.
type Failed struct{}

// Errored is the ending of a trial that could not be judged.
type Errored struct {
	Error *Error // nil in a file that does not say why; evalrun writes no such files
}

// Skipped is the ending of a trial that did not run, for a reason that is a text for people.
type Skipped struct{ Reason string }

// SkippedDecided is the ending of a trial that did not have to run: the verdict on its arm was known.
type SkippedDecided struct{}

// SkippedRuledOut is the ending of a trial that did not have to run: its arm had left a race.
type SkippedRuledOut struct{}

// The reasons of skips that have a kind, in files.
const (
	reasonDecided  = "earlyStop"
	reasonRuledOut = "race"
)

// writtenEnding has what files say of an ending. One that contradicts itself, such as a pass with an error, or whose outcome is
// not known, is an Ending as it is.
type writtenEnding struct {
	outcome    Outcome
	err        *Error
	skipReason string
}

func (Passed) written() writtenEnding    { return writtenEnding{outcome: Pass} }
func (Failed) written() writtenEnding    { return writtenEnding{outcome: Fail} }
func (e Errored) written() writtenEnding { return writtenEnding{outcome: Err, err: e.Error} }
func (s Skipped) written() writtenEnding { return writtenEnding{outcome: Skip, skipReason: s.Reason} }

func (SkippedDecided) written() writtenEnding {
	return writtenEnding{outcome: Skip, skipReason: reasonDecided}
}

func (SkippedRuledOut) written() writtenEnding {
	return writtenEnding{outcome: Skip, skipReason: reasonRuledOut}
}
func (e writtenEnding) written() writtenEnding { return e }

// Ending is the ending that files write as this outcome with an error or the reason of a skip; nil when they say nothing.
func (o Outcome) Ending(err *Error, skipReason string) Ending {
	return writtenEnding{o, err, skipReason}.ending()
}

func (e writtenEnding) ending() Ending {
	switch e {
	case writtenEnding{}:
		return nil
	case writtenEnding{outcome: Pass}:
		return Passed{}
	case writtenEnding{outcome: Fail}:
		return Failed{}
	case writtenEnding{outcome: Err, err: e.err}:
		return Errored{e.err}
	case SkippedDecided{}.written():
		return SkippedDecided{}
	case SkippedRuledOut{}.written():
		return SkippedRuledOut{}
	case writtenEnding{outcome: Skip, skipReason: e.skipReason}:
		return Skipped{e.skipReason}
	}
	return e
}

func (r *Result) writtenEnding() writtenEnding {
	if r.Ending == nil {
		return writtenEnding{}
	}
	return r.Ending.written()
}

// Outcome is the outcome of the trial; "" while it has not ended.
func (r *Result) Outcome() Outcome { return r.writtenEnding().outcome }

// Err says why the trial could not be judged; nil when it could.
func (r *Result) Err() *Error { return r.writtenEnding().err }

// SkipReason says why the trial did not run, as files write it; "" when it did.
func (r *Result) SkipReason() string { return r.writtenEnding().skipReason }

// Counts tallies outcomes.
type Counts struct {
	Pass  int `json:"pass"`
	Fail  int `json:"fail"`
	Error int `json:"error"`
	Skip  int `json:"skip"`
}

// Add counts one outcome.
func (c *Counts) Add(o Outcome) {
	switch o {
	case Pass:
		c.Pass++
	case Fail:
		c.Fail++
	case Err:
		c.Error++
	case Skip:
		c.Skip++
	}
}

// Plus adds up two tallies.
func (c Counts) Plus(o Counts) Counts {
	return Counts{c.Pass + o.Pass, c.Fail + o.Fail, c.Error + o.Error, c.Skip + o.Skip}
}

// Judged is the number of outcomes that are a verdict.
func (c Counts) Judged() int { return c.Pass + c.Fail }

// Total is the number of outcomes counted.
func (c Counts) Total() int { return c.Pass + c.Fail + c.Error + c.Skip }

// Ran is the number of outcomes that are not skips.
func (c Counts) Ran() int { return c.Pass + c.Fail + c.Error }
