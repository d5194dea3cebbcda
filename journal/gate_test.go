package journal

import (
	"encoding/json"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/wirejson"
)

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
