package scorers_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/scorers"
)

// FuzzToolCalls holds that no call makes a scorer fail, that reasons are one line, and that looser rules pass
// whatever stricter ones do. Arguments which are no JSON object match nothing but names.
func FuzzToolCalls(f *testing.F) {
	for _, s := range hostile.Strings() {
		f.Add("f", `{"a": "`+s+`"}`, s)
		f.Add(s, s, `{"a":1}`)
	}
	f.Add("f", `{"a": 1, "b": [1, {"c": null}]}`, `{"a":1.0}`)
	f.Add("f", `{"a": 1e999, "a": 1}`, `{"a":0.1e1}`)
	f.Add("f", "null", "")
	passes := map[string]*scorers.Compiled{}
	for _, mode := range []string{"exact", "unordered", "inOrder", "superset", "subset"} {
		for _, args := range []string{"exact", "subset", "ignore"} {
			rule := ", mode: " + mode + ", args: " + args
			passes[mode+" "+args] = compile(f, toolCalls(rule, "name: f, args: {a: 1}", "name: f, args: {b: [1, {c: null}]}"))
		}
	}
	others := []*scorers.Compiled{
		compile(f, "- contains: x"), compile(f, "- expr: len(calls) == 2 and calls[0].args?.a == 1"), compile(f, "- toolCalls: none"),
		compile(f, "- length: {min: 1}\n  select: {response: '.content.parts[].functionCall.args'}"),
	}
	f.Fuzz(func(t *testing.T, name, first, second string) {
		c := eval.Candidate{FinishReason: "TOOL_CALLS"}
		for _, args := range []string{first, second} {
			c.Pieces = append(c.Pieces, eval.CallPiece{Call: &eval.FunctionCall{Name: name, Args: json.RawMessage(args)}})
		}
		a := &scorers.Answer{Response: &eval.Response{Candidates: []eval.Candidate{c}}}
		passed := map[string]bool{}
		for rule, scorer := range passes {
			passed[rule] = onOneLine(t, scorer, a).Passed()
		}
		for _, scorer := range others {
			onOneLine(t, scorer, a)
		}
		for _, rule := range [][2]string{
			{"exact exact", "exact subset"},
			{"exact exact", "unordered exact"},
			{"unordered subset", "superset subset"},
			{"unordered exact", "subset exact"},
			{"inOrder subset", "superset subset"},
			{"superset subset", "superset ignore"},
		} {
			if passed[rule[0]] && !passed[rule[1]] {
				t.Errorf("%q with %q and %q passes in %s, want it to pass in %s", name, first, second, rule[0], rule[1])
			}
		}
		if !isObject(first) && passed["subset subset"] {
			t.Errorf("%q: got a match of what is no JSON object, want none", first)
		}
	})
}

// isObject: null and nothing at all are no arguments.
func isObject(args string) bool {
	var object map[string]json.RawMessage
	return args == "" || json.Unmarshal([]byte(args), &object) == nil
}

func onOneLine(t *testing.T, c *scorers.Compiled, a *scorers.Answer) eval.Score {
	t.Helper()
	s, err := c.Score(a)
	if err != nil || s.Reason == "" || strings.ContainsAny(s.Reason, "\n\r\x00\x1b") {
		t.Errorf("%q (%v), want a reason on one line", s.Reason, err)
	}
	return s
}
