package runner

import (
	"slices"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/suite"
)

// CheckLimits reports targets whose answers have no known bound although a limit on tokens is set. What a call may
// cost has to be known before it is sent. CheckModels comes before.
func (p *Plan) CheckLimits(limits *suite.Limits, diags *diag.List) {
	for _, t := range p.targets() {
		name := tokenLimit(limits, t)
		metadata, known := p.models[p.key(t)] // one that the service does not have was reported
		_, speaks := t.Service.Identity()
		one := Planned{Request: eval.Request{GenerationConfig: t.GenerationConfig, Protocol: speaks}, Metadata: metadata}
		if t.App != nil || name == "" || !known || one.OutputLimit() > 0 {
			continue
		}
		diags.Errorf(
			t.ModelPos, "set `maxOutputTokens` in its `generationConfig`, or remove the limit",
			"`%s` is set, and answers of target `%s` have no known bound: the model `%s` does not say one", name, t.Name, t.Model,
		)
	}
}

// tokenLimit is a limit on tokens that calls of a target are under, "" when there is none.
func tokenLimit(l *suite.Limits, t *suite.Target) string {
	switch {
	case l.TokensPerMinute > 0:
		return "tokensPerMinute"
	case l.BudgetTokens > 0:
		return "budget.tokens"
	case t.Service != nil && l.Services[t.Service.Name].TokensPerMinute > 0:
		return "tokensPerMinute"
	case slices.ContainsFunc(l.Models, func(m suite.ModelLimits) bool {
		return m.Model == t.Model &&
			m.TokensPerMinute > 0
	}):
		return "tokensPerMinute"
	case l.SharedTokens:
		return "--ledger"
	}
	return ""
}
