package eval

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
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
		"cached":         {Price{Input: 10, Cached: new(1.0)}, 9.1, 10},
		"written":        {Price{Input: 10, CacheWrite: new(12.5)}, 10.75, 12.5},
		"for an hour":    {Price{Input: 10, CacheWrite: new(12.5), CacheWriteHour: new(20.0)}, 12.25, 20},
		"cheaper writes": {Price{Input: 10, CacheWrite: new(2.0)}, 7.6, 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := PriceList{Models: map[string]Price{"m": test.price}}
			cost, most := list.Of("m", &u), list.MostOf("m", &u, u.PromptTokens)
			if math.Abs(cost-test.cost)+math.Abs(most-test.most) > 1e-9 {
				t.Errorf("got %g, at most %g, want %g and %g", cost, most, test.cost, test.most)
			}
		})
	}
}

// The factor of a model wins over that of the list, and without any a batch costs as much as other calls.
func TestCallsByBatchCostTheirFactor(t *testing.T) {
	t.Parallel()
	live := &Usage{PromptTokens: 600_000, OutputTokens: 100_000}
	u := *live.OfCall(true)
	u.Add(live)
	for name, test := range map[string]struct {
		list, model *float64
		cost        float64
		known       bool
	}{
		"of the list":  {new(0.5), nil, 15, true},
		"of the model": {new(0.5), new(0.25), 12.5, true},
		"without":      {nil, nil, 20, false},
	} {
		list := PriceList{Batch: test.list, Models: map[string]Price{"m": {Input: 10, Output: 40, Batch: test.model}}}
		most := list.MostOf("m", &Usage{PromptTokens: 1_000_000, Batch: &BatchUsage{}}, 1_000_000)
		if got := list.Of("m", &u); math.Abs(got-test.cost) > 1e-9 || list.KnowsBatch("m") != test.known || list.KnowsBatch("n") {
			t.Errorf("%s: got %g, known %t, want %g and %t", name, got, list.KnowsBatch("m"), test.cost, test.known)
		}
		if want := 10 * or(test.model, or(test.list, 1)); math.Abs(most-want) > 1e-9 {
			t.Errorf("%s: got %g at most, want %g", name, most, want)
		}
	}
}

// However the calls of trials are added up, and whatever the price list, the sum costs what the calls cost one by one. What came
// since a part of them costs the rest, and no call costs more than was reserved for it.
func TestSumsCostWhatTheirCallsCost(t *testing.T) {
	t.Parallel()
	draw := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		price := Price{Input: 2, Output: 12, Cached: new(0.2), CacheWrite: new(2.5), CacheWriteHour: new(4.0), Batch: new(0.5)}
		price.Above = &LongPrice{Tokens: LongPrompt + draw.IntN(300_000), Price: Price{Input: 4, Output: 18, CacheWrite: new(5.0)}}
		list := PriceList{Models: map[string]Price{"m": price}}
		var sum, earlier Usage
		want, before := 0.0, 0.0
		for range 1 + draw.IntN(6) {
			plain := Usage{PromptTokens: draw.IntN(400_000), OutputTokens: draw.IntN(9000), Source: UsageService}
			plain.CachedTokens = draw.IntN(plain.PromptTokens + 1)
			plain.WrittenTokens = draw.IntN(plain.PromptTokens + 1 - plain.CachedTokens)
			factor, applied := 1.0, &price
			byBatch := draw.IntN(2) == 0
			if byBatch {
				factor = 0.5
			}
			if plain.PromptTokens > price.Above.Tokens {
				applied = &price.Above.Price
			}
			one := plain.OfCall(byBatch)
			cost := factor * applied.each(new(plain.billed()))
			if got := list.Of("m", one); math.Abs(got-cost) > 1e-9 {
				t.Fatalf("%+v: got %g, want %g", *one, got, cost)
			}
			most := (&Usage{PromptTokens: plain.PromptTokens, OutputTokens: plain.OutputTokens}).OfCall(byBatch)
			if got := list.MostOf("m", most, plain.PromptTokens); got < cost-1e-9 {
				t.Fatalf("%+v: got %g at most, want no less than %g", *one, got, cost)
			}
			if draw.IntN(3) == 0 {
				earlier, before = sum, want
			}
			sum.Add(one)
			want += cost
		}
		line, err := json.Marshal(&sum)
		var read Usage
		if err == nil {
			err = json.Unmarshal(line, &read)
		}
		if diff := cmp.Diff(sum, read); err != nil || diff != "" {
			t.Fatalf("read again: %v (-written +read):\n%s", err, diff)
		}
		rest := read.Since(&earlier)
		if got := list.Of("m", &read); math.Abs(got-want) > 1e-9 {
			t.Fatalf("%s: got %g, want %g", line, got, want)
		}
		if got := list.Of("m", &rest); math.Abs(got-(want-before)) > 1e-9 {
			t.Fatalf("%+v since %+v: got %g, want %g", read, earlier, got, want-before)
		}
	}
}
