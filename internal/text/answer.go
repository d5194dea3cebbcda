package text

import (
	"encoding/json"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
)

// Bounds of an answer's calls in a report.
const (
	maxCalls = 20
	maxArgs  = 300 // bytes of the arguments of one call
)

// Answer returns the first candidate of a response as text: its text, and a line for each call. It returns
// "" without either.
func Answer(r *eval.Response) string {
	if len(r.Candidates) == 0 {
		return ""
	}
	return Candidate(&r.Candidates[0])
}

// Candidate returns the text of a candidate, and a line for each call.
func Candidate(c *eval.Candidate) string {
	var lines []string
	if c.Text != "" {
		lines = append(lines, c.Text)
	}
	return strings.Join(append(lines, CallLines(c.FunctionCalls())...), "\n")
}

// CallLines returns lines of the form `calls NAME ARGUMENTS`. Beyond maxCalls, one line counts the rest.
func CallLines(calls []eval.FunctionCall) []string {
	var out []string
	for i := range calls[:min(len(calls), maxCalls)] {
		out = append(out, "calls "+Call(&calls[i], maxArgs))
	}
	if more := len(calls) - maxCalls; more > 0 {
		out = append(out, "and "+diag.Count(more, "more call"))
	}
	return out
}

// Call returns a call on one line. most bounds the arguments, in bytes.
func Call(c *eval.FunctionCall, most int) string {
	if len(c.Args) == 0 {
		return c.Name
	}
	return c.Name + " " + short(c.Args, most)
}

// short cuts JSON to a number of bytes.
func short(data json.RawMessage, most int) string {
	if len(data) <= most {
		return string(data)
	}
	return CutText(string(data), most) + "..."
}
