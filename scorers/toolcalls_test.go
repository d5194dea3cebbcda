package scorers_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// calling is an answer that consists of tool calls, each written as name and arguments: `get_order {"id": 7}`.
func calling(calls ...string) *scorers.Answer {
	return &scorers.Answer{Response: &eval.Response{Candidates: []eval.Candidate{candidate(calls...)}}}
}

func candidate(calls ...string) eval.Candidate {
	c := eval.Candidate{FinishReason: "TOOL_CALLS", VendorReason: "STOP"}
	for _, call := range calls {
		name, args, _ := strings.Cut(call, " ")
		c.Pieces = append(c.Pieces, eval.CallPiece{Call: &eval.FunctionCall{Name: name, Args: json.RawMessage(args)}})
	}
	return c
}

// looping is an answer of several steps: each but the last was given results; the last is a text.
func looping(text string, steps ...[]string) *scorers.Answer {
	a := &scorers.Answer{}
	for _, calls := range steps {
		t := eval.AnsweredCall{Response: eval.Response{Candidates: []eval.Candidate{candidate(calls...)}}}
		for range calls {
			t.Results = append(t.Results, eval.CallResult{Name: "x", Text: "ok"})
		}
		a.Calls = append(a.Calls, t)
	}
	last := eval.AnsweredCall{Response: eval.Response{Candidates: []eval.Candidate{{Text: text, FinishReason: "STOP"}}}}
	a.Calls = append(a.Calls, last)
	a.Response = &a.Calls[len(a.Calls)-1].Response
	return a
}

// toolCalls is a scorer that lists calls, each as a flow mapping without its braces.
func toolCalls(options string, calls ...string) string {
	listed := make([]string, len(calls))
	for i, c := range calls {
		listed[i] = "{" + c + "}"
	}
	return "- toolCalls: {calls: [" + strings.Join(listed, ", ") + "]" + options + "}"
}

type callsTest struct {
	entry string
	a     *scorers.Answer
	want  string
}

func checkCalls(t *testing.T, tests []callsTest) {
	t.Helper()
	for _, test := range tests {
		if s := score(t, test.entry, test.a); letter(s) != test.want {
			t.Errorf("%s: %s (%s), want %s", test.entry, letter(s), s.Reason, test.want)
		}
	}
}

func TestEachModeOfToolCallsTakesItsCalls(t *testing.T) {
	t.Parallel()
	const a, b, c = "name: a", "name: b", "name: c"
	ab, aba := calling("a", "b"), calling("a", "b", "a")
	for _, test := range []struct {
		listed []string
		got    *scorers.Answer
		want   string // exact, unordered, inOrder, superset, subset
	}{
		{[]string{a}, calling("a"), "ppppp"},
		{[]string{a}, answer("no call"), "ffffp"},
		{[]string{a}, calling("b"), "fffff"},
		{[]string{a, b}, ab, "ppppp"},
		{[]string{b, a}, ab, "fpfpp"},
		{[]string{a}, ab, "ffppf"},
		{[]string{b}, ab, "ffppf"},
		{[]string{a, b, c}, ab, "ffffp"},
		{[]string{c, b, a}, ab, "ffffp"},
		{[]string{a, a}, aba, "ffppf"},
		{[]string{a, b}, aba, "ffppf"}, // calls are multisets
		{[]string{b, b}, aba, "fffff"},
		{[]string{a, a, b}, aba, "fpfpp"},
		{[]string{a, b, a}, aba, "ppppp"},
		{[]string{a, b, a, b}, aba, "ffffp"},
		{[]string{a, b}, looping("done", []string{"a"}, []string{"b"}), "ppppp"},
		{[]string{a, b}, looping("done", []string{"a", "b"}), "ppppp"},
		{[]string{b}, looping("done", []string{"a"}, []string{"b"}), "ffppf"},
		{[]string{a}, looping("done"), "ffffp"},
	} {
		got := ""
		for _, mode := range []string{"exact", "unordered", "inOrder", "superset", "subset"} {
			got += letter(score(t, toolCalls(", mode: "+mode, test.listed...), test.got))
		}
		expect.Same(t, fmt.Sprintf("%v in exact, unordered, inOrder, superset, subset", test.listed), got, test.want)
		plain := letter(score(t, toolCalls("", test.listed...), test.got))
		expect.Same(t, fmt.Sprintf("%v without mode, as exact", test.listed), plain, test.want[:1])
	}
}

