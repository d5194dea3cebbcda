package compare

import "slices"

// Cheap is the arm that costs least among the arms that may be the best.
type Cheap struct {
	Arm     string  `json:"arm"`
	Ratio   float64 `json:"ratio"`   // of its cost to that of Against
	Against string  `json:"against"` // the first arm in order; the dearest one where the first is the cheapest
	By      string  `json:"by"`      // what is compared: cost or tokens
}

// ByCost and ByTokens are what arms are compared by: money where all of them have a price, and tokens otherwise.
const (
	ByCost   = "cost"
	ByTokens = "tokens"
)

// Priced is an arm with what it takes.
type Priced struct {
	Arm  string
	Best bool // it may be the best
	Taken
}

// Cheapest is the cheapest of the arms that may be the best; nil for fewer than two, and where they cost the same or
// it is unknown what they cost. The arms are in order, the best first.
func Cheapest(arms []Priced) *Cheap {
	best := slices.DeleteFunc(slices.Clone(arms), func(a Priced) bool { return !a.Best })
	for _, by := range []string{ByCost, ByTokens} {
		if c, known := cheapest(best, by); known {
			return c
		}
	}
	return nil
}

// cheapest compares by one of both; false where an arm has none.
func cheapest(best []Priced, by string) (found *Cheap, known bool) {
	if len(best) < 2 {
		return nil, false
	}
	costs := make([]float64, len(best))
	least, most := 0, 0
	for i, a := range best {
		cost := a.Cost
		if by == ByTokens {
			cost = a.Tokens
		}
		if cost == nil || *cost <= 0 {
			return nil, false
		}
		costs[i] = *cost
		if costs[i] < costs[least] {
			least = i
		}
		if costs[i] > costs[most] {
			most = i
		}
	}
	against := 0
	if costs[least] == costs[0] {
		least, against = 0, most
	}
	if costs[least] == costs[against] {
		return nil, true
	}
	return &Cheap{best[least].Arm, costs[least] / costs[against], best[against].Arm, by}, true
}

// Priced are the arms with what they take, in order.
func (r *Ranking) Priced() (out []Priced) {
	for _, a := range r.Arms {
		out = append(out, Priced{a.Arm, a.Best, a.Taken})
	}
	return out
}

// Priced are the arms with what they take, in order.
func (p *PreferenceRanking) Priced() (out []Priced) {
	for _, a := range p.Arms {
		out = append(out, Priced{a.Arm, a.Best, a.Taken})
	}
	return out
}
