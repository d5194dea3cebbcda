package suite

import (
	"strings"

	"github.com/evalrun/evalrun/app"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/yamlnode"
)

// Application is a target that is not a model of a service: the one member that is set. It implements app.Target.
type Application struct {
	Echo    bool          // answers with the prompt
	HTTP    *app.Endpoint // how it is called; Render makes what it is sent
	Program *Program

	endpoint *endpoint
}

// applicationForms are the keys of a target that make it an application.
func applicationForms() []string { return []string{"http", "program", "echo"} }

// targetForms are the keys for the kind of a target, which has exactly one of them.
func targetForms() []string { return append([]string{"model"}, applicationForms()...) }

// modelKeys are those of a target that only a model has.
func modelKeys() []string {
	return []string{"service", "apiVersion", "stream", "generationConfig", "safetySettings", "extra"}
}

// application reads the block that makes a target an application; nil when it is a model.
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

// targetForm is the one key that says what a target is; "" when there is none.
func (l *loader) targetForm(m yamlnode.Map) string {
	form := ""
	for _, name := range targetForms() {
		switch {
		case !m.Has(name):
		case form == "":
			form = name
		default:
			m.Key(name).Errorf("keep one of them", "a target has one of %s; this one has %s and %s", strings.Join(targetForms(), ", "), form, name)
		}
	}
	if form == "" && !m.Misspells(targetForms()...) {
		m.Errorf("an application has one of "+strings.Join(applicationForms(), ", ")+" instead", "the key `model` is missing")
	}
	return form
}

// Render makes what the application is sent.
func (a *Application) Render(in *app.Input) (*app.Request, error) {
	switch {
	case a.HTTP != nil:
		return a.endpoint.request(in)
	case a.Program != nil:
		return a.Program.render(in)
	}
	return &app.Request{Echo: true}, nil
}

// KeepsSessions reports whether the application may know by itself what was said before. A program has a memory of its
// own, and so may an endpoint that gets the name of the trial.
func (a *Application) KeepsSessions() bool {
	return a.Program != nil || a.HTTP != nil && a.endpoint.calls("trial")
}

// Unset are the variables of the environment that requests need and that are not set, each with the place where it is
// named first. With ofAddress, they are the variables of the address alone, which is a part of a trial's identity.
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

// String is the application in a few words, for people.
func (a *Application) String() string {
	switch {
	case a.HTTP != nil:
		return a.endpoint.String()
	case a.Program != nil:
		return a.Program.String()
	}
	return "echo"
}

// sources yields every template of what the application is sent.
func (a *Application) sources(yield func(source) bool) {
	if a != nil && a.HTTP != nil {
		a.endpoint.sources(yield)
	}
}
