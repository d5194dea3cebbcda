package compare

import (
	"fmt"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// judged are sides whose pairs of different answers a judge ruled on: in the first cases it contradicted itself.
func judged(cases, contradicted, repeats int, cluster string) (base, head *Side, preference *ArmPreference) {
	base, head, preference = &Side{Run: "b"}, &Side{Run: "h"}, &ArmPreference{}
	for i := range cases {
		c := CaseTotals{Name: fmt.Sprint(i), ID: fmt.Sprint(i), Cluster: cluster, Passed: repeats, Ran: repeats}
		base.Cases = append(base.Cases, &c)
		for range repeats {
			preference.AddJudged(0.5)
			preference.AddTurned(&c, i < contradicted)
			if i < contradicted {
				preference.AddPlaces(&c, 2, 0)
			}
		}
		head.Cases = append(head.Cases, &c)
	}
	return base, head, preference
}

// A judge is unreliable when it is sure, at 95 %, that it contradicts itself in more than half of the pairs. Cases count, not repeats,
// and a cluster counts as one.
func TestAJudgeThatContradictsItselfIsUnreliable(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name                         string
		cases, contradicted, repeats int
		cluster                      string
		unreliable                   bool
	}{
		{"never", 30, 0, 1, "", false},
		{"all of too few", 4, 4, 1, "", false},
		{"all of few", 5, 5, 1, "", true},
		{"31 of 50, from 49.4 %", 50, 31, 1, "", false},
		{"32 of 50, from 51.4 %", 50, 32, 1, "", true},
		{"all repeats of too few", 4, 4, 20, "", false},
		{"all repeats of few", 5, 5, 20, "", true},
		{"all of one cluster", 30, 30, 1, "c", false},
		{"no pair of different answers", 30, 0, 0, "", false},
	} {
		base, head, preference := judged(test.cases, test.contradicted, test.repeats, test.cluster)
		preference.MeasureBias(base, head, Options{Alpha: 0.05})
		expect.Same(t, test.name, preference.Unreliable != "", test.unreliable)
	}
}

// The interval of the first place is over cases: exact where each case has one answer, wider than that of its rulings.
func TestFirstPlaceIntervalIsOverCases(t *testing.T) {
	t.Parallel()
	interval := func(base, head *Side, preference *ArmPreference) [2]float64 {
		preference.MeasureBias(base, head, Options{Alpha: 0.05})
		expect.Same(t, "intervals", preference.FirstPlace.Interval != nil, true)
		return *preference.FirstPlace.Interval
	}
	got := interval(judged(10, 10, 3, ""))
	expect.Same(t, "ten cases, always the first", fmt.Sprintf("%.4f %.4f", got[0], got[1]), "0.7411 1.0000")

	base, head, preference := judged(10, 0, 1, "")
	for _, c := range head.Cases {
		preference.AddPlaces(c, 1, 1)
	}
	got = interval(base, head, preference)
	expect.Same(t, "ten cases, no preference", got[0] < 0.5 && got[1] > 0.5 && got[0] > 0.2 && got[1] < 0.8, true)

	base, head, preference = judged(10, 0, 1, "")
	preference.MeasureBias(base, head, Options{Alpha: 0.05})
	expect.Same(t, "nothing but ties", preference.FirstPlace.Interval, nil)
}
