package text

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
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

func TestSharesAndTimesAreReadable(t *testing.T) {
	t.Parallel()
	for share, want := range map[float64]string{
		0: "0.0 %", 1: "100.0 %", 0.5: "50.0 %", 0.0001: "0.1 %", 0.99999: "99.9 %", 1.0 / 3: "33.3 %", -0.2: "-20.0 %",
	} {
		expect.Same(t, fmt.Sprint(share), diag.Percent(share), want)
	}
	for ms, want := range map[float64]string{
		0: "0 ms", 0.4: "0 ms", 0.5: "1 ms", 357.2: "357 ms", 999.4: "999 ms", 999.6: "1.00 s", 1760: "1.76 s", 9994: "9.99 s", 12_345: "12.3 s",
		59_940: "59.9 s", 59_960: "1m0s", 123_000: "2m3s", 3_723_400: "1h2m3s",
	} {
		expect.Same(t, fmt.Sprint(ms), Duration(ms), want)
	}
	expect.Same(t, "a time", When("2026-11-28T04:18:41.5+01:00"), "2026-11-28 03:18")
	expect.Same(t, "no time", When("soon"), "soon")
}

// No other place writes shares, times or amounts of money in its own form. Machines read the form of JUnit and CSV.
func TestNumbersHaveOneForm(t *testing.T) {
	t.Parallel()
	own := regexp.MustCompile(`%\.[1-9]f ?%%|%\.[0-9]f m?s\b|2006-01-02 15:04`)
	n := 0
	expect.OK(t, filepath.WalkDir("../..", func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || filepath.Base(path) == "numbers.go" {
			return err
		}
		data, err := os.ReadFile(path)
		n++
		if at := own.FindIndex(data); at != nil {
			t.Errorf("%s: got %q, want a function of numbers.go", path, data[at[0]:at[1]])
		}
		return err
	}))
	if n < 300 {
		t.Errorf("got %d source files, want all", n)
	}
}

// The beginning of a text is whole characters, and never longer than the limit.
func TestCutTextKeepsCharactersWhole(t *testing.T) {
	t.Parallel()
	expect.Same(t, "a short text", CutText("日本", 6), "日本")
	expect.Same(t, "a cut character", CutText("日本", 5), "日")
	expect.Same(t, "nothing left", CutText("日本", 2), "")
	for _, text := range hostile.Strings() {
		for most := range 9 {
			got := CutText(text, most)
			if len(got) > most || utf8.ValidString(text) && !utf8.ValidString(got) {
				t.Errorf("%q cut at %d is %q, want at most that many bytes of UTF-8", text, most, got)
			}
		}
	}
}
