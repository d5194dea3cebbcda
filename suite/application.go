package suite

import (
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
)

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

// modelKeys lists the keys that only a target that is a model can have.
func modelKeys() []string {
	return []string{"service", "apiVersion", "stream", "generationConfig", "safetySettings", "extra"}
}

// application reads the block that makes a target an application. It is nil for a model.
func (l *loader) application(m yaml.Map) Application {
	form := l.targetForm(m)
	if form == "" || form == "model" {
		return nil
	}
	for _, key := range modelKeys() {
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

func (p *Program) sources(func(source) bool) {}

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
