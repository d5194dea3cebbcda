package overview

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
)

// Sampling has the sampling settings of a target: from its generation config, or else the model's defaults.
// nil means unknown.
type Sampling struct {
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        *float64 `json:"topP,omitempty"`
	TopK        *int     `json:"topK,omitempty"`
	// Defaults names the fields that are the model's.
	Defaults []string `json:"defaults,omitempty"`
}

// NewSampling merges a generation config and a model's metadata; both may be nil.
func NewSampling(c *eval.GenerationConfig, m *eval.Model) Sampling {
	var s Sampling
	if c != nil {
		s.Temperature, s.TopP, s.TopK = c.Temperature, c.TopP, c.TopK
	}
	if m == nil {
		return s
	}
	if s.Temperature == nil && m.Temperature != nil {
		s.Temperature, s.Defaults = m.Temperature, append(s.Defaults, "temperature")
	}
	if s.TopP == nil && m.TopP != nil {
		s.TopP, s.Defaults = m.TopP, append(s.Defaults, "topP")
	}
	if s.TopK == nil && m.TopK != nil {
		s.TopK, s.Defaults = m.TopK, append(s.Defaults, "topK")
	}
	return s
}

// String returns the known settings, such as "temperature 0, topP 1 (default)".
func (s Sampling) String() string {
	var out []string
	add := func(name string, value any) {
		text := fmt.Sprintf("%s %v", name, value)
		if slices.Contains(s.Defaults, name) {
			text += " (default)"
		}
		out = append(out, text)
	}
	if s.Temperature != nil {
		add("temperature", *s.Temperature)
	}
	if s.TopP != nil {
		add("topP", *s.TopP)
	}
	if s.TopK != nil {
		add("topK", *s.TopK)
	}
	return strings.Join(out, ", ")
}
