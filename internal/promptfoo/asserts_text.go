package promptfoo

import (
	"fmt"
	"path"
	"strings"

	"github.com/evalrun/evalrun/internal/yaml"
)

func ignoreCase(yes bool) []keyValue {
	if !yes {
		return nil
	}
	return []keyValue{{key: "ignoreCase", value: literal("true")}}
}

// expected returns the value of an assertion as a text. The value may name a file.
func (c *converter) expected(s src) (string, string) {
	if strings.HasPrefix(s.text(), "file://") {
		text := c.fileText(s, s.text())
		if st := s.fates.byPath[s.path]; st.status == statusTODO {
			return "", st.note
		}
		return escapeText(text), ""
	}
	if !s.IsScalar() || s.IsNull() {
		return "", "the value is not a text"
	}
	text, ok := c.text(s, dialect{})
	if !ok {
		return "", s.fates.byPath[s.path].note
	}
	return text, ""
}

func text(kind string, fold bool) toScorer {
	return func(c *converter, not bool, a src) (*scorer, string) {
		value, why := c.expected(a.get("value"))
		if why != "" {
			return nil, why
		}
		if value == "" {
			return nil, "the value is empty, which promptfoo refuses too"
		}
		return &scorer{kind: kind, value: textValue(value), options: ignoreCase(fold), not: not}, ""
	}
}

// several converts a list of texts, or a text with commas.
func several(kind string, fold bool) toScorer {
	return func(c *converter, not bool, a src) (*scorer, string) {
		v := a.get("value")
		out := &sequence{}
		switch {
		case v.IsScalar() && (strings.Contains(v.text(), "{{") || strings.HasPrefix(v.text(), "file://")):
			return c.shimmed(strings.TrimPrefix(a.get("type").text(), "not-"), not, a, nil)
		case v.IsScalar():
			for _, part := range commaSeparated(v.text()) {
				out.add(textValue(part))
			}
		}
		if v.IsSequence() {
			for _, item := range v.items() {
				text, why := c.expected(item)
				if why != "" {
					return nil, why
				}
				out.add(textValue(text))
			}
		}
		if out.empty() {
			return nil, "the list of texts is empty"
		}
		return &scorer{kind: kind, value: out, options: ignoreCase(fold), not: not}, ""
	}
}

// commaSeparated splits at commas, except in double quotes.
func commaSeparated(s string) (out []string) {
	for s = strings.TrimLeft(s, " \t\n,"); s != ""; s = strings.TrimLeft(s, " \t\n,") {
		if s[0] == '"' {
			if end := strings.Index(s[1:], `"`); end >= 0 {
				out, s = append(out, s[1:1+end]), s[end+2:]
				continue
			}
		}
		part, rest, _ := strings.Cut(s, ",")
		out, s = append(out, strings.TrimSpace(part)), rest
	}
	return out
}

func (c *converter) equals(not bool, a src) (*scorer, string) {
	v := a.get("value")
	if v.IsMapping() || v.IsSequence() {
		return orNoJSON(&scorer{kind: "json", value: one("equals", escapedValue(v)), not: not}), ""
	}
	value, why := c.expected(v)
	if why != "" {
		return nil, why
	}
	return &scorer{kind: "equals", value: textValue(value), not: not}, ""
}

func (c *converter) regex(not bool, a src) (*scorer, string) {
	value, why := c.expected(a.get("value"))
	if why != "" {
		return nil, why
	}
	out, note, ok := toRE2(value)
	if !ok {
		return c.shimmed("regex", not, a, nil)
	}
	return &scorer{kind: "regex", value: textValue(out), not: not, note: note}, ""
}

// isJSON makes `json: valid`, or a scorer with a schema.
func (c *converter) isJSON(not bool, a src) (*scorer, string) {
	schema, file, why := c.schema(a.get("value"))
	switch {
	case why != "":
		return nil, why
	case file != "":
		return orNoJSON(&scorer{kind: "jsonSchema", value: one("file", textValue(file)), not: not}), ""
	case schema == nil:
		return &scorer{kind: "json", value: textValue("valid"), not: not}, ""
	}
	return orNoJSON(&scorer{kind: "jsonSchema", value: one("schema", schema), not: not}), ""
}

// orNoJSON makes a negated JSON check pass for answers that are not JSON, as in promptfoo.
func orNoJSON(s *scorer) *scorer {
	if !s.not {
		return s
	}
	return &scorer{kind: "any", value: listOf([]yamlValue{s.block(), one("not", one("json", textValue("valid")))})}
}