func TestToolCallsComparesArgumentsByItsMode(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		listed, got string
		want        string // exact, subset, ignore
	}{
		{"name: f", "f", "ppp"},
		{"name: f", "f {}", "ppp"},
		{"name: f", "f null", "ppp"},
		{"name: f", `f {"a": 1}`, "fpp"},
		{"name: f, args: {}", "f", "ppp"},
		{"name: f, args: {a: 1}", `f {"a": 1}`, "ppp"},
		{"name: f, args: {a: 1}", `f {"a": 1.0}`, "ppp"},
		{"name: f, args: {a: 100}", `f {"a": 1e2}`, "ppp"},
		{"name: f, args: {a: 9007199254740993}", `f {"a": 9007199254740992}`, "ffp"},
		{"name: f, args: {a: 1}", `f {"a": "1"}`, "ffp"},
		{"name: f, args: {a: '1'}", `f {"a": 1}`, "ffp"},
		{"name: f, args: {a: 1}", `f {"b": 2, "a": 1}`, "fpp"},
		{"name: f, args: {a: 1, b: 2}", `f {"a": 1}`, "ffp"},
		{"name: f, args: {a: {b: 1}}", `f {"a": {"b": 1, "c": [2]}, "d": 3}`, "fpp"},
		{"name: f, args: {a: {b: {}}}", `f {"a": {"b": {"c": 1}}}`, "fpp"},
		{"name: f, args: {a: [1, 2]}", `f {"a": [1, 2]}`, "ppp"},
		{"name: f, args: {a: [1]}", `f {"a": [1, 2]}`, "ffp"},
		{"name: f, args: {a: [2, 1]}", `f {"a": [1, 2]}`, "ffp"},
		{"name: f, args: {a: [{b: 1}]}", `f {"a": [{"b": 1, "c": 2}]}`, "ffp"}, // lists are compared item by item
		{"name: f, args: {a: null}", `f {"a": null}`, "ppp"},
		{"name: f, args: {a: null}", `f {}`, "ffp"},
		{"name: f, args: {a: null}", `f {"a": false}`, "ffp"},
		{"name: f, args: {a: true}", `f {"a": true}`, "ppp"},
		{"name: f, args: {a: ''}", `f {"a": null}`, "ffp"},
		{`name: f, args: {"\u00e9": "שלום"}`, `f {"\u00e9": "\u05e9\u05dc\u05d5\u05dd"}`, "ppp"},
		{"name: f, args: {a: {}}", `f {"a": []}`, "ffp"},
		{"name: f", `f "{}"`, "ffp"}, // malformed: a text, a list, no JSON at all
		{"name: f", `f []`, "ffp"},
		{"name: f", `f 7`, "ffp"},
		{"name: f", `f {"a": `, "ffp"},
		{"name: f", `f {} {}`, "ffp"},
		{"name: f", "g {}", "fff"},
		{"name: F", "f {}", "fff"},
	} {
		got := ""
		for _, args := range []string{"exact", "subset", "ignore"} {
			got += letter(score(t, toolCalls(", args: "+args, test.listed), calling(test.got)))
		}
		expect.Same(t, fmt.Sprintf("%s and %s in exact, subset, ignore", test.listed, test.got), got, test.want)
	}
}

