package journal

import (
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// sessions are the times in which a process worked on a run: until its end or its death, and again after each resume.
// At most the last one is under way. What its calls cost is known from bookings or from trials, never from both.
type sessions struct {
	before time.Duration  // what those before the last one took
	began  time.Time      // the last one; zero: with the run
	until  time.Time      // when it ended, as far as is known
	calls  []eval.Booking // booked in the minute before the last booking, by whichever session

	workers int  // how many calls the last one allowed at once; 0 when the file does not say
	books   bool // its calls are booked, so the tokens of trials are not counted again
	priced  bool // its bookings include money, so its tokens are not added to Document.Unpriced
}

// worked is how long all of them took, in a run that started at a time.
func (s *sessions) worked(started time.Time) time.Duration {
	began := s.began
	if began.IsZero() {
		began = started
	}
	if began.IsZero() || s.until.Before(began) { // recorded answers are older than the run that uses them
		return s.before
	}
	return s.before + s.until.Sub(began)
}

// resume begins another one, in a run that started at a time.
func (s *sessions) resume(r *Resumed, started time.Time) {
	*s = sessions{before: s.worked(started), began: parseTime(r.At), calls: s.calls, workers: r.Workers}
}

func (s *sessions) answered(r *scannedTrial) {
	at := parseTime(r.Timing.StartedAt)
	if at.IsZero() {
		return
	}
	if at = at.Add(time.Duration(r.Timing.LatencyMs * float64(time.Millisecond))); at.After(s.until) {
		s.until = at
	}
}

// book records a call that was about to be sent.
func (s *sessions) book(b eval.Booking) {
	s.books = true
	s.priced = s.priced || b.Spent.Currency != ""
	at := parseTime(b.At)
	for len(s.calls) > 0 && at.Sub(parseTime(s.calls[0].At)) > rateWindow {
		s.calls = s.calls[1:]
	}
	s.calls = append(s.calls, b)
}

// rateWindow is how long a call counts for limits per minute.
const rateWindow = time.Minute

// parseTime is a time as run files have it, zero when it is none.
func parseTime(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}
	}
	return t
}

// Worked is how long the run was worked on: what passed between a death or an end and a resume does not count. A
// session that was killed took until its last answer. It is 0 when the times cannot be read.
func (d *Document) Worked() time.Duration { return d.sessions.worked(parseTime(d.Run.StartedAt)) }

// Booked reports whether the calls of the last session were written down before they were sent. Spent then includes the
// calls that were in progress when it was killed.
func (d *Document) Booked() bool { return d.sessions.books }

// Workers is how many calls the last session allowed at once, 0 when the file does not say.
func (d *Document) Workers() int { return d.sessions.workers }

// LastCalls are the calls of the minute before the last booking, oldest first.
func (d *Document) LastCalls() []eval.Booking { return d.sessions.calls }

// Booked writes a call that is about to be sent.
func (w *Writer) Booked(b eval.Booking) error { return w.write("call", b) }

// booked reads the line of a call. Its totals include calls in progress, unlike those of trials.
func (d *Document) booked(data []byte) error {
	var b eval.Booking
	if err := wirejson.DecodeAnyCase(data, &b); err != nil {
		return err
	}
	d.Spent.Attempts, d.Spent.Tokens = max(d.Spent.Attempts, b.Spent.Attempts), max(d.Spent.Tokens, b.Spent.Tokens)
	if b.Spent.Currency != "" {
		d.Spent.Money = max(d.Spent.Money, b.Spent.Money)
		d.Spent.Currency = b.Spent.Currency
		d.Unpriced = nil
	}
	d.sessions.book(b)
	return nil
}
