package evaltest

import (
	"slices"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/internal/verdict"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/option"
)

// Compare compares two runs case by case, as `evalrun compare` does, each arm with the one of the same name. Metrics with a
// margin get a verdict, with an error rate of option.DefaultAlpha; without any there are estimates only. Both documents stay open.
// The error is about run files that cannot be read: runs that cannot be compared are eval.Invalid, with the reason.
func Compare(base, head *journal.Document, metrics ...option.MetricMargin) (*compare.Comparison, error) {
	var rule *option.BaselineRule
	if len(metrics) > 0 {
		rule = &option.BaselineRule{Alpha: option.DefaultAlpha, OnInconclusive: option.OnFail, Metrics: slices.Clone(metrics)}
		for i := range metrics { // as on the command line
			rule.Metrics[i].Strict = option.IsRatio(metrics[i].Name)
		}
	}
	return verdict.Compare(
		base, head, verdict.Comparing{Base: base.Dir, Head: head.Dir, Rules: func(string) *option.BaselineRule { return rule }},
	)
}
