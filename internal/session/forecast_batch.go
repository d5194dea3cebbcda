package session

import (
	"cmp"
	"slices"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/suite"
)

// batchTime is how long vendors may take for a batch.
const batchTime = 24 * time.Hour

// BatchForecast is what a plan takes when the calls to services with batches come by batch.
type BatchForecast struct {
	LeastCost float64 `json:"leastCost"` // as in Forecast
	MostCost  float64 `json:"mostCost"`
	// Rounds are how often batches have to be collected: a turn of a chat, a step of a tool loop, and a judge wait for the answer
	// before.
	Rounds     int            `json:"rounds"`
	MostRounds int            `json:"mostRounds"` // with all steps of tool loops
	MostTime   time.Duration  `json:"mostTimeNs"`
	Models     []batchedModel `json:"models"`
	// SamePrice are the models that have a price, but none in batches.
	SamePrice []string `json:"samePrice,omitempty"`
}

type batchedModel struct {
	Service   string `json:"service,omitempty"` // "" for the unnamed one
	Model     string `json:"model"`
	Calls     int    `json:"calls"` // at least, as the next two
	Batches   int    `json:"batches"`
	MostCalls int    `json:"mostCalls"` // without retries
}

// batchBounds returns the most that a service takes in one batch; ok is false if its calls do not come by batch.
type batchBounds func(service string) (bounds wire.BatchBounds, ok bool)

// Batching returns the bounds of the services whose calls come by batch.
func (j *Job) Batching() batchBounds {
	return func(service string) (wire.BatchBounds, bool) {
		of := &contact{NamedService: &suite.NamedService{Protocol: eval.Generative}}
		if named := j.Settings.Services[service]; named != nil {
			of.NamedService = named.NamedService
		}
		if !j.Settings.Batches(service) {
			return wire.BatchBounds{}, false
		}
		client := of.Connect()
		defer client.Close()
		batcher, ok := client.(wire.Batcher)
		if !ok {
			return wire.BatchBounds{}, false
		}
		return batcher.Bounds(), true
	}
}

type batchForecaster struct {
	of     batchBounds
	prices *eval.PriceList
	known  map[string]*wire.BatchBounds // by service; nil for one without batches
	loads  map[runner.ModelRef]*batchLoad
	BatchForecast
}

type batchLoad struct {
	calls, mostCalls, rounds int
	bytes                    int64
}

// itemBytes is what a line of a batch has in addition to its prompt, at most for most.
const itemBytes = 512

func (b *batchForecaster) batches(service string) bool {
	if b.of == nil {
		return false
	}
	if _, known := b.known[service]; !known {
		b.known[service] = nil
		if bounds, ok := b.of(service); ok {
			b.known[service] = &bounds
		}
	}
	return b.known[service] != nil
}

// take adds calls of a trial that come one after the other, and their cost. least and most are their usages, and longest as in
// PriceList.MostOf.
func (b *batchForecaster) take(to runner.ModelRef, l batchLoad, least, most *eval.Usage, longest int) {
	if b.of == nil {
		return
	}
	if b.batches(to.Service) {
		least, most = least.OfCall(true), most.OfCall(true)
		load := cmp.Or(b.loads[to], &batchLoad{})
		load.calls, load.mostCalls, load.bytes = load.calls+l.calls, load.mostCalls+l.mostCalls, load.bytes+l.bytes
		load.rounds = max(load.rounds, l.rounds)
		b.loads[to] = load
	}
	b.LeastCost += b.prices.Of(to.Model, least)
	b.MostCost += b.prices.MostOf(to.Model, most, longest)
}

// trial takes note of how many rounds the calls of a trial take.
func (b *batchForecaster) trial(rounds, most int) {
	b.Rounds, b.MostRounds = max(b.Rounds, rounds), max(b.MostRounds, most)
}

// whole is the forecast, nil if nothing comes by batch.
func (b *batchForecaster) whole() *BatchForecast {
	if len(b.loads) == 0 {
		return nil
	}
	for to, l := range b.loads {
		bounds := b.known[to.Service]
		batches := max(l.rounds, (l.calls+bounds.Items-1)/bounds.Items, int((l.bytes+bounds.Bytes-1)/bounds.Bytes))
		b.Models = append(b.Models, batchedModel{to.Service, to.Model, l.calls, batches, l.mostCalls})
		if b.prices.Knows(to.Model) && !b.prices.KnowsBatch(to.Model) && !slices.Contains(b.SamePrice, to.Model) {
			b.SamePrice = append(b.SamePrice, to.Model)
		}
	}
	slices.Sort(b.SamePrice)
	slices.SortFunc(b.Models, func(x, y batchedModel) int {
		return cmp.Or(cmp.Compare(x.Service, y.Service), cmp.Compare(x.Model, y.Model))
	})
	b.MostTime = time.Duration(b.MostRounds) * batchTime
	return &b.BatchForecast
}
