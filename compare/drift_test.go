package compare

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/stats"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// stableNights are nights of cases that pass, but for those lost from a night to another one.
func stableNights(nights, cases, lost, from, to int) [][]float64 {
	out := make([][]float64, nights)
	for t := range out {
		out[t] = make([]float64, cases)
		for i := range out[t] {
			if i >= lost || t+1 < from || t+1 > to {
				out[t][i] = 1
			}
		}
	}
	return out
}

// flakyNights are nights of 30 cases, a third of them flaky. Each passes at a lower rate from night 21 on.
func flakyNights(seed uint64) DriftSeries {
	return nightsWorld{n: 30, flaky: 0.3, at: 20, loss: 0.15, shape: lostByAll}.series(rand.New(rand.NewPCG(1010, seed)), 40)
}

func TestALossIsSeenAndNamed(t *testing.T) {
	t.Parallel()
	nights := stableNights(40, 20, 3, 31, 40)
	nights[3][19], nights[35][18] = 0, 0
	d := FindDrift(DriftSeries{Results: nights})
	expect.Same(t, "state", d.State, DriftLost)
	expect.Same(t, "seen, start, back", []int{d.Seen, d.Start, d.Back}, []int{34, 31, 0})
	expect.Same(t, "starts", d.Starts, []int{31})
	expect.Same(t, "levels", d.DriftLevels, DriftLevels{
		Before: 1 - 1.0/600, Since: 0.85 - 1.0/200, Compared: 20, Lower: 4, Moved: []int{0, 1, 2}, Lost: []int{0, 1, 2},
	}, cmpopts.EquateApprox(0, 1e-12))
	expect.Same(t, "bar", d.Bar, 1800.0)
}

// TestLevelsCompareTheSameCases: a case that ran on one side alone is no part of the level.
func TestLevelsCompareTheSameCases(t *testing.T) {
	t.Parallel()
	nights := stableNights(40, 20, 3, 31, 40)
	for night := range nights {
		if night < 30 {
			nights[night][19] = math.NaN()
		} else {
			nights[night][18] = math.NaN()
		}
	}
	d := FindDrift(DriftSeries{Results: nights})
	expect.Same(t, "compared", d.Compared, 18)
	expect.Same(t, "since", d.Since, 1-3.0/18, cmpopts.EquateApprox(0, 1e-12))
	weights := slices.Repeat([]float64{1}, 20)
	weights[0] = 4
	d = FindDrift(DriftSeries{Results: nights, Weights: weights})
	expect.Same(t, "since, weighted", d.Since, 1-6.0/21, cmpopts.EquateApprox(0, 1e-12))
}

func TestFewNightsAreTooEarly(t *testing.T) {
	t.Parallel()
	for nights, state := range map[int]DriftState{0: DriftEarly, 1: DriftEarly, 3: DriftEarly, 4: DriftUnchanged} {
		expect.Same(t, "state", FindDrift(DriftSeries{Results: stableNights(nights, 5, 0, 0, 0)}).State, state)
	}
}

// TestAnAlarmStays: until it is acknowledged, also when the level recovers.
func TestAnAlarmStays(t *testing.T) {
	t.Parallel()
	d := FindDrift(DriftSeries{Results: stableNights(50, 20, 3, 31, 38)})
	expect.Same(t, "state", d.State, DriftLost)
	expect.Same(t, "seen, start, back", []int{d.Seen, d.Start, d.Back}, []int{34, 31, 39})
	expect.Same(t, "since", d.Since, 0.85)
}

// TestLaterNightsChangeNothing: what a night's run said, those after it repeat.
func TestLaterNightsChangeNothing(t *testing.T) {
	t.Parallel()
	s := flakyNights(1)
	all := FindDrift(s)
	for night := range s.Results {
		before := s
		before.Results = s.Results[:night+1]
		d := FindDrift(before)
		expect.Same(t, "evidence", d.Evidence, all.Nights[night])
		expect.Same(t, "seen", d.Seen > 0, all.Seen > 0 && all.Seen <= night+1)
	}
}

func TestTheNewestNightsAreKept(t *testing.T) {
	t.Parallel()
	d := FindDrift(DriftSeries{Results: stableNights(MostNights+30, 4, 2, 21, MostNights+30)})
	expect.Same(t, "from", d.From, 31)
	expect.Same(t, "a loss before them", d.State, DriftUnchanged)
}

// TestTheBudgetIsShared: arms and metrics divide the false alarms, and a suite sets their rate.
func TestTheBudgetIsShared(t *testing.T) {
	t.Parallel()
	expect.Same(t, "three arms", FindDrift(DriftSeries{Watched: 3}).Bar, 5400.0)
	expect.Same(t, "rate", FindDrift(DriftSeries{Rate: 0.01, Runs: 30}).Bar, 3000.0)
}

