package yaml

import "github.com/evalrun/evalrun/eval"

// PassRateBlock are the keys of a rule about the pass rate, in suites and project files.
func PassRateBlock(maxAlpha float64) Block {
	return Block{Need: []string{"min"}, Keys: []Key{
		{Name: "min", Is: Number(0, 1)},
		{
			Name: "alpha", Is: Number(0, maxAlpha),
			Doc: "Wants the pass rate to be shown: a bound with this error rate has to reach min. Without it, the rate seen has to.",
		},
		{
			Name: "onInconclusive", Is: WordShape(eval.OnFail, eval.OnWarn, eval.OnPass),
			Doc: "With alpha: what becomes of the gate when min lies between the bounds; fail when not given.",
		},
	}}
}

// PassRate reads a rule about the pass rate; nil when it is absent. errorRate reads its alpha.
func PassRate(rule Node, errorRate func(Node) float64) (least *float64, bound *eval.BoundRule) {
	if rule.IsZero() {
		return nil, nil
	}
	m := rule.Map(PassRateBlock(1).Names()...)
	least = new(m.Need("min").Float(0, 1))
	alpha, on := m.Get("alpha"), m.Get("onInconclusive")
	switch {
	case !alpha.IsZero():
		bound = &eval.BoundRule{Alpha: errorRate(alpha), OnInconclusive: eval.OnFail}
		if !on.IsZero() {
			bound.OnInconclusive = WordOf(on, eval.OnFail, eval.OnWarn, eval.OnPass)
		}
		if *least == 1 {
			alpha.Errorf("leave out alpha, or use a min below 1", "no number of cases shows a pass rate of 1")
		}
	case !on.IsZero():
		on.Errorf("`alpha: 0.05` next to it", "a rule without an error rate is never inconclusive")
	}
	return least, bound
}