func TestNoToolCallsPassesOnlyWholeAnswers(t *testing.T) {
	t.Parallel()
	safety := answer("")
	safety.Response.Candidates[0].FinishReason = "SAFETY"
	prompt := &scorers.Answer{Response: &eval.Response{PromptFeedback: &eval.PromptFeedback{BlockReason: "SAFETY"}}}
	late := looping("", []string{"a"})
	late.Calls[1].Candidates[0] = eval.Candidate{FinishReason: "SAFETY"}
	a := "{calls: [{name: a}], mode: "
	checkCalls(t, []callsTest{
		{"- toolCalls: none", answer("text"), "p"},
		{"- toolCalls: none", calling("a"), "f"},
		{"- toolCalls: none", looping("text", []string{"a"}), "f"},
		{"- not: {toolCalls: none}", calling("a"), "p"},
		{"- not: {toolCalls: none}", answer("text"), "f"},
		{"- not: {toolCalls: " + a + "superset}}", answer("text"), "p"},
		{"- not: {toolCalls: " + a + "superset}}", calling("b"), "p"},
		// what else would have been called is not known of a block
		{"- toolCalls: none", safety, "f"},
		{"- toolCalls: none", prompt, "f"},
		{"- not: {toolCalls: " + a + "superset}}", safety, "f"},
		{"- not: {toolCalls: " + a + "superset}}", prompt, "f"},
		{"- not: {toolCalls: none}", safety, "f"},
		{"- not: {toolCalls: none}", late, "p"},
		{"- toolCalls: none", late, "f"},
		{"- toolCalls: " + a + "superset}", late, "p"},
		{"- toolCalls: " + a + "inOrder}", late, "p"},
		{"- toolCalls: " + a + "exact}", late, "f"},
		{"- not: {toolCalls: " + a + "exact}}", late, "f"},
		{"- toolCalls: " + a + "subset}", late, "f"},
		{"- not: {toolCalls: {calls: [{name: b}], mode: subset}}", late, "p"},
		{"- not: {toolCalls: {calls: [{name: b}], mode: superset}}", late, "f"},
	})
}

func TestToolCallsCountsCandidatesAndTurns(t *testing.T) {
	t.Parallel()
	two := calling("a")
	two.Response.Candidates = append(two.Response.Candidates, candidate("b"))
	chat := looping("one", []string{"a"})
	chat.Calls = append(chat.Calls, looping("two", []string{"b", "c"}).Calls...)
	chat.Response = &chat.Calls[3].Response
	checkCalls(t, []callsTest{
		{toolCalls("", "name: a"), two, "p"},
		{toolCalls("", "name: b") + "\n  candidate: 1", two, "p"},
		{toolCalls(", mode: subset", "name: a") + "\n  candidate: all", two, "f"},
		{toolCalls("", "name: a") + "\n  candidate: 2", two, "f"},
		{toolCalls("", "name: a", "name: b", "name: c"), chat, "p"},
		{toolCalls("", "name: a") + "\n  turn: 1", chat, "p"},
		{toolCalls("", "name: b", "name: c") + "\n  turn: 2", chat, "p"},
		{toolCalls("", "name: b", "name: c") + "\n  turn: last", chat, "p"},
		{toolCalls("", "name: b", "name: c") + "\n  turn: all", chat, "f"},
		{"- {contains: one, turn: 1}", chat, "p"},
		{"- {contains: two, turn: 2}", chat, "p"},
		{"- {contains: two, turn: 3}", chat, "f"},
		{"- {steps: {max: 4, min: 4}}", chat, "p"},
		{"- {steps: {max: 2, min: 2}, turn: all}", chat, "p"},
		{"- all: [{steps: {max: 2}, turn: 1}, {contains: two, turn: 2}]\n  turn: 1", chat, "p"},
	})
}

