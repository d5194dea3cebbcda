package eval_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// near reports whether two numbers agree to the digits of the published ones.
func near(a, b float64) bool { return math.Abs(a-b) < 1e-8 }

func TestMetricsHavePublishedValues(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/vectors.json")
	expect.OK(t, err)
	var vectors []struct {
		Source          string
		Labels, Answers []string
		Want            map[string]float64
	}
	expect.OK(t, json.Unmarshal(data, &vectors))
	for _, v := range vectors {
		m := eval.NewMatrix(nil)
		for i, label := range v.Labels {
			m.Add(eval.Pair{Expected: label, Answer: v.Answers[i]}, 1)
		}
		for name, want := range v.Want {
			if got, ok := m.Value(name); !ok || !near(got, want) {
				t.Errorf("%s: %s is %v (%v), want %v", v.Source, name, got, ok, want)
			}
		}
	}
}

// TestKappaIsThatOfCohensTables has the tables by which kappa is mostly explained: A a, A b, B a, B b.
func TestKappaIsThatOfCohensTables(t *testing.T) {
	t.Parallel()
	for counts, want := range map[[4]float64]float64{{20, 5, 10, 15}: 0.4, {45, 15, 25, 15}: 0.1304, {25, 35, 5, 35}: 0.2593} {
		m := eval.NewMatrix([]string{"a", "b"})
		for i, n := range counts {
			m.Add(eval.Pair{Expected: m.Classes[i/2], Answer: m.Classes[i%2]}, n)
		}
		if got, ok := m.Value(eval.Kappa); !ok || math.Abs(got-want) > 5e-5 {
			t.Errorf("kappa of %v is %v (%v), want %v", counts, got, ok, want)
		}
	}
}

func TestMetricsOfNothingAreUndefined(t *testing.T) {
	t.Parallel()
	empty := eval.NewMatrix([]string{"a", "b"})
	for _, name := range eval.ClassMetrics(empty.Classes) {
		if v, ok := empty.Value(name); ok {
			t.Errorf("%s of nothing is %v, want undefined", name, v)
		}
	}
	one := eval.NewMatrix([]string{"a", "b"})
	one.Add(eval.Pair{Expected: "a", Answer: "a"}, 3)
	for name, want := range map[string]bool{
		"kappa": false, "recall.a": true, "recall.b": false, "precision.b": false, "f1.b": false,
		"accuracy": true, "recall.c": false, "nonsense": false,
	} {
		_, ok := one.Value(name)
		expect.Same(t, name+" is defined", ok, want)
	}
	one.Add(eval.Pair{Expected: "b"}, 1) // never answered, and it has a case
	for name, want := range map[string]float64{"precision.b": 0, "recall.b": 0, "f1.b": 0, "macroPrecision": 0.5} {
		got, ok := one.Value(name)
		expect.Same(t, name, got, want)
		expect.Same(t, name+" is defined", ok, true)
	}
	expect.Same(t, "marks", one.Report().Classes[1].Undefined, []string{"precision"})
	expect.Same(t, "no kappa of nothing", empty.Report().Kappa == nil, true)
}

// drawn is a matrix of up to 12 classes with fractions, as repeats make them.
func drawn(rng *rand.Rand) *eval.Matrix {
	var classes []string
	for i := range 2 + rng.IntN(11) {
		classes = append(classes, fmt.Sprintf("class.%d", i))
	}
	m := eval.NewMatrix(classes)
	for range 1 + rng.IntN(60) {
		p := eval.Pair{Expected: classes[rng.IntN(len(classes))]}
		if i := rng.IntN(len(classes) + 1); i < len(classes) {
			p.Answer = classes[i]
		}
		m.Add(p, 1/float64(1+rng.IntN(3)))
	}
	return m
}

// changed is the matrix in another order of classes, with all counts times a factor.
func changed(m *eval.Matrix, order []int, factor float64) *eval.Matrix {
	var classes []string
	for _, i := range order {
		classes = append(classes, m.Classes[i])
	}
	out := eval.NewMatrix(append(classes, "unused"))
	for i, row := range m.Counts {
		for j, n := range row {
			p := eval.Pair{Expected: m.Classes[i]}
			if j < len(m.Classes) {
				p.Answer = m.Classes[j]
			}
			out.Add(p, factor*n)
		}
	}
	return out
}

