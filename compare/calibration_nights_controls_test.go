package compare

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/evalrun/evalrun/internal/stats"
)

// nightsRule is the rule of places written down a second time, without streaks, slowly, and open to mistakes.
type nightsRule struct {
	past  func(nights [][]float64) [][]float64         // from which the weights are taken; nil is all nights so far
	score func(night, mu, v, weight []float64) float64 // nil is the rule's
	worst bool                                         // a tie counts as the lowest place
}

// evidence is that of a loss by both scores on each night.
func (r nightsRule) evidence(nights [][]float64) (out [][2]float64) {
	var products [2][][3]float64
	for t := 1; t <= len(nights); t++ {
		var sums [2]float64
		for k := range sums {
			products[k] = append(products[k], [3]float64{})
			if t <= 3 {
				continue
			}
			products[k][t-1] = [3]float64{1, 1, 1}
			below, upTo := r.place(nights[:t], k == 1)
			for s := 4; s <= t; s++ {
				p := &products[k][s-1]
				for i, odds := range []float64{4, 16, 256} {
					q := float64(t-s+1) / float64(t)
					p[i] *= (oddsLaw(upTo, q, odds) - oddsLaw(below, q, odds)) / (upTo - below)
				}
				sums[k] += (p[0] + p[1] + p[2]) / 3
			}
		}
		out = append(out, sums)
	}
	return out
}

// oddsLaw is the law of a bad night's place p, by bisection: good nights lie below x with probability u, bad ones with
// d*u/(1-u+d*u), and the pool, a share q of which is bad, with p.
func oddsLaw(p, q, d float64) float64 {
	lo, hi := 0.0, 1.0
	bad := func(u float64) float64 { return d * u / (1 - u + d*u) }
	for range 40 {
		if u := (lo + hi) / 2; (1-q)*u+q*bad(u) < p {
			lo = u
		} else {
			hi = u
		}
	}
	return bad(hi)
}

func (r nightsRule) place(nights [][]float64, weighed bool) (below, upTo float64) {
	mu, v := moments(nights)
	weight := slices.Repeat([]float64{1}, len(mu))
	if weighed {
		_, past := mu, v
		if r.past != nil {
			_, past = moments(r.past(nights))
		}
		for i := range weight {
			weight[i] = 1 / past[i]
		}
	}
	score := r.score
	if score == nil {
		score = centred
	}
	var scores []float64
	for _, night := range nights {
		scores = append(scores, score(night, mu, v, weight))
	}
	for _, s := range scores {
		switch tonight := scores[len(scores)-1]; {
		case s < tonight-1e-9:
			below++
			upTo++
		case s <= tonight+1e-9:
			upTo++
		}
	}
	if r.worst {
		upTo = below + 1
	}
	return below / float64(len(nights)), upTo / float64(len(nights))
}

func moments(nights [][]float64) (mu, v []float64) {
	for i := range nights[0] {
		n, sum, squares := 0.0, 0.0, 0.25
		for _, night := range nights {
			if !math.IsNaN(night[i]) {
				n++
				sum += night[i]
			}
		}
		for _, night := range nights {
			if !math.IsNaN(night[i]) {
				squares += (night[i] - sum/n) * (night[i] - sum/n)
			}
		}
		mu, v = append(mu, sum/max(1, n)), append(v, squares/(n+1))
	}
	return mu, v
}

func centred(night, mu, v, weight []float64) float64 {
	sum, squares := 0.0, 0.0
	for i, x := range night {
		if !math.IsNaN(x) {
			sum += weight[i] * (x - mu[i])
			squares += weight[i] * weight[i] * v[i]
		}
	}
	return sum / math.Sqrt(squares)
}

// meanOfThoseRun takes the cases of a night for the same ones as on any other.
func meanOfThoseRun(night, _, _, _ []float64) float64 {
	sum, n := 0.0, 0.0
	for _, x := range night {
		if !math.IsNaN(x) {
			n++
			sum += x
		}
	}
	return sum / n
}

func (r nightsRule) seen(s DriftSeries) int {
	for t, e := range r.evidence(s.Results) {
		if 0.4*max(e[0], e[1]) >= 1800 {
			return t + 1
		}
	}
	return 0
}

// TestNightsAgreeWithTheRuleWrittenTwice compares evidence on series with missing results, shared effects and repeats.
func TestNightsAgreeWithTheRuleWrittenTwice(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		w := nightsWorld{n: 30, flaky: 0.3, sd: 0.02, at: 20, loss: 0.1, shape: lostByAll}
		w.repeats, w.missing = 1+int(seed%2), 0.1*float64(seed%3)
		s := w.series(rand.New(rand.NewPCG(970, seed)), 40)
		got := FindDrift(s).Nights
		for i, want := range (nightsRule{}).evidence(s.Results) {
			for k, value := range []float64{got[i].Mean, got[i].Weighed} {
				if math.Abs(value-want[k]) > 1e-7*want[k] {
					t.Fatalf("%s, night %d, score %d: %v, want %v", w, i+1, k, value, want[k])
				}
			}
		}
	}
}

