package compare_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// passing is an arm of cases with these numbers of passed and failed repeats.
func passing(cases ...[2]int) *compare.Side {
	s := &compare.Side{Suite: "s", Arm: "a"}
	for i, c := range cases {
		s.Cases = append(s.Cases, &compare.CaseTotals{Name: fmt.Sprint(i), ID: fmt.Sprint(i), Passed: c[0], Failed: c[1], Ran: c[0] + c[1]})
	}
	return s
}

func binary(passed, failed int) *compare.Side {
	return passing(append(make2(passed, [2]int{1, 0}), make2(failed, [2]int{0, 1})...)...)
}

func make2(n int, c [2]int) (out [][2]int) {
	for range n {
		out = append(out, c)
	}
	return out
}

func close3(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 5e-4 {
		t.Errorf("%s: got %.5f, want %.5f", what, got, want)
	}
}

// Bounds of cases that run once are those of Clopper and Pearson; the values are R's binom.test.
func TestPassRateBoundsAreThoseOfClopperAndPearson(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		passed, failed int
		lower, upper   float64
	}{{19, 1, 0.7839, 0.9974}, {20, 0, 0.8609, 1}, {0, 20, 0, 0.1391}, {9, 1, 0.6058, 0.9949}, {96, 4, 0.9109, 0.9862}} {
		b := compare.PassRateBounds(binary(c.passed, c.failed), 0.05, false)
		close3(t, fmt.Sprint("lower of ", c), b.Lower, c.lower)
		close3(t, fmt.Sprint("upper of ", c), b.Upper, c.upper)
		always := compare.PassRateBounds(binary(c.passed, c.failed), 0.05, true)
		if always.Lower > b.Lower || always.Upper < b.Upper {
			t.Errorf("%v: got %v for an arm that stopped, want no less than %v", c, always, b)
		}
	}
	none := compare.PassRateBounds(passing(), 0.05, false)
	expect.Same(t, "nothing", none, compare.RateBounds{Upper: 1})
}

// Repeats, equal requests and clusters add no units, and errors may have passed or failed.
func TestPassRateBoundsCountUnits(t *testing.T) {
	t.Parallel()
	once, thrice := binary(19, 1), passing(append(make2(19, [2]int{3, 0}), [2]int{0, 3})...)
	same := compare.PassRateBounds(once, 0.05, false)
	expect.Same(t, "repeats that agree", compare.PassRateBounds(thrice, 0.05, false), same)
	clustered := binary(38, 2)
	for i, c := range clustered.Cases {
		c.Cluster = fmt.Sprint(i / 2)
	}
	expect.Same(t, "clusters that agree", compare.PassRateBounds(clustered, 0.05, false), same)
	uneven := binary(30, 0)
	for _, c := range uneven.Cases[:15] {
		c.Cluster = "large"
	}
	if b := compare.PassRateBounds(uneven, 0.05, false); b.Units != 16 || b.Lower > 0.6 {
		t.Errorf("got %+v of a cluster with half of the cases, want a bound for few units", b)
	}
	broken := binary(20, 0)
	for _, c := range broken.Cases[:2] {
		c.Passed, c.Errors = 0, 1
	}
	b, worst := compare.PassRateBounds(broken, 0.05, false), compare.PassRateBounds(binary(18, 2), 0.05, false)
	expect.Same(t, "lower bound with two errors", b.Lower, worst.Lower)
	expect.Same(t, "upper bound with two errors", b.Upper, 1.0)
}

// The probabilities are those of the design: R's pbinom for cases that run once, and simulation elsewhere.
func TestTheOutlookOfAPassRateIsExact(t *testing.T) {
	t.Parallel()
	o := compare.NewRateOutlook(binary(20, 0), 0.9)
	close3(t, "an arm at the limit fails", o.Fails, 0.3231)
	close3(t, "an arm below it holds", o.Holds, 0.2061)
	expect.Same(t, "failures that 100 cases allow", compare.MostFailures(100, 0.9, 0.05), 4)
	expect.Same(t, "failures that 20 cases allow", compare.MostFailures(20, 0.9, 0.05), -1)
	expect.Same(t, "failures that 29 cases allow", compare.MostFailures(29, 0.9, 0.05), 0)

	uneven := passing(append(make2(10, [2]int{2, 0}), make2(10, [2]int{3, 0})...)...)
	for i, c := range uneven.Cases[:6] {
		c.Cluster = fmt.Sprint(i / 3)
	}
	r, below := rand.New(rand.NewPCG(1, 2)), 0
	const draws = 100_000
	for range draws {
		sum := 0.0
		for i, c := range uneven.Cases {
			size := 1.0
			if i < 6 {
				if size = 3; i%3 != 0 {
					continue
				}
			}
			for range c.Ran {
				if r.Float64() < 0.8 {
					sum += size / float64(c.Ran)
				}
			}
		}
		if sum < 0.8*20-1e-9 {
			below++
		}
	}
	if got, want := compare.NewRateOutlook(uneven, 0.8).Fails, float64(below)/draws; math.Abs(got-want) > 0.006 {
		t.Errorf("got %.4f for clusters and repeats, want %.4f by simulation", got, want)
	}
}
