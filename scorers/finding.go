package scorers

import (
	"fmt"

	"github.com/evalrun/evalrun/eval"
)

// Finding is what a scorer found in one answer; with the name and weight of its entry it becomes an eval.Score.
// Make it with Pass, Fail, Graded, Uncheckable, Unscored or Broken, which decide what it is for good. The zero Finding
// is a failure.
type Finding struct {
	Reason string
	Diff   string       // expected against actual, in several lines; optional
	Judged *eval.Judged // the judge's rulings; nil for other scorers
	Class  *eval.Pair   // the answer's class and the correct one, for a classification

	state state
	value float64 // in [0,1]
	why   string  // why there is no score
	cause eval.Cause
}

type state int

const (
	failed      state = iota
	uncheckable       // a failure: there is nothing to check, or it cannot be read. `not:` does not turn it into a pass
	passed
	noScore // neither a pass nor a failure
	brokeUp // the scorer itself failed, which makes the trial an error whatever scorer is around it
)

func stateOf(holds bool) state {
	if holds {
		return passed
	}
	return failed
}

func (f *Finding) scored() bool { return f.state == passed || f.fails() }

func (f *Finding) fails() bool { return f.state == failed || f.state == uncheckable }

// Passed reports whether the answer is correct.
func (f *Finding) Passed() bool { return f.state == passed }

// Value is between 0 and 1, and 0 where there is no score.
func (f *Finding) Value() float64 { return f.value }

// Pass is the finding of a correct answer. The reason says for people what was found.
func Pass(format string, args ...any) Finding {
	return Finding{value: 1, state: passed, Reason: fmt.Sprintf(format, args...)}
}

// Fail is the finding of a wrong answer.
func Fail(format string, args ...any) Finding {
	return Finding{Reason: fmt.Sprintf(format, args...)}
}

// Uncheckable is the finding of an answer in which there is nothing to check, that cannot be read, or whose length alone
// decides. It is a failure, which `not:` does not turn into a pass.
func Uncheckable(format string, args ...any) Finding {
	return Finding{state: uncheckable, Reason: fmt.Sprintf(format, args...)}
}

// Graded is a finding with a value in [0,1].
func Graded(value float64, passed bool, format string, args ...any) Finding {
	return Finding{value: value, state: stateOf(passed), Reason: fmt.Sprintf(format, args...)}
}

// Unscored is the finding when the score cannot be determined, which is neither a pass nor a failure: the trial
// becomes an error.
func Unscored(format string, args ...any) Finding {
	why := fmt.Sprintf(format, args...)
	return Finding{Reason: why, state: noScore, why: why}
}

// unscoredFor is the finding that the grade makes again.
func unscoredFor(g eval.Unscored) Finding {
	f := Unscored("%s", g.Why)
	f.cause = g.Cause
	return f
}

// Broken is the finding of a scorer that failed itself: the trial becomes an error, whatever scorers are around
// it.
func Broken(format string, args ...any) Finding {
	return Finding{state: brokeUp, why: fmt.Sprintf(format, args...)}
}

func worse(f, than Finding) bool {
	return rank(f) < rank(than) || rank(f) == rank(than) && f.value < than.value
}

// rank orders findings, the worst first: a scorer that broke, a failure, no score, a pass.
func rank(f Finding) int {
	switch f.state {
	case brokeUp:
		return -1
	case noScore:
		return 1
	case passed:
		return 2
	}
	return 0
}
