package journal

import (
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// Booked writes a call that is about to be sent.
func (w *Writer) Booked(b eval.Booking) error { return w.write("call", b) }

// booked reads the line of a call. Its totals are more complete than those of the trials, because they
// include calls in progress.
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
