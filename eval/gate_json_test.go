package eval

import (
	"encoding/json"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// Run files of all versions have the base of a rule under the keys of its kind, before all others.
func TestTheBaseOfARuleHasTheKeysOfItsKind(t *testing.T) {
	t.Parallel()
	const rest = `"alpha":0.05,"onInconclusive":"warn","metrics":[{"name":"pass","margin":0.1}],"stopEarly":true,` +
		`"minPaired":0.5,"allowRemoved":["a<b"]}`
	for text, want := range map[string]Base{
		`{"run":"main",` + rest:                             BaseRun{Name: "main"},
		`{"run":"main","path":"/a<b","runId":"r-1",` + rest: BaseRun{Name: "main", Path: "/a<b", ID: "r-1"},
		`{"runId":"r-1",` + rest:                            BaseRun{ID: "r-1"},
		`{` + rest:                                          BaseRun{},
		`{"arm":"t/p",` + rest:                              BaseArm{Name: "t/p"},
		`{"suffix":"@main",` + rest:                         BaseVersion{Suffix: "@main"},
		`{"alpha":0,"onInconclusive":"","metrics":null}`:    BaseRun{},
	} {
		var rule BaselineRule
		expect.OK(t, json.Unmarshal([]byte(text), &rule))
		expect.Same(t, text, rule.Against, want)
		again, err := wirejson.Append(nil, GateConfig{Baseline: &rule})
		expect.OK(t, err)
		expect.Same(t, "written again", string(again), `{"errorsMax":0,"baseline":`+text+`}`)
	}
}
