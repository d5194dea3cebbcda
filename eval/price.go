package eval

// PriceList is a price list.
type PriceList struct {
	Currency string `json:"currency"`
	// Batch is the factor of calls that came by batch, for models without their own; nil where batches cost as much as other calls.
	Batch  *float64         `json:"batch,omitempty"`
	Models map[string]Price `json:"models"`
}

// Price is the price of a model, per million tokens.
type Price struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
	// Cached is the price of prompt tokens that the service had in a cache; nil means the price of other prompt tokens.
	Cached *float64 `json:"cached,omitempty"`
	// CacheWrite is the price of prompt tokens that the service put into a cache, and CacheWriteHour of those that it keeps there
	// for an hour; nil means the price of other prompt tokens, and of CacheWrite.
	CacheWrite     *float64 `json:"cacheWrite,omitempty"`
	CacheWriteHour *float64 `json:"cacheWriteHour,omitempty"`
	// Batch is the factor of all prices for calls that came by batch; nil means that of the list.
	Batch *float64 `json:"batch,omitempty"`
	// Above has the prices of calls with long prompts; nil means the same prices.
	Above *LongPrice `json:"above,omitempty"`
	// Source says where the prices are from, and Date on which day.
	Source string `json:"source,omitempty"`
	Date   string `json:"date,omitempty"`
}

// LongPrice has the prices of all tokens of a call whose prompt has more than Tokens tokens.
type LongPrice struct {
	Tokens int `json:"tokens"` // LongPrompt at least
	Price
}

// or is a price, or what counts where the list has none.
func or(price *float64, other float64) float64 {
	if price == nil {
		return other
	}
	return *price
}

// each is the cost of tokens, whatever the calls. Tokens that the service's own tools add to a prompt cost as much as the prompt.
func (p *Price) each(b *Billed) float64 {
	cached := min(b.CachedTokens, b.PromptTokens)
	written := min(b.WrittenTokens, b.PromptTokens-cached)
	hour := min(b.HourTokens, written)
	write := or(p.CacheWrite, p.Input)
	return (p.Input*float64(b.PromptTokens-cached-written+b.ToolUseTokens) + or(p.Cached, p.Input)*float64(cached) +
		write*float64(written-hour) + or(p.CacheWriteHour, write)*float64(hour) + p.Output*float64(b.OutputTokens)) / 1e6
}

// most is the most that tokens can cost: nothing is known of caches.
func (p *Price) most(u *Usage) float64 {
	write := or(p.CacheWrite, p.Input)
	input := max(p.Input, or(p.Cached, 0), write, or(p.CacheWriteHour, write))
	return (input*float64(u.PromptTokens+u.ToolUseTokens) + p.Output*float64(u.OutputTokens)) / 1e6
}

// of is the cost of calls, some of them long.
func (p *Price) of(all Billed, long []Billed) (cost float64) {
	for i := range long {
		if one := &long[i]; p.Above != nil && one.PromptTokens > p.Above.Tokens {
			all = all.plus(one, -1)
			cost += p.Above.each(one)
		}
	}
	return cost + p.each(&all)
}

// Of returns the cost of calls' tokens. It is 0 when the list is nil or does not name the model.
func (p *PriceList) Of(model string, u *Usage) float64 {
	if p == nil {
		return 0
	}
	one, live := p.Models[model], u.billed()
	if u.Batch == nil {
		return one.of(live, u.Long)
	}
	return one.of(live.plus(&u.Batch.Billed, -1), u.Long) + p.batch(&one)*one.of(u.Batch.Billed, u.Batch.Long)
}

func (p *PriceList) batch(one *Price) float64 { return or(one.Batch, or(p.Batch, 1)) }

// MostOf is the most that calls can cost whose tokens are estimated, and by batch if u has a Batch. longest is how many tokens
// the longest of their prompts may have.
func (p *PriceList) MostOf(model string, u *Usage, longest int) float64 {
	if p == nil {
		return 0
	}
	one, factor := p.Models[model], 1.0
	if u.Batch != nil {
		factor = p.batch(&one)
	}
	cost := one.most(u)
	if one.Above != nil && longest > one.Above.Tokens {
		cost = max(cost, one.Above.most(u))
	}
	return factor * cost
}

// OfTrial returns the cost of a trial. It is not known when the list does not name its model, or one that its program called.
func (p *PriceList) OfTrial(model string, u *Usage, calls []ModelCall) (cost float64, known bool) {
	if len(calls) == 0 {
		return p.Of(model, u), p.Knows(model)
	}
	for i := range calls {
		if one := &calls[i]; one.Error == nil {
			if !p.Knows(one.Model) {
				return 0, false
			}
			cost += p.Of(one.Model, &one.Usage)
		}
	}
	return cost, true
}

// Knows reports whether the list names a model.
func (p *PriceList) Knows(model string) bool {
	if p == nil {
		return false
	}
	_, ok := p.Models[model]
	return ok
}

// KnowsBatch reports whether the list says what a model costs by batch. Otherwise that is the price of other calls.
func (p *PriceList) KnowsBatch(model string) bool {
	return p.Knows(model) && (p.Batch != nil || p.Models[model].Batch != nil)
}
