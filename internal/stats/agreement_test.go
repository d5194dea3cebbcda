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

// Krippendorff's own example of four observers with missing ratings (Computing Krippendorff's Alpha-Reliability, 2011).
func TestKrippendorffAlpha(t *testing.T) {
	t.Parallel()
	var rows [][]int
	for _, ratings := range []string{"111", "22322", "3333", "3333", "2222", "1234", "4444", "1121", "2222", "555", "11", "3"} {
		row := make([]int, 6)
		for _, r := range ratings {
			row[r-'0']++
		}
		rows = append(rows, row)
	}
	rows[1] = []int{0, 0, 3, 1, 0, 0}
	alpha, ok := KrippendorffAlpha(rows)
	if want := 0.743; !ok || math.Abs(alpha-want) > 5e-4 {
		t.Errorf("got %g, want %g", alpha, want)
	}
	for name, rows := range map[string][][]int{"one category": {{2, 0}, {3, 0}}, "one rating each": {{1, 0}, {0, 1}}, "nothing": nil} {
		if alpha, ok := KrippendorffAlpha(rows); ok {
			t.Errorf("%s: got %g, want none", name, alpha)
		}
	}
}