// betsSeenOn bets that nights are worse than the first ten were on average, with a sum over starts.
func betsSeenOn(bar float64) func(DriftSeries) int {
	const reference = 10
	return func(s DriftSeries) int {
		null := 0.0
		var bets []*stats.Bets
		for t, night := range s.Results {
			mean := meanOfThoseRun(night, nil, nil, nil)
			if t < reference {
				null += mean / reference
				continue
			}
			bets = append(bets, stats.NewBets(null, -1/(1-null), 24))
			sum := 0.0
			for _, b := range bets {
				b.Add(mean, 1)
				sum += b.E()
			}
			if sum >= bar {
				return t + 1
			}
		}
		return 0
	}
}

// thrice counts each night three times, as a cache of answers does.
var thrice = nightsChange{"each night thrice", func(_ *rand.Rand, nights [][]float64) (out [][]float64) {
	for _, night := range nights[:len(nights)/3] {
		out = append(out, night, night, night)
	}
	return out
}}

// outageWeek counts a tenth of the cases as failed in nights 61 to 67, when the service was out.
var outageWeek = nightsChange{"an outage", func(_ *rand.Rand, nights [][]float64) [][]float64 {
	for _, night := range nights[60:67] {
		for i := range len(night) / 10 {
			night[len(night)-1-i] = 0
		}
	}
	return nights
}}

func (w nightsWorld) with(c nightsChange) nightsWorld {
	w.change = c
	return w
}

// TestNightsControls are rules and data that raise false alarms. Each must be seen to do so in more than 10 % of unchanged series.
func TestNightsControls(t *testing.T) {
	t.Parallel()
	stable, small, usual := nightsWorld{n: 20}, nightsWorld{n: 20, flaky: 0.5}, nightsWorld{n: 100, flaky: 0.2}
	firstWeek := func(nights [][]float64) [][]float64 { return nights[:min(7, len(nights))] }
	before := func(nights [][]float64) [][]float64 { return nights[:len(nights)-1] }
	low := func(s DriftSeries) int {
		s.Runs = 10
		return seenOn(s)
	}
	for i, c := range []struct {
		name   string
		world  nightsWorld
		find   func(DriftSeries) int
		figure float64
		short  int // series in the short form
	}{
		{"the bar of an average run length", usual, low, 0.156, 60},
		{"ties at their worst", stable, nightsRule{worst: true}.seen, 1, 6},
		{"weights from the first 7 nights", usual, nightsRule{past: firstWeek}.seen, 0.138, 24},
		{"weights without tonight", usual, nightsRule{past: before}.seen, 0.8, 10},
		{"bets against the first 10 nights", small, betsSeenOn(1800), 0.369, 80},
		{"bets against the first 10 nights", usual, betsSeenOn(1800), 0.175, 80},
		{"bets against the first 10 nights, low bar", usual, betsSeenOn(200), 0.356, 40},
		{"every night counted three times", usual.with(thrice), seenOn, 0.994, 6},
		{"mean of the cases run, hard ones added", usual.with(hardCasesAdded), nightsRule{score: meanOfThoseRun}.seen, 1, 6},
		{"an outage counted as failed", usual.with(outageWeek), seenOn, 1, 6},
	} {
		series := seriesFor(160, c.short)
		rate := c.world.falseAlarms(uint64(980+i), series, c.find)
		t.Logf("%s, %s: %.1f %% of %d series, elsewhere %.1f %%", c.name, c.world, 100*rate, series, 100*c.figure)
		atLeast(t, "control: "+c.name, rate, 0.10)
	}
}

// TestNightsSeeALossUnderANewVersion: a new version that starts a new reference must be seen to hide a loss that comes with it.
func TestNightsSeeALossUnderANewVersion(t *testing.T) {
	t.Parallel()
	w := nightsWorld{n: 100, flaky: 0.2, at: 20, loss: 0.08, shape: lostByAll, known: []int{21}}
	found := func(find func(DriftSeries) int) float64 {
		share, series := 0.0, seriesFor(600, 30)
		for _, seen := range eachPath(990, series, func(rng *rand.Rand) int { return find(w.series(rng, w.at+30)) }) {
			if seen > 0 {
				share += 1 / float64(series)
			}
		}
		return share
	}
	atLeast(t, "a loss with a new version", found(seenOn), 0.96)
	atMost(t, "control: a new version starts a new reference", found(func(s DriftSeries) int {
		s.Results, s.Known = s.Results[w.at:], nil
		return seenOn(s)
	}), 0.04)
}
