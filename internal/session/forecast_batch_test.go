package session

import (
	"testing"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/suite"
)

// The 12 calls of two arms are cut into batches by the number of calls or by bytes, and a factor applies to what they cost.
func TestForecastCutsCallsIntoBatches(t *testing.T) {
	t.Parallel()
	half := &eval.PriceList{Batch: new(0.5), Currency: "USD", Models: dollar.Models}
	for name, test := range map[string]struct {
		bounds  wire.BatchBounds
		batches int
	}{
		"one":   {wire.BatchBounds{Items: 12, Bytes: 1e6}, 1},
		"calls": {wire.BatchBounds{Items: 5, Bytes: 1e6}, 3},
		"bytes": {wire.BatchBounds{Items: 100, Bytes: 3 * itemBytes}, 5},
	} {
		bounds := func(string) (wire.BatchBounds, bool) { return test.bounds, true }
		f, err := NewForecast(t.Context(), planOf(t, twoArms), &suite.Limits{Attempts: 1}, half, nil, bounds)
		expect.OK(t, err)
		expect.Same(t, name, f.Batch, &BatchForecast{
			LeastCost: f.LeastCost / 2, MostCost: f.MostCost / 2, Rounds: 1, MostRounds: 1, MostTime: 24 * time.Hour,
			Models: []batchedModel{{Model: "svc-pro", Calls: 12, Batches: test.batches, MostCalls: 12}},
		}, near)
	}
	none := func(string) (wire.BatchBounds, bool) { return wire.BatchBounds{}, false }
	f, err := NewForecast(t.Context(), planOf(t, twoArms), &suite.Limits{Attempts: 1}, half, nil, none)
	expect.OK(t, err)
	expect.Same(t, "without batches", f.Batch, nil)
}

// Each protocol's client says what a batch may hold.
func TestEveryProtocolHasBoundsOfBatches(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.write("s.yaml", limitedSuite("s", `services:
  openai: {protocol: openai, baseUrl: 'https://a.example/v1'}
  responses: {protocol: responses, baseUrl: 'https://a.example/v1'}
  anthropic: {protocol: anthropic, baseUrl: 'https://a.example'}
  never: {protocol: openai, baseUrl: 'https://b.example/v1', batch: false}`))
	j, err := s.settle(Options{Options: eval.Options{Batch: true}}, "s.yaml")
	expect.OK(t, err)
	for _, name := range []string{"", "openai", "responses", "anthropic", "never"} {
		bounds, ok := j.Batching()(name)
		if want := name != "never"; ok != want || ok && (bounds.Items < 1000 || bounds.Bytes < 1e7) {
			t.Errorf("service %q: got %+v, %t, want bounds: %t", name, bounds, ok, want)
		}
	}
}
