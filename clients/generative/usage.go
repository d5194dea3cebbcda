package generative

import (
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wire"
)

// maxTokens is the largest number of tokens that can be true.
const maxTokens = 1 << 40

// implausible reports whether n cannot be a number of tokens.
func implausible(n int) bool { return n < 0 || n > maxTokens }

// wireUsage is the service's record of what an answer cost. Its total covers all of the others but the cached tokens, which are
// part of the prompt.
type wireUsage struct {
	Prompt     wire.LenientInt  `json:"promptTokenCount"`
	Candidates *wire.LenientInt `json:"candidatesTokenCount"`
	Thoughts   wire.LenientInt  `json:"thoughtsTokenCount"`
	Cached     wire.LenientInt  `json:"cachedContentTokenCount"`
	ToolUse    wire.LenientInt  `json:"toolUsePromptTokenCount"`
	Total      wire.LenientInt  `json:"totalTokenCount"`
}

// readUsage reads the record with the fields that evalrun does not know; nil when there is none that could be true.
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

// usage adds up the record. Its source is "" when the number of output tokens is not in it, as in chunks before the last.
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

// later joins the usage of chunks, whose numbers grow.
func later(known, more *eval.Usage) *eval.Usage {
	if known == nil {
		return more
	}
	if more == nil {
		return known
	}
	u := *known
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

// wireModel is the metadata of a model as it comes.
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
	m.InputTokenLimit, m.OutputTokenLimit = int(w.InputTokenLimit), int(w.OutputTokenLimit)
	m.Temperature, m.TopP = (*float64)(w.Temperature), (*float64)(w.TopP)
	m.TopK = (*int)(w.TopK)
	return m
}

// hasError reports whether a decoded object holds an error.
