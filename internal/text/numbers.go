package text

import (
	"math"
	"strconv"
	"strings"
)

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
