package eval_test

import (
	"encoding/json"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// The baseline has two keys in run files, at the place that they have had since version 0.1.
func TestTheBaselineHasItsKeysInRunFiles(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text string
		want eval.BaselineOption
		same bool // it is written as it was read
	}{
		"nothing":              {`{"record":"r","interleave":"s@main","out":"o"}`, nil, true},
		"a name":               {`{"record":"r","baseline":"main","interleave":"s@main","out":"o"}`, eval.NamedBaseline("main"), true},
		"none":                 {`{"record":"r","noBaseline":true,"race":"pass","out":"o"}`, eval.NoBaseline{}, true},
		"both, of version 0.1": {`{"baseline":"main","noBaseline":true}`, eval.NoBaseline{}, false},
	} {
		var o eval.Options
		expect.OK(t, json.Unmarshal([]byte(test.text), &o))
		expect.Same(t, name, o.Baseline, test.want)
		if test.same {
			again, err := wirejson.Append(nil, &o)
			expect.OK(t, err)
			expect.Same(t, name+", written again", string(again), test.text)
		}
	}
	var o eval.Options
	err := json.Unmarshal([]byte(`{"baseline":7,"out":"o"}`), &o)
	if err == nil || o.Out != "o" {
		t.Errorf("got %+v and %v, want the rest, and why the baseline could not be read", o.Out, err)
	}
}
