package scorers_test

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestSelectFindsJSONInProse(t *testing.T) {
	t.Parallel()
	equals := func(want, which string) string { return "- {equals: '" + want + "', select: {json: " + which + "}}" }
	prose := "Sure! {\"a\": 1} is the first, and here is more:\n```json\n{\"b\": [2, {\"c\": 3}]}\n```\nDone: [4, 5]. {not json}"
	checkShapes(t, []shapeTest{
		{equals(`{"a": 1}`, "first"), prose, "p"},
		{equals(`[4, 5]`, "last"), prose, "p"},
		{equals(`[{"a": 1},{"b": [2, {"c": 3}]},[4, 5]]`, "all"), prose, "p"},
		{"- {jsonSchema: {schema: {minItems: 3, maxItems: 3}}, select: {json: all}}", prose, "p"},
		{"- {equals: '3', select: [{json: all}, {jq: '.[1].b[1].c'}]}", prose, "p"},
		{"- {equals: '{\"b\": [2, {\"c\": 3}]}', select: [{fence: json}, {json: first}]}", prose, "p"},
		{equals(`{"a": "}{ \"]["}`, "first"), `Here: {"a": "}{ \"]["} and }`, "p"},
		{equals(`{"a": 1}`, "first"), `{"a": 1}`, "p"},
		{equals(`{}`, "first"), "An empty one, {}.", "p"},
		{equals(`{"a": 1}`, "first"), `{bad {"a": 1}`, "p"},
		{equals(`{"a": 1}`, "first"), `{"x": {"a": 1} and so on`, "p"}, // the outer one does not end
		{equals(`{"a": 1}`, "first"), `see [1](http://x.test) and [the docs](y): {"a": 1}`, "p"},
		{equals(`[1]`, "first"), `see [1]: {"a": 1}`, "p"},
		{equals(`{"a": 1}`, "last"), `[1] {"a": 1}`, "p"},
		{equals(`{"a": 1}`, "last"), `{"a": 1} {"b": `, "p"},
		{equals(`{"a":1}`, "last"), `{"a":0}{"a":1}`, "p"},
		{equals("{\n  \"a\": 1\n}", "first"), "x {\n  \"a\": 1\n} y", "f"}, // YAML folds the line breaks
		{equals(`{"é": "ש"}`, "first"), `é {"é": "ש"} ש`, "p"},
		{equals(`x`, "first"), "no JSON here", "f"},
		{equals(`x`, "all"), "12, true and \"text\" alone are none", "f"},
		{equals(`x`, "first"), "", "f"},
		{"- not: {equals: x, select: {json: first}}", "no JSON here", "f"},
		{equals(`[1]`, "last"), mega("{ ") + "[1]", "p"},
		{equals(`[1]`, "last"), mega("[1] "), "p"},
		{equals(`[1]`, "first"), "[1]" + mega("["), "p"},
		{equals(`[1]`, "last"), "[1]" + mega("["), "u"},
		{equals(`[1]`, "last"), mega(`{"a":`) + "[1]", "u"},
		{equals(`[1]`, "first"), strings.Repeat("x", 5<<20) + "[1]", "u"},
	})
	s := score(t, equals("x", "all"), answer(prose))
	if !strings.HasSuffix(s.Reason, "(of all JSON values)") {
		t.Errorf("got %v, want it of all JSON values", s.Reason)
	}
	for entry, want := range map[string]string{
		"- {equals: x, select: {json: 1st}}":               "`1st` is not known",
		"- {equals: x, select: {json: first, jq: .a}}":     "one way of selecting a step",
		"- {equals: x, select: {}}":                        "`select` needs jq, json, regex, fence or response",
		"- {equals: x, select: {json: [first]}}":           "expected",
		"- {equals: x, select: {json: first, group: 1}}":   "`group` goes with `regex`",
		"- {finishReason: STOP, select: {json: first}}":    "does not look at the text",
		"- {equals: x, select: [{json: first}, {jq: ''}]}": "`jq` needs an expression",
	} {
		if problems := strings.Join(problemLines(entry, fstest.MapFS{}), "\n"); !strings.Contains(problems, want) {
			t.Errorf("%s\n got %s\nwant %s", entry, problems, want)
		}
	}
}
