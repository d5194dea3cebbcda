package promptfoo

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
)

// This file converts checks of tool calls.

// callsSeen returns why tool calls of some target are not seen, "" if the answers of all have them: a check that something was
// not called would pass.
func (c *converter) callsSeen() string {
	for _, t := range c.targets {
		if !t.chats {
			return "the calls of " + t.name + " are not seen; let it write `toolCalls` next to its text, and check those by `toolCalls`"
		}
	}
	return ""
}

// toolsOf returns the names of the tools that models get; nil where some have none or others.
func (c *converter) toolsOf() (names []string) {
	for i, t := range c.targets {
		list, _ := t.tools.(*sequence)
		if list == nil || t.lostTools != "" || i > 0 && renderAny(t.tools) != renderAny(c.targets[0].tools) {
			return nil
		}
	}
	if len(c.targets) > 0 {
		for _, item := range c.targets[0].tools.(*sequence).items {
			names = append(names, item.value.(*mapping).text("name"))
		}
	}
	return names
}

func (c *converter) toolF1(a assertion) (*scorer, string) {
	names, _ := commaSeparated(a.get("value").text())
	for _, item := range a.get("value").items() {
		if a.get("value").IsSequence() {
			names = append(names, item.text())
		}
	}
	if n, ok := number(a.get("threshold")); ok && n < 1 || len(names) == 0 {
		return nil, "a share of the calls has no counterpart; `toolCalls` with `mode: superset` is near"
	}
	if why := c.callsSeen(); why != "" {
		return nil, why
	}
	return calls(a, "unordered", "ignore", named(names)), ""
}

func named(names []string) *sequence {
	out := &sequence{}
	for _, name := range names {
		out.add(one("name", textValue(escapeText(name))))
	}
	return out
}

func calls(a assertion, mode, args string, list *sequence) *scorer {
	value := new(mapping).set("calls", list).set("mode", textValue(mode)).set("args", textValue(args))
	return &scorer{kind: "toolCalls", value: value, not: a.not, plain: true}
}

// trajectory converts a check of the tools in a trace. The calls of models are those of their answers.
func trajectory(convert func(c *converter, a assertion) (*scorer, string)) toScorer {
	return func(c *converter, a assertion) (*scorer, string) {
		switch why := c.callsSeen(); {
		case why != "":
			return nil, why
		case c.toolsOf() == nil:
			return nil, "it needs the same tools for all models; `toolCalls` compares calls that the answer has"
		}
		made, why := convert(c, a)
		if made != nil {
			made.note = "the calls in the answers; promptfoo reads those of a trace"
		}
		return made, why
	}
}

// toolNamed returns the tool that a matcher of promptfoo means: a text or a mapping with a pattern, where `*` stands for anything.
func (c *converter) toolNamed(s src) (name, why string) {
	pattern := s.text()
	for _, key := range []string{"pattern", "name"} {
		if pattern == "" {
			pattern = s.get(key).text()
		}
	}
	if of := s.get("type"); pattern == "" || strings.Contains(pattern, "{{") || !of.IsZero() && of.text() != "tool" {
		return "", "it does not name a tool; `toolCalls` compares the names of calls"
	}
	matches := regexp.MustCompile("(?i)^" + strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(pattern)) + "$")
	found := slices.DeleteFunc(c.toolsOf(), func(tool string) bool { return !matches.MatchString(tool) })
	if len(found) != 1 {
		return "", fmt.Sprintf("`%s` means %d of the models' tools, and `toolCalls` compares single names", pattern, len(found))
	}
	return found[0], ""
}

