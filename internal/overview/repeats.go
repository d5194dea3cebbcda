package overview

import (
	"fmt"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/stats"
	"github.com/evalrun/evalrun/journal"
)

// repeatsOf says how steady the cases of an arm are that were scored more than once. It also has the results
// of other ways to combine repeats.
type repeatsOf struct {
	journal.RepeatCounts
	// Majority is the share of cases that pass in more than half of their repeats. A tie fails.
	Majority float64 `json:"majority"`
	// AtLeastK, PassAtK and PassHatK are indexed by k-1. AtLeastK is the share of cases with k or more
	// passes. PassAtK is the probability that at least one of k drawn repeats passes (Chen 2021), and
	// PassHatK that all do (tau-bench). nil means that no case has k scored repeats.
	AtLeastK []*float64 `json:"atLeastK"`
	PassAtK  []*float64 `json:"passAtK"`
	PassHatK []*float64 `json:"passHatK"`
}

const mostK = 10

// RepeatsOf returns nil if no case of the arm was scored more than once.
func RepeatsOf(d *journal.Document, suite string, arm *journal.ArmSummary) *repeatsOf {
	if c := arm.Repeats; c.StablePass+c.StableFail+c.Flaky == 0 {
		return nil
	}
	var s repeatShares
	for row := range d.Rows() {
		if row.Suite != suite {
			continue
		}
		if cell, ok := row.On(arm.Name); ok {
			s.add(cell.Counts.Judged(), cell.Counts.Pass)
		}
	}
	r := &repeatsOf{RepeatCounts: arm.Repeats}
	r.Majority, _ = s.majority.Mean()
	for k := range s.most {
		r.AtLeastK = append(r.AtLeastK, mean(s.atLeast[k]))
		r.PassAtK = append(r.PassAtK, mean(s.at[k]))
		r.PassHatK = append(r.PassHatK, mean(s.hat[k]))
	}
	return r
}

// repeatShares accumulates the fields of Repeats case by case.
type repeatShares struct {
	majority         eval.Sum
	atLeast, at, hat [mostK]eval.Sum
	most             int // scored repeats of a case, up to mostK
}

// add adds a case with n scored repeats and c passes.
func (s *repeatShares) add(n, c int) {
	if n == 0 {
		return
	}
	s.majority.Add(share(2*c > n))
	s.most = min(mostK, max(s.most, n))
	for k := 1; k <= min(n, mostK); k++ {
		s.atLeast[k-1].Add(share(c >= k))
		if v, ok := stats.PassAtK(n, c, k); ok {
			s.at[k-1].Add(v)
		}
		if v, ok := stats.PassHatK(n, c, k); ok {
			s.hat[k-1].Add(v)
		}
	}
}

// String returns the figures on one line.
func (r *repeatsOf) String() string {
	parts := []string{
		fmt.Sprintf(
			"of %s %d always pass, %d never, %d are flaky", diag.Count(r.StablePass+r.StableFail+r.Flaky, "case"), r.StablePass,
			r.StableFail, r.Flaky,
		),
	}
	if k := len(r.PassAtK); k > 1 && r.PassAtK[k-1] != nil && r.PassHatK[k-1] != nil {
		parts = append(parts, fmt.Sprintf("pass@%d %.3f, pass^%d %.3f", k, *r.PassAtK[k-1], k, *r.PassHatK[k-1]))
	}
	return strings.Join(parts, "; ")
}

func share(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// mean is nil when there are no values.
func mean(s eval.Sum) *float64 {
	if v, ok := s.Mean(); ok {
		return &v
	}
	return nil
}
