package text

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/evalrun/evalrun/diag"
)

// Numbers for people. Each kind has one form, here for the terminal and in numbers.js for the page; counts and shares are in diag.

// Money writes an amount in decimals, never with an exponent: two of them, or more for three significant digits.
func Money(amount float64) string {
	decimals := 2
	if size := math.Abs(amount); size > 0 && size < 1 {
		decimals = min(12, 2-int(math.Floor(math.Log10(size))))
	}
	whole, rest, _ := strings.Cut(strconv.FormatFloat(amount, 'f', decimals, 64), ".")
	return whole + "." + rest[:2] + strings.TrimRight(rest[2:], "0")
}

// PerThousand writes what a thousand trials cost, from the cost of one.
func PerThousand(cost float64, currency string) string {
	return Money(1000*cost) + " " + currency + " per 1,000 trials"
}

// Duration writes a time in milliseconds: 357 ms, 1.76 s, 12.3 s, 2m3s.
func Duration(ms float64) string {
	switch s := ms / 1000; {
	case ms < 999.5:
		return fmt.Sprintf("%.0f ms", math.Round(ms))
	case s < 9.995:
		return fmt.Sprintf("%.2f s", s)
	case s < 59.95:
		return fmt.Sprintf("%.1f s", s)
	default:
		return (time.Duration(math.Round(s)) * time.Second).String()
	}
}

// When writes a time of a run file in UTC, to the minute. What is no time stays as it is.
func When(at string) string {
	t, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return diag.CleanLine(at)
	}
	return t.UTC().Format("2006-01-02 15:04")
}
