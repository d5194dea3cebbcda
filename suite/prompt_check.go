package suite

import (
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

// checkPrompt renders the prompt for a case. It reports undefined variables, missing files, and whatever exceeds the
// service's limits.
func (l *loader) checkPrompt(c *Case, arm Arm) {
	p := arm.Prompt
	prompt, ok := p.rendered(c, l.files, l.diags, false)
	p.Results.check(c, l.diags)
	if !ok || slices.Contains(l.broken, p) {
		return
	}
	n := wire.Images(prompt.Contents)
	switch {
	case n > wire.MaxImages:
		l.diags.Errorf(p.Pos, "remove some", "the prompt `%s` has %d images; at most %d are allowed", p.Name, n, wire.MaxImages)
	case n > 1:
		l.diags.Warnf(p.Pos, "", "the prompt `%s` has %d images; one alone tends to give better answers", p.Name, n)
	}
	if size := sizeOver(prompt); size > wire.MaxPromptBytes {
		l.diags.Errorf(
			p.Pos, "images count in base64, a third more than their files",
			"case `%s`: the encoded prompt `%s` has %d bytes; at most %d are allowed", c.Name, p.Name, size, wire.MaxPromptBytes,
		)
	}
	if slices.ContainsFunc(prompt.Contents, saysNothing) {
		l.diags.Errorf(
			p.Pos, "give its variables a value in this case", "case `%s`: the prompt `%s` has an empty turn", c.Name, p.Name,
		)
	}
	l.checkRequest(c, arm, prompt)
	l.checkSpoken(arm, prompt)
}

// sizeOver returns the encoded size of a prompt, or a lower figure if its texts are so short that it cannot exceed the
// limit.
func sizeOver(prompt eval.Request) int {
	const (
		longest = 6  // most bytes that encode one byte of text: \u00XX
		around  = 64 // most bytes around a part
	)
	most := 0
	for _, c := range prompt.Contents {
		most += around
		for _, p := range c.Parts {
			text, ok := p.(eval.TextPart)
			if !ok {
				return encodedSize(prompt.Contents) + len(prompt.System)
			}
			most += around + longest*len(text.Text)
		}
	}
	if most+len(prompt.System) <= wire.MaxPromptBytes {
		return 0
	}
	return encodedSize(prompt.Contents) + len(prompt.System)
}

func saysNothing(c eval.Content) bool {
	return !slices.ContainsFunc(c.Parts, func(p eval.Part) bool {
		text, ok := p.(eval.TextPart)
		return !ok || !eval.Is(text.Text)
	})
}

// encodedSize is wire.Size for contents whose files were not loaded.
func encodedSize(contents []eval.Content) int {
	size := wire.Size(contents)
	for _, c := range contents {
		for _, p := range c.Parts {
			if file := p.File(); file != nil {
				size += (file.Bytes + 2) / 3 * 4
			}
		}
	}
	return size
}
