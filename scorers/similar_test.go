package scorers_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/scorers"
)

// Vectors that have no cosine, and those at the ends of what a float64 holds.
func TestCosinesOfExtremeVectors(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	for _, bad := range [][2][]float64{{{1}, {1, 2}}, {{}, {}}, {nil, {1}}, {{nan}, {1}}, {{inf}, {1}}, {{1, nan}, {1, 1}}} {
		checkCosine(t, bad[0], bad[1], nil)
	}
	for _, v := range [][]float64{{1e200, 1e200}, {5e-324, 0}, {math.MaxFloat64, math.MaxFloat64}, {1e-200, 1e200}} {
		checkCosine(t, v, v, new(1.0))
	}
}

// checkCosine wants a similarity, or none for nil.
func checkCosine(t *testing.T, a, b []float64, want *float64) {
	t.Helper()
	got, ok := scorers.Cosine(a, b)
	if ok != (want != nil) || ok && math.Abs(got-*want) > 1e-12 {
		t.Errorf("%v %v: got %v %v, want %v", a, b, got, ok, want)
	}
}

func TestSimilarComparesVectorsWithTheReference(t *testing.T) {
	t.Parallel()
	known := map[string][]float64{"east": {1, 0}, "north": {0, 1}, "north-east": {1, 1}, "west": {-1, 0}, "nowhere": {0, 0}, "up": {0, 0, 1}}
	for entry, test := range map[string]struct {
		answer string
		value  float64
		passed bool
		reason string
	}{
		"- similar: {to: east, min: 0.7}": {
			"north-east", math.Sqrt2 / 2, true, `similarity 0.707 to "east", at least 0.7 is expected: "north-east"`,
		},
		"- similar: {to: east, min: 0.8}":                       {"north-east", math.Sqrt2 / 2, false, "similarity 0.707"},
		"- similar: {to: [west, north], min: 0.5}":              {"north-east", math.Sqrt2 / 2, true, `to "north"`},
		"- similar: {to: east, min: -1}":                        {"west", 0, true, "similarity -1.000"},
		"- similar: {to: east, min: 1}":                         {"east", 1, true, "similarity 1.000"},
		"- {similar: {to: east}, threshold: 0.5}":               {"north", 0, false, "similarity 0.000"},
		"- not: {similar: {to: west, min: 0.5}}":                {"east", 1, true, "not wanted"},
		"- any: [{equals: x}, {similar: {to: east, min: 0.9}}]": {"east", 1, true, "similarity"},
		"- similar: {to: nowhere, min: 0}":                      {"east", -1, false, "one of them is zero"},
		"- similar: {to: up, min: 0}":                           {"east", -1, false, "differ in length"},
	} {
		a := answer(test.answer)
		a.Context = &scorers.Context{}
		if first := score(t, entry, a); first.Passed() || !slices.Contains(a.Context.Vectors.Wanted, test.answer) {
			t.Errorf("%s: got %+v and the texts %q, want no pass and %q among them", entry, first, a.Context.Vectors.Wanted, test.answer)
		}
		a.Context = &scorers.Context{Vectors: scorers.Vectors{Known: known}}
		got := score(t, entry, a)
		if len(a.Context.Vectors.Wanted) > 0 || got.Passed() != test.passed || !strings.Contains(got.Reason, test.reason) {
			t.Errorf("%s: %+v, wanted %v", entry, got, a.Context.Vectors.Wanted)
		}
		if value := valueOf(got); math.Abs(value-test.value) > 1e-9 {
			t.Errorf("%s: got the value %v, want %v", entry, value, test.value)
		}
	}
}

func TestSimilarEmbedsNothingWithoutText(t *testing.T) {
	t.Parallel()
	empty := answer("")
	empty.Context = &scorers.Context{}
	if got := score(t, "- similar: {to: east, min: 0.5}", empty); got.Passed() || !isScored(got) || len(empty.Context.Vectors.Wanted) > 0 {
		t.Errorf("%+v, want the value of no pass, and nothing to embed", got)
	}
}

// What streams show: time to the first text, and chunks.
func TestStreamScorersReadTimeAndChunks(t *testing.T) {
	t.Parallel()
	streamed := func(first float64, chunks int, text string) *scorers.Answer {
		a := answer(text)
		a.Timing.FirstTokenMs, a.Timing.Chunks = first, chunks
		return a
	}
	for _, test := range []struct {
		entry          string
		a              *scorers.Answer
		passed, scored bool
	}{
		{"- firstToken: {max: 800ms}", streamed(800, 3, "x"), true, true},
		{"- firstToken: {max: 800ms}", streamed(800.1, 3, "x"), false, true},
		{"- firstToken: 1s", streamed(5, 3, "x"), true, true},
		{"- firstToken: {min: 1s}", streamed(5, 3, "x"), false, true},
		{"- firstToken: {max: 800ms}", streamed(0, 3, ""), false, true},
		{"- not: {firstToken: {max: 800ms}}", streamed(0, 3, ""), false, true},
		{"- firstToken: {max: 800ms}", answer("x"), false, false},
		{"- chunks: {min: 2}", streamed(1, 2, "x"), true, true},
		{"- chunks: {min: 2}", streamed(1, 1, "x"), false, true},
		{"- chunks: 3", streamed(1, 4, "x"), false, true},
		{"- chunks: {min: 2}", answer("x"), false, false},
	} {
		if got := score(t, test.entry, test.a); got.Passed() != test.passed || isScored(got) != test.scored {
			t.Errorf("%s: %+v, want passed %t, with a value: %t", test.entry, got, test.passed, test.scored)
		}
	}
}