// TestAKnownChangeWeighsTen: the start on its night has weight 10 in the sums, which are otherwise the same.
func TestAKnownChangeWeighsTen(t *testing.T) {
	t.Parallel()
	const night = 21
	s := flakyNights(2)
	evidence := func(known []int, forgotten int) []DriftEvidence {
		s := s
		s.Known = known
		if forgotten > 0 {
			s.Acknowledged = []Acknowledgement{{Night: forgotten, Start: forgotten, As: eval.AsNothing}}
		}
		return FindDrift(s).Nights
	}
	usual, known := evidence(nil, 0), evidence([]int{night}, 0)
	from, after := evidence(nil, night-1), evidence(nil, night)
	for i := night - 1; i < len(usual); i++ {
		start := from[i].Mean // of the start on the night alone
		if i >= night {
			start -= after[i].Mean
		}
		expect.Same(t, "evidence", known[i].Mean, usual[i].Mean+9*start, cmpopts.EquateApprox(1e-9, 0))
	}
	expect.Same(t, "before", known[:night-1], usual[:night-1])
	for seed := range uint64(8) {
		s := flakyNights(seed)
		late := FindDrift(s).Seen
		s.Known = []int{night}
		if early := FindDrift(s).Seen; early == 0 || late > 0 && early > late {
			t.Errorf("seed %d: seen on night %d with a known change, on night %d without", seed, early, late)
		}
	}
}

func TestThreeKnownChangesInNinetyNightsWeighMore(t *testing.T) {
	t.Parallel()
	expect.Same(t, "kept", knownStarts([]int{40, 10, 20, 30, 99, 100, 100, 109, 110}), []int{10, 20, 30, 100, 110})
}

// TestAcknowledgedAsLevel: the series starts again at the start of the loss. No alarm looks back on nights before the
// acknowledgement, and a loss after it is found.
func TestAcknowledgedAsLevel(t *testing.T) {
	t.Parallel()
	nights := stableNights(60, 20, 3, 31, 60)
	for night := 50; night < 60; night++ {
		nights[night][10], nights[night][11] = 0, 0
	}
	s := DriftSeries{Results: nights[:50], Acknowledged: []Acknowledgement{{Night: 37, As: eval.AsLevel}}}
	d := FindDrift(s)
	expect.Same(t, "state", d.State, DriftUnchanged)
	expect.Same(t, "from", d.From, 31)
	expect.Same(t, "rebased", d.Rebased, []Rebase{{Night: 37, Start: 31, Points: -15}}, cmpopts.EquateApprox(0, 1e-9))
	s.Results = nights
	d = FindDrift(s)
	expect.Same(t, "state after a second loss", d.State, DriftLost)
	expect.Same(t, "start", d.Start, 51)
	expect.Same(t, "before", d.Before, 0.85)
	s.Results = nights[:38]
	if d = FindDrift(s); d.Start != 0 || d.Seen != 0 || d.State != DriftUnchanged {
		t.Errorf("the night after: state %s, start %d, want unchanged without a start", d.State, d.Start)
	}
	given := s
	given.Acknowledged = []Acknowledgement{{Night: 37, Start: 31, As: eval.AsLevel}}
	expect.Same(t, "with the start that the alarm named", FindDrift(given), d, cmpopts.IgnoreUnexported(Drift{}))
}

// TestAcknowledgedAsOutage: the nights from the start to the run are taken out, as if there had been none.
func TestAcknowledgedAsOutage(t *testing.T) {
	t.Parallel()
	s := DriftSeries{Results: flakyNights(3).Results}
	for night := 20; night < 40; night++ {
		copy(s.Results[night], s.Results[night-20])
	}
	for night := 24; night < 30; night++ {
		s.Results[night] = make([]float64, 30)
	}
	s.Acknowledged = []Acknowledgement{{Night: 30, As: eval.AsOutage}}
	d := FindDrift(s)
	expect.Same(t, "state", d.State, DriftUnchanged)
	without := FindDrift(DriftSeries{Results: slices.Delete(slices.Clone(s.Results), 24, 30)})
	expect.Same(t, "evidence", d.Nights[30:], without.Nights[24:])
	expect.Same(t, "rebased", len(d.Rebased), 0)
}

// TestAcknowledgedAsNothing: starts before have no evidence any more, and all nights stay in the pool.
func TestAcknowledgedAsNothing(t *testing.T) {
	t.Parallel()
	s := DriftSeries{Results: stableNights(45, 20, 3, 31, 45), Acknowledged: []Acknowledgement{{Night: 37, As: eval.AsNothing}}}
	d := FindDrift(s)
	expect.Same(t, "from", d.From, 1)
	expect.Same(t, "seen again, by nights after it", []int{d.Seen, d.Start}, []int{44, 38})
	if d.Nights[37].Most() > 10 {
		t.Errorf("evidence on the night after: %v, want that of one night", d.Nights[37])
	}
}