// containsJSON checks the JSON values in an answer. One of them must match the schema.
func (c *converter) containsJSON(not bool, a src) (*scorer, string) {
	schema, file, why := c.schema(a.get("value"))
	switch {
	case why != "":
		return nil, why
	case file != "":
		return nil, "write the schema into the suite: " + file
	case schema == nil && not: // a missing part fails, and `not` does not make that pass
		return c.shimmed("contains-json", not, a, nil)
	case schema == nil:
		schema = one("type", textValue("object"))
	}
	inner, draft := withoutDraft(schema)
	some := new(mapping).set("$schema", textValue(draft)).set("type", textValue("array")).set("contains", inner)
	made := &scorer{
		kind:    "jsonSchema",
		value:   one("schema", some),
		options: []keyValue{{key: "select", value: one("json", textValue("all"))}},
		not:     not,
	}
	if !not {
		return made, ""
	}
	none, _ := c.shimmed("contains-json", true, src{fates: newFates(c.fates.secrets)}, nil)
	return &scorer{
		kind:  "any",
		value: listOf([]yamlValue{made.block(), none.block()}),
		note:  "no JSON at all, or none that the schema allows",
	}, ""
}

const (
	draft7    = "http://json-schema.org/draft-07/schema#"
	draft2020 = "https://json-schema.org/draft/2020-12/schema"
)

// schema reads a JSON Schema: inline, as text, or in a file. Without `$schema` it is draft 7, as in
// promptfoo.
func (c *converter) schema(s src) (schema *mapping, file, why string) {
	switch text := s.text(); {
	case s.IsMapping():
		return drafted(escapedValue(s).(*mapping)), "", ""
	case s.IsZero() || s.IsNull() || text == "false" || text == "":
		return nil, "", ""
	case strings.HasPrefix(text, "file://"):
		return c.schemaFile(s, strings.TrimPrefix(text, "file://"))
	case strings.Contains(text, "{{"):
		return nil, "", "a schema that a variable holds has no counterpart"
	case s.IsScalar():
		n, ok := yaml.Parse(s.path, []byte(text), new(diagList))
		if in := (src{n, s.path, s.file, newFates(s.fates.secrets)}); ok && in.IsMapping() {
			return drafted(escapedValue(in).(*mapping)), "", ""
		}
	}
	return nil, "", "the schema cannot be read"
}

func (c *converter) schemaFile(s src, ref string) (*mapping, string, string) {
	if language(ref) != "" {
		return nil, "", "a program makes the schema, and an import runs nothing; save it as JSON"
	}
	file, ok := c.load(s, ref)
	if !ok {
		return nil, "", s.fates.byPath[s.path].note
	}
	if !file.IsMapping() {
		return nil, "", "the schema in " + path.Base(ref) + " is not a mapping"
	}
	s.ok("copied into the suite")
	return drafted(escapedValue(file).(*mapping)), "", ""
}

func drafted(m *mapping) *mapping {
	if m.get("$schema") == nil {
		draft := draft7
		for _, key := range []string{"prefixItems", "$defs", "unevaluatedProperties", "dependentRequired"} {
			if m.get(key) != nil {
				draft = draft2020
			}
		}
		m.entries = append([]keyValue{{key: "$schema", value: textValue(draft)}}, m.entries...)
	}
	return m
}

func withoutDraft(m *mapping) (*mapping, string) {
	out, draft := &mapping{}, draft7
	for _, e := range m.entries {
		if e.key == "$schema" {
			draft = m.text(e.key)
			continue
		}
		out.entries = append(out.entries, e)
	}
	return out, draft
}

func (c *converter) isXML(not bool, a src) (*scorer, string) {
	v := a.get("value")
	var required []string
	switch {
	case v.IsZero() || v.IsNull():
		return &scorer{kind: "xml", value: textValue("wellFormed"), not: not}, ""
	case v.IsScalar():
		required = commaSeparated(v.text())
	default:
		for _, item := range v.get("requiredElements").items() {
			required = append(required, item.text())
		}
	}
	for i, p := range required {
		required[i] = strings.ReplaceAll(p, ".", "/")
	}
	return &scorer{kind: "xml", value: one("required", texts(required...)), not: not}, ""
}

func threshold(a src, byDefault string) literal {
	if t := a.get("threshold"); !t.IsZero() {
		if _, ok := number(t); ok {
			return literal(t.text())
		}
	}
	return literal(byDefault)
}

func (c *converter) levenshtein(not bool, a src) (*scorer, string) {
	value, why := c.expected(a.get("value"))
	if why != "" {
		return nil, why
	}
	return &scorer{kind: "levenshtein", value: new(mapping).set("to", textValue(value)).set("max", threshold(a, "5")), not: not}, ""
}

