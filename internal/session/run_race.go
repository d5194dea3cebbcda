package session

import "github.com/evalrun/evalrun/eval"

// deferUnsent keeps a result for the end of a race on recorded answers, and reports whether it did. The arm of such a
// result had left the race by earlier scores, and is in it by the current ones.
func (c *consumer) deferUnsent(r *eval.Result) bool {
	if _, ruledOut := r.Ending.(eval.SkippedRuledOut); c.early == nil || !ruledOut || c.early.Left(&r.Trial) {
		return false
	}
	c.unsent = append(c.unsent, *r)
	c.broken = c.early.Unsent(&r.Trial, c.journal)
	return true
}

func (c *consumer) writeDeferred(r *eval.Result, progress progressWatcher) {
	if c.broken != nil {
		return
	}
	if !c.early.Left(&r.Trial) {
		r.Ending = eval.Skipped{Reason: "not run: the arm had left the race, and by the current scores it has not"}
	}
	if c.broken = c.append(r); c.broken == nil {
		c.done(r, progress)
	}
}
