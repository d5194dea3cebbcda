package runner

import (
	"fmt"
	"strings"

	"github.com/evalrun/evalrun/eval"
)

// Describe names a trial for people: suite, case, arm and, among several, the repeat.
func Describe(t *eval.Trial) string {
	s := DescribeCase(t)
	if t.Repeat > 1 {
		s += fmt.Sprintf(" (repeat %d)", t.Repeat)
	}
	return s
}

// DescribeCase names what all repeats of a trial have in common: suite, case and arm.
func DescribeCase(t *eval.Trial) string {
	return strings.TrimSpace(fmt.Sprintf("%s / %s on %s", t.Suite, t.Case, t.Arm))
}
