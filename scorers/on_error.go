package scorers

// onError is what becomes of a score that a scorer cannot determine, and of a scorer that fails itself. "" leaves the
// one unscored, and makes the other an error of kind scorer.
type onError string

const (
	errorsFail     onError = "fail"     // both are failures of the answer
	errorsUnscored onError = "unscored" // both are unscored, so that other scorers around and next to it still count
)

// errorsOf reads the key. A scorer inside another takes over what is written next to the outer one.
func (a args) errorsOf(outer *args) onError {
	if n := a.Entry.Get("onError"); !n.IsZero() {
		return onError(n.Word(string(errorsFail), string(errorsUnscored)))
	}
	if outer != nil {
		return outer.errors
	}
	return ""
}

// settling is the scorer with its errors turned into what the suite says.
func (o onError) settling(s Scorer) Scorer {
	if o == "" || s == nil {
		return s
	}
	return Func(func(a *Answer) (f Finding) {
		defer func() {
			if p := recover(); p != nil {
				f = o.settle(broken("it failed: %v", p))
			}
		}()
		if f = s.Score(a); a.abandoned() { // the program was stopped with the run, which says nothing about the answer
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
		out := without("%s (a failure by `onError: fail`)", f.why)
		out.Judged = f.Judged
		return out
	case f.state == brokeUp:
		return unscored("%s", f.why)
	}
	return f
}

// abandoned reports whether the run no longer waits for the score.
func (a *Answer) abandoned() bool {
	if a.Context == nil {
		return false
	}
	select {
	case <-a.Context.Abandoned: // nil never is
		return true
	default:
		return false
	}
}
