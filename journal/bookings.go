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

// booked takes in the line of a call. Its totals say more than the trials: they have what was under way too.
func (d *Document) booked(data []byte) error {
	var b eval.Booking
	if err := json.Unmarshal(data, &b); err != nil {
		return err
	}
	d.books = true
	d.Spent.Calls, d.Spent.Tokens = max(d.Spent.Calls, b.Spent.Calls), max(d.Spent.Tokens, b.Spent.Tokens)
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

// Booked reports whether the calls of the last session were written down before they were sent. Spent then has the
// calls that were under way when it was killed.
func (d *Document) Booked() bool { return d.books }

// Workers is how many calls could be under way in the last session, 0 when the file does not say so.
func (d *Document) Workers() int { return d.workers }

// LastCalls are the calls of the last minute in which some were booked, the oldest first.
func (d *Document) LastCalls() []eval.Booking { return d.calls }
