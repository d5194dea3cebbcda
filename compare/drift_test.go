package compare

import (
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// stableNights are nights of cases that pass, but for those lost from a night to another one.
func stableNights(nights, cases, lost, from, to int) [][]float64 {
	out := make([][]float64, nights)
	for t := range out {
		out[t] = make([]float64, cases)
		for i := range out[t] {
			if i >= lost || t+1 < from || t+1 > to {
				out[t][i] = 1
			}
		}
	}
	return out
}

func TestALossIsSeenAndNamed(t *testing.T) {
	t.Parallel()
	d := FindDrift(DriftSeries{Results: stableNights(40, 20, 3, 31, 40)})
	expect.Same(t, "state", d.State, DriftLost)
	expect.Same(t, "start", d.Start, 31)
	expect.Same(t, "seen", d.Seen, 34)
	expect.Same(t, "lost", d.Lost, []int{0, 1, 2})
	expect.Same(t, "before", d.Before, 1.0)
	expect.Same(t, "since", d.Since, 0.85)
}

func TestABackThatComes(t *testing.T) {
	t.Parallel()
	d := FindDrift(DriftSeries{Results: stableNights(50, 20, 3, 31, 38)})
	expect.Same(t, "state", d.State, DriftLost)
	expect.Same(t, "start", d.Start, 31)
	expect.Same(t, "back", d.Back, 39)
	expect.Same(t, "since", d.Since, 0.85)
}

// BenchmarkDrift is the largest series that is looked at: 730 nights of 500 cases.
func BenchmarkDrift(b *testing.B) {
	results := stableNights(730, 500, 0, 0, 0)
	for t := range results {
		for i := range 100 {
			results[t][i] = float64((t*31 + i*i*7 + t*t*i) % 5 & 1)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		FindDrift(DriftSeries{Results: results})
	}
}
