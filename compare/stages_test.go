package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/evalrun/evalrun/eval"
)

// armWorld is arms that pass cases as often as their means; cases are as hard for all arms, in half of their trials.
type armWorld struct {
	means   []float64
	repeats int
}

func (w *armWorld) sides(r *rand.Rand, n int) []*Side {
	out := make([]*Side, len(w.means))
	for a := range out {
		out[a] = &Side{Suite: "s", Arm: fmt.Sprint(a)}
	}
	for i := range n {
		shared := r.Float64()
		for a, mean := range w.means {
			c := &CaseTotals{Name: fmt.Sprint(i), ID: fmt.Sprint(i), Ran: w.repeats}
			for range w.repeats {
				luck := shared
				if r.IntN(2) == 0 {
					luck = r.Float64()
				}
				if luck < mean {
					c.Passed++
				} else {
					c.Failed++
				}
			}
			out[a].Cases = append(out[a].Cases, c)
		}
	}
	return out
}

// maxT is how many arms step-down max-T leaves by a bootstrap of cases and Student's statistic, however few cases differ.
func maxT(sides []*Side, r *rand.Rand) int {
	k, n := len(sides), len(sides[0].Cases)
	x, mean, errors := make([][]float64, k), make([]float64, k), make([][]float64, k)
	for i, s := range sides {
		for _, c := range s.Cases {
			rate, _ := c.PassRate()
			x[i] = append(x[i], rate)
			mean[i] += rate / float64(n)
		}
	}
	for i := range k {
		errors[i] = make([]float64, k)
		for j := range k {
			for c := range n {
				d := x[i][c] - x[j][c] - mean[i] + mean[j]
				errors[i][j] += d * d
			}
			errors[i][j] = math.Sqrt(errors[i][j]/float64(n-1)/float64(n)) + 1e-12
		}
	}
	drawn := make([][]float64, 300)
	for b := range drawn {
		drawn[b] = make([]float64, k)
		for range n {
			c := r.IntN(n)
			for i := range k {
				drawn[b][i] += (x[i][c] - mean[i]) / float64(n)
			}
		}
	}
	for left := everyIndex(k); ; {
		most := make([]float64, len(drawn))
		for b := range drawn {
			for _, i := range left {
				for _, j := range left {
					most[b] = max(most[b], (drawn[b][j]-drawn[b][i])/errors[i][j])
				}
			}
		}
		slices.Sort(most)
		limit := most[len(most)*19/20]
		stay := slices.DeleteFunc(slices.Clone(left), func(i int) bool {
			return slices.ContainsFunc(left, func(j int) bool { return (mean[j]-mean[i])/errors[i][j] > limit })
		})
		if len(stay) == len(left) {
			return len(left)
		}
		left = stay
	}
}

func even(k int, lo, hi float64) (out []float64) {
	for i := range k {
		out = append(out, lo+(hi-lo)*float64(i)/float64(k-1))
	}
	return out
}

// Draws that are summed by eight units are those of single units, whatever the number of units.
func TestSignedSumsAreThoseOfSingleUnits(t *testing.T) {
	t.Parallel()
	for n := 1; n < 20; n++ {
		k, values := &ranker{}, make([]float64, n)
		for i := range values {
			values[i] = math.Sqrt(float64(i + 1))
		}
		for b, got := range k.signed(values) {
			want := 0.0
			for i, v := range values {
				if k.reversed(i / 8)[b]>>(i%8)&1 == 1 {
					v = -v
				}
				want += v
			}
			if math.Abs(got-want) > 1e-9 {
				t.Fatalf("draw %d of %d units: got %g, want %g", b, n, got, want)
			}
		}
	}
}

// All arms that are truly the best stay together in 95 % of worlds, and few of the others do.
func TestCalibratedRankingKeepsAllTheBest(t *testing.T) {
	t.Parallel()
	sizes, once, again, compared := []int{20, 60}, 20, 20, 2
	if os.Getenv("EVALRUN_CALIBRATE") != "" {
		sizes, once, again, compared = []int{20, 60, 150}, 300, 2000, 100 // the harder worlds are those of repeats
	}
	for name, means := range map[string][]float64{
		"equal": even(24, 0.8, 0.8), "ties": append(even(18, 0.6, 0.8), even(6, 0.9, 0.9)...), "spread": even(24, 0.7, 0.95),
		"two": even(2, 0.8, 0.8),
	} {
		for _, n := range sizes {
			for _, repeats := range []int{1, 3} {
				t.Run(fmt.Sprintf("%s, %d cases, %d repeats", name, n, repeats), func(t *testing.T) {
					w, r := armWorld{means, repeats}, rand.New(rand.NewPCG(uint64(n), uint64(repeats)))
					worlds, lost, stayed, others := again, 0, 0, 0
					if repeats == 1 {
						worlds = once
					}
					for at := range worlds {
						sides := w.sides(r, n)
						all, of := keptOf(sides, means)
						if !all {
							lost++
						}
						if at < compared {
							stayed, others = stayed+of, others+maxT(sides, r)
						}
					}
					rate, ratio := float64(lost)/float64(worlds), float64(stayed)/float64(others)
					t.Logf("some best one ruled out in %.4f of %d worlds; %.2f times as many stay as by plain max-T", rate, worlds, ratio)
					if limit := 0.05 + 3*math.Sqrt(0.05*0.95/float64(worlds)); rate > limit {
						t.Errorf("got a best one ruled out in %.4f, want at most %.4f", rate, limit)
					}
					if n == 60 && compared > 2 && ratio > 1.2 {
						t.Errorf("got %.2f times as many arms as by plain max-T, want at most 1.2", ratio)
					}
				})
			}
		}
	}
}

// keptOf reports whether all of the best arms stay, and how many arms do.
func keptOf(sides []*Side, means []float64) (all bool, stay int) {
	all = true
	for i, in := range newRanker(sides, RankOptions{Metric: eval.MetricPass, Alpha: 0.05, Seed: 1}).best() {
		if in {
			stay++
		}
		all = all && (in || means[i] < slices.Max(means))
	}
	return all, stay
}
