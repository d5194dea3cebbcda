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
}

// Of is what a call to a model costs; nothing when the list is nil or does not name the model.
func (p *Prices) Of(model string, input, output int) float64 {
	if p == nil {
		return 0
	}
	one := p.Models[model]
	return (one.Input*float64(input) + one.Output*float64(output)) / 1e6
}

// Knows reports whether the list names a model.
func (p *Prices) Knows(model string) bool {
	if p == nil {
		return false
	}
	_, ok := p.Models[model]
	return ok
}
