package scorers

// onError says what a score that cannot be determined, or a scorer that itself fails, becomes. "" leaves the
// former unscored, and makes the latter an error of kind scorer.
type onError string

const (
	errorsFail     onError = "fail"     // both are failures of the answer
	errorsUnscored onError = "unscored" // both are unscored, so that other scorers around and next to it still count
)

// errorsOf reads the key. A nested scorer inherits the value next to the outer one.
func (a args) errorsOf(outer *args) onError {
	if n := a.Entry.Get("onError"); !n.IsZero() {
		return onError(n.Word(string(errorsFail), string(errorsUnscored)))
	}
	if outer != nil {
		return outer.errors
	}
	return ""
}

// settling wraps the scorer so that its errors become what the suite says.
func (o onError) settling(s AnswerScorer) AnswerScorer {
	if o == "" || s == nil {
		return s
	}
	return Func(func(a *Answer) (f Finding) {
		defer func() {
			if p := recover(); p != nil {
				f = o.settle(Broken("it failed: %v", p))
			}
		}()
		if f = s.Score(a); a.abandoned() { // the run stopped the program, which says nothing about the answer
			return f
		}
		return o.settle(f)
	})
}

// settle turns an error into a failure, which `not:` keeps, or into an unscored finding.
func (o onError) settle(f Finding) Finding {
	switch {
	case f.scored():
		return f
	case o == errorsFail:
		out := Uncheckable("%s (a failure by `onError: fail`)", f.why)
		out.Judged = f.Judged
		return out
	case f.state == brokeUp:
		return Unscored("%s", f.why)
	}
	return f
}

// abandoned reports whether the run no longer waits for the score.
func (a *Answer) abandoned() bool {
	if a.Context == nil {
		return false
	}
	select {
	case <-a.Context.Abandoned: // blocks forever when nil
		return true
	default:
		return false
	}
}
