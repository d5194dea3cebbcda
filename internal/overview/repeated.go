package overview

import (
	"fmt"
	"slices"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
)

// Repeated says how often suites were compared with the same baseline.
func Repeated(c *compare.Comparison) (lines []string) {
	if c == nil {
		return nil
	}
	for _, r := range c.Repeated {
		what := "this suite with this baseline"
		if slices.ContainsFunc(c.Arms, func(a compare.ArmComparison) bool { return a.Suite != r.Suite }) {
			what = diag.CleanLine("the suite " + r.Suite + " with its baseline")
		}
		lines = append(
			lines,
			fmt.Sprintf("%s comparison of %s on this machine: each is another chance to pass by luck", ordinal(r.Nth), what),
		)
	}
	return lines
}

var ordinals = []string{"", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"}

// ordinal returns a number as an ordinal, in words up to ten.
func ordinal(n int) string {
	end := "th"
	switch {
	case n < len(ordinals):
		return ordinals[n]
	case n%100/10 == 1:
	case n%10 == 1:
		end = "st"
	case n%10 == 2:
		end = "nd"
	case n%10 == 3:
		end = "rd"
	}
	return fmt.Sprint(n) + end
}
