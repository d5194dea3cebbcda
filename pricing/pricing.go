// Package pricing says what calls cost in money, by a list of prices that a team keeps.
package pricing

import "github.com/evalrun/evalrun/eval"

// List says what calls cost in money.
type List struct {
	Currency string          `json:"currency"`
	Models   map[string]Rate `json:"models"`
}

// Rate is what a model costs, per million tokens.
type Rate struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
	// Cached is the price of prompt tokens that the service had in a cache; nil: that of the others.
	Cached *float64 `json:"cached,omitempty"`
}

// Of is what the tokens of a call to a model cost; nothing when the list is nil or does not name the model. What the service's own
// tools add to a prompt costs as much as the prompt.
func (p *List) Of(model string, u *eval.Usage) float64 {
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
func (p *List) Knows(model string) bool {
	if p == nil {
		return false
	}
	_, ok := p.Models[model]
	return ok
}
