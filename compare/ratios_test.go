package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

func TestRepeatsAreAveragedAndClustersCountOnce(t *testing.T) {
	t.Parallel()
	base, head := side("base", 3, slices.Repeat([]int{3}, 60)...), side("head", 3, slices.Repeat([]int{3, 2}, 30)...)
	a := decided(base, head, options(0.05, passMargin(0.05)))
	if m := a.Metrics[0]; m.N != 60 || math.Abs(m.Estimate+1.0/6) > 1e-12 || m.Verdict != eval.Regressed {
		t.Errorf("%+v, want 60 cases that lose 1/6, and the verdict %s", m, eval.Regressed)
	}
	for _, s := range []*Side{base, head} {
		updateAll(s, func(i int, c *CaseTotals) { c.Cluster = fmt.Sprint(i / 6) })
	}
	a = decided(base, head, options(0.05, passMargin(0.05)))
	if m := a.Metrics[0]; m.N != 10 || a.Cases.Units != 10 || a.Cases.Paired != 60 || !strings.Contains(m.Test, "clusters") {
		t.Errorf("%+v, want 60 cases in 10 clusters", m)
	}
}

func TestMoreBlocksLatencyAndTokensAreWorse(t *testing.T) {
	t.Parallel()
	base, head := flipped(200, 0, 0)
	updateAll(head, func(i int, c *CaseTotals) {
		c.LatencyMs, c.Tokens = eval.Sum{Total: 200 + float64(i%7), N: 1}, eval.Sum{Total: 20 + float64(i%3), N: 1}
		if i%4 == 0 {
			c.Blocked = 1
		}
	})
	a := decided(base, head, options(
		0.05, passMargin(0.05), eval.MetricMargin{Name: eval.MetricBlocked, Margin: 0.05},
		eval.MetricMargin{Name: eval.MetricLatency, Margin: 1.1}, eval.MetricMargin{Name: eval.MetricTokens, Margin: 1.1},
	))
	for _, m := range a.Metrics {
		want := eval.Regressed
		if m.Name == eval.MetricPass {
			want = eval.NotWorse
		}
		if m.Verdict != want || m.Interval == nil || m.Interval[0] > m.Estimate || m.Interval[1] < m.Estimate {
			t.Errorf("%+v, want %s, and an interval around the estimate", m, want)
		}
	}
	expect.Same(t, "verdict", a.Verdict, eval.Regressed)
}

func TestUnmeasuredRatiosAreNeitherFasterNorSlower(t *testing.T) {
	t.Parallel()
	base, head := flipped(200, 0, 0)
	updateAll(base, func(_ int, c *CaseTotals) { c.LatencyMs = eval.Sum{Total: 200, N: 1} })
	updateAll(head, func(_ int, c *CaseTotals) { c.LatencyMs = eval.Sum{Total: 0, N: 1} })
	for _, sides := range [][2]*Side{{base, head}, {head, base}} {
		a := decided(sides[0], sides[1], options(0.05, eval.MetricMargin{Name: eval.MetricLatency, Margin: 1.1}))
		at := slices.IndexFunc(a.Metrics, func(m MetricComparison) bool { return m.Name == eval.MetricLatency })
		if m := a.Metrics[at]; m.N != 0 || m.Verdict != eval.Invalid {
			t.Errorf("got n %d and verdict %q, want 0 and %q", m.N, m.Verdict, eval.Invalid)
		}
	}
}

// What is shown of the two sides of a ratio makes that ratio, however uneven the cases are.
func TestSidesMakeTheRatio(t *testing.T) {
	t.Parallel()
	base, head := flipped(60, 0, 0)
	uneven := func(i int) float64 { return float64(1 + i*i) }
	updateAll(base, func(i int, c *CaseTotals) {
		c.LatencyMs, c.Tokens = eval.Sum{Total: uneven(i), N: 1}, eval.Sum{Total: uneven(i), N: 1}
	})
	updateAll(head, func(i int, c *CaseTotals) {
		c.LatencyMs, c.Tokens = eval.Sum{Total: 900 / uneven(i), N: 1}, eval.Sum{Total: 900 / uneven(i), N: 1}
	})
	a := decided(
		base, head,
		options(0.05, eval.MetricMargin{Name: eval.MetricLatency, Margin: 1.1}, eval.MetricMargin{Name: eval.MetricTokens, Margin: 1.1}),
	)
	seen := 0
	for _, m := range a.Metrics {
		if !eval.IsRatio(m.Name) {
			continue
		}
		seen++
		if got := m.Head / m.Base; math.Abs(got/m.Estimate-1) > 1e-9 {
			t.Errorf("%[1]s from %[2]g to %[3]g: got x %[5]g, want x %[4]g", m.Name, m.Base, m.Head, got, m.Estimate)
		}
	}
	expect.Same(t, "seen", seen, 2)
}