func TestToolCallsReasonsNameWhatDiffers(t *testing.T) {
	t.Parallel()
	order := func(id string) string { return `get_order {"id":"` + id + `"}` }
	listed := `name: get_order, args: {id: "7"}`
	for _, test := range []struct {
		entry string
		a     *scorers.Answer
		want  string
	}{
		{toolCalls("", listed), calling(order("7")), `the tool calls are as expected: get_order({"id":"7"})`},
		{"- toolCalls: none", answer("x"), "no tool was called"},
		{"- toolCalls: none", calling(order("7")), `expected no tool call, got get_order({"id":"7"}); not expected: get_order({"id":"7"})`},
		{toolCalls("", listed), answer("x"), `expected get_order({"id":"7"}) and no others, got no tool call; missing: get_order({"id":"7"})`},
		{
			toolCalls("", listed), calling(order("8")),
			`expected get_order({"id":"7"}) and no others, got get_order({"id":"8"}); in the arguments: /id: expected "7", got "8"`,
		},
		{
			toolCalls(", args: subset", listed), calling(`get_order {"id":"8","x":1}`),
			`expected get_order({"id":"7", ...}) and no others, got get_order({"id":"8","x":1}); in the arguments: /id: expected "7", got "8"`,
		},
		{
			toolCalls(", args: ignore, mode: inOrder", "name: b", "name: a"), calling("a", "b"),
			"expected b, a in this order, got a(), b(); the order differs",
		},
		{toolCalls("", "name: b", "name: a"), calling("a", "b"), "expected b(), a() and no others, got a(), b(); the order differs"},
		{
			toolCalls(", mode: unordered", "name: a", "name: b"), calling("a", "c"),
			"expected a(), b() and no others, in any order, got a(), c(); missing: b(); not expected: c()",
		},
		{
			toolCalls("", "name: a"), calling(`a {"x":1}`),
			"expected a() and no others, got a({\"x\":1}); no arguments are listed: `args: ignore` compares names alone",
		},
		{toolCalls(", mode: superset", "name: a"), calling("b"), "expected a() among the calls, got b(); missing: a()"},
		{toolCalls(", mode: subset", "name: a"), calling("a", "b"), "expected no other calls than a(), got a(), b(); not expected: b()"},
		{
			toolCalls(", args: subset", "name: a"), calling("a []"),
			"expected a({...}) and no others, got a([]); the arguments are not a JSON object",
		},
		{toolCalls("", "name: a"), calling(`a {"x`), `expected a() and no others, got a("{\"x"); the arguments are not a JSON object`},
	} {
		s := score(t, test.entry, test.a)
		expect.Same(t, test.entry, s.Reason, test.want)
	}
	s := score(t, toolCalls("", listed, "name: b"), calling("b", order("7"), "c"))
	want := "expected: get_order({\"id\":\"7\"})\nb()\nactual:   b()\nget_order({\"id\":\"7\"})\nc()"
	expect.Same(t, "diff", s.Diff, want)
}

// An answer that consists of tool calls is an answer, but none for scorers of text.
func TestTextScorersNameTheCallsOfAnAnswerWithoutText(t *testing.T) {
	t.Parallel()
	a := calling(`get_order {"id":"7"}`, "b")
	const want = `the answer has no text: it calls get_order({"id":"7"}), b()`
	for _, entry := range []string{
		"- contains: x", "- not: {contains: x}", "- json: valid", "- not: {refusal: true}", "- expr: answer == ''", "- length: {max: 3}",
		"- {not: {contains: x}, threshold: 0}", "- judge: {rubric: It is polite.}",
	} {
		if s := score(t, entry, a); letter(s) != "f" || s.Reason != want {
			t.Errorf("%s: %s (%s), want f (%s)", entry, letter(s), s.Reason, want)
		}
	}
}

func TestStepsAndToolErrorsAreCounted(t *testing.T) {
	t.Parallel()
	a := looping("done", []string{"a", "b"}, []string{"c"})
	a.Calls[0].Results[1] = eval.CallResult{Name: "b", Text: "exit status 1\x1b[2J", Failed: true}
	checkCalls(t, []callsTest{
		{"- steps: {max: 3}", a, "p"},
		{"- steps: 3", a, "p"},
		{"- steps: {max: 2}", a, "f"},
		{"- steps: {min: 4}", a, "f"},
		{"- steps: {max: 1}", answer("x"), "p"},
		{"- steps: {max: 1}", calling("a"), "p"},
		{"- steps: {min: 2}", answer("x"), "f"},
		{"- toolErrors: {max: 0}", a, "f"},
		{"- toolErrors: {max: 1}", a, "p"},
		{"- toolErrors: 1", a, "p"},
		{"- toolErrors: {min: 2}", a, "f"},
		{"- toolErrors: {max: 0}", answer("x"), "p"},
	})
	want := `1 tool error, expected at most 0; b: "exit status 1\x1b[2J"`
	expect.Same(t, "reason", score(t, "- toolErrors: {max: 0}", a).Reason, want)
}

