package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// nightsWorld is a suite that runs every night. Each case passes at a rate of its own: flaky ones between 0.3 and 0.9, others at 0.995.
type nightsWorld struct {
	n       int
	flaky   float64 // share of the cases
	repeats int
	cycle   float64 // amplitude of a weekly wave in all rates
	sd      float64 // of a night's effect on all rates
	missing float64 // share of the results
	partly  float64 // share of the nights that lack 30 % of the cases

	at    int     // the last night before a loss; 0 is none
	loss  float64 // of the mean
	shape lossShape
	until int // the last night with the loss; 0 is no end
	again int // the night since which there is the loss once more; 0 is none

	change nightsChange // of the series
	known  []int        // nights with a known change
}

// nightsChange is what else happens to a series.
type nightsChange struct {
	name string
	to   func(*rand.Rand, [][]float64) [][]float64
}

// lossShape is how a loss is spread over the cases.
type lossShape string

const (
	lostWholly lossShape = "lost"    // stable cases fail every time
	lostByAll  lossShape = "all"     // each case loses the same
	lostByTag  lossShape = "tag"     // a tenth of the cases loses ten times as much
	lostFlaky  lossShape = "flakier" // flaky cases lose alone
)

func (w nightsWorld) String() string {
	s := fmt.Sprintf("n=%d flaky=%g", w.n, w.flaky)
	for _, part := range []struct {
		name  string
		value float64
	}{{"repeats", float64(w.repeats)}, {"cycle", w.cycle}, {"sd", w.sd}, {"missing", w.missing}, {"partly", w.partly}} {
		if part.value > 0 && (part.name != "repeats" || part.value > 1) {
			s += fmt.Sprintf(" %s=%g", part.name, part.value)
		}
	}
	if w.known != nil {
		s += fmt.Sprint(", known changes on ", w.known)
	}
	if w.change.name != "" {
		s += ", " + w.change.name
	}
	if w.at > 0 {
		s += fmt.Sprintf(" %s %g points at %d", w.shape, 100*w.loss, w.at)
	}
	return s
}

// rates are those of the cases before a loss, and after it. The flaky cases come first.
func (w nightsWorld) rates(rng *rand.Rand) (before, after []float64) {
	flaky := int(math.Round(w.flaky * float64(w.n)))
	before = make([]float64, w.n)
	for i := range before {
		before[i] = 0.995
		if i < flaky {
			before[i] = 0.3 + 0.6*rng.Float64()
		}
	}
	after = slices.Clone(before)
	total := w.loss * float64(w.n)
	lose := func(cases []int, each float64) {
		for _, i := range cases {
			after[i] = max(0, before[i]-each)
		}
	}
	order := rng.Perm(w.n)
	switch w.shape {
	case lostWholly:
		for i := range int(math.Round(total)) {
			after[w.n-1-i] = 0
		}
	case lostByAll:
		lose(order, w.loss)
	case lostByTag:
		tag := order[:max(1, w.n/10)]
		lose(tag, total/float64(len(tag)))
	case lostFlaky:
		for i := range flaky {
			after[i] = max(0, before[i]-total/float64(flaky))
		}
	}
	return before, after
}

func (w nightsWorld) lossOn(night int) bool {
	first := w.at > 0 && night > w.at && (w.until == 0 || night <= w.until)
	return first || w.again > 0 && night >= w.again
}

func (w nightsWorld) series(rng *rand.Rand, nights int) DriftSeries {
	before, after := w.rates(rng)
	repeats := max(1, w.repeats)
	s := DriftSeries{Repeats: repeats, Known: w.known}
	phase := rng.Float64()
	for night := 1; night <= nights; night++ {
		rates, results := before, make([]float64, w.n)
		if w.lossOn(night) {
			rates = after
		}
		shift := w.sd*rng.NormFloat64() + w.cycle*math.Sin(2*math.Pi*(float64(night)/7+phase))
		missing := w.missing
		if rng.Float64() < w.partly {
			missing += 0.3
		}
		for i, rate := range rates {
			for range repeats {
				if rng.Float64() < rate+shift {
					results[i] += 1 / float64(repeats)
				}
			}
			if missing > 0 && rng.Float64() < missing {
				results[i] = math.NaN()
			}
		}
		s.Results = append(s.Results, results)
	}
	if w.change.to != nil {
		s.Results = w.change.to(rng, s.Results)
	}
	return s
}

