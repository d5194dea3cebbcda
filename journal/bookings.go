package journal

import (
	"encoding/json"
	"time"

	"github.com/evalrun/evalrun/eval"
)

// Booked writes a call that is about to be sent.
func (w *Writer) Booked(b eval.Booking) error { return w.write("call", b) }

// rateWindow is how long a call counts for limits per minute.
const rateWindow = time.Minute

// booked reads the line of a call. Its totals are more complete than those of the trials, because they
// include calls in progress.
func (d *Document) booked(data []byte) error {
	var b eval.Booking
	if err := json.Unmarshal(data, &b); err != nil {
		return err
	}
	d.books = true
	d.Spent.Attempts, d.Spent.Tokens = max(d.Spent.Attempts, b.Spent.Attempts), max(d.Spent.Tokens, b.Spent.Tokens)
	if b.Spent.Currency != "" {
		d.priced = true
		d.Spent.Money = max(d.Spent.Money, b.Spent.Money)
		d.Spent.Currency = b.Spent.Currency
		d.Unpriced = nil
	}
	at := parseTime(b.At)
	for len(d.calls) > 0 && at.Sub(parseTime(d.calls[0].At)) > rateWindow {
		d.calls = d.calls[1:]
	}
	d.calls = append(d.calls, b)
	return nil
}

// Booked reports whether the calls of the last session were written down before they were sent. Spent then includes the
// calls that were in progress when it was killed.
func (d *Document) Booked() bool { return d.books }

// Workers is how many calls the last session allowed at once, 0 when the file does not say.
func (d *Document) Workers() int { return d.workers }

// LastCalls are the calls of the minute before the last booking, oldest first.
func (d *Document) LastCalls() []eval.Booking { return d.calls }
