package eval

import (
	"math"
	"testing"
)

// What a service put into a cache costs what the list says: a price of its own, another one for an hour, or that of the prompt.
func TestWritesToACacheHaveTheirPrice(t *testing.T) {
	t.Parallel()
	u := Usage{PromptTokens: 1_000_000, CachedTokens: 100_000, WrittenTokens: 300_000, HourTokens: 200_000}
	for name, test := range map[string]struct {
		price      Price
		cost, most float64
	}{
		"one price":      {Price{Input: 10}, 10, 10},
		"cached":         {Price{Input: 10, Cached: new(1.0)}, 9.1, 9.1},
		"written":        {Price{Input: 10, CacheWrite: new(12.5)}, 10.75, 12.25},
		"for an hour":    {Price{Input: 10, CacheWrite: new(12.5), CacheWriteHour: new(20.0)}, 12.25, 19},
		"cheaper writes": {Price{Input: 10, CacheWrite: new(2.0)}, 7.6, 7.6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := PriceList{Models: map[string]Price{"m": test.price}}
			if cost, most := list.Of("m", &u), list.MostOf("m", &u); math.Abs(cost-test.cost)+math.Abs(most-test.most) > 1e-9 {
				t.Errorf("got %g, at most %g, want %g and %g", cost, most, test.cost, test.most)
			}
		})
	}
}
