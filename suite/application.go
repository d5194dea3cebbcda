package suite

import (
	"strings"

	"github.com/evalrun/evalrun/app"
	"github.com/evalrun/evalrun/internal/yamlnode"
)

// Application is a target that is no model of a service: the one member that is set. It implements app.Target.
type Application struct {
	Echo    bool // answers with the prompt
	Program *Program
}

// applicationForms are the keys of a target that make it an application.
func applicationForms() []string { return []string{"program", "echo"} }

// targetForms are the keys of which a target has one.
func targetForms() []string { return append([]string{"model"}, applicationForms()...) }

// modelKeys are those of a target that only a model has.
func modelKeys() []string {
	return []string{"apiVersion", "stream", "generationConfig", "safetySettings"}
}

// application reads the block that makes a target an application; nil when it is a model.
func (l *loader) application(m yamlnode.Map) *Application {
	form := l.targetForm(m)
	if form == "" || form == "model" {
		return nil
	}
	for _, key := range modelKeys() {
		if m.Has(key) {
			m.Key(key).Errorf("remove it", "`%s` is for a model, and this target has `%s`", key, form)
		}
	}
	return l.applicationOf(form, m.Get(form))
}

// applicationOf reads the block of one form.
func (l *loader) applicationOf(form string, n yamlnode.Node) *Application {
	if form == "program" {
		return &Application{Program: l.program(n)}
	}
	if !n.Bool() {
		n.Errorf("write `echo: true`, or remove the target", "`echo: false` is no target")
	}
	return &Application{Echo: true}
}

// checkApplications wants prompts of applications to be texts: nothing else can be sent to one.
func (l *loader) checkApplications() {
	for _, arm := range l.arms {
		if arm.Target.App != nil && arm.Prompt.hasImage() {
			l.diags.Errorf(
				arm.Prompt.Pos, "name its targets in `targets`", "the prompt `%s` has an image, and the target `%s` is an application, which gets text",
				arm.Prompt.Name, arm.Target.Name,
			)
		}
	}
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
	if form == "" {
		m.Errorf("an application has one of "+strings.Join(applicationForms(), ", ")+" instead", "the key `model` is missing")
	}
	return form
}

// Render makes what the application is sent.
func (a *Application) Render(in *app.Input) (*app.Request, error) {
	if a.Program != nil {
		return a.Program.render(in)
	}
	return &app.Request{Echo: true}, nil
}

// String is the application in a few words, for people.
func (a *Application) String() string {
	if a.Program != nil {
		return a.Program.String()
	}
	return "echo"
}
