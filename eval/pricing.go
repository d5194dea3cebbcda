// Computes the cost of calls from a price list.

package eval

// PriceList is a price list.
type PriceList struct {
	Currency string           `json:"currency"`
	Models   map[string]Price `json:"models"`
}

// Price is the price of a model, per million tokens.
type Price struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
	// Cached is the price of prompt tokens that the service had in a cache; nil means the price of other prompt tokens.
	Cached *float64 `json:"cached,omitempty"`
}

// Of returns the cost of a call's tokens. It is 0 when the list is nil or does not name the model. Tokens that the
// service's own tools add to a prompt cost as much as the prompt.
func (p *PriceList) Of(model string, u *Usage) float64 {
	if p == nil {
		return 0
	}
	one := p.Models[model]
	cached := one.Input
	if one.Cached != nil {
		cached = *one.Cached
	}
	inCache := min(u.CachedTokens, u.PromptTokens)
	input := u.PromptTokens - inCache + u.ToolUseTokens
	return (one.Input*float64(input) + cached*float64(inCache) + one.Output*float64(u.OutputTokens)) / 1e6
}

// Knows reports whether the list names a model.
func (p *PriceList) Knows(model string) bool {
	if p == nil {
		return false
	}
	_, ok := p.Models[model]
	return ok
}
