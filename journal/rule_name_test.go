package journal

import (
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

func TestRulesAreKnownByTheirNames(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name                  RuleName
		text                  string
		least, classification bool
	}{
		{RuleMean("tone"), "mean tone", true, false},
		{RuleClassification("kappa"), "classification kappa", true, true},
		{RulePassRate, "passRate", true, false},
		{RuleLatency, "latency p95", false, false},
		{RuleErrors, "errors", false, false},
		{"means", "means", false, false},
	} {
		expect.Same(t, "name", string(test.name), test.text)
		expect.Same(t, test.text+" has a least value", test.name.IsLeast(), test.least)
		expect.Same(t, test.text+" is about the classification", test.name.IsClassification(), test.classification)
	}
}
