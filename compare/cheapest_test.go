package compare

import (
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// The cheapest of the best is compared by money where all have a price, with the first in order, or with the dearest where it is the first.
func TestCheapestComparesByMoneyWhereAllHaveAPrice(t *testing.T) {
	t.Parallel()
	arm := func(name string, best bool, cost, tokens float64) Priced {
		p := Priced{Arm: name, Best: best}
		if cost > 0 {
			p.Cost = &cost
		}
		if tokens > 0 {
			p.Tokens = &tokens
		}
		return p
	}
	for name, c := range map[string]struct {
		arms []Priced
		want *Cheap
	}{
		"money": {
			[]Priced{arm("long", true, 4, 100), arm("short", true, 1, 100), arm("bad", false, 0.1, 1)},
			&Cheap{"short", 0.25, "long", ByCost},
		},
		"first": {
			[]Priced{arm("short", true, 1, 100), arm("mid", true, 2, 100), arm("long", true, 4, 1)},
			&Cheap{"short", 0.25, "long", ByCost},
		},
		"no price":      {[]Priced{arm("long", true, 4, 100), arm("short", true, 0, 50)}, &Cheap{"short", 0.5, "long", ByTokens}},
		"the same cost": {[]Priced{arm("a", true, 4, 100), arm("b", true, 4, 50)}, nil},
		"one":           {[]Priced{arm("a", true, 4, 100), arm("b", false, 1, 50)}, nil},
		"unknown":       {[]Priced{arm("a", true, 0, 0), arm("b", true, 1, 50)}, nil},
	} {
		expect.Same(t, name, Cheapest(c.arms), c.want)
	}
}
