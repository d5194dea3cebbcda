package promptfoo

import (
	"regexp"
	"strings"
)

// plainValue copies a value without templates.
func plainValue(s src) yamlValue {
	return valueOf(s, func(_ src, text string) yamlValue { return textValue(text) })
}

// valueOf copies a value, and passes its texts through a function. Its secrets cannot be expressed.
func valueOf(s src, text func(at src, text string) yamlValue) yamlValue {
	return copied(s, func(at src, written string) yamlValue {
		clean, found := at.withoutSecret(written)
		if found {
			at.unread(clean)
			return textValue(clean)
		}
		return text(at, written)
	})
}

// forProgram copies the settings of a program, whose shim reads secrets from the environment.
func forProgram(s src) yamlValue {
	return copied(s, func(at src, written string) yamlValue {
		clean, _ := at.withoutSecret(written)
		return textValue(clean)
	})
}

func copied(s src, text func(at src, text string) yamlValue) yamlValue {
	switch {
	case s.IsMapping():
		out := &mapping{}
		for _, e := range s.entries() {
			out.set(e.key, copied(e.src, text))
		}
		return out
	case s.IsSequence():
		out := &sequence{}
		for _, item := range s.items() {
			out.add(copied(item, text))
		}
		return out
	case s.IsZero() || s.IsNull():
		return literal("null")
	case s.IsNumber():
		if own, _ := s.lastKeys(); s.inConfig() && secretNumbers.MatchString(own) {
			return text(s, s.Written())
		}
		return literal(jsText(s.Node))
	case s.IsBool():
		return literal(strings.ToLower(s.Written()))
	}
	return text(s, s.Written())
}

// secretNumbers matches the names of numbers that are secret.
var secretNumbers = regexp.MustCompile(`(?i)(?:passw(?:or)?d|passcode|pwd|secret|pin|api_?key)$`) //nolint:gosec // names, no credential

// escapedValue escapes texts, for places where evalrun reads templates and promptfoo does not.
func escapedValue(s src) yamlValue {
	return valueOf(s, func(_ src, text string) yamlValue { return textValue(escapeText(text)) })
}

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
var envExpression = regexp.MustCompile(`^\s*\{\{\s*env\.(\w+)\s*\}\}\s*$`)
