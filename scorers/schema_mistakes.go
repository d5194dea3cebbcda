package scorers

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/yaml"
)

type schemaSource struct {
	node yaml.Node
	file string // "" when it is in the suite
	doc  any
}

// schemaSource reads `schema` or `file`; false when it reported a problem.
func (a args) schemaSource(m yaml.Map) (schemaSource, bool) {
	inline, file := m.Get("schema"), m.Get("file")
	switch {
	case !inline.IsZero() && !file.IsZero():
		m.Key("file").Errorf("keep one of them", "`schema` and `file` are both a schema")
		return schemaSource{}, false
	case !file.IsZero():
		return a.schemaFile(file)
	}
	node := m.Need("schema")
	if node.IsZero() {
		return schemaSource{}, false
	}
	if !node.IsMapping() {
		node.Errorf("a JSON Schema, written in YAML, or `file: schemas/x.json`", "expected a mapping, found %s", node.Describe())
		return schemaSource{}, false
	}
	doc, problem := parseJSON(string(node.JSON(nil)))
	return schemaSource{node, "", doc}, problem == "" // or the node reported it
}

func (a args) schemaFile(node yaml.Node) (schemaSource, bool) {
	src := schemaSource{node: node, file: textOf(node)}
	if src.file == "" || a.Suite == nil {
		node.Errorf("such as schemas/order.json", "`file` needs the name of a file in the suite's folder")
		return src, false
	}
	data, err := a.Suite.ReadFile(src.file)
	if err != nil {
		node.Errorf("", "%s", visibleText(err.Error()))
		return src, false
	}
	switch path.Ext(src.file) {
	case ".yaml", ".yml":
		var diags diag.List
		if n, ok := yaml.Parse(src.file, data, &diags); ok {
			src.doc, _ = parseJSON(string(n.JSON(nil)))
		}
		if diags.HasErrors() {
			first := diags.Sorted()[0]
			node.Errorf(first.Hint, "%s: %s", visibleText(first.Pos.String()), visibleText(first.Message))
			return src, false
		}
	default:
		text := strings.TrimPrefix(string(data), "\ufeff")
		doc, problem := parseJSON(text)
		if problem != "" {
			line, col := jsonTrouble(text)
			node.Errorf("", "%s:%d:%d: not valid JSON", visibleText(src.file), line, col)
			return src, false
		}
		src.doc = doc
	}
	switch src.doc.(type) {
	case map[string]any, bool:
		return src, true
	}
	src.errorf("such as {type: object, required: [name]}", "a JSON Schema is an object")
	return src, false
}

// jsonTrouble is the line and column where a text stops being valid JSON.
func jsonTrouble(text string) (line, col int) {
	at := len(text)
	dec := json.NewDecoder(strings.NewReader(text))
	var value json.RawMessage
	var syntax *json.SyntaxError
	if err := dec.Decode(&value); errors.As(err, &syntax) {
		at = int(syntax.Offset) - 1
	} else if err == nil { // there is text after the value
		after := text[dec.InputOffset():]
		at = len(text) - len(strings.TrimLeft(after, " \t\r\n"))
	}
	before := text[:max(0, min(at, len(text)))]
	return 1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
}

func (s schemaSource) errorf(hint, format string, args ...any) {
	s.errorAt(s.node, hint, format, args...)
}

func (s schemaSource) errorAt(n yaml.Node, hint, format string, args ...any) {
	n.Errorf(hint, "%s%s", s.prefix(), fmt.Sprintf(format, args...))
}

// prefix names the schema file, since problems in it are reported at its name in the suite.
func (s schemaSource) prefix() string {
	if s.file == "" {
		return ""
	}
	return visibleText(s.file) + ": "
}

