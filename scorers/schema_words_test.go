package scorers

import (
	"fmt"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// A text that has not its format says what the format takes.
func TestFormatsOfSchemasSayWhatTheyTake(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		strings.Repeat("a.", 130):        "a host name has at most 253 characters",
		"a..b":                           "the parts of a host name are 1 to 63 letters, digits and inner hyphens",
		"ab--c":                          "hyphens in the third and fourth place are for encoded names (xn--)",
		"ann":                            "it has no @",
		strings.Repeat("a", 65) + "@b.c": "it is longer than an address may be",
		"a b@c.d":                        "what is before the @ is not a local part (RFC 5321)",
		"a@[300.1.1.1]":                  "what is in brackets is not an address",
	} {
		check := validHost
		if strings.Contains(want, "@") || strings.Contains(want, "address") {
			check = validMailbox
		}
		expect.Contains(t, text, fmt.Sprint(check(text)), want)
	}
}
