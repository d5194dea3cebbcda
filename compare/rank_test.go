package compare_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// drawing draws cases whose outcomes on all arms depend on how hard they are, or, for scores, the same with values in between.
type drawing struct {
	means   []float64
	n       int
	cluster int  // cases of a cluster; 1: none
	uneven  bool // every other cluster is one case
	scores  bool // a named metric with values in [0,1]
	repeats int  // of each case; 0: one
	noisy   bool // scores that hardly differ where an arm passes, and are 0 where it fails
}

func (d drawing) clusterOf(i int) (cluster int, first bool) {
	if !d.uneven {
		return i / d.cluster, i%d.cluster == 0
	}
	at := i % (d.cluster + 1) // one case by itself, then a whole cluster
	return i/(d.cluster+1)*2 + min(at, 1), at < 2
}

func (d drawing) score(r *rand.Rand, passed bool, mean float64) float64 {
	switch {
	case d.noisy && passed:
		return 1 - 0.02*r.Float64()
	case d.noisy:
		return 0
	case passed:
		return 1 - (1-mean)*r.Float64()
	}
	return mean * r.Float64()
}

func (d drawing) sides(r *rand.Rand) []*compare.Side {
	out := make([]*compare.Side, len(d.means))
	for a := range out {
		out[a] = &compare.Side{Run: "r", Suite: "s", Arm: fmt.Sprintf("arm %d", a), Metrics: []string{"score"}}
	}
	shared := 0.0
	for i := range d.n {
		cluster, first := d.clusterOf(i)
		if first {
			shared = r.Float64()
		}
		for a, mean := range d.means {
			c := compare.CaseTotals{Name: fmt.Sprint(i), ID: fmt.Sprint(i), Ran: max(1, d.repeats)}
			u := shared // with a half of what an arm does by itself
			for range c.Ran {
				if u = shared; r.IntN(2) == 0 {
					u = r.Float64()
				}
				if u < mean {
					c.Passed++
				} else {
					c.Failed++
				}
			}
			if d.cluster > 1 {
				c.Cluster = fmt.Sprint(cluster)
			}
			if d.scores {
				c.Metrics = []eval.Sum{{Total: d.score(r, u < mean, mean), N: 1}}
			}
			out[a].Cases = append(out[a].Cases, &c)
		}
	}
	return out
}

func (d drawing) expected(a int) float64 {
	mean := d.means[a]
	switch {
	case d.noisy:
		return 0.99 * mean
	case d.scores:
		return (1-mean)*mean/2 + mean*(1-(1-mean)/2)
	}
	return mean
}

// rates are how often some truly best arm is ruled out, and how often some interval misses.
func (d drawing) rates(draws int, seed uint64) (excluded, missed float64) {
	r := rand.New(rand.NewPCG(seed, 1))
	metric := eval.MetricPass
	if d.scores {
		metric = "score"
	}
	best := 0.0
	for a := range d.means {
		best = max(best, d.expected(a))
	}
	for range draws {
		got := compare.Rank(d.sides(r), compare.RankOptions{Metric: metric, Alpha: 0.05, MaxErrors: 0.01, Seed: 1})
		out, miss := false, false
		for _, arm := range got.Arms {
			var at int
			_, _ = fmt.Sscanf(arm.Arm, "arm %d", &at)
			others := -1.0
			for a := range d.means {
				if a != at {
					others = max(others, d.expected(a))
				}
			}
			delta := d.expected(at) - others
			if got.Why == "" {
				out = out || d.expected(at) == best && !arm.Best
				miss = miss || delta < arm.Interval[0]-1e-9 || delta > arm.Interval[1]+1e-9
			}
		}
		if out {
			excluded++
		}
		if miss {
			missed++
		}
	}
	return excluded / float64(draws), missed / float64(draws)
}

func spread(k int, lo, hi float64) (out []float64) {
	for i := range k {
		out = append(out, lo+(hi-lo)*float64(i)/float64(max(1, k-1)))
	}
	return out
}

