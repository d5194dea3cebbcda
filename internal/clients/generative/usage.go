package generative

import (
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

// A larger number of tokens cannot be true.
const maxTokens = 1 << 40

func implausible(n int) bool { return n < 0 || n > maxTokens }

// wireUsage is the service's usage record. The total includes all the others, except cached tokens, which
// are part of the prompt.
type wireUsage struct {
	Prompt     wire.LenientInt  `json:"promptTokenCount"`
	Candidates *wire.LenientInt `json:"candidatesTokenCount"`
	Thoughts   wire.LenientInt  `json:"thoughtsTokenCount"`
	Cached     wire.LenientInt  `json:"cachedContentTokenCount"`
	ToolUse    wire.LenientInt  `json:"toolUsePromptTokenCount"`
	Total      wire.LenientInt  `json:"totalTokenCount"`
}

// readUsage returns nil when the record has no plausible number. It keeps unknown fields.
func readUsage(f wire.Fields) *eval.Usage {
	var w wireUsage
	for name, to := range map[string]any{
		"promptTokenCount": &w.Prompt, "candidatesTokenCount": &w.Candidates, "thoughtsTokenCount": &w.Thoughts,
		"cachedContentTokenCount": &w.Cached, "toolUsePromptTokenCount": &w.ToolUse, "totalTokenCount": &w.Total,
	} {
		if f.Take(name, to) != nil {
			return nil
		}
	}
	u := w.usage()
	if u != nil {
		u.Extra = eval.NewExtra(f)
	}
	return u
}

// usage sums up the record. Its source is "" when the number of output tokens is missing, as in chunks
// before the last.
func (w *wireUsage) usage() *eval.Usage {
	if w == nil || w.Prompt == 0 && w.Total == 0 {
		return nil
	}
	u := &eval.Usage{
		PromptTokens: int(w.Prompt), OutputTokens: int(w.Thoughts), CachedTokens: int(w.Cached), ToolUseTokens: int(w.ToolUse),
		ReasoningTokens: int(w.Thoughts), Source: eval.UsageService,
	}
	input := u.PromptTokens + u.ToolUseTokens
	switch {
	case w.Candidates != nil:
		u.OutputTokens += int(*w.Candidates)
	case int(w.Total) > input:
		u.OutputTokens = int(w.Total) - input
	default:
		u.Source = ""
	}
	u.TotalTokens = max(int(w.Total), input+u.OutputTokens)
	counts := []int{u.PromptTokens, u.OutputTokens, u.ReasoningTokens, u.CachedTokens, u.ToolUseTokens, u.TotalTokens}
	if slices.ContainsFunc(counts, implausible) {
		return nil
	}
	return u
}

// later merges the usage of chunks, whose numbers only grow.
func later(soFar, more *eval.Usage) *eval.Usage {
	if soFar == nil {
		return more
	}
	if more == nil {
		return soFar
	}
	u := *soFar
	u.PromptTokens = max(u.PromptTokens, more.PromptTokens)
	u.OutputTokens = max(u.OutputTokens, more.OutputTokens)
	u.CachedTokens = max(u.CachedTokens, more.CachedTokens)
	u.ToolUseTokens = max(u.ToolUseTokens, more.ToolUseTokens)
	u.ReasoningTokens = max(u.ReasoningTokens, more.ReasoningTokens)
	u.TotalTokens = max(u.TotalTokens, more.TotalTokens, u.PromptTokens+u.OutputTokens+u.ToolUseTokens)
	if more.Source != "" {
		u.Source = more.Source
	}
	u.Extra = u.Extra.Join(more.Extra)
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
