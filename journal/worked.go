package journal

import "time"

// stretches are the times in which a run was worked on: until its end or its death, and again after each resume.
type stretches struct {
	before time.Duration // what those before the last one took
	began  time.Time     // the last one; zero: with the run
	until  time.Time     // when it ended, as far as is known
}

// Worked is how long the run was worked on: what passed between a death or an end and a resume does not count. A
// stretch that was killed took until its last answer. It is 0 when the times cannot be read.
func (d *Document) Worked() time.Duration {
	s, began := &d.stretches, d.stretches.began
	if began.IsZero() {
		began = parseTime(d.Run.StartedAt)
	}
	if began.IsZero() || s.until.Before(began) { // recorded answers are older than the run that uses them
		return s.before
	}
	return s.before + s.until.Sub(began)
}

// resumed records that another stretch begins.
func (d *Document) resumed(r *Resumed) {
	d.End, d.unhealed = nil, false // what was lost runs again
	d.books, d.priced = false, false
	d.workers = r.Workers
	d.index.drop(r.Dropped)
	d.stretches = stretches{before: d.Worked(), began: parseTime(r.At)}
}

// goneOn records that a trial came.
func (d *Document) goneOn(r *scannedTrial) {
	d.End = nil // a resumed run
	if at := r.started; !at.IsZero() {
		if at = at.Add(time.Duration(r.latencyMs * float64(time.Millisecond))); at.After(d.stretches.until) {
			d.stretches.until = at
		}
	}
}

// parseTime is a time as run files have it, zero when it is none.
func parseTime(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}
	}
	return t
}
