package suite

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// Candidate is a hash of what the arm sends: its prompt, and its model or application with the settings. Names, cases,
// limits and comments do not change it, so that a gate knows a candidate that it has judged before.
func (a Arm) Candidate() string {
	h := sha256.New()
	a.Prompt.identify(h)
	if a.Prompt.generator != nil {
		a.Prompt.identifyWritten(h, a.Target)
	}
	a.Target.identify(h)
	return hex.EncodeToString(h.Sum(nil))
}

func (p *Prompt) identify(w io.Writer) {
	if p.system != nil {
		p.system.identify(w, "system")
	}
	for _, t := range p.turns {
		for _, one := range t.parts {
			one.written().identify(w, t.role+" "+one.form())
			if raw, ok := one.(rawInTurn); ok {
				fmt.Fprintf(w, "%q", raw.rendering.node.JSON(nil))
			}
		}
		fmt.Fprintf(w, "turn of %q\n", t.role)
	}
	identify(w, p.Live, p.Tools, p.ToolChoice)
}

// identifyWritten adds what a program wrote for a target.
func (p *Prompt) identifyWritten(w io.Writer, t *Target) {
	for key, text := range p.generator.wrote.each {
		if key.Prompt == p.Name && key.Target == t.Name {
			fmt.Fprintf(w, "written %q\n", text)
		}
	}
}

func (t *Target) identify(w io.Writer) {
	switch of := t.Of.(type) {
	case *ConfiguredModel:
		identify(w, of.ID, of.APIVersion, of.GenerationConfig, of.SafetySettings, of.Extra, t.Stream)
		if of.Service != nil {
			identify(w, of.Service.Name)
		}
	case *HTTPTarget:
		identify(w, of.method, of.Reading)
		for s := range of.sources {
			s.identify(w, "http")
		}
		for i := range of.body.parts {
			fmt.Fprintf(w, "%q", of.body.parts[i].before)
		}
	case *Program:
		identify(w, of.identity, of.WorkspaceDigest, of.Env)
		if of.Reading != (eval.Reading{}) {
			identify(w, of.Reading)
		}
	case *EchoTarget:
		identify(w, "echo")
	}
}

func (s source) identify(w io.Writer, what string) { fmt.Fprintf(w, "%s %q\n", what, s.text) }

func identify(w io.Writer, values ...any) {
	data, _ := wirejson.Marshal(values) // what a suite holds was JSON or YAML
	fmt.Fprintf(w, "%s\n", data)
}
