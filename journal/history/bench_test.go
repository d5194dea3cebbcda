package history

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
)

// BenchmarkAdd takes up a run of 10,000 cases with two named metrics into a history that has it once.
func BenchmarkAdd(b *testing.B) {
	folder := b.TempDir()
	s := open(b, filepath.Join(folder, "history.db"))
	dir := sample{id: 1, cases: 10_000}.write(b, folder)
	add(b, s, dir)
	d, err := journal.Open(dir)
	expect.OK(b, err)
	defer d.Close()
	for b.Loop() {
		expect.OK(b, s.Add(d))
	}
}

// year is a history of 365 runs of 10,000 trials each.
func year(b *testing.B) *Store {
	b.Helper()
	path := os.Getenv("HISTORY_YEAR") // kept, to measure again
	if path == "" {
		path = filepath.Join(b.TempDir(), "history.db")
	}
	s := open(b, path)
	if runs, err := s.heads(); err != nil || len(runs) > 0 {
		return s
	}
	d, err := journal.Open(sample{id: 1, cases: 10_000}.write(b, b.TempDir()))
	expect.OK(b, err)
	defer d.Close()
	for i := range 365 {
		d.Run.ID = "run-" + string(rune('a'+i/26)) + string(rune('a'+i%26))
		expect.OK(b, s.Add(d))
	}
	return s
}

// BenchmarkTrend reads a year of nightly runs for one case, for one case's named metric, and for an arm.
func BenchmarkTrend(b *testing.B) {
	s := year(b)
	for name, q := range map[string]Query{
		"case":   {Suite: "suite", Arm: "pro/ask", Case: "case 5000"},
		"metric": {Suite: "suite", Arm: "pro/ask", Case: "case 5000", Metric: "closeness"},
		"arm":    {Suite: "suite", Arm: "pro/ask"},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if points, err := s.Trend(q); err != nil || len(points) != 365 {
					b.Fatalf("got %v, %v, want 365 points", len(points), err)
				}
			}
		})
	}
	b.Run("runs", func(b *testing.B) {
		for b.Loop() {
			if runs, err := s.Runs(RunFilter{Limit: 20}); err != nil || len(runs) != 20 {
				b.Fatalf("got %v, %v, want 20 runs", len(runs), err)
			}
		}
	})
}
