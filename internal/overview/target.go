package overview

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
)

// sampling has the sampling settings of a target: from its generation config, or else the model's defaults.
// nil means unknown.
type sampling struct {
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        *float64 `json:"topP,omitempty"`
	TopK        *int     `json:"topK,omitempty"`
	// Defaults names the fields that are the model's.
	Defaults []string `json:"defaults,omitempty"`
}

// NewSampling merges a generation config and a model's metadata; both may be nil.
func NewSampling(c *eval.GenerationConfig, m *eval.Model) sampling {
	var s sampling
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
func (s sampling) String() string {
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

// HasApps reports whether a run tests applications.
func HasApps(run *eval.Run) bool {
	return slices.ContainsFunc(run.Plan.Targets, func(t eval.RunTarget) bool { return t.App != "" })
}

// FromEmulator says that answers are the emulator's and not a model's. Applications still answered
// themselves.
func FromEmulator(run *eval.Run) string {
	text := "against evalrun's emulator: answers come from a script, not from a model"
	if HasApps(run) {
		text += "; those of applications are real"
	}
	if slices.ContainsFunc(run.Models, embeds) {
		text += "; embeddings compare letters and words, so `similar` knows no meaning here"
	}
	return text
}

// embeds reports whether a model embeds texts. Some protocols do not list what a model does; then its name
// decides.
func embeds(m eval.Model) bool {
	if len(m.SupportedGenerationMethods) == 0 {
		return strings.Contains(strings.ToLower(m.Name), "embed")
	}
	answers := slices.Contains(m.SupportedGenerationMethods, "generateContent") // then it is in the run as a target
	return !answers && slices.Contains(m.SupportedGenerationMethods, "embedContent")
}

// Origins lists where answers come from, other than models that this run called. code shows a path in the format of the report.
func Origins(run *eval.Run, code func(string) string) (out []string) {
	if run.Emulator {
		out = append(out, FromEmulator(run))
	}
	if run.Cache {
		out = append(out, "with "+code("--cache")+": answers of earlier runs may be among these")
	}
	if run.Replay != "" {
		words := "replayed, without a model: the answers come from "
		if HasApps(run) {
			words = "replayed: nothing was sent, the answers come from "
		}
		out = append(out, words+code(run.Replay))
	}
	if from := run.ExtendedFrom; len(from) > 0 {
		out = append(out, "extended: this run continues "+code(from[len(from)-1])+", whose answers count")
	}
	return out
}
