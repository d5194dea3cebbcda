package eval

import (
	"fmt"
	"slices"
	"strings"
)

// RunTarget is a target of a run, as its suite gave it.
type RunTarget struct {
	Suite            string            `json:"suite"`
	Name             string            `json:"name"`
	Model            string            `json:"model"`
	APIVersion       string            `json:"apiVersion"`
	Stream           bool              `json:"stream,omitempty"`
	GenerationConfig *GenerationConfig `json:"generationConfig,omitempty"`
	SafetySettings   []SafetySetting   `json:"safetySettings,omitempty"`
}

// Target finds a target, nil in runs that name none.
func (r *Run) Target(suite, name string) *RunTarget {
	for i := range r.Plan.Targets {
		if t := &r.Plan.Targets[i]; t.Suite == suite && t.Name == name {
			return t
		}
	}
	return nil
}

// Model finds the metadata of the target's model, nil when there are none.
func (r *Run) Model(t *RunTarget) *Model {
	for i := range r.Models {
		if m := &r.Models[i]; m.ID() == t.Model && m.APIVersion == t.APIVersion {
			return m
		}
	}
	return nil
}

// Sampling is how the answers of a target are drawn: by what its generation config sets, and by the
// model's defaults where it sets nothing. Nil is not known.
type Sampling struct {
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        *float64 `json:"topP,omitempty"`
	TopK        *int     `json:"topK,omitempty"`
	// Defaults names the fields that are the model's.
	Defaults []string `json:"defaults,omitempty"`
}

// NewSampling joins a generation config and a model's metadata; either may be nil.
func NewSampling(c *GenerationConfig, m *Model) Sampling {
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

// String tells what is known, such as "temperature 0, topP 1 (default)".
func (s Sampling) String() string {
	var out []string
	tell := func(name string, value any) {
		text := fmt.Sprintf("%s %v", name, value)
		if slices.Contains(s.Defaults, name) {
			text += " (default)"
		}
		out = append(out, text)
	}
	if s.Temperature != nil {
		tell("temperature", *s.Temperature)
	}
	if s.TopP != nil {
		tell("topP", *s.TopP)
	}
	if s.TopK != nil {
		tell("topK", *s.TopK)
	}
	return strings.Join(out, ", ")
}
