package gate

import (
	"io"
	"testing"

	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/reports"
)

// BenchmarkReports writes each report of a run of 100,000 trials that is open already.
func BenchmarkReports(b *testing.B) {
	const cases = 100_000
	dir := b.TempDir()
	writeCases(b, dir, cases)
	d, err := journal.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	Apply(d)
	for _, f := range reports.Formats() {
		b.Run(f.Name, func(b *testing.B) {
			for b.Loop() {
				if err := f.Write(io.Discard, d, reports.Options{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(cases*float64(b.N)/b.Elapsed().Seconds(), "trials/s")
		})
	}
}