// casesReplaced edits cases, so that each goes on as another one: all on night 41, or a part on every 15th night.
func casesReplaced(parts int) nightsChange {
	first, every := 41, 1000
	if parts > 1 {
		first, every = 16, 15
	}
	return nightsChange{fmt.Sprintf("a part of %d replaced", parts), func(_ *rand.Rand, nights [][]float64) [][]float64 {
		n := len(nights[0])
		size, of := n, slices.Repeat([]int{0}, n) // the column of each case
		for i := range of {
			of[i] = i
		}
		out := make([][]float64, len(nights))
		for t := range nights {
			if edit := t + 1 - first; edit >= 0 && edit%every == 0 {
				for i := edit / every % parts; i < n; i += parts {
					of[i] = size
					size++
				}
			}
			out[t] = slices.Repeat([]float64{math.NaN()}, 3*n)
			for i, x := range nights[t] {
				out[t][of[i]] = x
			}
		}
		for t := range out {
			out[t] = out[t][:size]
		}
		return out
	}}
}

// hardCasesAdded turns the last ten cases into ones that pass half of the time, and were added on night 41.
var hardCasesAdded = nightsChange{"hard ones added", func(rng *rand.Rand, nights [][]float64) [][]float64 {
	for t, night := range nights {
		for i := len(night) - 10; i < len(night); i++ {
			if night[i] = float64(rng.IntN(2)); t < 40 {
				night[i] = math.NaN()
			}
		}
	}
	return nights
}}

var casesRemoved = nightsChange{"ten removed", func(_ *rand.Rand, nights [][]float64) [][]float64 {
	for _, night := range nights[40:] {
		for i := range 10 {
			night[i] = math.NaN()
		}
	}
	return nights
}}

// scoredNights makes scores in steps of 0.01 of passes and fails.
var scoredNights = nightsChange{"scores", func(rng *rand.Rand, nights [][]float64) [][]float64 {
	for _, night := range nights {
		for i, x := range night {
			night[i] = math.Round(100*min(max(0.2+0.6*x+0.1*rng.NormFloat64(), 0), 1)) / 100
		}
	}
	return nights
}}

// unchangedNights are 90 on which an alarm can be raised.
const unchangedNights = 93

// falseAlarms is the share of series without a change that alarm.
func (w nightsWorld) falseAlarms(seed uint64, series int, find func(DriftSeries) int) float64 {
	alarms := 0.0
	for _, seen := range eachPath(seed, series, func(rng *rand.Rand) int { return find(w.series(rng, unchangedNights)) }) {
		if seen > 0 {
			alarms++
		}
	}
	return alarms / float64(series)
}

// nightFound is what the report of the first alarm says of a loss.
type nightFound struct {
	seen, start int
	within      bool    // the night it began is among the possible ones
	named, lost float64 // of the cases that always fail since, those named and all
}

// nightsFound are the losses seen within 30 nights.
type nightsFound struct {
	share, median float64 // of series without an alarm before, and of the nights that it takes
	near, within  float64 // of alarms: the start is right within 3 nights, or is among the possible ones
	named         float64 // of the cases that always fail since
}

func (w nightsWorld) find(rng *rand.Rand) nightFound {
	const within = 30
	s := w.series(rng, w.at+within)
	f := nightFound{seen: seenOn(s)}
	if f.seen <= w.at {
		return f
	}
	s.Results = s.Results[:f.seen]
	d := FindDrift(s)
	f.start, f.within = d.Start, slices.Contains(d.Starts, w.at+1)
	if w.shape == lostWholly {
		f.lost = math.Round(w.loss * float64(w.n))
		for _, i := range d.Moved {
			if i >= w.n-int(f.lost) {
				f.named++
			}
		}
	}
	return f
}

