package compare

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// preferredSides are two sides between whose answers a judge has preferences: one value for each repeat of each case.
func preferredSides(cluster func(i int) string, cases ...[]float64) (base, head *Side) {
	base, head = &Side{Run: "a", Suite: "s", Arm: "x"}, &Side{Run: "b", Suite: "s", Arm: "x"}
	for i, repeats := range cases {
		c := CaseTotals{Name: fmt.Sprint(i), ID: fmt.Sprint(i), Passed: 1, Ran: 1, Cluster: cluster(i)}
		base.Cases = append(base.Cases, &c)
		for _, v := range repeats {
			c.HeadPreferred.Add(v)
		}
		head.Cases = append(head.Cases, &c)
	}
	return base, head
}

func preferenceOf(t *testing.T, base, head *Side, margin float64) MetricComparison {
	t.Helper()
	o := Options{Alpha: 0.05, MaxErrors: 0.01}
	if margin > 0 {
		o.Margins = []eval.MetricMargin{{Name: eval.MetricPreference, Margin: margin}}
	}
	arms := []ArmComparison{Compare(base, head, o)}
	Decide(arms, everywhere(o))
	for _, m := range arms[0].Metrics {
		if m.Name == eval.MetricPreference {
			return m
		}
	}
	return MetricComparison{}
}

func alone(int) string { return "" }

func repeated(n int, values ...float64) (out [][]float64) {
	for i := range n {
		out = append(out, []float64{values[i%len(values)]})
	}
	return out
}

// The case is the unit, its repeats averaged, and clusters count as one; what was not scored counts nowhere.
func TestPreferenceUnitsAreCasesAndClusters(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		cluster func(int) string
		cases   [][]float64
		n       int
		head    float64
	}{
		"each once":         {alone, [][]float64{{1}, {0}, {0.5}, {1}}, 4, 0.625},
		"repeats":           {alone, [][]float64{{1, 1, 1, 0}, {0}}, 2, 0.375},
		"some unjudged":     {alone, [][]float64{{1}, nil, {0.5}}, 2, 0.75},
		"clusters":          {func(i int) string { return fmt.Sprint(i / 2) }, [][]float64{{1}, {1}, {0}, {0.5}}, 2, 0.625},
		"one large cluster": {func(i int) string { return map[bool]string{true: "big"}[i > 0] }, [][]float64{{0}, {1}, {1}, {1}}, 2, 0.75},
		"nothing":           {alone, [][]float64{nil, nil}, 0, 0},
	} {
		base, head := preferredSides(test.cluster, test.cases...)
		m := preferenceOf(t, base, head, 0)
		if m.N != test.n || math.Abs(m.Head-test.head) > 1e-12 || m.N > 0 && (m.Base != 0.5 || math.Abs(m.Estimate-(m.Head-0.5)) > 1e-12) {
			t.Errorf("%s: %+v, want %d cases and %g against 0.5", name, m, test.n, test.head)
		}
		if m.N > 0 &&
			(m.Interval[0] < -0.5 || m.Interval[1] > 0.5 || m.Interval[0] > m.Estimate || m.Interval[1] < m.Estimate || m.Verdict != "") {
			t.Errorf("%s: %v, want one around the estimate within 0.5, and no verdict", name, *m.Interval)
		}
	}
}

// Head and base are treated alike, but for the draws of the sign-flip test, and the margin is in points of the preference.
func TestPreferenceVerdictsTreatBothSidesAlike(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		cases  [][]float64
		margin float64
		want   eval.Verdict
	}{
		"all for head":             {repeated(30, 1), 0.05, eval.Improved},
		"all for base":             {repeated(30, 0), 0.05, eval.Regressed},
		"three of four":            {repeated(60, 1, 1, 1, 0), 0.05, eval.Improved},
		"one of four":              {repeated(60, 1, 0, 0, 0), 0.05, eval.Regressed},
		"even, a narrow margin":    {repeated(60, 1, 0), 0.05, eval.Inconclusive},
		"even, a wide margin":      {repeated(60, 1, 0), 0.2, eval.NotWorse},
		"ties, a margin too small": {repeated(20, 0.5), 0.05, eval.Inconclusive},
		"ties":                     {repeated(60, 0.5), 0.05, eval.NotWorse},
		"nothing":                  {[][]float64{nil}, 0.05, eval.Invalid},
	} {
		base, head := preferredSides(alone, test.cases...)
		m := preferenceOf(t, base, head, test.margin)
		expect.Same(t, name+": verdict", m.Verdict, test.want)
		if m.N == 0 {
			continue
		}
		mirrored := make([][]float64, len(test.cases))
		for i, c := range test.cases {
			mirrored[i] = []float64{1 - c[0]}
		}
		base, head = preferredSides(alone, mirrored...)
		if o := preferenceOf(t, base, head, test.margin); math.Abs(o.Interval[0]+m.Interval[1]) > 1e-9 ||
			math.Abs(*o.PWorse-*m.PBetter) > 0.02 || o.Gained != m.Regressed {
			t.Errorf("%s: mirrored %+v, want the interval, the p values and the losses of %+v", name, o, m)
		}
	}
}

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
	want := PairCounts{Pairs: 7, Wins: 2, Losses: 1, Ties: 1, Unjudged: 3, Why: []PairProblem{{"no text", 2}, {"no ruling", 1}}}
	if !reflect.DeepEqual(total, want) {
		t.Errorf("got %+v, want %+v", total, want)
	}
}
