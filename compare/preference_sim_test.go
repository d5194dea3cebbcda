package compare

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// world draws what a judge prefers: each arm has a strength, which is another one on each case, and v is the readiness to call a tie.
type world struct {
	theta  []float64
	spread float64 // standard deviation of an arm's strength over cases
	delta  float64
}

func (w *world) draw(random *rand.Rand, cases int) (out []CasePreference) {
	at := make([]float64, len(w.theta))
	for c := range cases {
		for i := range at {
			at[i] = w.theta[i] + w.spread*random.NormFloat64()
		}
		for i := range at {
			for j := range i {
				win, loss, _ := outcomes(at[i]-at[j], w.delta)
				one := CasePreference{First: i, Second: j, Unit: c}
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

// truth is what the model makes of infinitely many cases. It is fitted to the expected outcomes of each pair, and the difference of
// strengths is integrated over its normal distribution.
func (w *world) truth() *davidson {
	const steps, cases = 400, 1e7
	t := newTally(len(w.theta), nil)
	for i := range w.theta {
		for j := i + 1; j < len(w.theta); j++ {
			pair, sum := pairResults{i: i, j: j}, 0.0
			for s := range steps + 1 {
				z := 16*float64(s)/steps - 8
				density := math.Exp(-z * z / 2)
				win, loss, tie := outcomes(w.theta[i]-w.theta[j]+w.spread*math.Sqrt2*z, w.delta)
				pair.add(&pairResults{w: win, l: loss, t: tie}, density)
				sum += density
			}
			t.pairs = append(t.pairs, pairResults{i, j, cases * pair.w / sum, cases * pair.l / sum, cases * pair.t / sum})
		}
	}
	return t.fit()
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
	random := rand.New(rand.NewPCG(uint64(cases), uint64(len(w.theta))))
	for range runs {
		got := RankByPreference(names(len(w.theta)), w.draw(random, cases), PreferenceOptions{Seed: 1})
		all := true
		for _, a := range got.Arms {
			at := slices.Index(names(len(w.theta)), a.Arm)
			all = all && a.Interval[0] <= field[at] && field[at] <= a.Interval[1]
		}
		if all {
			coverage++
		}
		if slices.Contains(got.Best(), names(len(w.theta))[best]) {
			kept++
		}
		size += float64(len(got.Best()))
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

// The intervals hold the truth all at once in 95 of 100 rankings, and the truly best arm is in the set as often. That is so whether arms
// are equal, differ, or some win nearly all. EVALRUN_CALIBRATE measures it with more rankings, and of more arms.
func TestPreferencesHoldTheirLevel(t *testing.T) {
	t.Parallel()
	runs, arms, cases := map[int]int{2: 30, 4: 30}, []int{2, 4}, []int{20}
	if os.Getenv("EVALRUN_CALIBRATE") != "" {
		runs, arms, cases = map[int]int{2: 400, 8: 50, 24: 10}, []int{2, 8, 24}, []int{10, 50, 200}
	}
	for _, k := range arms {
		least := 0.95 - 4*math.Sqrt(0.95*0.05/float64(runs[k])) // four standard errors
		for _, n := range cases {
			if k > 8 && n != 50 {
				continue
			}
			for name, w := range map[string]*world{
				"equal":  {make([]float64, k), 1, -0.5},
				"spread": {evenly(k, 2), 1, -0.5},
				"wide":   {evenly(k, 5), 0.5, math.Inf(-1)},
			} {
				coverage, kept, size := w.simulated(t, n, runs[k])
				t.Logf("%d arms, %d cases, %s: coverage %.3f, best kept %.3f, size of the set %.1f", k, n, name, coverage, kept, size)
				if coverage < least || kept < least {
					t.Errorf("%d arms, %d cases, %s: coverage %.3f, best kept %.3f, want %.3f at least", k, n, name, coverage, kept, least)
				}
				if name == "wide" && size > float64(k)*0.8 {
					t.Errorf("%d arms, %d cases: got %.1f arms among the best, want at most 80 %%", k, n, size)
				}
			}
		}
	}
}