func (w nightsWorld) finds(seed uint64, series int) (all nightsFound) {
	var delays []int
	n, near, within, named, lost := 0.0, 0.0, 0.0, 0.0, 0.0
	for _, f := range eachPath(seed, series, w.find) {
		if f.seen > w.at {
			delays = append(delays, f.seen-w.at)
			named, lost = named+f.named, lost+f.lost
			if first := w.at + 1; first-3 <= f.start && f.start <= first+3 {
				near++
			}
			if f.within {
				within++
			}
		}
		if f.seen == 0 || f.seen > w.at {
			n++
		}
	}
	slices.Sort(delays)
	found := float64(len(delays))
	if found == 0 {
		return nightsFound{median: math.NaN()}
	}
	all = nightsFound{share: found / n, near: near / found, within: within / found, named: named / max(1, lost)}
	all.median = float64(delays[(len(delays)-1)/2]+delays[len(delays)/2]) / 2
	return all
}

// seenOn is the night of the first alarm, 0 without one.
func seenOn(s DriftSeries) int { return FindDrift(s).Seen }

// seriesFor is how many series are drawn: fewer than in the long form in every other test run.
func seriesFor(long, short int) int {
	if calibrating() {
		return long
	}
	return short
}

// TestNightsRarelyAlarmWithoutAChange holds the false alarms: at most 5 % of series of 90 nights, and what was measured by another program.
func TestNightsRarelyAlarmWithoutAChange(t *testing.T) {
	t.Parallel()
	for i, cell := range []struct {
		world  nightsWorld
		figure float64 // 0 where another program drew few series, or other ones
	}{
		{nightsWorld{n: 20, flaky: 0.5}, 0.0165},
		{nightsWorld{n: 100, flaky: 0.2}, 0.015},
		{nightsWorld{n: 20}, 0.0065},
		{nightsWorld{n: 100}, 0.0105},
		{nightsWorld{n: 100, flaky: 0.5}, 0.0145},
		{nightsWorld{n: 100, flaky: 0.2, cycle: 0.02, sd: 0.005}, 0.0065},
		{nightsWorld{n: 100, flaky: 0.2, sd: 0.005}, 0.016},
		{nightsWorld{n: 20, flaky: 0.5, partly: 0.1, missing: 0.05}, 0.0145},
		{nightsWorld{n: 20, flaky: 0.5, repeats: 3}, 0.016},
		{nightsWorld{n: 500, flaky: 0.2}, 0},
		{nightsWorld{n: 20, flaky: 0.5, known: []int{21, 41, 61}}, 0},
		{nightsWorld{n: 100, flaky: 0.2, known: []int{21, 41, 61}}, 0},
		{nightsWorld{n: 20, flaky: 0.5, change: casesReplaced(10)}, 0},
		{nightsWorld{n: 100, flaky: 0.2, change: casesReplaced(10)}, 0},
		{nightsWorld{n: 20, flaky: 0.5, change: casesReplaced(1)}, 0},
		{nightsWorld{n: 100, flaky: 0.2, change: casesReplaced(1)}, 0},
		{nightsWorld{n: 20, flaky: 0.5, change: hardCasesAdded}, 0},
		{nightsWorld{n: 100, flaky: 0.2, change: hardCasesAdded}, 0},
		{nightsWorld{n: 100, flaky: 0.2, change: casesRemoved}, 0},
		{nightsWorld{n: 20, flaky: 0.5, change: scoredNights}, 0},
		{nightsWorld{n: 100, flaky: 0.2, change: scoredNights}, 0},
	} {
		if i > 1 && !calibrating() {
			break
		}
		series := seriesFor(2000, 150)
		rate := cell.world.falseAlarms(uint64(900+i), series, seenOn)
		t.Logf("%s: %.2f %% of %d series, elsewhere %.2f %%", cell.world, 100*rate, series, 100*cell.figure)
		if !calibrating() {
			atMost(t, cell.world.String(), rate, 12.0/150)
			continue
		}
		atMost(t, cell.world.String()+": lower 99 % bound", rate-2.576*math.Sqrt(rate*(1-rate)/float64(series)), nominal)
		if cell.figure > 0 {
			atMost(t, cell.world.String()+": from the figure", math.Abs(rate-cell.figure), 0.01)
		}
	}
}

