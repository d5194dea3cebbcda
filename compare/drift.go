package compare

import (
	"math"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/stats"
)

// DriftSeries are the nights of a suite in one metric and arm. Nights count from 1 in all that follows, cases from 0.
type DriftSeries struct {
	Results [][]float64 // by night and case: the mean over repeats in [0,1], higher is better; NaN is missing
	Weights []float64   // by case, above 0; nil is 1 each
	Repeats int         // of a case on a night

	Known        []int // nights that differ from the one before in something known, as the model's version
	Acknowledged []Acknowledgement

	Watched int     // arms times metrics that share the budget; 0 is 1
	Rate    float64 // of series without a change, the share that alarms within Runs nights; 0 is 0.05
	Runs    int     // 0 is 90
}

// Acknowledgement says what an alarm was.
type Acknowledgement struct {
	Night int // the newest night of the run whose alarm is acknowledged
	Start int // the start that the alarm named; 0 takes it from the alarm
	As    eval.AcknowledgedAs
}

// DriftEvidence is what three tests say on a night; 0 where no change could be seen yet.
type DriftEvidence struct{ Mean, Weighed, Streak float64 }

// Most is the largest of the three by their parts of the budget, which is compared with the bar.
func (e DriftEvidence) Most() float64 { return stats.NightEvidence(e).Most() }

// DriftState is what a series shows tonight.
type DriftState string

// The states of a series.
const (
	DriftLost      DriftState = "lost"      // an alarm that is not acknowledged
	DriftUnchanged DriftState = "unchanged" // no loss is shown
	DriftEarly     DriftState = "early"     // fewer than four nights since the series began
)

// Drift is what the nights of a series show.
type Drift struct {
	State    DriftState
	Bar      float64         // evidence that alarms
	Evidence DriftEvidence   // of a loss tonight
	Nights   []DriftEvidence // of each night, by what was known on it
	From     int             // the night on which the series begins

	Seen   int   // the night of the alarm, 0 without one
	Start  int   // the night on which the loss most likely began
	Starts []int // the nights on which it may have begun
	Back   int   // the night since which the loss is no longer shown, 0 if it still is

	DriftLevels          // of a loss
	Rebased     []Rebase // how the series started again, by night

	watch *watch // after the newest night
}

// DriftLevels compare a loss with the nights before it, over the cases that have results on both sides.
type DriftLevels struct {
	Before, Since float64 // mean of the cases' means; NaN without such a case
	Compared      int     // cases
	Lower         int     // of them, cases with a lower mean
	Moved         []int   // cases whose fails are too many for chance; of the named ones a tenth may be wrong
	Lost          []int   // of them, cases that failed on every night since and on none before
}

// Rebase is a new beginning of a series.
type Rebase struct {
	Night  int     // on which it was seen or acknowledged
	Start  int     // first night of the new series
	Rise   bool    // by a rise, else by an acknowledgement
	Points float64 // from the level before to the one since, in percentage points
}

// MostNights is how many of the newest nights are looked at.
const MostNights = 730

// The contract of a drift alarm where a suite sets nothing, and its limits (docs/explanation/drift.md).
const (
	driftRate     = 0.05
	driftRuns     = 90
	knownWeight   = 10  // of a start on a night with a known change
	knownChanges  = 3   // that have this weight in any driftRuns nights
	movedShare    = 0.1 // of the cases named, the share that may be wrong
	backShare     = 20  // the evidence has fallen to this part when a loss is over
	percentPoints = 100
)

// FindDrift looks through the nights in order, as each night's run did. It depends on nothing else: there is no seed and no stored state.
func FindDrift(s DriftSeries) Drift {
	w := &watch{series: s, known: knownStarts(s.Known), drift: Drift{Bar: s.bar(), State: DriftEarly}}
	w.drift.Nights = make([]DriftEvidence, len(s.Results))
	w.begin(max(1, len(s.Results)-MostNights+1), 0)
	for night := w.from; night <= len(s.Results); night++ {
		w.add(night)
		w.judge(night)
		for _, a := range s.Acknowledged {
			if a.Night == night {
				w.acknowledge(a)
			}
		}
	}
	return w.report()
}

func (s DriftSeries) bar() float64 {
	rate, runs := s.Rate, s.Runs
	if rate == 0 {
		rate = driftRate
	}
	if runs == 0 {
		runs = driftRuns
	}
	return float64(runs) / rate * float64(max(1, s.Watched))
}

func (s DriftSeries) weights() []float64 {
	if s.Weights == nil && len(s.Results) > 0 {
		return slices.Repeat([]float64{1}, len(s.Results[0]))
	}
	return s.Weights
}

// knownStarts keeps at most three known changes in any 90 nights, the first ones.
func knownStarts(nights []int) []int {
	var kept []int
	for _, night := range slices.Sorted(slices.Values(nights)) {
		if n := len(kept); n < knownChanges || night-kept[n-knownChanges] >= driftRuns {
			kept = append(kept, night)
		}
	}
	return slices.Compact(kept)
}

// watch is the state of a series after some of its nights.
type watch struct {
	series DriftSeries
	known  []int
	drift  Drift

	from    int // first night of the series
	learnt  int // no change begins on nights up to this one
	outages [][2]int
	nights  []int // of the series
	rule    *stats.Nights
	peak    float64 // largest evidence of the alarm
	peakAt  int     // its night
}

