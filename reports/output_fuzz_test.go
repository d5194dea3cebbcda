package reports

import (
	"errors"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/internal/testing/hostile"
)

// FuzzParseOutputs holds that two values of -o without a path are refused as bad input.
func FuzzParseOutputs(f *testing.F) {
	for _, s := range append(hostile.Strings(), "json", "json=", "junit=x.xml", "out.xml", "a.b=c", "table") {
		f.Add(s, "table")
	}
	hasPath := func(v string) bool { _, path, _ := strings.Cut(v, "="); return path != "" }
	f.Fuzz(func(t *testing.T, a, b string) {
		if hasPath(a) || hasPath(b) {
			return // a path would be tried
		}
		out, err := ParseOutputs([]string{a, b}, rundir.At("").Join)
		if err != nil {
			var coded *eval.CodedError
			if !errors.As(err, &coded) || coded.Code != eval.CodeBadInput {
				t.Errorf("got %v, want exit code %d", err, eval.CodeBadInput)
			}
			return
		}
		// Without a path both would go to standard output.
		t.Errorf("got %+v, want an error", out)
	})
}
