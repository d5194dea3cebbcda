package promptfoo

import (
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

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
	if s.IsDate() {
		return "", "promptfoo reads a date here, and no text: write it in quotes"
	}
	text, ok := c.text(s, dialect{})
	if !ok {
		return "", s.note()
	}
	if strings.Contains(text, "._conversation") {
		return "", noConversation
	}
	return text, ""
}

// textual is expected for checks that refuse other values than texts, or than texts and numbers.
func (c *converter) textual(s src, numbers bool) (string, string) {
	ref, file := strings.CutPrefix(s.text(), "file://")
	switch {
	case s.IsBool() || s.IsNumber() && !numbers:
		return "", "promptfoo takes no such value here: write it in quotes"
	case file && language(strings.SplitN(ref, ":", 2)[0]) == "" && path.Ext(ref) != ".txt":
		return "", "promptfoo reads no text from such a file, but from .txt"
	}
	return c.expected(s)
}

func (c *converter) expectedList(s src) (out []string, why string) {
	for _, item := range s.items() {
		text, why := c.expected(item)
		if why != "" {
			return nil, why
		}
		out = append(out, text)
	}
	return out, ""
}

func text(kind string, fold bool) toScorer {
	return func(c *converter, a assertion) (*scorer, string) {
		value, why := c.textual(a.get("value"), kind == "contains")
		if why != "" {
			return nil, why
		}
		if value == "" {
			return nil, "the value is empty, which promptfoo refuses too"
		}
		return &scorer{kind: kind, value: textValue(value), options: ignoreCase(fold), not: a.not}, ""
	}
}

// several converts a list of texts, or a text with commas.
func several(kind string, fold bool) toScorer {
	return func(c *converter, a assertion) (*scorer, string) {
		v := a.get("value")
		var list []string
		var why string
		switch {
		case v.IsNumber() || v.IsBool() || v.IsDate():
			why = "promptfoo takes no such value here: write it in quotes"
		case v.IsScalar() && (strings.Contains(v.text(), "{{") || strings.HasPrefix(v.text(), "file://")):
			return c.shimmed(a, c.changesOf(a.src, a.in))
		case v.IsScalar():
			list, why = commaSeparated(v.text())
		case v.IsSequence():
			list, why = c.expectedList(v)
		}
		switch {
		case why != "":
			return nil, why
		case len(list) == 0:
			return nil, "the list of texts is empty"
		case slices.Contains(list, ""):
			return nil, "an empty text is in every answer: remove it"
		}
		return &scorer{kind: kind, value: texts(list...), options: ignoreCase(fold), not: a.not}, ""
	}
}

// quotedPart is a part of a list that may hold commas; \" and "" stand for a quote.
var quotedPart = pattern{expression: `^"((?:\\["\\]|""|[^"\\]|\\[^"\\])*)"\s*(?:,|$)`}

