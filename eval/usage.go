package eval

// Billed are the tokens of calls that price lists have prices for. The fields are those of Usage.
type Billed struct {
	PromptTokens  int `json:"promptTokens"`
	OutputTokens  int `json:"outputTokens"`
	CachedTokens  int `json:"cachedTokens,omitempty"`
	WrittenTokens int `json:"writtenTokens,omitempty"`
	HourTokens    int `json:"hourTokens,omitempty"`
	ToolUseTokens int `json:"toolUseTokens,omitempty"`
}

// BatchUsage are the tokens of calls that came by batch, with the long ones of them as in Usage.
type BatchUsage struct {
	Billed
	Long []Billed `json:"long,omitempty"`
}

// LongPrompt is the longest prompt, in tokens, that costs no more than short ones in any price list.
const LongPrompt = 32_000

func (u *Usage) billed() Billed {
	return Billed{u.PromptTokens, u.OutputTokens, u.CachedTokens, u.WrittenTokens, u.HourTokens, u.ToolUseTokens}
}

// plus adds other tokens, or takes them away when sign is -1. No sum is below 0.
func (b *Billed) plus(o *Billed, sign int) Billed {
	sum := func(x, y int) int { return max(0, x+sign*y) }
	return Billed{
		sum(b.PromptTokens, o.PromptTokens), sum(b.OutputTokens, o.OutputTokens), sum(b.CachedTokens, o.CachedTokens),
		sum(b.WrittenTokens, o.WrittenTokens), sum(b.HourTokens, o.HourTokens), sum(b.ToolUseTokens, o.ToolUseTokens),
	}
}

// OfCall returns the usage of a single call, with what price lists have to know of it: whether it is long, and whether it came
// by batch. Sums of such usages cost what the calls cost one by one.
func (u *Usage) OfCall(batch bool) *Usage {
	if u.PromptTokens <= LongPrompt && !batch {
		return u
	}
	out := *u
	out.Long, out.Batch = nil, nil
	if u.PromptTokens > LongPrompt {
		out.Long = []Billed{u.billed()}
	}
	if batch {
		out.Batch, out.Long = &BatchUsage{u.billed(), out.Long}, nil
	}
	return &out
}

// Since returns the usage of the calls that came after an earlier sum.
func (u *Usage) Since(before *Usage) Usage {
	rest := func(all, part int) int { return max(0, all-part) }
	out := Usage{
		PromptTokens:    rest(u.PromptTokens, before.PromptTokens),
		OutputTokens:    rest(u.OutputTokens, before.OutputTokens),
		TotalTokens:     rest(u.TotalTokens, before.TotalTokens),
		ReasoningTokens: rest(u.ReasoningTokens, before.ReasoningTokens),
		CachedTokens:    rest(u.CachedTokens, before.CachedTokens),
		WrittenTokens:   rest(u.WrittenTokens, before.WrittenTokens),
		HourTokens:      rest(u.HourTokens, before.HourTokens),
		ToolUseTokens:   rest(u.ToolUseTokens, before.ToolUseTokens),
		Source:          u.Source,
		Batch:           u.Batch,
		Long:            after(u.Long, before.Long),
	}
	if u.Batch != nil && before.Batch != nil {
		out.Batch = &BatchUsage{u.Batch.plus(&before.Batch.Billed, -1), after(u.Batch.Long, before.Batch.Long)}
	}
	return out
}

func after(all, before []Billed) []Billed { return all[min(len(before), len(all)):] }
