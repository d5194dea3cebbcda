package e2e_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/text"
)

// The page writes money, shares, times and durations as the terminal does.
func TestNumbersAreAsInTheTerminal(t *testing.T) {
	t.Parallel()
	code, err := os.ReadFile("../internal/page/html/numbers.js")
	expect.OK(t, err)
	run, trials := decideRun("")
	b := open(t, record(t, run, trials, nil), 1280, 900, "light")
	show := func(function string, values []float64) string {
		list := strings.Join(strings.Fields(fmt.Sprint(values)), ",")
		return evaluate[string](b, fmt.Sprintf(`(() => {%s; return %s.map(%s).join('|')})()`, code, list, function))
	}
	for function, form := range map[string]func(float64) string{"money": text.Money, "percent": diag.Percent, "duration": text.Duration} {
		values := []float64{
			0, 1, 0.5, 0.0001, 0.9999, 0.00000182, 0.0258, 12, 357.2, 999.6, 1760, 9994, 12345, 59940, 59960, 123000, 3723400, 1234567.891,
		}
		if function == "percent" {
			values = values[:7]
		}
		var want []string
		for _, v := range values {
			want = append(want, form(v))
		}
		expect.Same(t, function, show(function, values), strings.Join(want, "|"))
	}
	at := "2026-11-28T04:18:41.5Z"
	expect.Same(t, "when", evaluate[string](b, fmt.Sprintf(`(() => {%s; return when(%q)})()`, code, at)), text.When(at))
}