func drawings(k, n int) map[string]drawing {
	return map[string]drawing{
		"equal":    {means: spread(k, 0.8, 0.8), n: n, cluster: 1},
		"one best": {means: append(spread(k-1, 0.7, 0.7), 0.9), n: n, cluster: 1},
		"spread":   {means: spread(k, 0.7, 0.95), n: n, cluster: 1},
		"rare":     {means: spread(k, 0.98, 0.98), n: n, cluster: 1},
		"clusters": {means: spread(k, 0.8, 0.8), n: n, cluster: 5},
		"uneven":   {means: spread(k, 0.8, 0.8), n: n, cluster: 5, uneven: true},
		"scores":   {means: spread(k, 0.6, 0.6), n: n, cluster: 1, scores: true},
		"noisy":    {means: spread(k, 0.97, 0.97), n: n, cluster: 1, scores: true, noisy: true},
	}
}

// rankingDraws is how many rankings a cell takes: about as much time for each, and 60 draws at least.
func rankingDraws(k, n int) int { return min(1000, max(60, 3_000_000/(k*k*(n+100)))) }

// Some truly best arm is ruled out in at most 5 % of runs, and all intervals hold together in at least 95 %.
func TestCalibratedRankingKeepsTheBestArm(t *testing.T) {
	t.Parallel()
	arms, sizes, long := []int{2, 8}, []int{10, 60}, os.Getenv("EVALRUN_CALIBRATE") != ""
	if long {
		arms, sizes = []int{2, 8, 24}, []int{10, 30, 60, 150, 1000}
	}
	for _, k := range arms {
		for _, n := range sizes {
			if k > 8 && n > 60 {
				continue // TestCalibratedRankingKeepsAllTheBest has 2,000 of them
			}
			for name, d := range drawings(k, n) {
				t.Run(fmt.Sprintf("%d arms, %d cases, %s", k, n, name), func(t *testing.T) {
					draws := 4
					if long {
						t.Parallel()
						draws = rankingDraws(k, n)
					}
					excluded, missed := d.rates(draws, uint64(k*n))
					once := math.Sqrt(0.05 * 0.95 / float64(draws)) // the standard error of a rate of 5 %
					t.Logf("best excluded %.3f, some interval missed %.3f of %d, each +- %.3f", excluded, missed, draws, once)
					if limit := 0.05 + 3*once; excluded > limit || missed > limit {
						t.Errorf("got best excluded in %.3f and missed in %.3f, want at most %.3f", excluded, missed, limit)
					}
				})
			}
		}
	}
}

// Where one arm is far better it is alone in the set of the best.
func TestRankingFindsTheBest(t *testing.T) {
	t.Parallel()
	d := drawing{means: []float64{0.6, 0.95, 0.7, 0.6}, n: 300, cluster: 1}
	got := compare.Rank(d.sides(rand.New(rand.NewPCG(1, 2))), compare.RankOptions{Metric: "pass", Alpha: 0.05, MaxErrors: 0.01})
	expect.Same(t, "best", got.Best(), []string{"arm 1"})
	if i := got.Arms[0].Interval; got.Arms[0].Arm != "arm 1" || i[0] != 0 || i[1] <= 0 {
		t.Errorf("got %+v first with the interval %v, want arm 1 with one from 0 up", got.Arms[0], i)
	}
	for _, a := range got.Arms[1:] {
		if a.Interval[1] != 0 || a.Interval[0] >= 0 {
			t.Errorf("%s is ruled out: got the interval %v, want one that ends at 0", a.Arm, *a.Interval)
		}
	}
}

// There is no ranking where it could say nothing, and errors rule out no arm.
func TestTooLittleDataGivesNoRanking(t *testing.T) {
	t.Parallel()
	o := compare.RankOptions{Metric: "pass", Alpha: 0.05, MaxErrors: 0.05}
	few := drawing{means: []float64{0, 1}, n: 4, cluster: 1}.sides(rand.New(rand.NewPCG(1, 2)))
	without := compare.Rank(few, o)
	why := "the cases are too few: 4 independent ones (repeats do not count, a cluster counts once), " +
		"and a ranking of 2 arms takes 6 at least"
	expect.Same(t, "few", without.Why, why)
	if first, second := *without.Arms[0].Mean, *without.Arms[1].Mean; first < second {
		t.Errorf("the first of the arms without a ranking has %g, the second %g: want the higher first", first, second)
	}
	expect.Same(t, "one", compare.Rank(few[:1], o).Why, "a ranking takes two arms or more")

	sides := drawing{means: []float64{0.5, 1}, n: 60, cluster: 1}.sides(rand.New(rand.NewPCG(3, 4)))
	if got := compare.Rank(sides, o); len(got.Best()) != 1 {
		t.Fatalf("got %+v, want the better arm alone", got)
	}
	sides[0].Cases[0].Errors, sides[0].Cases[0].Ran = 9, 10
	if got := compare.Rank(sides, o); got.Why == "" {
		t.Error("an arm with many errors was ranked, want no ranking")
	}
	o.MaxErrors = 1
	for i := range 30 { // the better arm's own errors: it could be the worse one
		sides[1].Cases[i].Passed, sides[1].Cases[i].Errors = 0, 1
	}
	got := compare.Rank(sides, o)
	expect.Same(t, "the best, of whom one has errors in half of its cases", len(got.Best()), 2)
}

