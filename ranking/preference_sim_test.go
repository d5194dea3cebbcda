package ranking

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// world draws what a judge chooses: each arm has a strength, which is another one on each case, and v is the readiness to call a tie.
type world struct {
	theta  []float64
	spread float64 // standard deviation of an arm's strength over cases
	delta  float64
}

func (w *world) draw(random *rand.Rand, cases int) (out []Judged) {
	at := make([]float64, len(w.theta))
	for c := range cases {
		for i := range at {
			at[i] = w.theta[i] + w.spread*random.NormFloat64()
		}
		for i := range at {
			for j := range i {
				win, loss, _ := outcomes(at[i]-at[j], w.delta)
				one := Judged{First: i, Second: j, Unit: c}
				switch u := random.Float64(); {
				case u < win:
					one.Wins = 1
				case u < win+loss:
					one.Losses = 1
				default:
					one.Ties = 1
				}
				out = append(out, one)
			}
		}
	}
	return out
}

// truth is what the model makes of any number of cases.
func (w *world) truth() *davidson {
	return newTally(len(w.theta), w.draw(rand.New(rand.NewPCG(9, 9)), 2_000_000/len(w.theta)/len(w.theta))).fit() //nolint:gosec // reproducible
}

// simulated is how often all intervals hold their truth, and how often the truly best arm is in the set.
func (w *world) simulated(t *testing.T, cases, runs int) (coverage, kept, size float64) {
	t.Helper()
	truth := w.truth()
	field := truth.field()
	best := 0
	for i := range w.theta {
		if w.theta[i] > w.theta[best] {
			best = i
		}
	}
	random := rand.New(rand.NewPCG(uint64(cases), uint64(len(w.theta)))) //nolint:gosec // reproducible
	for range runs {
		got := Preferences(names(len(w.theta)), w.draw(random, cases), PreferenceOptions{Seed: 1})
		all := true
		for _, a := range got.Arms {
			at := slices.Index(names(len(w.theta)), a.Arm)
			all = all && a.Interval[0] <= field[at] && field[at] <= a.Interval[1]
		}
		if all {
			coverage++
		}
		if slices.Contains(got.Best, names(len(w.theta))[best]) {
			kept++
		}
		size += float64(len(got.Best))
	}
	n := float64(runs)
	return coverage / n, kept / n, size / n
}

func evenly(k int, by float64) (out []float64) {
	for i := range k {
		out = append(out, by*float64(i)/float64(max(1, k-1)))
	}
	return out
}

func TestSim(t *testing.T) {
	k := map[string]int{"2": 2, "8": 8, "24": 24, "b": 2}[os.Getenv("SIM")]
	for _, n := range []int{200, 10, 50} {
		for name, w := range map[string]*world{
			"equal":  {make([]float64, k), 1, -0.5},
			"spread": {evenly(k, 2), 1, -0.5},
			"wide":   {evenly(k, 5), 0.5, math.Inf(-1)},
		} {
			runs := 300
			if k == 24 {
				runs = 80
			}
			if os.Getenv("SIM") == "b" {
				if name != "equal" || n != 200 {
					continue
				}
				runs = 2000
			}
			c, b, s := w.simulated(t, n, runs)
			t.Logf("%2d arms %4d cases %-7s coverage %.3f best kept %.3f size %.1f", k, n, name, c, b, s)
		}
	}
}