func TestToolCallsProblemsAreReported(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		"- toolCalls: nothing":                               "8:20: `nothing` is not known here",
		"- toolCalls:":                                       "8:19: `toolCalls` needs an argument",
		"- toolCalls: [a]":                                   "8:20: expected a mapping",
		"- toolCalls: {mode: exact}":                         "8:20: the key `calls` is missing",
		"- toolCalls: {calls: []}":                           "8:28: `toolCalls` needs at least one call",
		"- toolCalls: {calls: [a]}":                          "8:29: expected a mapping",
		"- toolCalls: {calls: [{name: a, arg: {}}]}":         "8:39: unknown key `arg`",
		"- toolCalls: {calls: [{args: {}}]}":                 "8:29: the key `name` is missing",
		"- toolCalls: {calls: [{name: ''}]}":                 "8:36: the name of a tool is empty",
		"- toolCalls: {calls: [{name: a, args: [1]}]}":       "8:45: expected a mapping",
		"- toolCalls: {calls: [{name: a}], mode: inorder}":   "8:47: `inorder` is not known here",
		"- toolCalls: {calls: [{name: a}], args: some}":      "8:47: `some` is not known here",
		"- toolCalls: {calls: [{name: a}], order: any}":      "8:41: unknown key `order`",
		"- {toolCalls: none, select: {jq: .a}}":              "8:27: `toolCalls` does not look at the text",
		"- steps: {}":                                        "8:16: `steps` needs max or min",
		"- steps: {max: 1, min: 2}":                          "8:22: `max` is below `min`",
		"- steps: many":                                      "8:16: expected a whole number",
		"- toolErrors: {max: -1}":                            "8:27: -1 is out of range",
		"- {steps: 1, partial: allow}":                       "8:20: `steps` does not look at the text",
		"- toolCalls: {calls: [{name: a, args: {n: 0x10}}]}": "8:49: `0x10` is not a number that JSON knows",
	} {
		checkReported(t, entry, want, reported(entry, suite.Options{}, nil))
	}
}

// Templates in names and arguments are filled in as texts, as those of `json: {equals}` are.
func TestToolCallsTakesTemplates(t *testing.T) {
	t.Parallel()
	entry := "- toolCalls: {calls: [{name: '{{.tool}}', args: {id: '{{.id}}', deep: {l: ['no. {{.id}}']}}}]}"
	s, diags := loaded(strings.Replace(plainText(entry), "    scorers:", "    vars: {tool: get_order, id: '4711'}\n    scorers:", 1))
	got, err := onlyOf(t, entry, s, diags).Score(calling(`get_order {"id":"4711","deep":{"l":["no. 4711"]}}`))
	if err != nil || !got.Passed() {
		t.Errorf("%v (%v), want a pass", got.Reason, err)
	}
}

// The service's own word matches as well, so that suites from before mean what they meant.
func TestFinishReasonMatchesTheWordOfTheServiceToo(t *testing.T) {
	t.Parallel()
	called, text := calling("a"), answer("x")
	checkCalls(t, []callsTest{
		{"- finishReason: TOOL_CALLS", called, "p"},
		{"- finishReason: STOP", called, "p"},
		{"- finishReason: [MAX_TOKENS, TOOL_CALLS]", called, "p"},
		{"- finishReason: MAX_TOKENS", called, "f"},
		{"- not: {finishReason: STOP}", called, "f"},
		{"- finishReason: TOOL_CALLS", text, "f"},
		{"- finishReason: STOP", text, "p"},
	})
	both := "finish reason TOOL_CALLS (the service says STOP), expected SAFETY"
	expect.Same(t, "reason", score(t, "- finishReason: SAFETY", called).Reason, both)
}
