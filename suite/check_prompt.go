package suite

import (
	"slices"
	"strings"

	"github.com/evalrun/evalrun/app"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/payload"
	"github.com/evalrun/evalrun/internal/service"
	"github.com/evalrun/evalrun/internal/tmpl"
)

// checkArm applies the service's rules about images to the models that its
// specification names.
func (l *loader) checkArm(a Arm) {
	image, where := a.Prompt.hasImage(), a.Prompt.Pos
	if a.Target.App != nil && a.Prompt.toolsPos.Line > 0 {
		l.diags.Errorf(
			a.Prompt.toolsPos, "narrow `targets` of the prompt to models",
			"the target `%s` is an application (%s), which takes no tools", a.Target.Name, a.Target.App,
		)
	}
	switch {
	case a.Target.App != nil:
		l.checkTexts(a)
	case a.Target.Model == "svc-pro-vision":
		l.checkVision(a, image)
	case a.Target.Model == "svc-pro" && image:
		l.diags.Errorf(
			where, "send it to svc-pro-vision: narrow `targets` of the prompt",
			"svc-pro (target `%s`) takes text alone, and the prompt `%s` has an image", a.Target.Name, a.Prompt.Name,
		)
	}
}

// checkTexts reports parts of a prompt that an application would not get: it is sent texts alone.
func (l *loader) checkTexts(a Arm) {
	for one := range a.Prompt.eachPart {
		if one.image || one.data || one.raw != nil {
			l.diags.Errorf(
				one.source.node.Pos(), "narrow `targets` of the prompt, and name the file in a variable for the application",
				"the target `%s` is an application, which gets texts alone, and the prompt `%s` has another part", a.Target.Name, a.Prompt.Name,
			)
			return
		}
	}
}

// checkVision reports prompts that the model for images does not take.
func (l *loader) checkVision(a Arm, image bool) {
	where := a.Prompt.Pos
	switch {
	case image && a.Prompt.Live && !a.Prompt.beginsWithImage():
		l.diags.Errorf(
			where, "show an image in the first turn",
			"svc-pro-vision (target `%s`) takes prompts with an image, and the first turn of the live chat `%s` has none",
			a.Target.Name, a.Prompt.Name,
		)
	case !image:
		l.diags.Errorf(
			where, "send it to svc-pro: narrow `targets` of the prompt",
			"svc-pro-vision (target `%s`) takes prompts with an image, and the prompt `%s` has none", a.Target.Name,
			a.Prompt.Name,
		)
	case a.Prompt.isChat():
		l.diags.Warnf(where, "", "svc-pro-vision (target `%s`) is not made for chats such as the prompt `%s`", a.Target.Name, a.Prompt.Name)
	}
}

// checkPrompt renders the prompt for the case: missing variables and files, and
// what exceeds the service's limits.
func (l *loader) checkPrompt(c *Case, arm Arm) {
	p := arm.Prompt
	prompt, ok := p.rendered(c, l.files, l.diags, false)
	p.Results.check(c, l.diags)
	if !ok || slices.Contains(l.broken, p) {
		return
	}
	n := payload.Images(prompt.Contents)
	switch {
	case n > service.MaxImages:
		l.diags.Errorf(p.Pos, "", "the prompt `%s` has %d images; at most %d are allowed", p.Name, n, service.MaxImages)
	case n > 1:
		l.diags.Warnf(p.Pos, "", "the prompt `%s` has %d images; one alone tends to give better answers", p.Name, n)
	}
	if size := encodedSize(prompt.Contents) + len(prompt.System); size > service.MaxPromptBytes {
		l.diags.Errorf(
			p.Pos, "images count in base64, a third more than their files",
			"case `%s`: the encoded prompt `%s` has %d bytes; at most %d are allowed", c.Name, p.Name, size, service.MaxPromptBytes,
		)
	}
	if slices.ContainsFunc(prompt.Contents, blank) {
		l.diags.Errorf(p.Pos, "", "case `%s`: the prompt `%s` has an empty turn", c.Name, p.Name)
	}
	l.checkRequest(c, arm, prompt)
}

// checkRequest renders what an application is sent for the case.
func (l *loader) checkRequest(c *Case, arm Arm, prompt eval.Request) {
	if arm.Target.App == nil || arm.Target.App.HTTP == nil {
		return
	}
	in := newRendered(&app.Input{Vars: c.vars, System: prompt.System, Messages: payload.Messages(prompt.Contents)})
	in.budget, in.told = c.budget, func(s source, e *tmpl.Error) { s.report(c, e, l.diags) }
	arm.Target.App.endpoint.render(in)
}

// blank reports whether a turn says nothing.
func blank(c eval.Content) bool {
	return !slices.ContainsFunc(c.Parts, func(p eval.Part) bool {
		return p.Image != nil || p.Data != nil || p.Raw != nil || strings.TrimSpace(p.Text) != ""
	})
}

// encodedSize is payload.Size for contents whose files were not loaded.
func encodedSize(contents []eval.Content) int {
	size := payload.Size(contents)
	for _, c := range contents {
		for _, p := range c.Parts {
			for _, file := range []*eval.Image{p.Image, p.Data} {
				if file != nil {
					size += (file.Bytes + 2) / 3 * 4
				}
			}
		}
	}
	return size
}