// overlap makes a scorer that compares words with references.
func (c *converter) overlap(kind, byDefault string, not bool, a src, more ...keyValue) (*scorer, string) {
	v := a.get("value")
	var to yamlValue
	if v.IsSequence() {
		all := &sequence{}
		for _, item := range v.items() {
			text, why := c.expected(item)
			if why != "" {
				return nil, why
			}
			all.add(textValue(text))
		}
		to = all
	} else {
		text, why := c.expected(v)
		if why != "" {
			return nil, why
		}
		to = textValue(text)
	}
	value := new(mapping).set("to", to)
	value.entries = append(value.entries, more...)
	return &scorer{kind: kind, value: value.set("min", threshold(a, byDefault)), not: not}, ""
}

func (c *converter) rouge(not bool, a src) (*scorer, string) {
	made, why := c.overlap("rouge", "0.75", not, a)
	if made != nil {
		made.note = "words are found by the rules of Unicode; promptfoo uses those of the Penn Treebank, so that scores may differ slightly"
	}
	return made, why
}

func (c *converter) bleu(not bool, a src) (*scorer, string) {
	made, why := c.overlap(
		"bleu",
		"0.5",
		not,
		a,
		keyValue{key: "tokenize", value: textValue("none")},
		keyValue{key: "lowercase", value: literal("true")},
		keyValue{key: "effectiveOrder", value: literal("true")},
		keyValue{key: "smoothing", value: textValue("none")},
	)
	if made != nil {
		made.note = "an answer that shares no run of four words with the reference scores 0; promptfoo gives it a little more"
	}
	return made, why
}

func (c *converter) gleu(not bool, a src) (*scorer, string) {
	made, why := c.overlap("gleu", "0.5", not, a)
	if made != nil {
		made.note = "upper and lower case differ here"
	}
	return made, why
}

func (c *converter) similar(not bool, a src) (*scorer, string) {
	made, why := c.overlap("similar", "0.75", not, a)
	if made != nil {
		c.embedding(a.get("provider"))
	}
	return made, why
}

func (c *converter) latency(not bool, a src) (*scorer, string) {
	ms, ok := number(a.get("threshold"))
	if !ok || ms <= 0 {
		return nil, "it needs a threshold above 0, in milliseconds"
	}
	return &scorer{
		kind: "latency", value: one("max", literal(duration(ms))), not: not, plain: true,
		note: "the time of the attempt that was answered; retries and waiting do not count",
	}, ""
}

func (c *converter) words(not bool, a src) (*scorer, string) {
	v := a.get("value")
	limits := &mapping{}
	if v.IsScalar() {
		if _, ok := number(v); !ok {
			return nil, "a number of words is not a template here"
		}
		limits.set("min", literal(v.text())).set("max", literal(v.text()))
	}
	for _, key := range []string{"min", "max"} {
		if n := v.get(key); !n.IsZero() {
			limits.set(key, literal(n.text()))
		}
	}
	if limits.empty() {
		return nil, "it needs a number of words"
	}
	return &scorer{kind: "length", value: one("words", limits), not: not}, ""
}

func (c *converter) finishReason(not bool, a src) (*scorer, string) {
	word := strings.ToLower(a.get("value").text())
	known := map[string]string{
		"stop": "STOP", "end_turn": "STOP", "stop_sequence": "STOP", "length": "MAX_TOKENS", "max_tokens": "MAX_TOKENS",
		"content_filter": "SAFETY", "safety": "SAFETY", "tool_calls": "TOOL_CALLS", "tool_use": "TOOL_CALLS", "function_call": "TOOL_CALLS",
	}
	reason := known[word]
	if reason == "" {
		reason = a.get("value").text()
	}
	if reason == "" {
		return nil, "it needs a reason"
	}
	return &scorer{kind: "finishReason", value: textValue(reason), not: not, plain: true}, ""
}

func (c *converter) refusal(not bool, _ src) (*scorer, string) {
	return &scorer{
		kind: "refusal", value: literal(fmt.Sprint(!not)),
		note: "evalrun has its own list of the ways to decline; an empty answer is neither",
	}, ""
}

func (c *converter) toolsCall(not bool, _ src) (*scorer, string) {
	return &scorer{
		kind: "toolCalls", value: textValue("none"), not: !not, plain: true,
		note: "it looks whether tools are called; their arguments are not checked against the schema",
	}, ""
}

func (c *converter) toolF1(not bool, a src) (*scorer, string) {
	names := commaSeparated(a.get("value").text())
	for _, item := range a.get("value").items() {
		if a.get("value").IsSequence() {
			names = append(names, item.text())
		}
	}
	if n, ok := number(a.get("threshold")); ok && n < 1 || len(names) == 0 {
		return nil, "a share of the calls has no counterpart; `toolCalls` with `mode: superset` is near"
	}
	calls := &sequence{}
	for _, name := range names {
		calls.add(one("name", textValue(name)))
	}
	value := new(mapping).set("calls", calls).set("mode", textValue("unordered")).set("args", textValue("ignore"))
	return &scorer{kind: "toolCalls", value: value, not: not, plain: true}, ""
}
