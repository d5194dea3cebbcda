package scorers

import (
	"math"
	"strconv"
	"sync"

	"github.com/evalrun/evalrun/internal/yaml"
)

func costKind() Kind {
	return Kind{
		Name: "cost", Summary: "the answer costs no more than this amount",
		Doc: "Takes `{max}` (and `min`), or the largest amount alone, in the currency of the price list: `prices: FILE` in the " +
			"suite, or `--prices FILE`. Without a list, or a price for a tested model, no request is sent. It counts the tokens of " +
			"the prompt and of all candidates, without failed attempts. The reason says where the numbers come from.",
		Example: "- cost: {max: 0.002}", takes: yaml.Either(price(), costKeys().Shape()), compile: compileCost,
	}
}

// amount shows a value with six digits, however small.
func amount(v float64) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	if err != nil { // it was a number before
		rounded = v
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

func price() yaml.Shape { return yaml.Number(0, math.MaxInt32) }

var costKeys = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Some: []string{"min", "max"},
		Keys: []yaml.Key{{Name: "min", Is: price(), Doc: "The least amount."}, {Name: "max", Is: price(), Doc: "The " +
			"largest amount."}},
	}
})

func compileCost(a args) AnswerScorer {
	a.needs.Price = true
	_, s := a.bounds(costKeys(), "{max: 0.002}", func(n yaml.Node) float64 { return n.Float(0, math.MaxInt32) })
	return Func(func(a *Answer) Finding {
		if a.Context == nil || a.Context.Prices == nil {
			return Unscored("there is no price list: `prices: FILE` in the suite, or --prices FILE")
		}
		prices := a.Context.Prices
		if a.Request == nil {
			return Unscored("the price list has no price for the model")
		}
		cost, known := prices.OfTrial(a.Request.Model, &a.Usage, a.modelCalls())
		if !known {
			return Unscored("the price list has no price for the model, or for one that the program called")
		}
		shown := amount(cost) + " " + prices.Currency
		if s.holds(cost) {
			return Pass("%s for %d and %d tokens (%s)", shown, a.Usage.PromptTokens, a.Usage.OutputTokens, a.Usage.Source)
		}
		return Fail("%s for %d and %d tokens (%s), expected %s", shown, a.Usage.PromptTokens, a.Usage.OutputTokens, a.Usage.Source, s)
	})
}