func (c *converter) toolsNamed(items []src) (names []string, why string) {
	for _, item := range items {
		name, why := c.toolNamed(item)
		if why != "" {
			return nil, why
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil, "it names no tool"
	}
	return names, ""
}

// toolUsed converts trajectory:tool-used: all tools of a list, or one tool a number of times.
func toolUsed(c *converter, a assertion) (*scorer, string) {
	value := a.get("value")
	names, why := c.toolsNamed(value.items())
	if why != "" {
		return nil, why
	}
	if value.IsMapping() {
		return counted(a, names[0], value)
	}
	slices.Sort(names)
	names = slices.Compact(names) // a tool that is listed twice may be called once
	if !a.not {
		return calls(a, "superset", "ignore", named(names)), ""
	}
	var of []string // none of them was called
	for _, name := range names {
		of = append(of, fmt.Sprintf(".name == %q", name))
	}
	a.not = false
	return counting(a, "none(calls, "+strings.Join(of, " or ")+")"), ""
}

func counted(a assertion, name string, value src) (*scorer, string) {
	terms := []string{}
	for _, bound := range []struct{ key, is, unset string }{{"min", ">=", "1"}, {"max", "<=", ""}} {
		text := bound.unset
		if n, ok := number(value.get(bound.key)); ok {
			text = fmt.Sprint(n)
		}
		if text != "" {
			terms = append(terms, fmt.Sprintf("count(calls, .name == %q) %s %s", name, bound.is, text))
		}
	}
	return counting(a, strings.Join(terms, " and ")), ""
}

func counting(a assertion, expression string) *scorer {
	return &scorer{kind: "expr", value: textValue(escapeText(expression)), not: a.not, plain: true}
}

func toolSequence(c *converter, a assertion) (*scorer, string) {
	value, mode := a.get("value"), "inOrder"
	if value.IsMapping() {
		if value.get("mode").text() == "exact" {
			mode = "exact"
		}
		value = value.get("steps")
	}
	names, why := c.toolsNamed(value.items())
	if why != "" {
		return nil, why
	}
	return calls(a, mode, "ignore", named(names)), ""
}

// toolArgs converts trajectory:tool-args-match: some call of a tool has these arguments, and perhaps more.
func toolArgs(c *converter, a assertion) (*scorer, string) {
	value := a.get("value")
	name, why := c.toolNamed(value)
	args := value.get("args")
	if args.IsZero() {
		args = value.get("arguments")
	}
	mode := map[string]string{"": "subset", "partial": "subset", "exact": "exact"}[value.get("mode").text()]
	switch {
	case why != "":
		return nil, why
	case !args.IsMapping() || mode == "" || strings.Contains(args.Written(), "{{"):
		return nil, "the arguments have no counterpart; `toolCalls` compares those that a mapping lists"
	case !value.get("defaults").IsZero() || !value.get("ignore").IsZero():
		return nil, "`defaults` and `ignore` have no counterpart; write `toolCalls` with `args: subset`"
	}
	list := &sequence{}
	list.add(new(mapping).set("name", textValue(escapeText(name))).set("args", plainValue(args)))
	return calls(a, "superset", mode, list), ""
}

// callsAsJSON has the calls of an answer of chat completions, with their arguments parsed.
const callsAsJSON = "[.message.tool_calls[]? | {name: .function.name, arguments: (.function.arguments | try fromjson catch .)}]"

// validCalls converts a check of the arguments of calls by the schemas of tools. fromFunctions says that the schemas are those of
// `functions`, of which an answer calls one.
func validCalls(fromFunctions bool) toScorer {
	return func(c *converter, a assertion) (*scorer, string) {
		if a.not {
			return nil, "promptfoo does not negate it"
		}
		if len(c.changesOf(a.src, a.in)) > 0 || c.toolsOf() == nil {
			return nil, toolsLost
		}
		for _, t := range c.targets {
			if t.protocol != eval.OpenAI || t.functions != fromFunctions {
				return nil, toolsLost
			}
		}
		allowed := &sequence{}
		for _, item := range c.targets[0].tools.(*sequence).items {
			tool := item.value.(*mapping)
			schema, ok := tool.get("parameters").(*mapping)
			if !ok {
				continue // promptfoo refuses its calls
			}
			if text := render(schema); strings.Contains(text, "$ref") || strings.Contains(text, "{{") {
				return nil, "the schema of a tool has references or templates, which a check of several tools has not"
			}
			properties := new(mapping).set("name", one("const", textValue(escapeText(tool.text("name"))))).
				set("arguments", new(mapping).set("type", textValue("object")).set("allOf", listOf([]yamlValue{schema})))
			allowed.add(new(mapping).set("required", texts("name", "arguments")).set("properties", properties))
		}
		if allowed.empty() {
			return nil, toolsLost
		}
		schema := new(mapping).set("type", textValue("array")).set("minItems", integer(1))
		if fromFunctions {
			schema.set("maxItems", integer(1))
		}
		return &scorer{
			kind: "jsonSchema", value: one("schema", schema.set("items", one("anyOf", allowed))),
			options: []keyValue{{key: "select", value: one("response", textValue(callsAsJSON))}},
		}, ""
	}
}
