package scorers_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

func TestSelectReadsTheResponse(t *testing.T) {
	t.Parallel()
	raw := answer("See the page.")
	raw.Response.Candidates[0].Raw = json.RawMessage(
		`{"content":{"parts":[{"text":"See the page."}],"role":"model"},"finishReason":"STOP","groundingMetadata":{"chunks":["a","b"]}}`)
	app := answer("42")
	app.Response.Candidates[0].Raw = json.RawMessage(`{"reply":{"text":"42"},"trace":["search","` + "```json\\n{\\\"n\\\": 7}\\n```" + `"]}`)
	rated := answer("text")
	rated.Response.Candidates[0].SafetyRatings = []eval.SafetyRating{
		{Category: "HARM_CATEGORY_HARASSMENT", Probability: "LOW", Extra: eval.Extra{"severity": json.RawMessage("2")}},
	}
	rated.Response.Candidates[0].Extra = eval.Extra{"citations": json.RawMessage(`["x"]`), "parts": json.RawMessage(`[{"inlineData":{}}]`)}
	safety := answer("")
	safety.Response.Candidates[0].FinishReason = "SAFETY"
	safety.Response.Candidates[0].SafetyRatings = []eval.SafetyRating{
		{Category: "HARM_CATEGORY_HARASSMENT", Probability: "HIGH", Blocked: true},
	}
	partly := answer("a part")
	partly.Response.Candidates[0].FinishReason = "SAFETY"
	pieces := calling(`get_order {"id":7}`)
	called := &pieces.Response.Candidates[0]
	called.Pieces = append(called.Pieces, eval.ReasoningPiece{Reasoning: "hm"}, eval.CallPiece{Call: &eval.FunctionCall{Name: "b"}})
	two := answer("one")
	two.Response.Candidates = append(two.Response.Candidates, eval.Candidate{Text: "two", FinishReason: "MAX_TOKENS"})
	prompt := &scorers.Answer{Response: &eval.Response{PromptFeedback: &eval.PromptFeedback{BlockReason: "SAFETY"}}}
	equals := func(want, jq string) string { return "- {equals: " + want + ", select: {response: '" + jq + "'}}" }
	checkCalls(t, []callsTest{
		{equals("b", ".groundingMetadata.chunks[1]"), raw, "p"},
		{equals("c", ".groundingMetadata.chunks[1]"), raw, "f"},
		{equals("STOP", ".finishReason"), raw, "p"},
		{equals("x", ".nothing"), raw, "f"},
		{"- not: {equals: x, select: {response: .nothing}}", raw, "f"},
		{"- not: {equals: x}\n  select: {response: .finishReason}", raw, "p"},
		{"- all: [{equals: a, select: {response: '.groundingMetadata.chunks[0]'}}, {contains: page}]", raw, "p"},
		{equals("search", ".trace[0]"), app, "p"},
		{"- {equals: '7', select: [{response: '.trace[1]'}, {fence: json}, {jq: .n}]}", app, "p"},
		{equals("text", ".content.parts[0].text"), rated, "p"}, // rebuilt
		{equals("model", ".content.role"), rated, "p"},
		{equals("'{}'", ".content.parts[1].inlineData"), rated, "p"},
		{equals("LOW", ".safetyRatings[0].probability"), rated, "p"},
		{equals("'2'", ".safetyRatings[0].severity"), rated, "p"},
		{equals("x", ".citations[0]"), rated, "p"},
		{equals("HIGH", ".safetyRatings[0].probability"), safety, "p"},
		{equals("'true'", ".safetyRatings[0].blocked"), safety, "p"},
		{equals("x", ".content.parts[0].text"), safety, "f"},
		{equals("SAFETY", ".finishReason"), partly, "f"},
		{"- {equals: SAFETY, select: {response: .finishReason}, partial: allow}", partly, "p"},
		{equals("STOP", ".finishReason"), pieces, "p"}, // the service's own word
		{equals("get_order", ".content.parts[0].functionCall.name"), pieces, "p"},
		{equals("'7'", ".content.parts[0].functionCall.args.id"), pieces, "p"},
		{equals("'true'", ".content.parts[1].thought"), pieces, "p"},
		{equals("'{}'", ".content.parts[2].functionCall.args"), pieces, "p"},
		{"- {equals: MAX_TOKENS, select: {response: .finishReason}, candidate: 1}", two, "p"},
		{"- {equals: MAX_TOKENS, select: {response: .finishReason}, candidate: all}", two, "f"},
		{equals("x", "."), prompt, "f"},
		{"- not: {equals: x, select: {response: .}}", prompt, "f"},
		{equals("x", "def f: f; f"), raw, "u"},
		{equals("x", "error"), raw, "f"},
	})
	s := score(t, equals("c", ".groundingMetadata.chunks[1]"), raw)
	expect.Same(t, "reason", s.Reason, `expected "c", got "b" (of jq .groundingMetadata.chunks[1] of the response)`)
	huge := answer("x")
	huge.Response.Candidates[0].Raw = json.RawMessage(`{"a":"` + strings.Repeat("x", 5<<20) + `"}`)
	deep := answer("x")
	deep.Response.Candidates[0].Raw = json.RawMessage(strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000))
	checkCalls(t, []callsTest{{equals("x", ".a"), huge, "u"}, {equals("x", ".a"), deep, "u"}})
}

func TestSelectFromTheResponseReportsProblems(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		"- {equals: x, select: {response: .a, jq: .b}}":                                "8:30: one way of selecting a step: jq or response",
		"- {equals: x, select: {response: '.a['}}":                                     "8:43: not a jq expression",
		"- {equals: x, select: {response: ''}}":                                        "8:40: `jq` needs an expression",
		"- {equals: x, select: [{jq: .a}, {response: .b}]}":                            "8:41: `response` reads the whole answer",
		"- {not: {equals: x, select: {response: .b}}, select: {jq: .a}}":               "8:36: `response` reads the whole answer",
		"- {finishReason: STOP, select: {response: .a}}":                               "8:30: `finishReason` does not look at the text",
		"- {all: [{equals: x}, {equals: y, select: {jq: .c}}], select: {response: .}}": "",
	} {
		checkReported(t, entry, want, reported(entry, suite.Options{}, nil))
	}
	checkReported(t, "untrusted", "8:40: in a suite that is not trusted, `jq` only takes paths",
		reported("- {equals: x, select: {response: '. + .'}}", suite.Options{Untrusted: true}, nil))
}

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
		"- {equals: x, select: {}}":                        "`select` needs jq, json, regex, fence, without or response",
		"- {equals: x, select: {json: [first]}}":           "expected",
		"- {equals: x, select: {json: first, group: 1}}":   "`group` goes with `regex`",
		"- {finishReason: STOP, select: {json: first}}":    "does not look at the text",
		"- {equals: x, select: [{json: first}, {jq: ''}]}": "`jq` needs an expression",
	} {
		expect.Contains(t, entry, strings.Join(problemLines(entry, fstest.MapFS{}), "\n"), want)
	}
}