// TestNightsFindLosses holds the finds that docs/explanation/drift.md promises, as measured by another program.
func TestNightsFindLosses(t *testing.T) {
	t.Parallel()
	for i, cell := range []struct {
		n             int
		flaky         float64
		shape         lossShape
		loss          float64
		at, repeats   int
		found, median float64
		short         bool
	}{
		{100, 0.0, lostByAll, 0.03, 10, 1, 0.968, 9, false},
		{100, 0.2, lostWholly, 0.03, 10, 1, 1, 11, false},
		{100, 0.2, lostByAll, 0.03, 10, 1, 0.728, 13, false},
		{100, 0.2, lostByTag, 0.03, 10, 1, 0.427, 12, false},
		{100, 0.2, lostFlaky, 0.03, 10, 1, 0.403, 14, false},
		{100, 0.5, lostByAll, 0.03, 10, 1, 0.367, 16, false},
		{100, 0.2, lostByAll, 0.08, 10, 1, 1, 8, true},
		{100, 0.2, lostByTag, 0.08, 10, 1, 1, 8, false},
		{100, 0.0, lostByAll, 0.03, 20, 1, 1, 6, false},
		{100, 0.2, lostWholly, 0.03, 20, 1, 1, 7, true},
		{100, 0.2, lostByAll, 0.03, 20, 1, 0.977, 8, false},
		{100, 0.2, lostByTag, 0.03, 20, 1, 0.857, 10, false},
		{100, 0.2, lostFlaky, 0.03, 20, 1, 0.816, 13, false},
		{100, 0.5, lostByAll, 0.03, 20, 1, 0.842, 13, false},
		{100, 0.2, lostByAll, 0.08, 20, 1, 1, 5, false},
		{100, 0.2, lostByTag, 0.08, 20, 1, 1, 5, false},
		{100, 0.0, lostByAll, 0.03, 40, 1, 1, 5, false},
		{100, 0.2, lostWholly, 0.03, 40, 1, 1, 5, false},
		{100, 0.2, lostByAll, 0.03, 40, 1, 1, 6, false},
		{100, 0.2, lostByTag, 0.03, 40, 1, 0.985, 7, true},
		{100, 0.2, lostFlaky, 0.03, 40, 1, 0.958, 10, false},
		{100, 0.5, lostByAll, 0.03, 40, 1, 0.983, 8, false},
		{100, 0.2, lostByAll, 0.08, 40, 1, 1, 4, false},
		{100, 0.2, lostByTag, 0.08, 40, 1, 1, 4, false},
		{100, 0.2, lostByTag, 0.03, 20, 3, 1, 5, false},
		{100, 0.2, lostFlaky, 0.03, 20, 3, 1, 6, false},
	} {
		if !cell.short && !calibrating() {
			continue
		}
		w := nightsWorld{n: cell.n, flaky: cell.flaky, shape: cell.shape, loss: cell.loss, at: cell.at, repeats: cell.repeats}
		got := w.finds(uint64(920+i), seriesFor(600, 60))
		t.Logf("%s: found %.1f %%, median %g; elsewhere %.1f %%, %g", w, 100*got.share, got.median, 100*cell.found, cell.median)
		t.Logf("%s: start within 3 nights %.1f %%, possible %.1f %%, named %.1f %%", w, 100*got.near, 100*got.within, 100*got.named)
		share, nights := 0.05, 1.0
		if cell.found < 0.75 {
			share = 0.08
		}
		if cell.median > 10 {
			nights = 2
		}
		atMost(t, w.String()+": found, from the figure", math.Abs(got.share-cell.found), share)
		atMost(t, w.String()+": median, from the figure", math.Abs(got.median-cell.median), nights)
		near := 0.75
		if cell.shape == lostWholly || cell.loss > 0.03 {
			near = 0.97
		}
		atLeast(t, w.String()+": start within 3 nights", got.near, near)
		atLeast(t, w.String()+": start possible", got.within, near)
		if cell.shape == lostWholly {
			atLeast(t, w.String()+": cases named", got.named, 0.96)
		}
	}
}