// report reports a problem of a schema at its position in the suite.
func (s schemaSource) report(err error) {
	node := s.node
	var load *jsonschema.LoadURLError
	var mismatch *jsonschema.SchemaValidationError
	var invalid *jsonschema.ValidationError
	switch {
	case errors.As(err, &mismatch) && errors.As(mismatch.Err, &invalid):
		for len(invalid.Causes) > 0 {
			invalid = deepest(invalid.Causes)
		}
		message, hint := invalid.ErrorKind.LocalizedString(english), ""
		if format, ok := invalid.ErrorKind.(*kind.Format); ok && format.Want == "regex" {
			hint = "patterns are in RE2 syntax, which has no look-around and no back-references"
		}
		s.errorAt(
			at(node, invalid.InstanceLocation), hint, "not a JSON Schema: %s: %s",
			pointer(invalid.InstanceLocation), visibleText(message),
		)
	case errors.As(err, &load):
		s.errorAt(keyed(node, func(key, value string) bool {
			return (key == "$ref" || key == "$dynamicRef" || key == "$schema") && !strings.HasPrefix(value, "#") &&
				strings.HasSuffix(load.URL, strings.TrimLeft(strings.SplitN(value, "#", 2)[0], "./"))
		}), "write the part under `$defs` and refer to `#/$defs/NAME`", "%s: %s", visibleText(load.URL), errRefused)
	default:
		s.errorAt(
			keyed(node, func(key, value string) bool { return key == "$ref" && strings.Contains(err.Error(), value) }), "",
			"not a JSON Schema: %s", visibleText(strings.ReplaceAll(err.Error(), schemaURL, "")),
		)
	}
}

// deepest is the error with the longest path: of several alternatives, the one that matched furthest.
func deepest(errs []*jsonschema.ValidationError) *jsonschema.ValidationError {
	return slices.MaxFunc(errs, func(a, b *jsonschema.ValidationError) int { return len(a.InstanceLocation) - len(b.InstanceLocation) })
}

// at is the node at a path, or its last existing parent.
func at(n yaml.Node, path []string) yaml.Node {
	for _, s := range path {
		next := yaml.Node{}
		if n.IsMapping() {
			next = n.Map().Get(s)
		} else if i, err := strconv.Atoi(s); err == nil && n.IsSequence() && i < len(n.Seq()) {
			next = n.Seq()[i]
		}
		if next.IsZero() {
			return n
		}
		n = next
	}
	return n
}

// keyed is the first scalar value whose key and value pass the test, or the root.
func keyed(root yaml.Node, test func(key, value string) bool) yaml.Node {
	var find func(n yaml.Node) yaml.Node
	find = func(n yaml.Node) (found yaml.Node) {
		switch {
		case n.IsMapping():
			for e := range n.Map().Entries() {
				if e.Value.IsScalar() && test(e.Name(), e.Value.Written()) {
					return e.Value
				}
				if found = find(e.Value); !found.IsZero() {
					return found
				}
			}
		case n.IsSequence():
			for _, item := range n.Seq() {
				if found = find(item); !found.IsZero() {
					return found
				}
			}
		}
		return found
	}
	if found := find(root); !found.IsZero() {
		return found
	}
	return root
}

func formats() []string {
	return strings.Fields(
		"json-pointer relative-json-pointer uuid duration period ipv4 ipv6 hostname email date time date-time uri iri uri-reference " +
			"iri-reference uri-template semver regex",
	)
}

func (s schemaSource) warnOfFormats(v any, path ...string) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			inside := append(slices.Clip(path), key)
			if format, ok := v[key].(string); ok && key == "format" && !slices.Contains(formats(), format) {
				at(s.node, inside).Warnf("known are "+strings.Join(formats(), ", "), "%sthe format `%s` is not known and not checked",
					s.prefix(), visibleText(format))
			}
			s.warnOfFormats(v[key], inside...)
		}
	case []any:
		for i, item := range v {
			s.warnOfFormats(item, append(slices.Clip(path), strconv.Itoa(i))...)
		}
	}
}
