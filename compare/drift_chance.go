package compare

import (
	"math"
	"math/rand/v2"

	"github.com/evalrun/evalrun/internal/stats"
)

// DriftChance is how often a loss that begins on the night after the series would be found.
type DriftChance struct {
	Points  float64 `json:"points"`            // of the mean, in percentage points
	Nights  int     `json:"nights"`            // within which it is found
	Found   float64 `json:"found"`             // share, with the repeats that the suite has
	Repeats int     `json:"repeats,omitempty"` // three times as many, when less than half are found, else 0
	Then    float64 `json:"then,omitempty"`    // share with them
}

// What a chance is of, and by how many simulated series.
const (
	chancePoints   = 3
	chanceNights   = 30
	chanceSeries   = 200
	chanceCases    = 500 // of suites with more cases, fewer series are simulated, but 20 at least
	chanceFewest   = 20
	chanceMemory   = 90  // newest nights that a simulated series begins with
	chanceTag      = 0.3 // that a case loses
	chanceRepeats  = 3   // times the repeats, where the chance is small
	chanceWorth    = 0.5 // below which more repeats are tried
	chanceSeed     = 48
	chanceRounding = 1e-9
)

// Chance simulates 200 series with the rates, the number of nights and the repeats of this one, that lose 3 points from tomorrow
// on: a tenth of the cases loses 30 points each, which is harder to see than cases that fail every time. It is seeded: the
// same series has the same chance. It takes up to a second.
func (d Drift) Chance() DriftChance {
	c := DriftChance{Points: chancePoints, Nights: chanceNights, Found: d.watch.chance(1)}
	if c.Found < chanceWorth {
		c.Repeats, c.Then = chanceRepeats*max(1, d.watch.series.Repeats), d.watch.chance(chanceRepeats)
	}
	return c
}

// chance is the share of losses found, with the mean of that many of the suite's own results for one.
func (w *watch) chance(means int) float64 {
	m := w.model(means)
	found, series := 0, chanceSeries
	if n := len(m.own); n > chanceCases {
		series = max(chanceFewest, chanceSeries*chanceCases/n)
	}
	for i := range series {
		if m.finds(rand.New(rand.NewPCG(chanceSeed, uint64(i)))) { //nolint:gosec // a simulation
			found++
		}
	}
	return float64(found) / float64(series)
}

// nightsModel draws nights whose cases have results like those of a series.
type nightsModel struct {
	own            [][]float64 // results of each case that has some
	mean, weights  []float64   // of these cases
	repeats, means int
	memory         int
	bar            float64
}

func (w *watch) model(means int) *nightsModel {
	m := &nightsModel{repeats: max(1, w.series.Repeats), means: means, memory: min(len(w.nights), chanceMemory), bar: w.drift.Bar}
	steady, values := map[float64][]float64{}, map[int]float64{}
	for i, weight := range w.series.weights() {
		var own []float64
		for _, night := range w.nights {
			if x := w.series.Results[night-1][i]; !math.IsNaN(x) {
				own = append(own, x)
			}
		}
		if len(own) == 0 || weight == 0 {
			continue
		}
		if value, ok := usual(own); ok {
			values[len(m.own)], steady[value] = value, append(steady[value], own...)
		}
		m.own, m.weights = append(m.own, own), append(m.weights, weight)
	}
	for i := range m.own {
		if value, ok := values[i]; ok {
			m.own[i] = steady[value]
		}
		sum := 0.0
		for _, x := range m.own[i] {
			sum += x
		}
		m.mean = append(m.mean, sum/float64(len(m.own[i])))
	}
	return m
}

// usual is the value of all results but one at most. Cases with the same usual value share their exceptions: otherwise,
// those that had none so far would never have one, and each loss would be easy to see.
func usual(own []float64) (value float64, ok bool) {
	for _, value := range own[:min(2, len(own))] {
		same := 0
		for _, x := range own {
			if x == value {
				same++
			}
		}
		if same >= len(own)-1 && 2*same > len(own) {
			return value, true
		}
	}
	return 0, false
}

func (m *nightsModel) finds(rng *rand.Rand) bool {
	lost := m.loss(rng)
	if lost == nil {
		return false
	}
	rule, none := stats.NewNights(m.weights), make([]float64, len(lost))
	for range m.memory {
		rule.Learn(m.night(rng, none))
	}
	for range chanceNights {
		rule.Add(m.night(rng, lost), 1)
		if rule.Fall().Most() >= m.bar {
			return true
		}
	}
	return false
}

// loss draws which cases lose, and returns for each the share of its results that turn into 0; nil when there is less to lose.
func (m *nightsModel) loss(rng *rand.Rand) []float64 {
	left := 0.0
	for _, weight := range m.weights {
		left += weight * chancePoints / percentPoints
	}
	lost := make([]float64, len(m.own))
	for _, i := range rng.Perm(len(lost)) {
		if m.mean[i] <= 0 || left <= 0 {
			continue
		}
		loss := min(chanceTag, m.mean[i], left/m.weights[i])
		lost[i] = loss / m.mean[i]
		left -= loss * m.weights[i]
	}
	if left > chanceRounding {
		return nil
	}
	return lost
}

func (m *nightsModel) night(rng *rand.Rand, lost []float64) []float64 {
	results := make([]float64, len(lost))
	for i, own := range m.own {
		for range m.means {
			x := own[rng.IntN(len(own))]
			if lost[i] > 0 {
				x *= m.kept(rng, lost[i])
			}
			results[i] += x / float64(m.means)
		}
	}
	return results
}

// kept is the share of repeats that are not lost.
func (m *nightsModel) kept(rng *rand.Rand, lost float64) float64 {
	kept := 0.0
	for range m.repeats {
		if rng.Float64() >= lost {
			kept++
		}
	}
	return kept / float64(m.repeats)
}