// TestAnAcknowledgementWithoutAnAlarm changes nothing.
func TestAnAcknowledgementWithoutAnAlarm(t *testing.T) {
	t.Parallel()
	s := flakyNights(4)
	want := FindDrift(s)
	s.Acknowledged = []Acknowledgement{{Night: 10, As: eval.AsLevel}, {Night: 12, As: eval.AsOutage}, {Night: 14, As: eval.AsNothing}}
	expect.Same(t, "drift", FindDrift(s), want, cmpopts.IgnoreUnexported(Drift{}))
}

// TestARiseStartsTheSeriesAgain: it is no alarm, and a loss back to the old level is found, which a series that goes on
// finds less often.
func TestARiseStartsTheSeriesAgain(t *testing.T) {
	t.Parallel()
	const series = 40
	w := nightsWorld{n: 100, flaky: 0.2, at: 1, loss: 0.06, shape: lostByAll, until: 31, again: 72}
	rose, found, without := 0.0, 0.0, 0.0
	for seed := range uint64(series) {
		s := w.series(rand.New(rand.NewPCG(1020, seed)), 101)
		s.Results = s.Results[1:] // the world's first night has no loss
		d := FindDrift(s)
		if len(d.Rebased) == 1 && d.Rebased[0].Rise && d.Rebased[0].Night < 60 {
			rose += 1.0 / series
			atMost(t, "points of a rise, from 6", math.Abs(d.Rebased[0].Points-6), 4)
		}
		if d.Seen > 70 {
			found += 1.0 / series
		}
		rule := stats.NewNights(s.weights())
		for _, night := range s.Results {
			if rule.Add(night, 1); rule.Fall().Most() >= d.Bar {
				without += 1.0 / series
				break
			}
		}
	}
	t.Logf("rises seen %.2f, losses after them %.2f, in series that go on %.2f", rose, found, without)
	atLeast(t, "rises seen", rose, 0.9)
	atLeast(t, "losses found", found, 0.9)
	atMost(t, "control: series that go on", without, found-0.1)
}

// BenchmarkDrift is the largest series that is looked at: 730 nights of 500 cases.
func BenchmarkDrift(b *testing.B) {
	results := stableNights(730, 500, 0, 0, 0)
	for t := range results {
		for i := range 100 {
			results[t][i] = float64((t*31 + i*i*7 + t*t*i) % 5 & 1)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		FindDrift(DriftSeries{Results: results})
	}
}

// TestChancesAreThoseMeasured: the chance by a suite's own results is that of a suite with known rates.
func TestChancesAreThoseMeasured(t *testing.T) {
	t.Parallel()
	const suites, off = 3, 0.1
	for nights, figure := range map[int]float64{10: 0.427, 20: 0.857, 40: 0.985} {
		found := 0.0
		for i := range uint64(suites) {
			found += FindDrift(nightsWorld{n: 100, flaky: 0.2}.series(rand.New(rand.NewPCG(1000+i, 1)), nights)).Chance().Found / suites
		}
		t.Logf("after %d nights: %.3f, elsewhere %.3f", nights, found, figure)
		atMost(t, "chance, from the figure", math.Abs(found-figure), off)
	}
}

// TestChancesWithMoreRepeats: where fewer than half of the losses are found, more repeats are tried.
func TestChancesWithMoreRepeats(t *testing.T) {
	t.Parallel()
	c := FindDrift(nightsWorld{n: 100, flaky: 0.2}.series(rand.New(rand.NewPCG(1000, 2)), 10)).Chance()
	expect.Same(t, "repeats", c.Repeats, 3)
	atMost(t, "chance", c.Found, 0.5)
	atLeast(t, "chance with more repeats", c.Then, 0.85)
	c = FindDrift(DriftSeries{Results: stableNights(10, 20, 20, 1, 10)}).Chance()
	expect.Same(t, "nothing is left to lose", c, DriftChance{Points: 3, Nights: 30, Repeats: 3})
}

// BenchmarkDriftChance is the cost of a chance, the second of a large suite.
func BenchmarkDriftChance(b *testing.B) {
	for _, w := range []struct {
		cases, nights int
		flaky         float64
	}{{100, 10, 0.5}, {100, 43, 0.2}, {500, 10, 0.5}, {500, 90, 0.5}, {500, 730, 0.5}, {5000, 90, 0.2}} {
		b.Run("", func(b *testing.B) {
			s := nightsWorld{n: w.cases, flaky: w.flaky}.series(rand.New(rand.NewPCG(1, 1)), w.nights)
			for b.Loop() {
				b.Log(w, FindDrift(s).Chance())
			}
		})
	}
}
