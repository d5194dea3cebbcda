package suite_test

import (
	"math"
	"testing"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/suite"
)

// FuzzPrices holds that a valid price list names models, and that their costs are numbers that are not negative.
func FuzzPrices(f *testing.F) {
	for _, s := range append(
		hostile.Strings(), "currency: EUR\nmodels:\n  svc-pro: {input: 0.5, output: 1.5}\n", "currency: 1\nmodels: {m: {input: 1e308, "+
			"output: -0}}", "currency: E\nmodels: {m: {input: .nan, output: .inf}}",
		"currency: E\nmodels: {m: &x {input: 0o7, output: 2147483647}, n: *x}", "currency: E\nmodels: {}", "models: [a]",
	) {
		f.Add([]byte(s))
		f.Add([]byte("currency: \"" + s + "\"\nmodels: {m: {input: " + s + ", output: 1}}"))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		var diags diag.List
		p := suite.LoadPrices("prices.yaml", src, &diags)
		if diags.HasErrors() {
			return
		}
		if len(p.Models) == 0 {
			t.Error("got no models, want some")
		}
		for name := range p.Models {
			hasPrice(t, p, name)
		}
		if p.Knows("") || p.Of("\x00", &eval.Usage{PromptTokens: 1, OutputTokens: 1}) != 0 {
			t.Errorf("%+v, want no price of what it does not know", p)
		}
	})
}

func hasPrice(t *testing.T, p *eval.PriceList, model string) {
	t.Helper()
	if !p.Knows(model) || p.Of(model, &eval.Usage{}) != 0 {
		t.Errorf("%s: got no price or one of nothing, want a price that begins at 0", model)
	}
	cost := p.Of(model, &eval.Usage{PromptTokens: math.MaxInt32, OutputTokens: math.MaxInt32, CachedTokens: 7})
	if !(cost >= 0) || math.IsInf(cost, 0) {
		t.Errorf("%s: %+v: got the cost %v, want a finite one", model, p.Models[model], cost)
	}
}
