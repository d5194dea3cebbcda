package output

import (
	"errors"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/hostile"
	"github.com/evalrun/evalrun/internal/rundir"
)

// FuzzParse holds that values of -o are refused as bad input, or have a format each and standard output once.
func FuzzParse(f *testing.F) {
	for _, s := range append(hostile.Strings(), "json", "json=", "junit=x.xml", "out.xml", "a.b=c", "table") {
		f.Add(s, "table")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, v := range []string{a, b} {
			if _, path, _ := strings.Cut(v, "="); path != "" {
				return // a path would be tried
			}
		}
		out, err := Parse(rundir.At(""), []string{a, b})
		if err != nil {
			var coded *exit.Error
			if !errors.As(err, &coded) || coded.Code != exit.CodeBadInput {
				t.Error(err)
			}
			return
		}
		stdout := 0
		for _, o := range out {
			if o.Path == "" {
				stdout++
			}
			if o.Format == nil {
				t.Errorf("%+v", out)
			}
		}
		if stdout != 1 {
			t.Errorf("%d reports go to standard output", stdout)
		}
	})
}
