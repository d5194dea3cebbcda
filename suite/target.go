package suite

import (
	"strings"

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
	// StripsReasoning says that what the model thought in its text is no part of the answer.
	StripsReasoning bool
}

// reasoningStrip leaves out of answers what a model thought in its text.
const reasoningStrip = "strip"

func reasoningWords() []string { return []string{"keep", reasoningStrip} }

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
	for m := range l.items("targets", targetBlock(), "there are no targets", "name at least one model") {
		name := m.Need("name")
		if t := l.target(m, nameOf(name)); unique(names, name, "target") {
			l.Targets = append(l.Targets, t)
		}
	}
}

func (l *loader) target(m yaml.Map, name string) *Target {
	model := l.configuredModel(m, m.Get("model"), "target") // of an application it still reports problems
	t := &Target{
		Name: name, Of: model, Attempts: m.Get("attempts").Int(1, MaxAttempts),
		StripsReasoning: m.Get("reasoning").Word(reasoningWords()...) == reasoningStrip,
	}
	if a := l.application(m); a != nil {
		t.Of = a
	}
	l.faults(t, m)
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
	of, name := l.place(m, id)
	model := &ConfiguredModel{
		ID:               name,
		APIVersion:       apiVersion(m.Get("apiVersion")),
		GenerationConfig: l.generationConfig(m.Get("generationConfig")),
		SafetySettings:   safetySettings(m.Get("safetySettings")),
		Service:          of,
		Pos:              id.Pos(),
	}
	if config := m.Get("generationConfig"); config.IsMapping() {
		model.MaxOutputPos = config.Map().Get("maxOutputTokens").Pos()
	}
	checkModel(id, name, of)
	l.checkVersion(m, model.Service)
	model.Extra = extraFields(m.Get("extra"), what, model.Service)
	checkWords(m, model)
	return model
}

// Application is a target that is not a model of a service: an *HTTPTarget, a *Program or an *EchoTarget.
type Application interface {
	Tested
	eval.RequestMaker
	// String describes the application in a few words.
	String() string
	// KeepsChats reports whether the application may remember earlier turns itself.
	KeepsChats() bool
	// Unset returns the environment variables that requests need and that are not set, each with the position of its first
	// use. With ofAddress, it considers the address only, which is part of a trial's identity.
	Unset(ofAddress bool) map[string]diag.Pos
	// sources yields every template of the application's request.
	sources(yield func(source) bool)
}

// EchoTarget answers with the prompt.
type EchoTarget struct{ _ byte } // two echoes are two applications, which values without a size need not be

func applicationForms() []string { return []string{"http", "program", "echo"} }

// targetForms lists the keys that say what kind of target it is. A target has exactly one of them.
func targetForms() []string { return append([]string{"model"}, applicationForms()...) }

// application reads the block that makes a target an application. It is nil for a model.
func (l *loader) application(m yaml.Map) Application {
	form := l.targetForm(m)
	if form == "" || form == "model" {
		return nil
	}
	for _, key := range []string{"service", "vendor", "apiVersion", "stream", "generationConfig", "safetySettings", "extra"} {
		if !m.Has(key) {
			continue
		}
		hint := "remove it"
		if key == "stream" && form == "http" {
			hint = "for server-sent events, write `stream: sse` in the `http` block"
		}
		m.Key(key).Errorf(hint, "`%s` is for a model, and this target has `%s`", key, form)
	}
	return l.applicationOf(form, m.Get(form))
}

func (l *loader) applicationOf(form string, n yaml.Node) Application {
	switch form {
	case "http":
		return l.endpoint(n)
	case "program":
		return l.program(n)
	}
	if n.IsBool() && !n.Bool() {
		n.Errorf("write `echo: true`, or remove the target", "`echo: false` is not a target")
	}
	return &EchoTarget{}
}

func (l *loader) targetForm(m yaml.Map) string {
	form := ""
	for _, name := range targetForms() {
		switch {
		case !m.Has(name):
		case form == "":
			form = name
		default:
			m.Key(name).Errorf(
				"keep one of them",
				"a target has one of %s; this one has %s and %s", strings.Join(targetForms(), ", "), form, name,
			)
		}
	}
	if form == "" && !m.Misspells(targetForms()...) {
		m.Errorf("an application has one of "+strings.Join(applicationForms(), ", ")+" instead", "the key `model` is missing")
	}
	return form
}

// KeepsChats reports whether the endpoint receives the name of the trial.
func (h *HTTPTarget) KeepsChats() bool { return h.calls("trial") }

// Unset returns the environment variables that requests need and that are not set.
func (h *HTTPTarget) Unset(ofAddress bool) map[string]diag.Pos {
	out := map[string]diag.Pos{}
	for _, u := range h.unset {
		if _, known := out[u.name]; !known && (u.inURL || !ofAddress) {
			out[u.name] = u.pos
		}
	}
	return out
}

// KeepsChats is true: a program may have a folder or a service of its own.
func (p *Program) KeepsChats() bool { return true }

// Unset is empty: a program gets the environment as it is.
func (p *Program) Unset(bool) map[string]diag.Pos { return nil }

func (p *Program) sources(yield func(source) bool) {
	for _, s := range p.templates {
		if !yield(s) {
			return
		}
	}
}

func (*HTTPTarget) tested() {}

func (*Program) tested() {}

func (*EchoTarget) tested() {}

// Render makes the request to answer with the prompt.
func (e *EchoTarget) Render(*eval.Input) (*eval.Rendered, error) {
	return &eval.Rendered{Payload: eval.EchoRun{}}, nil
}

func (e *EchoTarget) String() string { return "echo" }

// KeepsChats is false.
func (e *EchoTarget) KeepsChats() bool { return false }

// Unset is empty.
func (e *EchoTarget) Unset(bool) map[string]diag.Pos { return nil }

func (e *EchoTarget) sources(func(source) bool) {}
