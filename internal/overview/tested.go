package overview

import (
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
)

// Tested names what a target is: a model, with the version of the interface, its named service, and whether it is
// streamed where that is known, or an application.
func Tested(model string, t *eval.RunTarget) string {
	switch {
	case t == nil:
		return model
	case t.App != "":
		return t.App
	}
	if t.APIVersion != "" || t.Service == "" {
		model += " " + t.APIVersion
	}
	if t.Service != "" {
		model += ", service " + t.Service
	}
	if t.Stream {
		model += ", streamed"
	}
	return model
}

// AppOf describes the application of an arm's target, "" for a model.
func AppOf(run *eval.Run, suite, target string) string {
	if t := run.Target(suite, target); t != nil {
		return t.App
	}
	return ""
}

// HasApps reports whether a run tests applications.
func HasApps(run *eval.Run) bool {
	return slices.ContainsFunc(run.Plan.Targets, func(t eval.RunTarget) bool { return t.App != "" })
}

// FromEmulator says that the run used the emulator, so no model answered. Applications still answered.
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

// embeds reports whether a model turns texts into vectors. Only some protocols list what a model does; elsewhere its name tells.
func embeds(m eval.Model) bool {
	if len(m.SupportedGenerationMethods) == 0 {
		return strings.Contains(strings.ToLower(m.Name), "embed")
	}
	return slices.Contains(m.SupportedGenerationMethods, "embedContent")
}

// Replayed says, up to the name of the folder, that the answers of a run come from there.
func Replayed(run *eval.Run) string {
	if HasApps(run) {
		return "replayed: nothing was sent, the answers come from"
	}
	return "replayed, without a model: the answers come from"
}
