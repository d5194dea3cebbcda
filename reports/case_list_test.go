package reports_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/reports"
)

// The list of cases is bounded, counts what it leaves out, and says so when there is nothing.
func TestCaseListIsBounded(t *testing.T) {
	t.Parallel()
	for trials, want := range map[int]string{0: "no trials\n", 3: "\n fail  ", 406: " 3 cases not listed: 3 failed\n"} {
		var b bytes.Buffer
		if err := reports.CaseList(&b, manyFailures(t, trials, "\x1b[2Jx\n"), reports.Wanted{Case: "*"}, reports.Options{}); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); !strings.Contains(got, want) || strings.Contains(got, "\x1b") || strings.Count(got, "\n") > 201 {
			t.Errorf("%d trials: got %s\nwant the command for more, within 201 lines", trials, got)
		}
	}
}
