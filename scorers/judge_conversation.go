package scorers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
)

// givenConversation introduces the material for a judge that sees the conversation.
const givenConversation = "Another system had a conversation and gave an answer, which you judge. " + shownConversation

const shownConversation = "The texts named system, user, model, " +
	"call and result are what was said and done before the answer, in this order: what the system was instructed to do, what the user said, " +
	"what the system replied, the tools that it called with their arguments, and what they returned."

// onlyCalls reports whether an answer consists of tool calls, or of those of a program's models, which a judge of the conversation can
// still judge.
func onlyCalls(a *Answer) bool {
	c := a.Candidate
	return c != nil && eval.IsBlank(c.Text) && c.Block() == "" && (len(c.FunctionCalls()) > 0 || len(a.modelCalls()) > 0)
}

// conversationParts are the messages and calls before the answer, and the answer's own calls, each in its own
// fence.
func conversationParts(a *Answer) []fencedText {
	var out []fencedText
	if a.Request != nil {
		if a.Request.System != "" {
			out = append(out, fencedText{"system", a.Request.System})
		}
		out = append(out, turnParts(a.Request.Contents, a.answeredBefore())...)
	}
	out = append(out, trajectoryParts(a)...)
	for _, p := range pieceParts(a.Candidate) {
		if p.name == "call" {
			out = append(out, p)
		}
	}
	return out
}

// answeredBefore are the model's calls before the last one, including those of earlier turns.
func (a *Answer) answeredBefore() []eval.AnsweredCall {
	return slices.Concat(a.earlier, a.Calls[:max(0, len(a.Calls)-1)])
}

// turnParts shows the turns that were sent. The last model turns are the model's own replies; those before come
// from the suite.
func turnParts(contents []eval.Content, replies []eval.AnsweredCall) []fencedText {
	ofModel := 0
	for _, c := range contents {
		if c.Role == eval.RoleModel {
			ofModel++
		}
	}
	var out []fencedText
	for _, c := range contents {
		if c.Role != eval.RoleModel {
			out = append(out, sentParts("user", c)...)
			continue
		}
		if i := len(replies) - ofModel; i >= 0 && len(replies[i].Candidates) > 0 {
			out = append(out, pieceParts(&replies[i].Candidates[0])...)
		} else {
			out = append(out, sentParts("model", c)...)
		}
		ofModel--
	}
	return out
}

// sentParts shows a turn of the suite. Files are named, not shown.
func sentParts(name string, c eval.Content) []fencedText {
	var out []fencedText
	for _, p := range c.Parts {
		switch p := p.(type) {
		case eval.ResultPart:
			out = append(out, resultPart(p.Result))
		case eval.ImagePart:
			out = append(out, fencedText{name, "[an image]"})
		case eval.DataPart:
			out = append(out, fencedText{name, fmt.Sprintf("[a file: %s]", p.Data.MIMEType)})
		case eval.RawPart:
			out = append(out, fencedText{name, string(p.Raw)})
		case eval.TextPart:
			out = append(out, fencedText{name, p.Text})
		}
	}
	return out
}

func resultPart(r *eval.CallResult) fencedText {
	said := ": "
	if r.Failed {
		said = " failed: "
	}
	return fencedText{"result", r.Name + said + r.Text}
}

// pieceParts shows a reply without the model's thoughts.
func pieceParts(c *eval.Candidate) []fencedText {
	if len(c.Pieces) == 0 {
		return []fencedText{{"model", c.Text}}
	}
	var out []fencedText
	for _, p := range c.Pieces {
		switch p := p.(type) {
		case eval.CallPiece:
			out = append(out, fencedText{"call", p.Call.Name + "(" + strings.TrimSpace(string(p.Call.Args)) + ")"})
		case eval.OtherPiece:
			out = append(out, fencedText{"model", string(p.Other)})
		case eval.TextPiece:
			if p.Text != "" {
				out = append(out, fencedText{"model", p.Text})
			}
		case eval.ReasoningPiece:
		}
	}
	return out
}
