package journal

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/wirejson"
)

func TestHeaderIsReadWithoutTheTrials(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, true, result(0, eval.Pass))
	path := filepath.Join(dir, FileName)
	d, err := Open(dir)
	expect.OK(t, err)
	defer d.Close()
	for _, name := range []string{dir, path} {
		if run, err := Header(name); err != nil || run.ID != d.Run.ID {
			t.Errorf("%s: %v, %v, want %v", name, run, err, d.Run.ID)
		}
	}
	if _, err := Header(filepath.Join(dir, "nothing")); !errors.Is(err, ErrNoRun) {
		t.Errorf("no run: %v, want %v", err, ErrNoRun)
	}
	// what is damaged is read from the copy next to it
	data := read(t, path)
	data[20] ^= 1
	expect.OK(t, os.WriteFile(path, data, 0o600))
	if run, err := Header(dir); err != nil || run.ID != d.Run.ID {
		t.Errorf("a damaged head: %v, %v, want %v", run, err, d.Run.ID)
	}
	expect.OK(t, os.WriteFile(path, nil, 0o600))
	if run, err := Header(dir); err != nil || run.ID != d.Run.ID {
		t.Errorf("an empty file: %v, %v, want %v", run, err, d.Run.ID)
	}
	expect.OK(t, os.Remove(filepath.Join(dir, headerName)))
	if _, err := Header(dir); !errors.Is(err, errNoHeader) {
		t.Errorf("an empty file without a copy: %v, want %v", err, errNoHeader)
	}
}

// The standing of a rule is two booleans in JSON. One that is broken is never a warning.
func TestTheStandingOfARuleIsTwoBooleans(t *testing.T) {
	t.Parallel()
	const head, tail = `{"suite":"s","name":"n","arm":"a<b","value":null,"limit":0.05,"holds":`, `,"verdict":"regressed","why":"w"`
	for text, want := range map[string]RuleStanding{
		head + `false` + tail + `}`:               RuleBroken,
		head + `true` + tail + `}`:                RuleHolds,
		head + `true` + tail + `,"warned":true}`:  RuleWarned,
		head + `false` + tail + `,"warned":true}`: RuleBroken,
	} {
		var rule GateRule
		expect.OK(t, json.Unmarshal([]byte(text), &rule))
		expect.Same(t, text, rule.Standing, want)
		again, err := wirejson.Append(nil, &rule)
		expect.OK(t, err)
		if want == RuleBroken {
			text = head + `false` + tail + `}`
		}
		expect.Same(t, "written again", string(again), text)
	}
}

// A gate in a report is read back as it was, each field of it, by whichever encoder it is written.
func TestAGateReadsBack(t *testing.T) {
	t.Parallel()
	const odd = "text <&>\"\\\n\u2028é日本👍🏽"
	want := Gate{Exit: 3, Rules: []GateRule{
		{Suite: odd, RuleName: odd + "n", Arm: odd + "a", Found: RuleValue(0.25), Limit: 1e-9, Standing: RuleWarned, Why: odd + "w"},
		{Suite: "s", RuleName: "baseline", Found: RuleVerdict(odd + "v")},
		{Suite: "s", Limit: 0.5},
		{Standing: RuleHolds, Why: "w"},
	}}
	standard, err := wirejson.Marshal(want)
	expect.OK(t, err)
	fast, err := wirejson.Append(nil, &want)
	expect.OK(t, err)
	expect.Same(t, "Append against Marshal", string(fast), string(standard))
	var got Gate
	expect.OK(t, json.Unmarshal(fast, &got))
	expect.Same(t, "read back", got, want)
}

func TestRulesAreKnownByTheirNames(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name                  RuleName
		text                  string
		least, classification bool
	}{
		{RuleMean("tone"), "mean tone", true, false},
		{RuleClassification("kappa"), "classification kappa", true, true},
		{RulePassRate, "passRate", true, false},
		{RuleLatency, "latency p95", false, false},
		{RuleErrors, "errors", false, false},
		{"means", "means", false, false},
	} {
		expect.Same(t, "name", string(test.name), test.text)
		expect.Same(t, test.text+" has a least value", test.name.IsLeast(), test.least)
		expect.Same(t, test.text+" is about the classification", test.name.IsClassification(), test.classification)
	}
}
