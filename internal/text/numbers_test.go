package text

import (
	"fmt"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// No amount has an exponent, and small ones keep their digits.
func TestMoneyIsReadable(t *testing.T) {
	t.Parallel()
	for amount, want := range map[float64]string{
		0: "0.00", 0.42: "0.42", 0.5: "0.50", 12: "12.00", 1234567.891: "1234567.89", 1e21: "1000000000000000000000.00", 0.05: "0.05",
		0.0031: "0.0031", 0.01: "0.01", 1.817e-06: "0.00000182", 0.0258: "0.0258", 1.234: "1.23", 4e-13: "0.00",
		-0.0042: "-0.0042", 0.0999: "0.0999", 0.9999: "1.00",
	} {
		expect.Same(t, fmt.Sprint(amount), Money(amount), want)
	}
	expect.Same(t, "per thousand", PerThousand(0.00042, "USD"), "0.42 USD per 1,000 trials")
}