// begin starts the series again on a night; no change begins on nights up to learnt.
func (w *watch) begin(from, learnt int) {
	w.from, w.learnt, w.nights, w.rule = from, max(w.learnt, learnt), nil, stats.NewNights(w.series.weights())
}

// again goes through the nights of the series up to one.
func (w *watch) again(upTo int) {
	for night := w.from; night <= upTo; night++ {
		if !slices.ContainsFunc(w.outages, func(o [2]int) bool { return o[0] <= night && night <= o[1] }) {
			w.add(night)
		}
	}
}

func (w *watch) add(night int) {
	w.nights = append(w.nights, night)
	switch {
	case night <= w.learnt:
		w.rule.Learn(w.series.Results[night-1])
	case slices.Contains(w.known, night):
		w.rule.Add(w.series.Results[night-1], knownWeight)
	default:
		w.rule.Add(w.series.Results[night-1], 1)
	}
}

// judge raises an alarm, or starts the series again at a rise. Until an alarm is acknowledged, a rise only ends the loss.
func (w *watch) judge(night int) {
	d := &w.drift
	evidence := DriftEvidence(w.rule.Fall())
	d.Nights[night-1], d.Evidence = evidence, evidence
	most := evidence.Most()
	switch {
	case most >= d.Bar && most >= w.peak:
		if d.Seen == 0 {
			d.Seen = night
		}
		w.peak, w.peakAt = most, night
		start, starts := w.rule.FallStarts()
		d.Start, d.Starts = w.nights[start], nil
		for _, s := range starts {
			d.Starts = append(d.Starts, w.nights[s])
		}
	case d.Seen == 0 && w.rule.Rise().Most() >= d.Bar:
		w.rebase(Rebase{Night: night, Start: w.nights[w.rule.RiseStart()], Rise: true})
	}
}

// rebase starts the series again at a start in the past. No alarm looks back on the nights up to now.
func (w *watch) rebase(r Rebase) {
	levels := w.levels(r.Start, r.Night)
	r.Points = percentPoints * (levels.Since - levels.Before)
	w.drift.Rebased = append(w.drift.Rebased, r)
	w.begin(r.Start, r.Night)
	w.again(r.Night)
}

func (w *watch) acknowledge(a Acknowledgement) {
	if a.Start == 0 {
		a.Start = w.drift.Start
	}
	if a.Start == 0 {
		return
	}
	a.Start = max(a.Start, w.from)
	switch a.As {
	case eval.AsLevel:
		w.rebase(Rebase{Night: a.Night, Start: a.Start})
	case eval.AsOutage:
		w.outages = append(w.outages, [2]int{a.Start, a.Night})
		w.begin(w.from, 0)
		w.again(a.Night)
	case eval.AsNothing:
		w.begin(w.from, a.Night)
		w.again(a.Night)
	}
	w.drift.Seen, w.drift.Start, w.drift.Starts, w.peak = 0, 0, nil, 0
}

func (w *watch) report() Drift {
	d := w.drift
	d.From, d.watch = w.from, w
	switch {
	case d.Seen > 0:
		last := len(w.series.Results)
		if d.Evidence.Most() < w.peak/backShare {
			d.Back = w.peakAt + 1
			last = w.peakAt
		}
		d.State, d.DriftLevels = DriftLost, w.levels(d.Start, last)
	case len(w.nights) > stats.NightsBefore:
		d.State = DriftUnchanged
	}
	return d
}

// levels compares the nights of the series from start to last with those before start.
func (w *watch) levels(start, last int) DriftLevels {
	var l DriftLevels
	var cases []int
	var chances []float64
	total, weights := 0.0, w.series.weights()
	for i := range w.series.Results[0] {
		before, since := w.side(i, w.from, start-1), w.side(i, start, last)
		if before.n == 0 || since.n == 0 {
			continue
		}
		weight := weights[i]
		total += weight
		l.Before += weight * before.mean()
		l.Since += weight * since.mean()
		l.Compared++
		if since.mean() < before.mean() {
			l.Lower++
		}
		_, worse := stats.FisherExact(before.n-before.fails, before.n, since.n-since.fails, since.n)
		cases, chances = append(cases, i), append(chances, worse)
		if before.fails == 0 && since.fails == since.n {
			l.Lost = append(l.Lost, i)
		}
	}
	l.Before, l.Since = l.Before/total, l.Since/total
	for k, p := range stats.BenjaminiHochberg(chances) {
		if p <= movedShare {
			l.Moved = append(l.Moved, cases[k])
		}
	}
	l.Lost = slices.DeleteFunc(l.Lost, func(i int) bool { return !slices.Contains(l.Moved, i) })
	return l
}

// nightsSide is a case on the nights before a start, or since.
type nightsSide struct {
	n, fails int
	sum      float64
}

func (s nightsSide) mean() float64 { return s.sum / float64(s.n) }

func (w *watch) side(i, from, to int) nightsSide {
	var s nightsSide
	for _, night := range w.nights {
		if x := w.series.Results[night-1][i]; from <= night && night <= to && !math.IsNaN(x) {
			s.n++
			s.sum += x
			if x < 0.5 {
				s.fails++
			}
		}
	}
	return s
}