// An arm is named as close to the best only with all others at hand: 12 of 12 against 9 of 12 shows nothing.
func TestFewArmsAreShownToBeCloseToTheBest(t *testing.T) {
	t.Parallel()
	o := compare.RankOptions{Metric: "pass", Alpha: 0.05, MaxErrors: 0.01, Within: 0.05}
	few := drawing{means: []float64{1, 1}, n: 12, cluster: 1}.sides(rand.New(rand.NewPCG(1, 2)))
	for i := range 3 {
		few[1].Cases[i].Passed, few[1].Cases[i].Failed = 0, 1
	}
	got := compare.Rank(few, o)
	expect.Same(t, "arms close to the best, of whom one failed in 3 of 12", got.Within.Arms, []string{"arm 0"})
	if why := got.WhyWithin(1); !strings.HasPrefix(why, "12 cases cannot show that it is within 5 points; about ") {
		t.Errorf("got %q, want how many cases could", why)
	}
	for i := 3; i < 6; i++ {
		few[0].Cases[i].Passed, few[0].Cases[i].Failed = 0, 1
	}
	got = compare.Rank(few, o)
	expect.Same(t, "arms close to the best, of whom both failed in 3 of 12", got.Within.Arms, []string{})
	if !strings.HasPrefix(got.Within.Why, "12 cases cannot show that any arm is within 5 points; about ") {
		t.Errorf("got %q, want how many cases could", got.Within.Why)
	}
	many := drawing{means: []float64{1, 1, 0.5}, n: 90, cluster: 1}.sides(rand.New(rand.NewPCG(1, 2)))
	got = compare.Rank(many, o)
	expect.Same(t, "arms close to the best of 90", got.Within.Arms, []string{"arm 0", "arm 1"})
	expect.Same(t, "the other", got.WhyWithin(2), "it is worse than arm 0 by more than 5 points")
	for i := range 80 { // errors of an arm may all be failures
		many[1].Cases[i].Passed, many[1].Cases[i].Errors = 0, 1
	}
	o.MaxErrors = 1
	got = compare.Rank(many, o)
	for i, a := range got.Arms {
		if a.Arm == "arm 1" && got.Arms[i].Verdict == eval.NotWorse {
			t.Errorf("got %+v close to the best, with errors in 80 of 90 cases", *a.ArmWithin)
		}
	}
}

// An arm that is worse than the best by the margin is named in at most 5 % of rankings, among several of them.
func TestCalibratedRankingNamesNoArmBeyondTheMargin(t *testing.T) {
	t.Parallel()
	draws := 8
	if os.Getenv("EVALRUN_CALIBRATE") != "" {
		draws = 1000
	}
	for _, n := range []int{60, 150} {
		d := drawing{means: append(spread(7, 0.8, 0.8), 0.9), n: n, cluster: 1}
		r, wrong := rand.New(rand.NewPCG(7, uint64(n))), 0
		for range draws {
			got := compare.Rank(d.sides(r), compare.RankOptions{Metric: "pass", Alpha: 0.05, MaxErrors: 0.01, Seed: 1, Within: 0.1})
			if slices.ContainsFunc(got.Within.Arms, func(arm string) bool { return arm != "arm 7" }) {
				wrong++
			}
		}
		rate := float64(wrong) / float64(draws)
		t.Logf("%d cases: an arm beyond the margin is named in %.4f of %d", n, rate, draws)
		if limit := 0.05 + 3*math.Sqrt(0.05*0.95/float64(draws)); rate > limit {
			t.Errorf("got %.4f, want at most %.4f", rate, limit)
		}
	}
}
