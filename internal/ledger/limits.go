package ledger

import (
	"cmp"
	"math"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/rates"
	"github.com/evalrun/evalrun/internal/yaml"
)

// accountLimits apply to each account that an entry of the limits file matches, separately. Zero is unlimited.
type accountLimits struct {
	rates.Rates
	Concurrency int // calls in progress at once, without calls to count tokens
	Budget      amount

	service, model, key eval.Pattern
}

func (l *accountLimits) matches(a ModelAccount) bool {
	return l.service.Match(string(a.Service)) && l.model.Match(a.Model) && l.key.Match(a.Key)
}

func (l *accountLimits) needs() CallTerms {
	return CallTerms{Tokens: l.TokensPerMinute > 0 || l.Budget.Tokens > 0, Money: l.Budget.Money > 0}
}

// find returns the first entry that matches an account, nil if none does.
func find(all []accountLimits, a ModelAccount) *accountLimits {
	for i := range all {
		if all[i].matches(a) {
			return &all[i]
		}
	}
	return nil
}

// ReadLimits reads a file of limits. path is its name in messages. Problems are added to diags.
func ReadLimits(path string, src []byte, diags *diag.List) (out []accountLimits) {
	root, ok := yaml.Parse(path, src, diags)
	if !ok {
		return nil
	}
	list := root.Map("accounts").Need("accounts")
	items := list.Seq()
	if list.IsSequence() && len(items) == 0 {
		list.Errorf(
			"`- {service: \"*\", model: \"*\", requestsPerMinute: 300}`",
			"`accounts` has no entry, so that every call would be refused",
		)
	}
	for _, item := range items {
		out = append(out, entryOf(item))
	}
	return out
}

func entryOf(n yaml.Node) accountLimits {
	m := n.Map("service", "model", "key", "requestsPerMinute", "tokensPerMinute", "concurrency", "budget")
	whole := func(n yaml.Node) int {
		if n.IsZero() {
			return 0
		}
		return n.Int(1, math.MaxInt32)
	}
	l := accountLimits{
		service: eval.Pattern(addressOf(string(globOf(m.Get("service"))))), model: globOf(m.Get("model")), key: globOf(m.Get("key")),
		Rates: rates.Rates{
			RequestsPerMinute: whole(m.Get("requestsPerMinute")),
			TokensPerMinute:   whole(m.Get("tokensPerMinute")),
		},
		Concurrency: whole(m.Get("concurrency")),
	}
	if budget := m.Get("budget"); !budget.IsZero() {
		b := budget.Map("calls", "tokens", "money")
		l.Budget = amount{Calls: whole(b.Get("calls")), Tokens: whole(b.Get("tokens"))}
		if money := b.Get("money"); !money.IsZero() {
			l.Budget.Money = money.Float(math.SmallestNonzeroFloat64, 1e12)
		}
	}
	return l
}

func globOf(n yaml.Node) eval.Pattern {
	if n.IsZero() {
		return "*"
	}
	return eval.Pattern(cmp.Or(n.Str(), "*"))
}
