package evaltest

import (
	"slices"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/gate"
	"github.com/evalrun/evalrun/journal"
)

// Compare compares two runs case by case, as `evalrun compare` does, each arm with the one of the same name. Metrics with a
// margin get a verdict, with an error rate of eval.DefaultAlpha; without any there are estimates only. Both documents stay open.
// The error is about run files that cannot be read: runs that cannot be compared are eval.Invalid, with the reason.
func Compare(base, head *journal.Document, metrics ...eval.MetricMargin) (*compare.Comparison, error) {
	var rule *eval.BaselineRule
	if len(metrics) > 0 {
		rule = &eval.BaselineRule{Alpha: eval.DefaultAlpha, OnInconclusive: eval.OnFail, Metrics: slices.Clone(metrics)}
		for i := range metrics { // as on the command line
			rule.Metrics[i].Strict = eval.IsRatio(metrics[i].Name)
		}
	}
	return gate.Compare(
		base, head, gate.Comparing{Base: base.Dir, Head: head.Dir, Rules: func(string) *eval.BaselineRule { return rule }},
	)
}
