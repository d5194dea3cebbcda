package runner_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// BenchmarkCSV takes 100,000 rows of a CSV file to a plan: every row is checked, its prompt rendered, its scorers compiled.
func BenchmarkCSV(b *testing.B) {
	const rows = 100_000
	var table strings.Builder
	table.WriteString("country,capital,note\n")
	for i := range rows {
		fmt.Fprintf(&table, "Country %d,Capital %d,a note about the country number %d\n", i, i, i)
	}
	fsys := fstest.MapFS{
		"countries.csv": {Data: []byte(table.String())},
		"s.yaml": {
			Data: []byte(
				"version: 1\nname: s\ntargets: [{name: pro, model: svc-pro}]\nprompts: [{name: q, text: \"What is the capital of {{.country}}? " +
					"{{.note}}\"}]\n" +
					"cases: [{dataset: countries.csv, name: \"{{.country}}\", scorers: [{contains: \"{{.capital}}\"}, {finishReason: STOP}]}]\n",
			),
		},
	}
	for b.Loop() {
		var diags diag.List
		s := suite.Load(fsys, "s.yaml", scorers.Builtin(), suite.Options{}, &diags)
		expect.OK(b, diags.Err())
		if n := runner.NewPlan([]*suite.Suite{s}, scorers.Builtin(), runner.Filter{}, "v1").Size(); n != rows {
			b.Fatalf("got %v, want %d", n, rows)
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/plan")
}
