package generative

import (
	"cmp"
	"encoding/json"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

// readUsage returns nil when the record has no plausible number. It keeps unknown fields. The total includes all the others,
// except cached tokens, which are part of the prompt. The source is "" when the number of output tokens is missing, as in
// chunks before the last.
func readUsage(raw json.RawMessage) *eval.Usage {
	var n struct {
		prompt, thoughts, cached, toolUse, total wire.LenientInt
		candidates                               *wire.LenientInt
	}
	rest, err := wire.ReadObject("usageMetadata", raw,
		"promptTokenCount", &n.prompt, "candidatesTokenCount", &n.candidates, "thoughtsTokenCount", &n.thoughts,
		"cachedContentTokenCount", &n.cached, "toolUsePromptTokenCount", &n.toolUse, "totalTokenCount", &n.total)
	if err != nil || n.prompt == 0 && n.total == 0 {
		return nil
	}
	u := &eval.Usage{
		PromptTokens: int(n.prompt), OutputTokens: int(n.thoughts), CachedTokens: int(n.cached), ToolUseTokens: int(n.toolUse),
		ReasoningTokens: int(n.thoughts), Source: eval.UsageService, Extra: eval.NewExtra(rest),
	}
	input := u.PromptTokens + u.ToolUseTokens
	switch {
	case n.candidates != nil:
		u.OutputTokens += int(*n.candidates)
	case int(n.total) > input:
		u.OutputTokens = int(n.total) - input
	default:
		u.Source = ""
	}
	u.TotalTokens = max(int(n.total), input+u.OutputTokens)
	if !wire.ArePossible(u.PromptTokens, u.OutputTokens, u.ReasoningTokens, u.CachedTokens, u.ToolUseTokens, u.TotalTokens) {
		return nil
	}
	return u
}

// later returns the usage of the last chunk that has one. One without output tokens counts only until others come.
func later(soFar, more *eval.Usage) *eval.Usage {
	if soFar == nil || more == nil || more.Source == "" && soFar.Source != "" {
		return cmp.Or(soFar, more)
	}
	u := *more
	u.Extra = soFar.Extra.Join(more.Extra)
	return &u
}

type wireModel struct {
	eval.Model
	InputTokenLimit  wire.LenientInt  `json:"inputTokenLimit"`
	OutputTokenLimit wire.LenientInt  `json:"outputTokenLimit"`
	Temperature      *wire.Real       `json:"temperature"`
	TopP             *wire.Real       `json:"topP"`
	TopK             *wire.LenientInt `json:"topK"`
}

func (w *wireModel) model() eval.Model {
	m := w.Model
	m.InputTokenLimit, m.OutputTokenLimit = w.InputTokenLimit.Limit(), w.OutputTokenLimit.Limit()
	m.Temperature, m.TopP = (*float64)(w.Temperature), (*float64)(w.TopP)
	m.TopK = (*int)(w.TopK)
	return m
}
