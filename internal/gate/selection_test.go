package gate

import (
	"fmt"
	"slices"
	"testing"
)

// drawnCases are the cases of each suite in a sample.
func drawnCases(cases []planned) map[string][]string {
	out := map[string][]string{}
	for _, c := range cases {
		if !slices.Contains(out[c.suite], c.caseID) {
			out[c.suite] = append(out[c.suite], c.caseID)
		}
	}
	return out
}

func plannedCases() []planned {
	var out []planned
	for _, suite := range []string{"s", "t"} {
		for c := range 50 {
			for range 2 { // arms
				out = append(out, planned{place: len(out), repeats: 1, suite: suite, caseID: fmt.Sprint(c), ordinal: len(out)/2 + 1})
			}
		}
	}
	return out
}

func TestASampleTakesWholeCases(t *testing.T) {
	t.Parallel()
	before := map[string][]string{}
	for n := 1; n <= 60; n++ {
		got := sample(plannedCases(), n, 7)
		if len(got) != 2*2*min(n, 50) {
			t.Fatalf("a sample of %d: got %d cases of arms, want 4 times as many, at most 200", n, len(got))
		}
		if !slices.IsSortedFunc(got, func(a, b planned) int { return a.place - b.place }) {
			t.Fatalf("a sample of %d: got another order, want that of the plan", n)
		}
		cases := drawnCases(got)
		for suite, smaller := range before {
			for _, c := range smaller {
				if !slices.Contains(cases[suite], c) {
					t.Errorf("the case %s of %s: got it in a sample of %d and not in one of %d, want it in both", c, suite, n-1, n)
				}
			}
		}
		before = cases
	}
	one, other := drawnCases(sample(plannedCases(), 10, 1)), drawnCases(sample(plannedCases(), 10, 2))
	if slices.Equal(one["s"], other["s"]) || slices.Equal(one["s"], one["t"]) {
		t.Error("got the same sample for another seed or suite, want another one")
	}
}

// Cases with the same request count separately.
func TestASampleCountsEqualCasesSeparately(t *testing.T) {
	t.Parallel()
	var equal []planned
	for i := range 9 {
		equal = append(equal, planned{place: i, repeats: 1, suite: "s", caseID: "same", ordinal: i + 1})
	}
	if got := sample(equal, 4, 0); len(got) != 4 || got[0].place != 0 || got[3].place != 3 {
		t.Errorf("4 of 9: %v, want 4 with the first and the fourth", got)
	}
}
