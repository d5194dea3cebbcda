package suite

import (
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
)

// Target is a thing under test.
type Target struct {
	Name     string
	Of       Tested
	Stream   bool // receive answers in chunks
	Attempts int  // most attempts of a call; 0 means the limit of the run
}

// Tested is what a target tests: a *ConfiguredModel or an Application.
type Tested interface{ tested() }

// ConfiguredModel is a model of a service with its settings.
type ConfiguredModel struct {
	ID               string
	APIVersion       string // "" means that of the run
	GenerationConfig *eval.GenerationConfig
	SafetySettings   []eval.SafetySetting
	Extra            eval.Extra    // additional fields at the top level of requests
	Service          *NamedService // nil means the unnamed service
	Pos              diag.Pos      // position of the id
	MaxOutputPos     diag.Pos      // position of maxOutputTokens, if set
}

func (*ConfiguredModel) tested() {}

// Model returns the model under test; nil for an application.
func (t *Target) Model() *ConfiguredModel {
	m, _ := t.Of.(*ConfiguredModel)
	return m
}

// App returns the application under test; nil for a model.
func (t *Target) App() Application {
	a, _ := t.Of.(Application)
	return a
}

func (l *loader) targets() {
	names := map[string]diag.Pos{}
	for item := range l.items("targets", "there are no targets", "name at least one model") {
		m := item.Map(targetBlock().Names()...)
		if !item.IsMapping() {
			continue
		}
		name := m.Need("name")
		if t := l.target(m, nameOf(name)); unique(names, name, "target") {
			l.Targets = append(l.Targets, t)
		}
	}
}

func (l *loader) target(m yaml.Map, name string) *Target {
	model := l.configuredModel(m, m.Get("model"), "target") // of an application it still reports problems
	t := &Target{Name: name, Of: model, Attempts: m.Get("attempts").Int(1, MaxAttempts)}
	if a := l.application(m); a != nil {
		t.Of = a
	}
	switch of := t.Of.(type) {
	case *ConfiguredModel:
		t.Stream = l.stream
	case *HTTPTarget:
		t.Stream = of.Reading.Stream
	case *EchoTarget:
	case *Program: // a program that fails once mostly fails again
		t.Attempts = max(1, t.Attempts)
	}
	if m.Has("stream") {
		t.Stream = m.Get("stream").Bool()
	}
	return t
}

// configuredModel reads a model and its settings. what is `target` or `judge`, for messages.
func (l *loader) configuredModel(m yaml.Map, id yaml.Node, what string) *ConfiguredModel {
	model := &ConfiguredModel{
		ID:               id.Str(),
		APIVersion:       apiVersion(m.Get("apiVersion")),
		GenerationConfig: l.generationConfig(m.Get("generationConfig")),
		SafetySettings:   safetySettings(m.Get("safetySettings")),
		Service:          l.serviceOf(m.Get("service")),
		Pos:              id.Pos(),
	}
	if config := m.Get("generationConfig"); config.IsMapping() {
		model.MaxOutputPos = config.Map().Get("maxOutputTokens").Pos()
	}
	checkModel(id, model.Service)
	l.checkVersion(m, model.Service)
	model.Extra = extraFields(m.Get("extra"), what, model.Service)
	checkWords(m, model)
	return model
}
