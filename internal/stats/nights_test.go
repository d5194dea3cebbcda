package stats

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// nightsVector is a series of nights with the evidence of every night, computed by another program.
type nightsVector struct {
	Nights     []string          // one character a case, - is missing
	Rows       []json.RawMessage // night, most, mean, weighed, streak, start, starts
	FirstAlarm int
}

func nightsVectors(t testing.TB) []nightsVector {
	t.Helper()
	raw, err := os.ReadFile("testdata/nights.json")
	expect.OK(t, err)
	var file struct{ Vectors []nightsVector }
	expect.OK(t, json.Unmarshal(raw, &file))
	expect.Same(t, "vectors", len(file.Vectors), 6)
	return file.Vectors
}

// results decodes a night.
func results(night string) []float64 {
	out := make([]float64, len(night))
	for i, c := range night {
		out[i] = map[rune]float64{'0': 0, '1': 1, '-': math.NaN()}[c]
	}
	return out
}

func ones(n int) []float64 { return slices.Repeat([]float64{1}, n) }

// TestNightsVectors compares the evidence of every night with that of another program.
func TestNightsVectors(t *testing.T) {
	t.Parallel()
	for _, v := range nightsVectors(t) {
		n, first := NewNights(ones(len(v.Nights[0]))), 0
		for i, night := range v.Nights {
			n.Add(results(night), 1)
			got := n.Fall()
			if first == 0 && got.Most() >= 1800 {
				first = i + 1
			}
			if i < NightsBefore {
				expect.Same(t, "evidence before the first start", got, NightEvidence{})
				continue
			}
			var row [6]float64
			var starts []int
			into := []any{&row[0], &row[1], &row[2], &row[3], &row[4], &row[5], &starts}
			expect.OK(t, json.Unmarshal(v.Rows[i-NightsBefore], &into))
			for k, value := range []float64{float64(i + 1), got.Most(), got.Mean, got.Weighed, got.Streak} {
				check(t, "evidence", value, row[k], 1e-8*row[k])
			}
			start, near := n.FallStarts()
			for k := range near {
				near[k]++
			}
			expect.Same(t, "start", start+1, int(row[5]))
			expect.Same(t, "starts", near, starts)
		}
		expect.Same(t, "first alarm", first, v.FirstAlarm)
	}
}

// TestNightsProperties: the order of cases and a constant added to one change no place, the order of nights does.
func TestNightsProperties(t *testing.T) {
	t.Parallel()
	for _, v := range nightsVectors(t) {
		var nights [][]float64
		for _, night := range v.Nights {
			nights = append(nights, results(night))
		}
		want := fallOf(nights)
		changed := func(change func(night []float64) []float64) []NightEvidence {
			var out [][]float64
			for _, night := range nights {
				out = append(out, change(slices.Clone(night)))
			}
			return fallOf(out)
		}
		turned := changed(func(night []float64) []float64 {
			slices.Reverse(night)
			return night
		})
		halved := changed(func(night []float64) []float64 {
			night[0] /= 2
			return night
		})
		raised := changed(func(night []float64) []float64 {
			night[0] = night[0]/2 + 0.25
			return night
		})
		for i, e := range want {
			same(t, "cases reversed", turned[i], e)
			raised[i].Streak = halved[i].Streak // other results are fails
			same(t, "a constant added to a case", raised[i], halved[i])
		}
		slices.Reverse(nights)
		if last := len(want) - 1; fallOf(nights)[last] == want[last] {
			t.Error("the nights reversed: the same evidence, want another one")
		}
	}
}

func fallOf(nights [][]float64) []NightEvidence {
	n := NewNights(ones(len(nights[0])))
	var out []NightEvidence
	for _, night := range nights {
		n.Add(night, 1)
		out = append(out, n.Fall())
	}
	return out
}

func same(t *testing.T, what string, got, want NightEvidence) {
	t.Helper()
	for _, pair := range [][2]float64{{got.Mean, want.Mean}, {got.Weighed, want.Weighed}, {got.Streak, want.Streak}} {
		check(t, what, pair[0], pair[1], 1e-8*pair[1])
	}
}
