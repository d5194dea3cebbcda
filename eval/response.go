package eval

import (
	"encoding/json"
	"slices"
	"strings"
)

// Response is an answer: what came back from one generate call. A block is an
// answer too.
type Response struct {
	Candidates     []Candidate     `json:"candidates"`
	PromptFeedback *PromptFeedback `json:"promptFeedback,omitempty"`
	ModelVersion   string          `json:"modelVersion,omitempty"`
	// Calls are the calls of models that a program under test made on its way to this answer, in the order in which they began.
	Calls []ModelCall `json:"calls,omitempty"`
	// Exchanges are the same calls and all others as they passed by, where they are kept for a replay.
	Exchanges []ModelExchange `json:"-"`
	// Usage as the service reported it; nil when it did not. Its source is "" while the number of output tokens is missing.
	Usage *Usage `json:"-"`
	// Extra are the fields that evalrun does not know.
	Extra Extra `json:"extra,omitempty"`
}

// Candidate is one of the generated answers.
type Candidate struct {
	Text string `json:"text"`
	// FinishReason is STOP, MAX_TOKENS, TOOL_CALLS, a block, OTHER, or a word of the service that has no other name.
	FinishReason string `json:"finishReason,omitempty"`
	// VendorReason is the service's own word where FinishReason is another.
	VendorReason string `json:"vendorReason,omitempty"`
	// Pieces are what the answer consists of, in order, where it is more than text.
	Pieces pieceList `json:"parts,omitempty"`
	// Raw is the candidate from the reply as compact JSON, if it is more than text and a finish reason. For
	// an application it is the whole response. A model's own turn is sent back in this form.
	Raw           json.RawMessage `json:"raw,omitempty"`
	SafetyRatings []SafetyRating  `json:"safetyRatings,omitempty"`
	// Withheld stands for a text that is kept out of files.
	Withheld *Withheld `json:"withheld,omitempty"`
	// Extra are the fields and the kinds of parts that evalrun does not know.
	Extra Extra `json:"extra,omitempty"`
}

// FunctionCalls are the tool calls of the candidate, in order.
func (c *Candidate) FunctionCalls() []FunctionCall {
	var out []FunctionCall
	for _, p := range c.Pieces {
		if p, ok := p.(CallPiece); ok {
			out = append(out, *p.Call)
		}
	}
	return out
}

// SafetyRating is the service's rating in one category. Unknown values are kept.
type SafetyRating struct {
	Category    string `json:"category"`
	Probability string `json:"probability"`
	Blocked     bool   `json:"blocked,omitempty"`
	// Extra are the fields that evalrun does not know, such as a severity.
	Extra Extra `json:"extra,omitempty"`
}

// Probabilities in rising order.
var Probabilities = []string{"NEGLIGIBLE", "LOW", "MEDIUM", "HIGH"}

// Level is the place of the rating's probability in Probabilities, -1 when it is not
// among them.
func (r SafetyRating) Level() int { return slices.Index(Probabilities, r.Probability) }

// PromptFeedback is the service's feedback on the prompt.
type PromptFeedback struct {
	BlockReason   string         `json:"blockReason,omitempty"`
	SafetyRatings []SafetyRating `json:"safetyRatings,omitempty"`
	// Extra are the fields that evalrun does not know, such as the block reason in words.
	Extra Extra `json:"extra,omitempty"`
}

// BlockReasons are the finish reasons that mean a block.
var BlockReasons = []string{
	"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII",
	"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR", "LANGUAGE",
}

// CutReason is the finish reason of an answer that reached its limit of tokens.
const CutReason = "MAX_TOKENS"

// IsBlock reports whether a finish reason means a block.
func IsBlock(finishReason string) bool { return slices.Contains(BlockReasons, finishReason) }

// PromptBlock is the reason for which the prompt was blocked, "" when it was not.
func (r *Response) PromptBlock() string {
	if r.PromptFeedback == nil {
		return ""
	}
	switch reason := r.PromptFeedback.BlockReason; reason {
	case "BLOCK_REASON_UNSPECIFIED", "0":
		return ""
	default:
		return reason
	}
}

// Block is the reason for which the candidate was blocked, "" when it was not.
func (c *Candidate) Block() string {
	if IsBlock(c.FinishReason) {
		return c.FinishReason
	}
	return ""
}

// PartlyBlocked is the reason for which the candidate was blocked after some of its text, "" when it was not.
func (c *Candidate) PartlyBlocked() string {
	if IsBlank(c.Text) && (c.Withheld == nil || c.Withheld.Bytes == 0) {
		return ""
	}
	return c.Block()
}

// HasContent reports whether there is a visible text, or a part other than a thought.
func (c *Candidate) HasContent() bool {
	if !IsBlank(c.Text) || c.Withheld != nil && c.Withheld.Bytes > 0 {
		return true
	}
	if c.ShowsMore() {
		return true
	}
	type part struct {
		Thought bool `json:"thought"`
	}
	var parts []part
	if json.Unmarshal(c.Extra["parts"], &parts) != nil {
		return false
	}
	return slices.ContainsFunc(parts, func(p part) bool { return !p.Thought })
}

// Answers reports whether there is something to judge: content, a block, or an ending that says that the model had
// its say. Any other finish reason without content means that the model failed.
func (c *Candidate) Answers() bool {
	return c.HasContent() || c.Block() != "" || c.FinishReason == "STOP" || c.FinishReason == CutReason
}

// Blocked is the reason of the first block, the prompt's first; "" when nothing was blocked.
func (r *Response) Blocked() string {
	if reason := r.PromptBlock(); reason != "" {
		return reason
	}
	for i := range r.Candidates {
		if reason := r.Candidates[i].Block(); reason != "" {
			return reason
		}
	}
	return ""
}

// Text is the text of the first candidate.
func (r *Response) Text() string {
	if len(r.Candidates) == 0 {
		return ""
	}
	return r.Candidates[0].Text
}

// Model is the service's description of a model.
type Model struct {
	Name string `json:"name"`
	// APIVersion is the version of the interface in the request; in run files only.
	APIVersion string `json:"apiVersion,omitempty"`
	// Service is the name of the service that has the model, "" for the unnamed one; in run files only.
	Service                    string   `json:"service,omitempty"`
	Version                    string   `json:"version,omitempty"`
	DisplayName                string   `json:"displayName,omitempty"`
	Description                string   `json:"description,omitempty"`
	InputTokenLimit            int      `json:"inputTokenLimit,omitempty"`
	OutputTokenLimit           int      `json:"outputTokenLimit,omitempty"`
	SupportedGenerationMethods []string `json:"supportedGenerationMethods,omitempty"`
	Temperature                *float64 `json:"temperature,omitempty"`
	TopP                       *float64 `json:"topP,omitempty"`
	TopK                       *int     `json:"topK,omitempty"`
}

// ID is the name without the "models/" prefix.
func (m *Model) ID() string { return strings.TrimPrefix(m.Name, "models/") }

// Supports reports whether the model has the method; one that lists none may have it.
func (m *Model) Supports(method string) bool {
	return len(m.SupportedGenerationMethods) == 0 || slices.Contains(m.SupportedGenerationMethods, method)
}
