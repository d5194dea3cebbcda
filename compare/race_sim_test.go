package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

type field struct {
	name  string
	means []float64
	draw  func(mean float64, random *rand.Rand) float64 // a score in [0,1]
	share float64                                       // of the cases on which all arms have the same luck
}

type simulatedRaces struct {
	lost  float64 // share of races in which an arm that is one of the best left
	calls float64 // share of the calls that were made
	most  float64 // in the race with the most
}

const raceAlpha = 0.05

func (f *field) simulate(races, n int) (out simulatedRaces) {
	random := rand.New(rand.NewPCG(uint64(n), uint64(len(f.means))))
	all := float64(n * len(f.means))
	best := slices.Max(f.means)
	for range races {
		r, calls := NewRace(len(f.means), raceAlpha), 0
		scores := make([][]float64, len(f.means))
		lost := false
		for range n {
			luck := rand.NewPCG(random.Uint64(), 0)
			common := random.Float64() < f.share
			for i, mean := range f.means {
				if r.left[i] {
					continue
				}
				own := random
				if common {
					shared := *luck
					own = rand.New(&shared)
				}
				scores[i] = []float64{f.draw(mean, own)}
				calls++
			}
			for _, l := range r.Feed(scores, 1) {
				lost = lost || f.means[l.Arm] == best
			}
		}
		share := float64(calls) / all
		out.calls += share / float64(races)
		out.most = max(out.most, share)
		if lost {
			out.lost += 1 / float64(races)
		}
	}
	return out
}

// passes is 1 as often as its mean.
func passes(mean float64, random *rand.Rand) float64 {
	if random.Float64() < mean {
		return 1
	}
	return 0
}

// graded lies near its mean, with a spread of 0.1.
func graded(mean float64, random *rand.Rand) float64 { return mean - 0.1 + 0.2*random.Float64() }

// rare is nearly always just below its mean, and seldom far above: the shape that misleads tests that trust a variance.
func rare(mean float64, random *rand.Rand) float64 {
	const often = 0.98
	low := mean * 0.9
	if random.Float64() < often {
		return low
	}
	return (mean - often*low) / (1 - often)
}

func spreadOver(arms int, from, to float64) []float64 {
	out := make([]float64, arms)
	for i := range out {
		out[i] = from + (to-from)*float64(i)/float64(max(1, arms-1))
	}
	return out
}

func races(short, long int) int {
	if os.Getenv("EVALRUN_CALIBRATE") != "" {
		return long
	}
	return short
}

// TestARaceSavesCalls wants that a race of arms that differ is short, and that one of equal arms goes to its end.
func TestARaceSavesCalls(t *testing.T) {
	t.Parallel()
	n := races(20, 200)
	t.Log("race of                          calls  most  a best arm lost")
	for _, f := range []field{
		{"24 arms, .70 to .95", spreadOver(24, 0.70, 0.95), passes, 0},
		{"24 arms, .70 to .95, half in common", spreadOver(24, 0.70, 0.95), passes, 0.5},
		{"8 arms, .70 to .95", spreadOver(8, 0.70, 0.95), passes, 0},
	} {
		got := f.simulate(n, 1000)
		t.Logf("%-36s %.3f %.3f  %.1f %%", f.name, got.calls, got.most, 100*got.lost)
		if got.calls > 0.40 {
			t.Errorf("%s: got %.1f %% of the calls, want 40 %% at most", f.name, 100*got.calls)
		}
	}
	for _, arms := range []int{2, 8, 24} {
		f := field{"equal arms", spreadOver(arms, 0.8, 0.8), passes, 0}
		got := f.simulate(4*n/max(1, arms/4), 1000)
		t.Logf("%-36s %.3f %.3f  %.1f %%", fmt.Sprintf("%d arms of .80", arms), got.calls, got.most, 100*got.lost)
		if got.calls < 0.95 {
			t.Errorf("%d equal arms: got %.1f %% of the calls, want nearly all", arms, 100*got.calls)
		}
	}
}

// TestARaceKeepsTheBest wants all arms that are the best to stay in 95 % of the races, whatever the scores are like. The
// bound leaves room for three standard errors of the simulation.
func TestARaceKeepsTheBest(t *testing.T) {
	t.Parallel()
	shapes := []struct {
		name string
		draw func(float64, *rand.Rand) float64
	}{{"pass", passes}, {"graded", graded}, {"rare", rare}}
	for _, shape := range shapes {
		for _, arms := range []int{2, 8, 24} {
			for name, means := range map[string][]float64{
				"one best":     append(spreadOver(arms-1, 0.6, 0.78), 0.8),
				"two are best": append(spreadOver(arms-2, 0.6, 0.78), 0.8, 0.8),
				"all are best": spreadOver(arms, 0.5, 0.5),
			} {
				f := field{name, means, shape.draw, 0}
				n := races(40, 4000/arms)
				got, bound := f.simulate(n, 500), raceAlpha+3*math.Sqrt(raceAlpha*(1-raceAlpha)/float64(n))
				t.Logf("%-6s %2d arms, %-12s lost %.1f %%, calls %.3f", shape.name, arms, name, 100*got.lost, got.calls)
				if got.lost > bound {
					t.Errorf("%s, %d arms, %s: a best arm left in %.1f %% of the races, want %.1f %% at most",
						shape.name, arms, name, 100*got.lost, 100*bound)
				}
			}
		}
	}
}
