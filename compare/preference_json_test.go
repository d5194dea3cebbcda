package compare_test

import (
	"testing"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// JSON has the ranking of a suite next to its counts, with the list of the best after the arms.
func TestJSONOfPreferencesHasTheRanking(t *testing.T) {
	t.Parallel()
	s := compare.SuitePreferences{Suite: "s", Invalid: "no", Warnings: []string{"w"}}
	s.PreferenceRanking = compare.PreferenceRanking{Arms: []compare.PreferredArm{{Arm: "a"}, {Arm: "b", Best: true}}, Level: 0.95, Why: "why"}
	data, err := wirejson.Marshal(s)
	expect.OK(t, err)
	expect.Same(
		t, "the JSON", string(data),
		`{"suite":"s","verdict":"invalid","invalid":"no","counts":{"pairs":0,"ties":0,"unjudged":0,"same":0,"contradict`+
			`ed":0,"firstPlace":{"chosen":0,"of":0}},"warnings":["w"],"arms":[{"arm":"a","strength":null,"preference":null,`+
			`"interval":null,"best":false,"group":0,"wins":0,"losses":0,"ties":0,"cost":null,"tokens":null,"latencyP50Ms":n`+
			`ull,"latencyP95Ms":null},{"arm":"b","strength":null,"preference":null,"interval":null,"best":true,"group":0,"w`+
			`ins":0,"losses":0,"ties":0,"cost":null,"tokens":null,"latencyP50Ms":null,"latencyP95Ms":null}],"best":["b"],"l`+
			`evel":0.95,"units":0,"ties":0,"pairs":null,"why":"why"}`,
	)
}
