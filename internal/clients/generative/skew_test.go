package generative

import (
	"context"
	"net/http"
	"testing"
	"time"
)

// The clock of the service is read off the Date of its answers, good or bad; an invalid date is ignored.
func TestSkewIsReadFromTheDate(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, date string
		status     int
		known      bool
		least      time.Duration
		most       time.Duration
	}{
		{"ahead", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat), 200, true, 59 * time.Minute, 61 * time.Minute},
		{"behind, and an error", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat), 500, true, -61 * time.Minute, -59 * time.Minute},
		{"the end of time", "Fri, 31 Dec 9999 23:59:59 GMT", 200, true, 1 << 60, 1<<63 - 1},
		{"no date", "yesterday", 200, false, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newClient(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Date", test.date)
				w.WriteHeader(test.status)
				_, _ = w.Write([]byte(`{"models":[]}`))
			}, nil)
			if _, known := c.Skew(); known {
				t.Error("got a skew before the first answer, want none")
			}
			_, err := c.Models(context.Background(), "v1")
			if (err == nil) != (test.status == 200) {
				t.Errorf("got %v, want an error for all but the status 200: %d", err, test.status)
			}
			if skew, known := c.Skew(); known != test.known || skew < test.least || skew > test.most {
				t.Errorf("%s, %v, want from %s to %s, %v", skew, known, test.least, test.most, test.known)
			}
		})
	}
}
