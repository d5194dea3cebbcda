package suite

import (
	"math"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
)

// LoadPrices reads a price list. Problems go to diags.
func LoadPrices(shown string, src []byte, diags *diag.List) *eval.PriceList {
	p := &eval.PriceList{Models: map[string]eval.Price{}}
	root, ok := yaml.Parse(shown, src, diags)
	if !ok {
		return p
	}
	m := root.Map(pricesBlock().Names()...)
	p.Currency = m.Need("currency").Str()
	models := m.Need("models")
	for e := range models.Map().Entries() {
		checkModelID(e.Key)
		one := e.Value.Map(priceBlock().Names()...)
		price := eval.Price{
			Input:  one.Need("input").Float(0, math.MaxInt32),
			Output: one.Need("output").Float(0, math.MaxInt32),
		}
		if cached := one.Get("cached"); !cached.IsZero() {
			price.Cached = new(cached.Float(0, math.MaxInt32))
		}
		p.Models[e.Name()] = price
	}
	if models.IsMapping() && len(p.Models) == 0 {
		models.Errorf("such as `svc-pro: {input: 0.5, output: 1.5}`, per million tokens", "the price list names no model")
	}
	return p
}

func (l *loader) prices(n yaml.Node) {
	if n.IsZero() {
		return
	}
	name := n.Str()
	src, err := l.files.text(name)
	if err != nil {
		n.Errorf("", "%s", err)
		return
	}
	l.Prices = LoadPrices(l.Shown(name), src, l.diags)
}
