package stats

import (
	"math"
	"testing"
)

func TestFleissKappaIsThatOfTheTextbook(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		rows [][]int
		want float64
		ok   bool
	}{
		// Fourteen raters, ten subjects, five categories: a textbook example, worked out by hand.
		{[][]int{
			{0, 0, 0, 0, 14},
			{0, 2, 6, 4, 2},
			{0, 0, 3, 5, 6},
			{0, 3, 9, 2, 0},
			{2, 2, 8, 1, 1},
			{7, 7, 0, 0, 0},
			{3, 2, 6, 3, 0},
			{2, 5, 3, 2, 2},
			{6, 5, 2, 1, 0},
			{0, 2, 2, 3, 7},
		}, 0.20993070442195522, true},
		{[][]int{{3, 0}, {0, 3}}, 1, true},
		{[][]int{{1, 1}, {1, 1}}, -1, true},
		{[][]int{{3, 0}, {3, 0}}, 0, false}, // one category
		{[][]int{{1, 0}, {0, 1}}, 0, false}, // one rater
		{[][]int{{2, 0}, {1, 2}}, 0, false},
		{[][]int{{2, 0}, {2}}, 0, false},
		{[][]int{{3, -1}, {1, 1}}, 0, false},
		{[][]int{{}}, 0, false},
		{nil, 0, false},
	} {
		got, ok := FleissKappa(test.rows)
		if ok != test.ok || math.Abs(got-test.want) > 1e-12 {
			t.Errorf("%v: %.17g %v, want %g %v", test.rows, got, ok, test.want, test.ok)
		}
	}
}
