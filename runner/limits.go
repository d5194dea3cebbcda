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
		m := t.Model()
		if m == nil {
			continue
		}
		name := tokenLimit(limits, m)
		metadata, known := p.models[p.configuredKey(m)] // one that the service does not have was reported
		_, speaks := m.Service.Identity()
		one := Planned{Request: eval.Request{GenerationConfig: m.GenerationConfig, Protocol: speaks}, Metadata: metadata}
		if name == "" || !known || one.OutputLimit() > 0 {
			continue
		}
		diags.Errorf(
			m.Pos, "set `maxOutputTokens` in its `generationConfig`, or remove the limit",
			"`%s` is set, and answers of target `%s` have no known bound: the model `%s` does not say one", name, t.Name, m.ID,
		)
	}
}

// tokenLimit is a limit on tokens that calls of a model are under, "" when there is none.
func tokenLimit(l *suite.Limits, m *suite.ConfiguredModel) string {
	switch {
	case l.TokensPerMinute > 0:
		return "tokensPerMinute"
	case l.BudgetTokens > 0:
		return "budget.tokens"
	case m.Service != nil && l.Services[m.Service.Name].TokensPerMinute > 0:
		return "tokensPerMinute"
	case slices.ContainsFunc(l.Models, func(own suite.ModelLimits) bool { return own.Model == m.ID && own.TokensPerMinute > 0 }):
		return "tokensPerMinute"
	case l.SharedTokens:
		return "--ledger"
	}
	return ""
}
