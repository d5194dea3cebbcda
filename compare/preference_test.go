package compare

import (
	"reflect"
	"testing"
)

// Pairs add up, over arms too, and a problem is counted once for all pairs that have it.
func TestPreferenceCountsAddUpOverArms(t *testing.T) {
	t.Parallel()
	var arm, other, total PairCounts
	for _, worth := range []float64{1, 0, 0.5, 1} {
		arm.AddJudged(worth)
	}
	arm.AddUnjudged("no text")
	other.AddUnjudged("no text")
	other.AddUnjudged("no ruling")
	total.Join(&arm)
	total.Join(&other)
	want := PairCounts{
		Pairs: 7, Wins: 2, Losses: 1,
		Ties: 1, Unjudged: 3, Why: []PairProblem{{"no text", 2}, {"no ruling", 1}},
	}
	if !reflect.DeepEqual(total, want) {
		t.Errorf("got %+v, want %+v", total, want)
	}
}
