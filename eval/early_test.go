package eval

import (
	"encoding/json"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// Run files of all versions have stops of all kinds in one form, with all keys in this order.
func TestStopsAreReadAsTheirKindAndWrittenAgain(t *testing.T) {
	t.Parallel()
	arm := func(units int, unused ...string) StoppedArm { return StoppedArm{"s", "t/p", units, 9, unused} }
	for text, want := range map[string]ArmStop{
		`{"suite":"s","arm":"t/p","verdict":"not_worse","units":5,"of":9,"logE":{"blocked":3.5,"pass":3},"alpha":0.05,` +
			`"base":"t/a","metrics":[{"name":"pass","margin":0.1},{"name":"blocked","margin":0.2}],"extra":["1","2"]}`: &KnownVerdict{
			StoppedArm: arm(5, "1", "2"), Verdict: NotWorse, LogE: map[string]float64{"pass": 3, "blocked": 3.5}, Alpha: 0.05, Base: "t/a",
			Metrics: []MetricMargin{{Name: "pass", Margin: 0.1}, {Name: "blocked", Margin: 0.2}},
		},
		`{"suite":"s","arm":"t/p","verdict":"inconclusive","metric":"passRate","units":2,"of":9,"logE":{},"alpha":0}`: &KnownVerdict{
			StoppedArm: arm(2), Verdict: Inconclusive, Metric: "passRate", LogE: map[string]float64{},
		},
		`{"suite":"s","arm":"t/p","verdict":"","metric":"pass","units":4,"of":9,"logE":{"pass":4.5},"alpha":0.05,"base":"t/b",` +
			`"race":true,"extra":["3"]}`: &RaceExit{StoppedArm: arm(4, "3"), Metric: "pass", Behind: "t/b", LogE: 4.5, Alpha: 0.05},
		`{"suite":"s","arm":"t/p","verdict":"","units":6,"of":9,"logE":null,"alpha":0}`: &BaseExit{arm(6)},
	} {
		got, err := Read([]byte(text))
		expect.OK(t, err)
		expect.Same(t, text, got, want)
		again, err := wirejson.Append(nil, got)
		expect.OK(t, err)
		expect.Same(t, "written again", string(again), text)
	}
	_, err := Read([]byte(`{"suite":1}`))
	if err == nil {
		t.Error("got no error for a suite that is a number, want one")
	}
}

// A stop of each kind reads back by itself too, also when nothing of it is set.
func TestEachKindReadsBack(t *testing.T) {
	t.Parallel()
	arm := StoppedArm{"s <&>", "t/p", 5, 9, []string{"1", "\u2028"}}
	readsBack(t, KnownVerdict{})
	readsBack(t, RaceExit{})
	readsBack(t, BaseExit{})
	readsBack(t, KnownVerdict{
		arm, Regressed, "pass", map[string]float64{"pass": 0.25, "m": -1}, 0.05, "base", []MetricMargin{
			{Name: "m", Margin: 0.1, Cap: 2, Strict: true},
		},
	})
	readsBack(t, RaceExit{arm, "m", "t/q", 0.5, 0.05})
	readsBack(t, BaseExit{arm})
}

func readsBack[T any](t *testing.T, want T) {
	t.Helper()
	standard, err := wirejson.Marshal(want)
	expect.OK(t, err)
	fast, err := wirejson.Append(nil, &want)
	expect.OK(t, err)
	expect.Same(t, "Append against Marshal", string(fast), string(standard))
	var got T
	expect.OK(t, json.Unmarshal(fast, &got))
	expect.Same(t, string(fast), got, want)
}
