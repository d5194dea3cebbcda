package reports

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/text"
)

// turns writes how each turn of a live chat ended, or each step of a trial with tool calls. Texts of steps are written here;
// those of a chat are in the request, except the last, which is the answer.
func (c *caseReport) turns(r *eval.Result) {
	if len(r.Calls) == 0 {
		return
	}
	names := turnNames(r)
	heading := "turns"
	indent := plainIndent
	steps := text.HasSteps(r)
	if steps {
		heading, indent = "steps", stepIndent
	}
	c.printf("  %s\n", heading)
	for i := range r.Calls {
		t, last := &r.Calls[i], i == len(r.Calls)-1
		c.printf("    %s: %s\n", numberOf(names[i]), turnWords(t, r.Request))
		if !last || r.Response == nil { // otherwise it is the answer
			c.said(t, steps)
		}
		if !last && len(t.Candidates) > 0 { // the ratings of the last are with the answer
			c.indent = indent
			c.ratings("answer in "+names[i], t.Candidates[0].SafetyRatings)
			c.indent = plainIndent
		}
	}
}

// modelCalls writes the calls of models that the program under test made.
func (c *caseReport) modelCalls(r *eval.Result) {
	calls := r.ModelCalls()
	if len(calls) == 0 {
		if r.Request.ShowsModels() {
			c.note("  ", "warning: the program made no call through evalrun's proxy: does it read the variables with its address?")
		}
		return
	}
	c.printf("  calls of models\n")
	for i := range calls {
		one := &calls[i]
		turn := &eval.AnsweredCall{Results: one.Results, Usage: one.Usage, Timing: one.Timing}
		how := ""
		switch {
		case one.Error != nil:
			how = "error: " + diag.CleanLine(one.Error.Error())
		case one.Response != nil:
			turn.Response = *one.Response
			how = turnWords(turn, nil)
		default:
			how = fmt.Sprintf("vectors, %d tokens", one.Usage.PromptTokens)
		}
		c.printf("    %d: %s of %s: %s\n", i+1, diag.CleanLine(one.Model), diag.CleanLine(one.Service), how)
		c.said(turn, true)
	}
}

// numberOf is the number in the name of a turn or step; the heading names the type. A step of a chat has two
// numbers.
func numberOf(name string) string {
	if !strings.Contains(name, ", ") {
		_, name, _ = strings.Cut(name, " ")
	}
	return name
}

func turnWords(t *eval.AnsweredCall, r *eval.Request) string {
	how := "no answer"
	if reason := t.PromptBlock(); reason != "" {
		how = "the prompt was blocked: " + reason
	} else if len(t.Candidates) > 0 {
		how = "finish reason " + cmp.Or(finishOf(&t.Candidates[0]), "unknown")
	}
	u := t.Usage
	return fmt.Sprintf(
		"%s, %s, %s, %d + %d tokens (%s)", diag.CleanLine(how), took(&t.Timing, r),
		diag.Count(t.Timing.Attempts, "attempt"), u.PromptTokens, u.OutputTokens, diag.CleanLine(string(u.Source)),
	)
}

// said writes the pieces of a turn, its text if the request lacks it, and the suite's results for its calls.
func (c *caseReport) said(t *eval.AnsweredCall, text bool) {
	defer func(indent string, width int) { c.indent, c.label = indent, width }(c.indent, c.label)
	c.indent, c.label = stepIndent, pieceLabel
	for i := range t.Candidates[:min(1, len(t.Candidates))] {
		c.saidIn(&t.Candidates[i], text)
	}
	for i := range t.Results {
		c.result(&t.Results[i])
	}
}

func (c *caseReport) saidIn(one *eval.Candidate, whole bool) {
	if len(one.Pieces) == 0 {
		if whole && (one.Text != "" || one.Withheld != nil) {
			c.block("text", text.Kept(one.Text, one.Withheld))
		}
		return
	}
	for _, p := range one.Pieces {
		if _, isText := p.(eval.TextPiece); whole || !isText {
			c.piece("text", p)
		}
	}
}

// result writes the suite's result for a call. A failed one is marked, since the model got it as an error.
func (c *caseReport) result(r *eval.CallResult) {
	if r.Failed {
		c.painted("FAILED", text.Result(r), func(s string) string { return c.paint(text.Bad, s) })
		return
	}
	c.block("result", text.Result(r))
}

// turnNames names the turns of a trial in their order: by the user's turn in a live chat, and by the step
// if there are several. Errors use the same names.
func turnNames(r *eval.Result) []string {
	steps, chat := text.HasSteps(r), r.Request == nil || r.Request.Live
	var out []string
	turn, step := 1, 1
	for i := range r.Calls {
		switch {
		case !steps:
			out = append(out, fmt.Sprintf("turn %d", turn))
		case chat:
			out = append(out, fmt.Sprintf("turn %d, step %d", turn, step))
		default:
			out = append(out, fmt.Sprintf("step %d", step))
		}
		if step++; r.Calls[i].Results == nil {
			turn, step = turn+1, 1
		}
	}
	return out
}
