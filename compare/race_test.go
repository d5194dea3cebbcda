package compare

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// ran feeds a race with one case a unit until an arm has left or the cases are used up.
func ran(r *Race, cases [][]float64) (left []RaceExit) {
	for _, scores := range cases {
		unit := make([][]float64, len(scores))
		for i := range scores {
			unit[i] = scores[i : i+1]
		}
		left = append(left, r.Feed(unit, 1)...)
	}
	return left
}

// constant is a number of cases on which each arm always scores the same.
func constant(n int, scores ...float64) [][]float64 {
	return slices.Repeat([][]float64{scores}, n)
}

func TestArmsLeaveInTheOrderOfTheEvidence(t *testing.T) {
	t.Parallel()
	left := ran(NewRace(3, 0.05), constant(40, 1, 0, 0.5))
	if len(left) != 2 || left[0].Arm != 1 || left[1].Arm != 2 || left[0].Behind != 0 || left[1].Behind != 0 {
		t.Fatalf("got %+v, want arm 1 to leave and then arm 2, both behind arm 0", left)
	}
}

// The e-value is the mean over pairs and bets, and an arm leaves at 1/alpha and what the others lack of it.
func TestTheEValueIsThatOfItsDefinition(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(4, 4))
	const alpha, arms = 0.1, 3
	r := NewRace(arms, alpha)
	products := [arms][arms][raceBets]float64{}
	for i := range products {
		for j := range products[i] {
			products[i][j] = [raceBets]float64(slices.Repeat([]float64{1}, raceBets))
		}
	}
	for unit := 1; ; unit++ {
		weight := []float64{1, 0.5}[unit%2]
		scores := [][]float64{{0.9 * random.Float64()}, {random.Float64()}, {0.4 * random.Float64()}}
		left := r.Feed(scores, weight)
		e := [arms]float64{}
		for i := range arms {
			for j := range arms {
				for b := range raceBets {
					bet := (float64(b) + 0.5) / raceBets
					products[i][j][b] *= 1 - bet*weight*(scores[i][0]-scores[j][0])
					if i != j {
						e[i] += products[i][j][b] / raceBets / (arms - 1)
					}
				}
			}
		}
		lack := 0.0
		for i := range arms {
			lack += max(0, 1/alpha-e[i])
		}
		for i := range arms {
			leaves := e[i]-1/alpha >= lack
			at := slices.IndexFunc(left, func(l RaceExit) bool { return l.Arm == i })
			if leaves != (at >= 0) {
				t.Fatalf("unit %d: arm %d with e-value %v, the others lacking %v: left %v, want the opposite", unit, i, e[i], lack, at >= 0)
			}
			if leaves && math.Abs(left[at].LogE-math.Log(e[i])) > 1e-9 {
				t.Errorf("got the e-value %v, want %v", left[at].LogE, math.Log(e[i]))
			}
		}
		if len(left) > 0 {
			return
		}
	}
}

func TestAnArmLeavesNoSoonerThanWithinReach(t *testing.T) {
	t.Parallel()
	for _, arms := range []int{2, 3, 8, 24} {
		n := RaceReach(arms, 0.05)
		random := rand.New(rand.NewPCG(1, uint64(arms)))
		for range 200 { // of races in which each arm always passes or always fails
			scores := make([]float64, arms)
			for i := range scores {
				scores[i] = float64(random.IntN(2))
			}
			if left := ran(NewRace(arms, 0.05), constant(n-1, scores...)); len(left) > 0 {
				t.Fatalf("%d arms: got %+v that left, want none before %d cases", arms, left, n)
			}
		}
		scores := append([]float64{0}, slices.Repeat([]float64{1}, arms-1)...)
		expect.Same(t, "arms that leave then", len(ran(NewRace(arms, 0.05), constant(n, scores...))), 1)
	}
	expect.Same(t, "with one arm", RaceReach(1, 0.05), 0)
	expect.Same(t, "with no error rate", RaceReach(2, 0), 0)
}

func TestNoArmLeavesForNothing(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	for name, test := range map[string]struct {
		alpha float64
		cases [][]float64
	}{
		"equal scores":         {0.05, constant(5000, 0.5, 0.5)},
		"no common case":       {0.05, slices.Concat(constant(500, 1, nan), constant(500, nan, 0))},
		"an alpha of 0":        {0, constant(500, 1, 0)},
		"an alpha of 1":        {1, constant(500, 1, 0)},
		"an alpha that is NaN": {nan, constant(500, 1, 0)},
		"one arm":              {0.05, constant(500, 1)},
	} {
		if left := ran(NewRace(len(test.cases[0]), test.alpha), test.cases); len(left) > 0 {
			t.Errorf("%s: got %+v, want no arm to leave", name, left)
		}
	}
	r := NewRace(2, 0.05)
	for range 500 {
		if left := r.Feed([][]float64{{1}, {0}}, 0); len(left) > 0 {
			t.Fatalf("got %v out without any weight, want no arm to leave", left)
		}
	}
}

// Cases of a unit are one mean, over the cases that both arms have; scores beyond [0,1] are cut.
func TestAUnitIsAMeanOfItsCommonCases(t *testing.T) {
	t.Parallel()
	one, mean := NewRace(2, 0.05), NewRace(2, 0.05)
	for range 100 {
		got := mean.Feed([][]float64{{1, 0.5, math.NaN(), 7}, {0, 0, 1, 1}}, 1)
		want := one.Feed([][]float64{{0.5}, {0}}, 1)
		expect.Same(t, "who leaves", got, want)
	}
	expect.Same(t, "arm 1 has left", one.left[1], true)
}

// An arm that an earlier session took out leaves after the same unit, whatever this one knows of it.
func TestWhatWasWrittenDownStays(t *testing.T) {
	t.Parallel()
	for _, scores := range [][]float64{{1, 1, 0}, {1, 0, 0}, {1, 0, 1}} {
		r := NewRace(3, 0.05)
		r.Resume(1, 20)
		for unit, one := range constant(60, scores...) {
			left := ran(r, [][]float64{one})
			fixed := slices.ContainsFunc(left, func(l RaceExit) bool { return l.Arm == 1 })
			if fixed != (unit == 19) {
				t.Errorf("scores %v: arm 1 left after unit %d: got %v, want it after the last alone", scores, unit+1, fixed)
			}
		}
	}
}

// A record that takes all arms out is wrong: one stays.
func TestOneArmAlwaysStays(t *testing.T) {
	t.Parallel()
	r := NewRace(2, 0.05)
	r.Resume(0, 3)
	r.Resume(1, 3)
	ran(r, constant(10, 1, 0))
	expect.Same(t, "arms that left", r.left, []bool{false, true})
}
