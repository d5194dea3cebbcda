package promptfoo

import (
	"strings"

	"github.com/evalrun/evalrun/internal/lazy"
)

// plainValue copies a value without templates.
func plainValue(s src) yamlValue {
	return valueOf(s, func(_ src, text string) yamlValue { return textValue(text) })
}

// valueOf copies a value, and passes its texts through a function.
func valueOf(s src, text func(at src, text string) yamlValue) yamlValue {
	switch {
	case s.IsMapping():
		out := &mapping{}
		for _, e := range s.entries() {
			out.set(e.key, valueOf(e.src, text))
		}
		return out
	case s.IsSequence():
		out := &sequence{}
		for _, item := range s.items() {
			out.add(valueOf(item, text))
		}
		return out
	case s.IsZero() || s.IsNull():
		return literal("null")
	case s.IsNumber():
		return literal(jsText(s.Node))
	case s.IsBool():
		return literal(strings.ToLower(s.Written()))
	}
	return text(s, s.Written())
}

// escapedValue escapes texts, for places where evalrun reads templates and promptfoo does not.
func escapedValue(s src) yamlValue {
	return valueOf(s, func(_ src, text string) yamlValue { return textValue(escapeText(text)) })
}

// rendered translates the templates in a value.
func (c *converter) rendered(s src, d dialect) (yamlValue, bool) {
	fine := true
	out := valueOf(s, func(at src, text string) yamlValue {
		out, ok := c.template(at, text, d)
		fine = fine && ok
		return textValue(out)
	})
	return out, fine
}

// envExpression matches a value that is only an environment variable.
const envExpression lazy.Regex = `^\s*\{\{\s*env\.(\w+)\s*\}\}\s*$`
