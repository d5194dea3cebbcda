package scorers

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// stepCount returns the number of model calls that led to the answer: of a program, the calls that were answered.
func (a *Answer) stepCount() int {
	if !a.Request.ShowsModels() {
		return max(1, len(a.Calls))
	}
	n := 0
	for _, call := range a.modelCalls() {
		if call.Response != nil {
			n++
		}
	}
	return n
}

// modelCalls are the calls of models that the program under test made.
func (a *Answer) modelCalls() []eval.ModelCall {
	return (&eval.Result{Calls: a.Calls, Response: a.Response}).ModelCalls()
}

func (a *Answer) toolResults() (all []eval.CallResult) {
	for i := range a.Calls {
		all = append(all, a.Calls[i].Results...)
	}
	for _, call := range a.modelCalls() {
		all = append(all, call.Results...)
	}
	return all
}

// toolCalls are the tool calls of all steps and turns, in order. A conversation continues with the first candidate of
// each step; the last step counts with its chosen candidate. Those of a program are the calls of the models that it called.
func (a *Answer) toolCalls() []eval.FunctionCall {
	var out []eval.FunctionCall
	if a.Request.ShowsModels() {
		for _, call := range a.modelCalls() {
			out = append(out, call.FunctionCalls()...)
		}
		return out
	}
	for i := range len(a.Calls) - 1 {
		if c := a.Calls[i].Candidates; len(c) > 0 {
			out = append(out, c[0].FunctionCalls()...)
		}
	}
	if a.Candidate != nil {
		out = append(out, a.Candidate.FunctionCalls()...)
	}
	return out
}

// answeredCall is a tool call with its result, zero where that is not known.
type answeredCall struct {
	eval.FunctionCall
	result   eval.CallResult
	answered bool
}

func (c *answeredCall) status() string {
	switch {
	case !c.answered:
		return "none"
	case c.result.Failed:
		return "failed"
	}
	return "ok"
}

// answeredCalls are toolCalls with their results, which are in the order of the calls of a step.
func (a *Answer) answeredCalls() (out []answeredCall) {
	steps := [][]eval.CallResult{}
	counts := []int{}
	if a.Request.ShowsModels() {
		for _, call := range a.modelCalls() {
			steps, counts = append(steps, call.Results), append(counts, len(call.FunctionCalls()))
		}
	} else {
		for i := range a.Calls {
			steps, counts = append(steps, a.Calls[i].Results), append(counts, len(a.Calls[i].FunctionCalls()))
		}
	}
	calls := a.toolCalls()
	for _, one := range calls {
		out = append(out, answeredCall{FunctionCall: one})
	}
	at := 0
	for i, results := range steps {
		for k := range min(counts[i], len(results), max(0, len(out)-at)) {
			out[at+k].result, out[at+k].answered = results[k], true
		}
		at += counts[i]
	}
	return out
}

// cutShort is the finding when further calls may be missing: nothing came, or a block ended the answer.
func cutShort(a *Answer) (Finding, bool) {
	if a.Candidate == nil {
		return noText(a)
	}
	if block := a.Candidate.Block(); block != "" && !a.Partial {
		return Uncheckable("the answer was blocked (%s), so that its tool calls are not complete", block), true
	}
	return Finding{}, false
}

// readCall is a tool call with its arguments as a JSON value, numbers as written.
type readCall struct {
	name string
	args any // not an object: malformed
}

func readCalls(calls []eval.FunctionCall) []readCall {
	out := make([]readCall, len(calls))
	for i, c := range calls {
		out[i] = readCall{c.Name, readArgs(c.Args)}
	}
	return out
}

// readArgs reads the arguments of a call. No arguments are an empty object, and invalid JSON stays a text.
func readArgs(raw json.RawMessage) any {
	if len(raw) == 0 {
		return map[string]any{}
	}
	value, problem := parseJSON(string(raw))
	switch {
	case problem != "":
		return string(raw)
	case value == nil:
		return map[string]any{}
	}
	return value
}

func (c readCall) malformed() bool {
	_, ok := c.args.(map[string]any)
	return !ok
}

type callView struct {
	bytes  int  // limit for the arguments
	noArgs bool // show only the name
	open   bool // other arguments are allowed
}

var inReason = callView{bytes: maxQuoted}

// call shows a call as code: get_order({"id":"7"}).
func (s callView) call(c readCall) string {
	name := visibleText(c.name)
	if s.noArgs {
		return name
	}
	args := ""
	if object, ok := c.args.(map[string]any); !ok || len(object) > 0 {
		args = s.json(c.args)
	}
	switch {
	case s.open && args == "":
		args = "{...}"
	case s.open && strings.HasSuffix(args, "}"):
		args = args[:len(args)-1] + ", ...}"
	}
	return name + "(" + args + ")"
}

// json shows the beginning of a value on one line, without control characters.
func (s callView) json(v any) string {
	text, err := wirejson.Marshal(v)
	if err != nil { // a value decoded from JSON always encodes
		return "..."
	}
	cut := string(text)
	if len(cut) > s.bytes {
		cut = strings.ToValidUTF8(cut[:s.bytes], "") + "..."
	}
	quoted := visible(cut)
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(quoted[1 : len(quoted)-1])
}

// lines shows one call per line, at most most of them.
func (s callView) lines(calls []readCall, most int) []string {
	var out []string
	for i, c := range calls {
		if i == most {
			return append(out, fmt.Sprintf("%d more", len(calls)-i))
		}
		out = append(out, s.call(c))
	}
	return out
}

// list shows calls on one line.
func (s callView) list(calls []readCall) string {
	if len(calls) == 0 {
		return "no tool call"
	}
	return strings.Join(s.lines(calls, maxShownCalls), ", ")
}

// maxShownCalls is how many calls a reason names.
const maxShownCalls = 5
