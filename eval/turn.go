package eval

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/evalrun/evalrun/tool"
)

// Turn is an answered call of a trial of several: what came back, and what it cost. A trial has several where it is a live chat, and
// where the suite answers the model's tool calls. The reply, which the next call sends as the model's own, is the first candidate.
type Turn struct {
	Response
	// Results are what the suite answered to the calls of this turn, in their order; the next call sends them. Nil where the model
	// had the last word of the user's turn.
	Results []tool.Result `json:"results,omitempty"`
	Usage   Usage         `json:"usage"`
	Timing  Timing        `json:"timing"`
}

// Block is the reason for which the turn was blocked, its prompt or its first candidate; "" when it was not. A block ends a chat.
func (t *Turn) Block() string {
	reason := t.PromptBlock()
	if reason == "" && len(t.Candidates) > 0 {
		reason = t.Candidates[0].Block()
	}
	return reason
}

// After is the request for the turn of a live chat that follows the answered ones: the user's turns up to it, with the model's
// replies in between. The request itself lists the turns of the user alone.
func (r *Request) After(answered []Turn) Request {
	next := *r
	next.Contents = nil
	for i, asked := range r.Contents[:min(len(answered)+1, len(r.Contents))] {
		if i > 0 {
			next.Contents = append(next.Contents, Content{Role: RoleModel, Parts: []Part{{Text: answered[i-1].Text()}}})
		}
		next.Contents = append(next.Contents, asked)
	}
	return next
}

// Turns is how many calls it takes to ask the request of a plan: one, or one for each turn of a live chat.
func (r *Request) Turns() int {
	if r.Live {
		return len(r.Contents)
	}
	return 1
}

// TurnID names the turn of a live chat that follows the answered ones: for the first it is the trial's own, and for a later one a
// hash that the replies before it go into, since they are part of what is asked.
func TurnID(trialID string, answered []Turn) string {
	if len(answered) == 0 {
		return trialID
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s", trialID)
	for i := range answered {
		fmt.Fprintf(h, "\n%q", answered[i].Text())
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// Add adds the usage of another call; the source is that of the least sure part.
func (u *Usage) Add(other *Usage) {
	u.PromptTokens += other.PromptTokens
	u.OutputTokens += other.OutputTokens
	u.TotalTokens += other.TotalTokens
	u.CachedTokens += other.CachedTokens
	u.ToolUseTokens += other.ToolUseTokens
	u.ReasoningTokens += other.ReasoningTokens
	surest := []UsageSource{UsageService, UsageCounted, UsageEstimated}
	if slices.Index(surest, other.Source) > slices.Index(surest, u.Source) {
		u.Source = other.Source
	}
}

// Add adds the timing of a later call: times, attempts and chunks add up, the start and the first text stay what they are, and the
// gaps between chunks are taken together.
func (t *Timing) Add(later *Timing) {
	gaps, more := max(0, t.Chunks-1), max(0, later.Chunks-1)
	if gaps+more > 0 {
		t.MeanGapMs = (t.MeanGapMs*float64(gaps) + later.MeanGapMs*float64(more)) / float64(gaps+more)
	}
	t.MaxGapMs = max(t.MaxGapMs, later.MaxGapMs)
	t.Chunks += later.Chunks
	t.QueuedMs += later.QueuedMs
	t.LatencyMs += later.LatencyMs
	t.Attempts += later.Attempts
}