func TestMetricsKeepTheirLawsOnDrawnMatrices(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		m := drawn(rng)
		other := changed(m, rng.Perm(len(m.Classes)), 0.25+rng.Float64())
		for _, name := range eval.ClassMetrics(m.Classes) {
			v, ok := m.Value(name)
			w, okToo := other.Value(name)
			if ok != okToo || math.Abs(v-w) > 1e-9 {
				t.Errorf("%s of one order, scale and set of classes: got %v (%v), of another %v (%v), want the same", name, v, ok, w, okToo)
			}
			if low := map[bool]float64{true: -1, false: 0}[name == "kappa"]; ok && (math.IsNaN(v) || v < low || v > 1+1e-12) {
				t.Errorf("%s is %v, want one from -1 (kappa) or 0 to 1", name, v)
			}
			if one, _, single := strings.Cut(name, "."); single && one == "f1" {
				p, _ := m.Value("precision" + strings.TrimPrefix(name, "f1"))
				r, _ := m.Value("recall" + strings.TrimPrefix(name, "f1"))
				if p+r > 0 && math.Abs(v-2*p*r/(p+r)) > 1e-9 {
					t.Errorf("%s: got %v, want the harmonic mean of %v and %v", name, v, p, r)
				}
			}
		}
		accuracy, _ := m.Value("accuracy")
		recall, _ := m.Value("weightedRecall")
		expect.Same(t, "weighted recall", recall, accuracy)
		r := m.Report()
		expect.Same(t, "accuracy of the report", r.Accuracy, accuracy)
		expect.Same(t, "matrix of the report", r.Matrix, m.Counts)
	}
}

func TestMarginsAreUndoneByTheOppositeAdd(t *testing.T) {
	t.Parallel()
	m := drawn(rand.New(rand.NewPCG(3, 4)))
	g, want := m.Margins(), m.Margins()
	g.Add(0, 1, 2)
	g.Add(1, len(m.Classes), 0.5)
	g.Add(0, 1, -2)
	g.Add(1, len(m.Classes), -0.5)
	for i, v := range slices.Concat(g.Right, g.Support, g.Answered, []float64{g.Total}) {
		if w := slices.Concat(want.Right, want.Support, want.Answered, []float64{want.Total})[i]; math.Abs(v-w) > 1e-12 {
			t.Errorf("margin %d is %v, want %v", i, v, w)
		}
	}
}

func TestClassesAreFoundWithoutCaseAndSpace(t *testing.T) {
	t.Parallel()
	classes := []string{"Refund", "new  order", "caf\u00e9", "stra\u00dfe", "1", "1.0", `"x"`}
	for text, want := range map[string]int{
		" refund\n": 0, "NEW ORDER": 1, "new\torder": 1, "cafe\u0301": 2, "STRASSE": 3, "1": 4, "1.0": 5, "01": -1,
		"x": -1, `"X"`: 6, "refund.": -1,
		"": -1, "neworder": -1,
	} {
		expect.Same(t, fmt.Sprintf("class of %q", text), eval.ClassOf(classes, text), want)
	}
}

func TestMetricsAreParsedByName(t *testing.T) {
	t.Parallel()
	classes := []string{"a", "b.c", ""}
	for name, want := range map[string]bool{
		"recall.b.c": true, "f1.a": true, "f2.a": false, "recall.d": false,
		"macroF1": true, "macrof1": false, "a": false,
	} {
		_, ok := eval.ParseMetric(name, classes)
		expect.Same(t, name, ok, want)
	}
	for _, name := range eval.ClassMetrics(classes) {
		if _, ok := eval.ParseMetric(name, classes); !ok {
			t.Errorf("%q is among the names: got no metric of it, want one", name)
		}
	}
}

func TestLargestConfusionsComeFirst(t *testing.T) {
	t.Parallel()
	m := eval.NewMatrix([]string{"a", "b"})
	for p, n := range map[eval.Pair]float64{
		{Expected: "a", Answer: "a"}: 9, {Expected: "a", Answer: "b"}: 2, {Expected: "b"}: 3, {Expected: "b", Answer: "a"}: 2,
	} {
		m.Add(p, n)
	}
	want := []eval.Confusion{
		{Pair: eval.Pair{Expected: "b"}, Count: 3},
		{Pair: eval.Pair{Expected: "a", Answer: "b"}, Count: 2},
		{Pair: eval.Pair{Expected: "b", Answer: "a"}, Count: 2},
	}
	expect.Same(t, "confusions", m.Confusions(5), want)
	expect.Same(t, "the first", m.Confusions(1), want[:1])
}