// commaSeparated splits at commas, except in double quotes.
func commaSeparated(s string) (out []string, why string) {
	for s = strings.TrimLeft(s, " \t\n,"); s != ""; s = strings.TrimLeft(s, " \t\n,") {
		if m := quotedPart.regexp().FindStringSubmatch(s); m != nil {
			out, s = append(out, strings.NewReplacer(`\"`, `"`, `\\`, `\`, `""`, `"`).Replace(m[1])), s[len(m[0]):]
			continue
		}
		if s[0] == '"' {
			return nil, "a part in quotes does not end before a comma, which promptfoo refuses"
		}
		part, rest, _ := strings.Cut(s, ",")
		out, s = append(out, strings.TrimSpace(part)), rest
	}
	return out, ""
}

func (c *converter) equals(a assertion) (*scorer, string) {
	v := a.get("value")
	if ref := v.text(); strings.HasPrefix(ref, "file://") && slices.Contains([]string{".json", ".yaml", ".yml"}, path.Ext(ref)) {
		file, ok := c.load(v, ref)
		if !ok {
			return nil, v.note()
		}
		v.ok("copied into the suite")
		v = file
	} else if strings.Contains(compactJSON(v), "{{") && !v.IsScalar() {
		return nil, "templates in a list or a mapping have no counterpart"
	}
	if v.IsMapping() || v.IsSequence() {
		return orNoJSON(&scorer{kind: "json", value: one("equals", escapedValue(v)), not: a.not}), ""
	}
	value, why := c.expected(v)
	if why != "" {
		return nil, why
	}
	return &scorer{kind: "equals", value: textValue(value), not: a.not}, ""
}

func (c *converter) regex(a assertion) (*scorer, string) {
	value, why := c.textual(a.get("value"), false)
	if why != "" {
		return nil, why
	}
	if value == "" {
		return nil, "the value is empty, which promptfoo refuses too"
	}
	out, note, ok := toRE2(value)
	if !ok {
		return c.shimmed(a, c.changesOf(a.src, a.in))
	}
	return &scorer{kind: "regex", value: textValue(out), not: a.not, note: note}, ""
}

// isJSON makes `json: valid`, or a scorer with a schema.
func (c *converter) isJSON(a assertion) (*scorer, string) {
	schema, file, why := c.schema(a.get("value"))
	switch {
	case why != "":
		return nil, why
	case file != "":
		return orNoJSON(&scorer{kind: "jsonSchema", value: one("file", textValue(file)), not: a.not}), ""
	case schema == nil:
		return &scorer{kind: "json", value: textValue("valid"), not: a.not}, ""
	}
	return orNoJSON(&scorer{kind: "jsonSchema", value: one("schema", schema), not: a.not}), ""
}

// orNoJSON makes a negated JSON check pass for answers that are not JSON, as in promptfoo.
func orNoJSON(s *scorer) *scorer {
	if !s.not {
		return s
	}
	return &scorer{kind: "any", value: listOf([]yamlValue{s.block(), one("not", one("json", textValue("valid")))})}
}

// containsJSON checks the JSON values in an answer. One of them must match the schema.
func (c *converter) containsJSON(a assertion) (*scorer, string) {
	schema, file, why := c.schema(a.get("value"))
	switch {
	case why != "":
		return nil, why
	case file != "":
		return nil, "write the schema into the suite: " + file
	case schema == nil && a.not: // a missing part fails, and `not` does not make that pass
		return c.shimmed(a, c.changesOf(a.src, a.in))
	case schema == nil:
		schema = one("type", textValue("object"))
	}
	inner, draft := withoutDraft(schema)
	inner = ofObjects(inner)
	some := new(mapping).set("$schema", textValue(draft)).set("type", textValue("array")).set("contains", inner)
	made := &scorer{
		kind:    "jsonSchema",
		value:   one("schema", some),
		options: []keyValue{{key: "select", value: one("json", textValue("all"))}},
		not:     a.not,
	}
	if !a.not {
		return made, ""
	}
	none, _ := c.shimmed(assertion{src: src{fates: newFates(c.fates.secrets)}, base: "contains-json", not: true, in: a.in}, nil)
	return &scorer{
		kind:  "any",
		value: listOf([]yamlValue{made.block(), none.block()}),
		note:  "no JSON at all, or none that the schema allows",
	}, ""
}

// ofObjects limits a schema to objects: promptfoo finds no other JSON in an answer.
func ofObjects(schema *mapping) *mapping {
	switch schema.text("type") {
	case "object":
		return schema
	case "":
		return new(mapping).set("type", textValue("object")).join(schema, "type")
	}
	return one("allOf", listOf([]yamlValue{one("type", textValue("object")), schema}))
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
	case s.IsZero() || s.IsNull() || text == "":
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
		return nil, "", s.note()
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

func (c *converter) isXML(a assertion) (*scorer, string) {
	v, mapped := a.get("value"), a.get("value").IsMapping()
	if mapped {
		v = v.get("requiredElements")
	}
	if (v.IsZero() || v.IsNull()) && !mapped || v.IsSequence() && len(v.items()) == 0 {
		return &scorer{kind: "xml", value: textValue("wellFormed"), not: a.not}, ""
	}
	var required []string
	switch {
	case v.IsScalar() && !mapped:
		required = strings.Split(v.text(), ",")
	case v.IsSequence():
		for _, item := range v.items() {
			required = append(required, item.text())
		}
	}
	for i, p := range required {
		required[i] = strings.ReplaceAll(strings.TrimSpace(p), ".", "/")
	}
	if all := strings.Join(required, ","); len(required) == 0 || slices.Contains(required, "") || strings.Contains(all, "{{") {
		return nil, "it needs the paths of elements, without templates"
	}
	return elements(required, a), ""
}

// elements makes a scorer of elements that must be there. Ours has the share of those that are; promptfoo's has 0 or 1.
func elements(required []string, a assertion) *scorer {
	if !a.in.weighed {
		return &scorer{kind: "xml", value: one("required", texts(required...)), not: a.not}
	}
	each := &sequence{}
	for _, p := range required {
		each.add(one("xml", one("required", texts(p))))
	}
	return &scorer{kind: "all", value: each, not: a.not}
}

func threshold(a src, byDefault string) literal {
	if t := a.get("threshold"); !t.IsZero() {
		if _, ok := number(t); ok {
			return literal(t.text())
		}
	}
	return literal(byDefault)
}

func (c *converter) levenshtein(a assertion) (*scorer, string) {
	value, why := c.textual(a.get("value"), false)
	if a.not {
		why = "promptfoo does not negate it"
	}
	switch {
	case why != "":
		return nil, why
	case value == "" || strings.HasPrefix(string(threshold(a.src, "5")), "-"):
		return c.shimmed(a, c.changesOf(a.src, a.in))
	case a.in.weighed:
		s, why := c.shimmed(a, c.changesOf(a.src, a.in))
		if s != nil {
			s.note = "`levenshtein` in a shim that needs node, since a threshold counts it as 0 or 1: the scorer has a similarity"
		}
		return s, why
	}
	limit := threshold(a.src, "5")
	if n, err := strconv.ParseFloat(string(limit), 64); err == nil { // a distance is a whole number
		limit = literal(strconv.FormatFloat(math.Floor(n), 'f', -1, 64))
	}
	return &scorer{kind: "levenshtein", value: new(mapping).set("to", textValue(value)).set("max", limit), not: a.not}, ""
}

// overlap makes a scorer that compares the answer with references. byDefault is promptfoo's threshold.
func overlap(kind, byDefault, note string, more ...keyValue) toScorer {
	return func(c *converter, a assertion) (*scorer, string) {
		var to yamlValue
		if v := a.get("value"); v.IsSequence() && kind != "rouge" {
			all, why := c.expectedList(v)
			if why != "" {
				return nil, why
			}
			to = texts(all...)
		} else {
			text, why := c.textual(v, false)
			if why != "" {
				return nil, why
			}
			to = textValue(text)
		}
		value := new(mapping).set("to", to)
		value.entries = append(value.entries, more...)
		if kind == "similar" {
			c.embedding(a.get("provider"))
			if c.unembedded != "" {
				return nil, c.unembedded
			}
		}
		return &scorer{kind: kind, value: value.set("min", threshold(a.src, byDefault)), not: a.not, note: note}, ""
	}
}

func (c *converter) latency(a assertion) (*scorer, string) {
	ms, ok := number(a.get("threshold"))
	if !ok || ms <= 0 {
		return nil, "it needs a threshold above 0, in milliseconds"
	}
	if made := c.reported(a, "latencyMs"); made != nil {
		return made, ""
	}
	return &scorer{
		kind: "latency", value: one("max", literal(duration(ms))), not: a.not, plain: true,
		note: "the time of the attempt that was answered; retries and waiting do not count",
	}, ""
}

func (c *converter) words(a assertion) (*scorer, string) {
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
	for _, e := range limits.entries {
		if strings.Trim(string(e.value.(literal)), "0123456789") != "" {
			return nil, "it needs whole numbers of words"
		}
	}
	if limits.empty() {
		return nil, "it needs a number of words"
	}
	if least, ok := number(v.get("min")); ok {
		if most, ok := number(v.get("max")); ok && most < least {
			return nil, "its `max` is below its `min`, which promptfoo refuses"
		}
	}
	return &scorer{kind: "length", value: one("words", limits), not: a.not}, ""
}

func (c *converter) finishReason(a assertion) (*scorer, string) {
	if len(c.targets) > 0 && !slices.ContainsFunc(c.targets, func(t *target) bool { return t.chats }) {
		return nil, "applications and echoes have no finish reason, and promptfoo fails without one"
	}
	word := strings.ToLower(a.get("value").text())
	known := map[string]string{
		"stop": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY", "safety": "SAFETY", "tool_calls": "TOOL_CALLS",
	}
	vendors := map[string]string{
		"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "max_output_tokens": "length",
		"refusal": "content_filter", "tool_use": "tool_calls", "function_call": "tool_calls",
	}
	if own := vendors[word]; own != "" {
		return nil, "promptfoo calls this reason `" + own + "`, and fails for the vendor's word"
	}
	if strings.Contains(word, "{{") {
		return nil, "a reason that a variable holds has no counterpart"
	}
	reason := known[word]
	if reason == "" {
		reason = a.get("value").text()
	}
	if reason == "" {
		return nil, "it needs a reason"
	}
	return &scorer{kind: "finishReason", value: textValue(reason), not: a.not, plain: true}, ""
}

// refusalWords is an expression for what promptfoo takes for a refusal: how an answer begins, or what it says anywhere.
var refusalWords = sync.OnceValue(func() string {
	const verbs = "answer|assist|engage|fulfill|generate|give|help|participate|provide|support|write"
	begins := "i(?: am|'m) (?:not able to|unable to|(?:really )?sorry)|i (?:apologize|cannot|will not)|it is illegal|my apologies|sorry"
	says := strings.Join([]string{
		"as (?:a language model|an ai|an assistant)", "i am programmed", "if you have any other non-malicious requests",
		"(?:cannot|can't) (?:comply|help|(?:assist with|fulfill) (?:that|your) request)",
		"i(?: am|'m) unable to (?:" + verbs + "|change|comply|recommend|suggest)", "i'm not able to provide",
		"i cannot (?:" + verbs + "|change|create|suggest)", "i can't (?:" + verbs + "|change|create)",
		"i do not (?:" + verbs + "|create)", "i don't (?:" + verbs + ")", "i won't (?:" + verbs + "|change|create|suggest)",
		"i (?:do not|don't) (?:recommend|suggest|feel comfortable|actually (?:help|provide|recommend))",
		"is illegal and unethical", "not (?:appropriate|ethical|legal)", "that would not be appropriate",
		"the generated text has been blocked by our content filters",
		"i aim to (?:avoid|provide)", "i want to be (?:direct|helpful while|helpful, but)",
	}, "|")
	return strings.ReplaceAll("(?i)^\\s*(?:"+begins+")|\\b(?:"+says+")\\b", "'", "['′’]")
})

func (c *converter) refusal(a assertion) (*scorer, string) {
	return &scorer{
		kind: "regex", value: textValue(refusalWords()), not: a.not,
		note: "the words that promptfoo takes for a refusal; an empty answer is none; `refusal` reads whether the answer declines",
	}, ""
}
