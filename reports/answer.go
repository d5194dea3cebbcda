package reports

import (
	"fmt"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/text"
)

// Columns for the labels of texts: without and with pieces of other types.
const (
	plainLabel = 5
	pieceLabel = len("reasoning")
)

// Indents inside a section, and inside a step.
const (
	plainIndent = "    "
	stepIndent  = "       "
)

// mostArgs bounds the arguments of a call that are shown, in bytes.
const mostArgs = 2000

func tested(model string, t *eval.RunTarget) string {
	if t != nil && t.App != "" {
		return "application " + t.App
	}
	return "model " + testedWords(model, t)
}

// leads lists other places where a trial can be looked up.
func leads(r *eval.Result) []string {
	var out []string
	if r.TraceID != "" {
		out = append(out, "trace id "+r.TraceID)
	}
	if r.Workspace != "" {
		out = append(out, "workspace kept in "+r.Workspace)
	}
	return out
}

// cost writes the time and tokens that are known.
func (c *caseReport) cost(r *eval.Result) {
	t, u := r.Timing, r.Usage
	if t != nil {
		c.printf("  time: %s, %s waiting, %s\n", took(t, r.Request), text.Duration(t.QueuedMs), diag.Count(t.Attempts, "attempt"))
	}
	if t != nil && t.Chunks > 0 {
		c.note(
			"  ", "stream: first text after %s, %s, at most %s apart",
			text.Duration(t.FirstTokenMs), diag.Count(t.Chunks, "chunk"), text.Duration(t.MaxGapMs),
		)
	}
	if u != nil {
		c.note("  ", "tokens: %s", tokensOf(r))
	}
}

// took is the time that the service or the application took to answer.
func took(t *eval.Timing, r *eval.Request) string {
	switch {
	case r == nil || r.App == nil:
		return text.Duration(t.LatencyMs) + " service"
	case t.LatencyMs == 0: // an echo takes no time
		return "not measured"
	}
	return text.Duration(t.LatencyMs) + " application"
}

func (c *caseReport) response(r *eval.Response) {
	if r == nil {
		return
	}
	c.printf("  answer")
	if r.ModelVersion != "" {
		c.printf(" of %s", diag.CleanLine(r.ModelVersion))
	}
	c.printf("\n")
	if reason := r.PromptBlock(); reason != "" {
		c.note("    ", "the prompt was blocked: %s", reason)
	}
	for i := range r.Candidates {
		one := &r.Candidates[i]
		if one.Text == "" && len(one.Pieces) == 0 && one.FinishReason == "" && len(one.Raw) > 0 { // the response was unreadable
			c.block("as it came", string(one.Raw))
			continue
		}
		c.candidate(fmt.Sprint(i), one)
		if finish := finishOf(one); finish != "" {
			c.note("    ", "finish reason %s", finish)
		}
		c.ratings("answer", one.SafetyRatings)
		if c.o.Verbose && len(one.Raw) > 0 {
			c.block("as it came", string(one.Raw))
		}
	}
	if r.PromptFeedback != nil {
		c.ratings("prompt", r.PromptFeedback.SafetyRatings)
	}
}

// candidate writes the text of a candidate under a label or, if it has other pieces, each piece in order.
func (c *caseReport) candidate(label string, one *eval.Candidate) {
	if len(one.Pieces) == 0 {
		c.block(label, text.Kept(one.Text, one.Withheld))
		return
	}
	defer func(width int) { c.label = width }(c.label)
	c.label = pieceLabel
	if one.Withheld != nil {
		c.block(label, text.Kept("", one.Withheld))
	}
	for i := range one.Pieces {
		c.piece(label, one.Pieces[i])
	}
}

// piece writes a part of an answer, with the model's thoughts dimmed.
func (c *caseReport) piece(label string, p eval.Piece) {
	switch p := p.(type) {
	case eval.CallPiece:
		text := text.Call(p.Call, mostArgs)
		if p.Call.ID != "" {
			text += ", id " + p.Call.ID
		}
		c.block("call", diag.CleanLine(text))
	case eval.ReasoningPiece:
		c.painted("reasoning", p.Reasoning, c.dim)
	case eval.OtherPiece:
		c.block("other", string(p.Other))
	case eval.TextPiece:
		if p.Text != "" {
			c.block(label, p.Text)
		}
	}
}

// testedWords describes a target: an application, or a model with its API version, named service, and whether
// its answers are streamed.
func testedWords(model string, t *eval.RunTarget) string {
	switch {
	case t == nil:
		return model
	case t.App != "":
		return t.App
	}
	if t.APIVersion != "" || t.Service == "" {
		model += " " + t.APIVersion
	}
	if t.Service != "" {
		model += ", service " + t.Service
	}
	if t.Stream {
		model += ", streamed"
	}
	return model
}

// finishOf returns the finish reason of a candidate. The service's own word follows if it differs:
// "TOOL_CALLS (STOP)".
func finishOf(c *eval.Candidate) string {
	if c.VendorReason == "" || c.VendorReason == c.FinishReason {
		return c.FinishReason
	}
	return fmt.Sprintf("%s (%s)", c.FinishReason, c.VendorReason)
}

// tokensOf returns the usage of a trial, such as "9 prompt (4 cached) + 5 output (3 reasoning) = 14
// (service)".
func tokensOf(r *eval.Result) string {
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
