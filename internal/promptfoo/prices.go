package promptfoo

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const pricesFile = "prices.yaml"

// listed has list prices in USD per million tokens of prompt and answer. They are for `cost` assertions of
// configurations without prices.
var listed = []struct {
	model      *regexp.Regexp
	input, out string
}{
	{regexp.MustCompile(`gpt-4o-mini`), "0.15", "0.6"},
	{regexp.MustCompile(`gpt-4o`), "2.5", "10"},
	{regexp.MustCompile(`gpt-4\.1-nano`), "0.1", "0.4"},
	{regexp.MustCompile(`gpt-4\.1-mini`), "0.4", "1.6"},
	{regexp.MustCompile(`gpt-4\.1`), "2", "8"},
	{regexp.MustCompile(`gpt-5-nano`), "0.05", "0.4"},
	{regexp.MustCompile(`gpt-5-mini`), "0.25", "2"},
	{regexp.MustCompile(`gpt-5$`), "1.25", "10"},
	{regexp.MustCompile(`gpt-3\.5-turbo`), "0.5", "1.5"},
	{regexp.MustCompile(`o4-mini`), "1.1", "4.4"},
	{regexp.MustCompile(`claude-(sonnet-4|3-[57]-sonnet)`), "3", "15"},
	{regexp.MustCompile(`claude-haiku-4`), "1", "5"},
	{regexp.MustCompile(`claude-3-5-haiku`), "0.8", "4"},
	{regexp.MustCompile(`claude-3-haiku`), "0.25", "1.25"},
	{regexp.MustCompile(`gemini-2\.5-flash`), "0.3", "2.5"},
	{regexp.MustCompile(`gemini-2\.5-pro`), "1.25", "10"},
}

// price records a price per token in the configuration.
func (c *converter) price(t *target, e keyed) {
	n, ok := number(e.src)
	if !ok {
		e.todo("a price is a number")
		return
	}
	if c.own == nil {
		c.own, c.priced = map[string][2]string{}, map[string]*target{}
	}
	million := perMillion(n)
	model := t.block.text("model")
	if first := c.priced[model]; first != nil && first != t {
		e.todo("the target %s has prices for the same model, and a price list has one for each model", first.name)
		return
	}
	c.priced[model] = t
	p := c.own[model]
	switch e.key {
	case "inputCost":
		p[0] = million
	case "outputCost":
		p[1] = million
	default:
		p = [2]string{cmp.Or(p[0], million), cmp.Or(p[1], million)}
	}
	c.own[model] = p
	e.ok("in " + pricesFile + ", for a million tokens")
}

// perMillion returns the price per million tokens, without rounding errors of the multiplication.
func perMillion(price float64) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(price*1e6, 'g', 12, 64), 64)
	if err != nil {
		rounded = price * 1e6
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// priceOf returns the price of a model from the configuration, or else from the list.
func (c *converter) priceOf(model string) (input, out string, ok bool) {
	p := c.own[model]
	for _, l := range listed {
		if l.model.MatchString(model) { // if the configuration has one of the prices, promptfoo takes the other from its list
			p = [2]string{cmp.Or(p[0], l.input), cmp.Or(p[1], l.out)}
			break
		}
	}
	return p[0], p[1], p[0] != "" && p[1] != ""
}

// cost converts a `cost` assertion, which needs a price for every target.
func (c *converter) cost(not bool, a src) (*scorer, string) {
	most, ok := number(a.get("threshold"))
	if !ok || most < 0 {
		return nil, "it needs a threshold"
	}
	models := &mapping{}
	for _, t := range c.targets {
		model := t.block.text("model")
		input, out, known := c.priceOf(model)
		if !known {
			return nil, "the price of " + cmp.Or(
				model,
				t.name,
			) + " is not known; name a price list in `prices` and add `cost: {max: " + a.get("threshold").
				text() +
				"}`"
		}
		if models.get(model) == nil {
			models.set(model, new(mapping).set("input", literal(input)).set("output", literal(out)))
		}
	}
	c.prices = new(mapping).set("currency", textValue("USD")).set("models", models, "for a million tokens")
	return &scorer{
		kind: "cost", value: one("max", literal(strings.TrimSpace(a.get("threshold").text()))), not: not, plain: true,
		note: "by " + pricesFile + ", which you should check",
	}, ""
}

func (c *converter) priceList() []byte {
	var w writer
	slices.SortFunc(c.prices.get("models").(*mapping).entries, func(a, b keyValue) int { return cmp.Compare(a.key, b.key) })
	w.mapping(c.prices, 0)
	return []byte(w.String() + "\n")
}
