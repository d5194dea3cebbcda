package promptfoo

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
)

// This file converts prompts and bodies that are JSON. promptfoo renders each of their strings on its own, and parses the results in a
// body where they are lists or mappings.

// jsonPrompt translates a prompt that is JSON, for applications. is says whether the prompt is one.
func (c *converter) jsonPrompt(p *prompt) (text string, is, ok bool) {
	if len(c.affixes) > 0 || c.defaults.prefix+c.defaults.suffix != "" { // promptfoo parses the whole prompt
		return "", false, false
	}
	v, err := eval.ParseValue([]byte(p.text))
	if err != nil {
		return "", false, false
	}
	w := jsonWriter{ok: true, text: func(text string) (string, bool) { return c.template(p.at, text, dialect{json: true}) }}
	w.value(v, "\n")
	return w.String(), true, w.ok
}

// jsonWriter writes a value as JavaScript does with an indentation of two spaces.
type jsonWriter struct {
	strings.Builder
	text func(string) (string, bool) // translates a text
	ok   bool
}

func (w *jsonWriter) value(v eval.Value, line string) {
	switch v := v.(type) {
	case string:
		out, ok := w.text(v)
		w.ok = w.ok && ok
		w.WriteString(`"` + out + `"`)
	case eval.Array:
		w.items('[', ']', line, len(v), func(i int) { w.value(v[i], line+"  ") })
	case eval.Object:
		w.items('{', '}', line, len(v), func(i int) {
			w.WriteString(escapeText(eval.JSON(v[i].Name)) + ": ")
			w.value(v[i].Value, line+"  ")
		})
	default:
		w.WriteString(eval.JSON(v))
	}
}

func (w *jsonWriter) items(open, shut byte, line string, n int, item func(i int)) {
	w.WriteByte(open)
	for i := range n {
		if i > 0 {
			w.WriteByte(',')
		}
		w.WriteString(line + "  ")
		item(i)
	}
	if n > 0 {
		w.WriteString(line)
	}
	w.WriteByte(shut)
}

// jsonFile returns a prompt in a YAML file as JSON, which is how promptfoo reads it.
func jsonFile(name string, data []byte) (string, bool) {
	var problems diagList
	n, ok := yaml.Parse(name, data, &problems)
	if !ok || !n.IsMapping() && !n.IsSequence() {
		return "", false
	}
	return string(n.JSON(nil)), true
}

// isJSON reports whether a prompt is JSON before it is rendered.
func (p *prompt) isJSON() bool { return json.Valid([]byte(p.text)) }

// mayBeJSON reports whether a prompt may render to a list or a mapping in JSON.
func (c *converter) mayBeJSON(p *prompt) bool {
	text := strings.TrimSpace(p.text)
	if m := simple.regexp().FindStringSubmatch(text); m != nil && m[0] == text {
		return c.json[m[1]]
	}
	return looksJSON(text)
}

// looksJSON reports whether a text begins like a list or a mapping in JSON, and not like a template.
func looksJSON(text string) bool { return beginning.matches(text) }

var beginning = pattern{expression: `^\s*(?:\[|\{(?:[^{%#]|$))`}

// parseBodies lets bodies have the list or mapping where a text of theirs is one in JSON, as promptfoo does.
func (c *converter) parseBodies() {
	for _, t := range c.targets {
		http, _ := t.block.get("http").(*mapping)
		if http == nil || !t.parses {
			continue
		}
		isJSON := func(name string) bool {
			isJSON := func(p *prompt) bool { return t.gets(p) && c.mayBeJSON(p) }
			return c.json[name] || name == "prompt" && slices.ContainsFunc(c.prompts, isJSON)
		}
		http.replace("body", parsing(http.get("body"), isJSON))
	}
}

// single matches a template that is one action.
var single = pattern{expression: `^\{\{\.?(\w+)\}\}$`}

func parsing(v yamlValue, isJSON func(name string) bool) yamlValue {
	switch v := v.(type) {
	case *mapping:
		for i, e := range v.entries {
			v.entries[i].value = parsing(e.value, isJSON)
		}
	case *sequence:
		for i, e := range v.items {
			v.items[i].value = parsing(e.value, isJSON)
		}
	case textValue:
		if m := single.regexp().FindStringSubmatch(string(v)); m != nil && isJSON(m[1]) {
			return textValue(strings.TrimSuffix(string(v), "}}") + " | fromJson}}")
		}
	case literal: // never a template
	}
	return v
}

var (
	// actionOrQuote matches what matters to jsonInText: an action, an escape, or a quotation mark.
	actionOrQuote = pattern{expression: `\{\{.*?\}\}|\\.|"`}
	control       = pattern{expression: `^\{\{-?\s*(?:if|else|end|range|with|\$|/\*|")`}
)

// jsonInText makes templates in a JSON text write their values as JSON.
func jsonInText(text string) string {
	if !looksJSON(text) {
		return text
	}
	inside := false
	text = quotedPrompt.regexp().ReplaceAllString(text, `{{$1 | json}}`)
	return actionOrQuote.regexp().ReplaceAllStringFunc(text, func(m string) string {
		switch {
		case m == `"`:
			inside = !inside
		case inside && m[0] == '{' && !control.matches(m):
			return strings.TrimSuffix(m, "}}") + " | jsonText}}"
		}
		return m
	})
}

var quotedPrompt = pattern{expression: `"\{\{(prompt|\.\w+)\}\}"`}
