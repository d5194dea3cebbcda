// Package trialtext puts a single trial into words: its answer with its calls, its turns, its tokens, and why it did not
// pass. It also finds what of its request the suite gave. All reports use the same words; package overview has those about
// whole runs.
//
// The texts are not made safe for a terminal.
package trialtext

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/typeset"
	"github.com/evalrun/evalrun/tool"
)

// How much of an answer's calls a report shows where it has little room.
const (
	maxCalls = 20
	maxArgs  = 300 // bytes of the arguments of one
)

// Answer is the first candidate of a response in words: its text, then a line for each of its calls; "" when there is neither.
func Answer(r *eval.Response) string {
	if len(r.Candidates) == 0 {
		return ""
	}
	return Candidate(&r.Candidates[0])
}

// Candidate is the text of a candidate, then a line for each of its calls.
func Candidate(c *eval.Candidate) string {
	var lines []string
	if c.Text != "" {
		lines = append(lines, c.Text)
	}
	return strings.Join(append(lines, CallLines(c.Calls())...), "\n")
}

// CallLines are a line for each of the first calls, `calls NAME ARGUMENTS`, and one that counts the others.
func CallLines(calls []tool.Call) []string {
	var out []string
	for i := range calls[:min(len(calls), maxCalls)] {
		out = append(out, "calls "+Call(&calls[i], maxArgs))
	}
	if more := len(calls) - maxCalls; more > 0 {
		out = append(out, "and "+diag.Count(more, "more call"))
	}
	return out
}

// Call is a call in a line: its name, and its arguments up to a number of bytes.
func Call(c *tool.Call, most int) string {
	if len(c.Args) == 0 {
		return c.Name
	}
	return c.Name + " " + short(c.Args, most)
}

// short is JSON up to a number of bytes, cut with a mark.
func short(data json.RawMessage, most int) string {
	if len(data) <= most {
		return string(data)
	}
	return typeset.CutText(string(data), most) + "..."
}

// Finish is the finish reason of a candidate, with the service's own word where that is another: "TOOL_CALLS (STOP)".
func Finish(c *eval.Candidate) string {
	if c.VendorReason == "" || c.VendorReason == c.FinishReason {
		return c.FinishReason
	}
	return fmt.Sprintf("%s (%s)", c.FinishReason, c.VendorReason)
}

// Tokens is the usage of a trial in words, such as "9 prompt (4 cached) + 5 output (3 reasoning) = 14 (service)".
func Tokens(r *eval.Result) string {
	u, source := r.Usage, string(r.Usage.Source)
	if r.Request != nil && r.Request.App != nil && r.Usage.Source == eval.UsageService {
		source = "application"
	}
	part := func(n int, what string, of int, kind string) string {
		text := fmt.Sprintf("%d %s", n, what)
		if of > 0 {
			text += fmt.Sprintf(" (%d %s)", of, kind)
		}
		return text
	}
	text := part(u.PromptTokens, "prompt", u.CachedTokens, "cached")
	if u.ToolUseTokens > 0 {
		text += fmt.Sprintf(" + %d tool use", u.ToolUseTokens)
	}
	text += " + " + part(u.OutputTokens, "output", u.ReasoningTokens, "reasoning")
	return fmt.Sprintf("%s = %d (%s)", text, u.TotalTokens, source)
}
