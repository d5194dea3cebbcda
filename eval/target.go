package eval

// RunTarget is a target of a run, as its suite gave it.
type RunTarget struct {
	Suite            string            `json:"suite"`
	Name             string            `json:"name"`
	Model            string            `json:"model"`
	APIVersion       string            `json:"apiVersion"`
	Stream           bool              `json:"stream,omitempty"`
	GenerationConfig *GenerationConfig `json:"generationConfig,omitempty"`
	SafetySettings   []SafetySetting   `json:"safetySettings,omitempty"`
	// App describes an application for people: `POST http://127.0.0.1:8080/chat`, `python3 agent.py`,
	// `echo`. It is "" for a model.
	App string `json:"app,omitempty"`
	// Service is the name of the service that has the model, "" for the unnamed one.
	Service string `json:"service,omitempty"`
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
		if m := &r.Models[i]; m.ID() == t.Model && m.APIVersion == t.APIVersion && m.Service == t.Service {
			return m
		}
	}
	return nil
}
