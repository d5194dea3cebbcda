package eval

// Prices says what calls cost in money.
type Prices struct {
	Currency string           `json:"currency"`
	Models   map[string]Price `json:"models"`
}

// Price is what a model costs, per million tokens.
type Price struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
	// Cached is the price of prompt tokens that the service had in a cache; nil: that of the others.
	Cached *float64 `json:"cached,omitempty"`
}

// Of is what the tokens of a call to a model cost; nothing when the list is nil or does not name the model. What the service's own
// tools add to a prompt costs as much as the prompt.
func (p *Prices) Of(model string, u *Usage) float64 {
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
func (p *Prices) Knows(model string) bool {
	if p == nil {
		return false
	}
	_, ok := p.Models[model]
	return ok
}
