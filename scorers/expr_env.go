package scorers

import (
	"encoding/json"

	"github.com/evalrun/evalrun/eval"
)

// exprEnv are the names that an expression can use.
type exprEnv struct {
	Answer       string            `expr:"answer"`
	Candidates   []exprCandidate   `expr:"candidates"`
	Vars         map[string]any    `expr:"vars"`
	Usage        exprUsage         `expr:"usage"`
	Timing       exprTiming        `expr:"timing"`
	Safety       map[string]string `expr:"safety"`
	FinishReason string            `expr:"finishReason"`
	Blocked      bool              `expr:"blocked"`
	Calls        []exprCall        `expr:"calls"`
	Steps        int               `expr:"steps"`
	Parts        []exprPart        `expr:"parts"`
}

type exprCandidate struct {
	Text          string       `expr:"text"`
	FinishReason  string       `expr:"finishReason"`
	SafetyRatings []exprRating `expr:"safetyRatings"`
}

type exprRating struct {
	Category    string `expr:"category"`
	Probability string `expr:"probability"`
	Blocked     bool   `expr:"blocked"`
}

type exprUsage struct {
	PromptTokens    int    `expr:"promptTokens"`
	OutputTokens    int    `expr:"outputTokens"`
	TotalTokens     int    `expr:"totalTokens"`
	CachedTokens    int    `expr:"cachedTokens"`
	ReasoningTokens int    `expr:"reasoningTokens"`
	ToolUseTokens   int    `expr:"toolUseTokens"`
	Source          string `expr:"source"`
}

type exprTiming struct {
	LatencyMs    float64 `expr:"latencyMs"`
	FirstTokenMs float64 `expr:"firstTokenMs"`
	QueuedMs     float64 `expr:"queuedMs"`
	Attempts     int     `expr:"attempts"`
}

// exprCall is a tool call. Args is nil when the arguments are not a JSON object.
type exprCall struct {
	Name string         `expr:"name" json:"name"`
	Args map[string]any `expr:"args" json:"args"`
	// Result is what the model got for the call, "" where that is not known; Failed says that it was an error, and Status says ok, failed,
	// or none without a result.
	Result string `expr:"result" json:"result,omitempty"`
	Failed bool   `expr:"failed" json:"failed,omitempty"`
	Status string `expr:"status" json:"status,omitempty"`
}

// exprPart is a piece of an answer; the fields of other types are "" or nil.
type exprPart struct {
	Text      string `expr:"text"`
	Reasoning string `expr:"reasoning"`
	Call      any    `expr:"call"` // a mapping with name and args
	Other     any    `expr:"other"`
}

// newExprEnv builds the environment. It computes expensive values only when the expression uses them.
func newExprEnv(a *Answer, uses func(path ...string) bool) exprEnv {
	u := &a.Usage
	env := exprEnv{
		Vars: a.Vars.Plain(),
		Usage: exprUsage{
			u.PromptTokens, u.OutputTokens, u.TotalTokens, u.CachedTokens, u.ReasoningTokens, u.ToolUseTokens, string(u.Source),
		},
		Timing:  exprTiming{a.Timing.LatencyMs, a.Timing.FirstTokenMs, a.Timing.QueuedMs, a.Timing.Attempts},
		Safety:  map[string]string{},
		Blocked: a.Response.PromptBlock() != "",
		Steps:   a.stepCount(),
	}
	for _, c := range a.Response.Candidates {
		one := exprCandidate{Text: c.Text, FinishReason: c.FinishReason}
		for _, r := range c.SafetyRatings {
			one.SafetyRatings = append(one.SafetyRatings, exprRating{r.Category, r.Probability, r.Blocked})
		}
		env.Candidates = append(env.Candidates, one)
	}
	if c := a.Candidate; c != nil {
		env.Answer, env.FinishReason, env.Blocked = c.Text, c.FinishReason, env.Blocked || c.Block() != ""
		for _, r := range c.SafetyRatings {
			env.Safety[r.Category] = r.Probability
		}
	}
	if uses("calls") {
		for _, c := range a.answeredCalls() {
			env.Calls = append(env.Calls, exprCall{c.Name, exprArgs(c.Args), c.result.Text, c.result.Failed, c.status()})
		}
	}
	if uses("parts") {
		env.Parts = exprParts(a.Candidate)
	}
	return env
}

// exprArgs are the arguments of a call, nil when they are not a JSON object.
func exprArgs(raw json.RawMessage) map[string]any {
	if len(raw) == 0 || string(raw) == "null" { // no arguments
		return map[string]any{}
	}
	out, _ := exprValue(raw).(map[string]any)
	return out
}

// exprValue is a JSON value, with numbers that expressions can calculate with; nil when it is not JSON.
func exprValue(raw json.RawMessage) (out any) {
	if json.Unmarshal(raw, &out) == nil {
		return out
	}
	v, err := eval.ParseValue(raw) // a number that no float64 holds is a text, as in variables
	if err != nil {
		return nil
	}
	return eval.Dict{"": v}.Plain()[""]
}

// exprParts are the pieces of a candidate; a plain candidate has one, its text.
func exprParts(c *eval.Candidate) []exprPart {
	switch {
	case c == nil:
		return nil
	case len(c.Pieces) == 0 && c.Text != "":
		return []exprPart{{Text: c.Text}}
	}
	out := make([]exprPart, len(c.Pieces))
	for i, p := range c.Pieces {
		switch p := p.(type) {
		case eval.TextPiece:
			out[i].Text = p.Text
		case eval.ReasoningPiece:
			out[i].Reasoning = p.Reasoning
		case eval.CallPiece:
			out[i].Call = map[string]any{"name": p.Call.Name, "args": exprArgs(p.Call.Args)}
		case eval.OtherPiece:
			out[i].Other = exprValue(p.Other)
		}
	}
	return out
}
