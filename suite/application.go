package suite

import (
	"strings"

	"github.com/evalrun/evalrun/app"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/yamlnode"
)

// Application is a target that is not a model of a service. Exactly one field is set. It implements app.RequestMaker.
type Application struct {
	Echo    bool          // answers with the prompt
	HTTP    *app.Endpoint // how it is called; Render makes its requests
	Program *Program

	endpoint *endpoint
}

// applicationForms are the keys of a target that make it an application.
func applicationForms() []string { return []string{"http", "program", "echo"} }

// targetForms lists the keys that say what kind of target it is. A target has exactly one of them.
func targetForms() []string { return append([]string{"model"}, applicationForms()...) }

// modelKeys lists the keys that only a target that is a model can have.
func modelKeys() []string {
	return []string{"service", "apiVersion", "stream", "generationConfig", "safetySettings", "extra"}
}

// application reads the block that makes a target an application. It is nil for a model.
func (l *loader) application(m yamlnode.Map) *Application {
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

// applicationOf reads the block of one form.
func (l *loader) applicationOf(form string, n yamlnode.Node) *Application {
	switch form {
	case "http":
		return l.http(n)
	case "program":
		return &Application{Program: l.program(n)}
	}
	if n.IsBool() && !n.Bool() {
		n.Errorf("write `echo: true`, or remove the target", "`echo: false` is not a target")
	}
	return &Application{Echo: true}
}

// targetForm returns the key of targetForms that the target has, or "".
func (l *loader) targetForm(m yamlnode.Map) string {
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

// Render makes the request to the application.
func (a *Application) Render(in *app.Input) (*app.Request, error) {
	switch {
	case a.HTTP != nil:
		return a.endpoint.request(in)
	case a.Program != nil:
		return a.Program.render(in)
	}
	return &app.Request{Echo: true}, nil
}

// KeepsChats reports whether the application may remember earlier turns itself. A program may, and so may an endpoint
// that receives the name of the trial.
func (a *Application) KeepsChats() bool {
	return a.Program != nil || a.HTTP != nil && a.endpoint.calls("trial")
}

// Unset returns the environment variables that requests need and that are not set, each with the position of its first
// use. With ofAddress, it considers the address only, which is part of a trial's identity.
func (a *Application) Unset(ofAddress bool) map[string]diag.Pos {
	out := map[string]diag.Pos{}
	if a.HTTP == nil {
		return out
	}
	for _, u := range a.endpoint.unset {
		if _, known := out[u.name]; !known && (u.inURL || !ofAddress) {
			out[u.name] = u.pos
		}
	}
	return out
}

// String describes the application in a few words.
func (a *Application) String() string {
	switch {
	case a.HTTP != nil:
		return a.endpoint.String()
	case a.Program != nil:
		return a.Program.String()
	}
	return "echo"
}

// sources yields every template of the application's request.
func (a *Application) sources(yield func(source) bool) {
	if a != nil && a.HTTP != nil {
		a.endpoint.sources(yield)
	}
}
