package output

import (
	"errors"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/hostile"
	"github.com/evalrun/evalrun/internal/rundir"
)

// FuzzParse holds that two values of -o without a path are refused as bad input.
func FuzzParse(f *testing.F) {
	for _, s := range append(hostile.Strings(), "json", "json=", "junit=x.xml", "out.xml", "a.b=c", "table") {
		f.Add(s, "table")
	}
	hasPath := func(v string) bool { _, path, _ := strings.Cut(v, "="); return path != "" }
	f.Fuzz(func(t *testing.T, a, b string) {
		if hasPath(a) || hasPath(b) {
			return // a path would be tried
		}
		out, err := Parse(rundir.At(""), []string{a, b})
		if err != nil {
			var coded *exit.CodedError
			if !errors.As(err, &coded) || coded.Code != exit.CodeBadInput {
				t.Errorf("got %v, want exit code %d", err, exit.CodeBadInput)
			}
			return
		}
		// Without a path both would go to standard output.
		t.Errorf("got %+v, want an error", out)
	})
}
