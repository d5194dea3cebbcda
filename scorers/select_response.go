package scorers

import (
	"cmp"
	"encoding/json"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// readable reports whether there is a candidate whose JSON may be read: not one that was blocked midway.
func readable(a *Answer) bool {
	return a.Candidate != nil && (a.Candidate.PartlyBlocked() == "" || a.Partial)
}

// candidateJSON is the raw candidate. A plain one, whose raw form is not stored, is rebuilt.
func candidateJSON(c *eval.Candidate) string {
	if len(c.Raw) > 0 {
		return string(c.Raw)
	}
	out := map[string]any{}
	for name, value := range c.Extra {
		if name != "parts" {
			out[name] = value
		}
	}
	if parts := candidateParts(c); len(parts) > 0 {
		out["content"] = map[string]any{"role": eval.RoleModel, "parts": parts}
	}
	if reason := cmp.Or(c.VendorReason, c.FinishReason); reason != "" {
		out["finishReason"] = reason
	}
	if len(c.SafetyRatings) > 0 {
		out["safetyRatings"] = ratingsJSON(c.SafetyRatings)
	}
	text, err := wirejson.Marshal(out)
	if err != nil { // it was decoded from JSON
		return ""
	}
	return string(text)
}

// candidateParts are the parts of a candidate in the service's format.
func candidateParts(c *eval.Candidate) []any {
	var parts []any
	if len(c.Pieces) == 0 && c.Text != "" {
		parts = append(parts, map[string]any{"text": c.Text})
	}
	for _, p := range c.Pieces {
		switch p := p.(type) {
		case eval.CallPiece:
			parts = append(parts, map[string]any{"functionCall": map[string]any{"name": p.Call.Name, "args": readArgs(p.Call.Args)}})
		case eval.OtherPiece:
			parts = append(parts, p.Other)
		case eval.ReasoningPiece:
			parts = append(parts, map[string]any{"text": p.Reasoning, "thought": true})
		case eval.TextPiece:
			parts = append(parts, map[string]any{"text": p.Text})
		}
	}
	var others []json.RawMessage
	if raw := c.Extra["parts"]; len(c.Pieces) == 0 && json.Unmarshal(raw, &others) == nil {
		for _, other := range others {
			parts = append(parts, other)
		}
	}
	return parts
}

func ratingsJSON(ratings []eval.SafetyRating) []any {
	out := make([]any, len(ratings))
	for i, r := range ratings {
		one := map[string]any{"category": r.Category, "probability": r.Probability}
		for name, value := range r.Extra {
			one[name] = value
		}
		if r.Blocked {
			one["blocked"] = true
		}
		out[i] = one
	}
	return out
}
