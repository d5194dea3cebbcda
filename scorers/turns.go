package scorers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/suite"
)

// overTurns applies look to the chosen turns of a live chat: to one, or to all answered ones, where the worst
// finding counts. Usage, timing and request are then those of the turn. Without a choice it applies look to
// the answer.
func overTurns(picked suite.TurnPick, a *Answer, look func(*Answer) Finding) Finding {
	whole := cmp.Or(a.chat, a)
	ends := turnEnds(whole)
	answered := len(ends)
	number, numbered := picked.Number()
	switch {
	case !picked.Given() || answered == 0 && !numbered: // an arm without a live chat has one answer
		return look(a)
	case number > answered:
		return neverAnswered(number, answered, whole.Calls)
	case numbered:
		return atTurn(number, ends, a, look)
	}
	worst := atTurn(answered, ends, a, look)
	if picked.All() {
		for k := answered - 1; k > 0; k-- {
			if f := atTurn(k, ends, a, look); !worse(worst, f) {
				worst = f // the first of equals
			}
		}
	}
	return worst
}

// turnEnds are the indexes in Calls after the last step of each user turn; nil for an arm without a live chat.
func turnEnds(a *Answer) []int {
	if a.Request != nil && !a.Request.Live {
		return nil
	}
	var ends []int
	for i := range a.Calls {
		if a.Calls[i].Results == nil || i == len(a.Calls)-1 {
			ends = append(ends, i+1)
		}
	}
	return ends
}

// atTurn scores one user turn, and names it in the reason.
func atTurn(k int, ends []int, a *Answer, look func(*Answer) Finding) Finding {
	first, end := 0, ends[k-1]
	if k > 1 {
		first = ends[k-2]
	}
	whole := cmp.Or(a.chat, a)
	one := *a
	one.chat, one.earlier, one.Calls = whole, whole.Calls[:first:first], whole.Calls[first:end:end]
	last := &one.Calls[len(one.Calls)-1]
	one.Response, one.Usage, one.Timing = &last.Response, eval.Usage{Extra: one.Calls[0].Usage.Extra}, one.Calls[0].Timing
	for i := range one.Calls {
		if one.Usage.Add(&one.Calls[i].Usage); i > 0 {
			one.Timing.Add(&one.Calls[i].Timing)
		}
	}
	if whole.Request != nil {
		one.Request = new(sentBefore(whole.Request, len(whole.Calls)-end))
	}
	f := look(one.pick(a.Index))
	f.Reason = fmt.Sprintf("turn %d: %s", k, f.Reason)
	if f.state == noScore {
		f.why = f.Reason
	}
	return f
}

// sentBefore returns the request of an earlier step. Each step added an answer and the reply to it.
func sentBefore(r *eval.Request, steps int) eval.Request {
	out := *r
	if sent := len(r.Contents) - 2*steps; sent > 0 {
		out.Contents = r.Contents[:sent:sent]
	}
	return out
}

// neverAnswered is a failure that `not:` does not turn into a pass: there was no answer to check.
func neverAnswered(k, answered int, turns []eval.AnsweredCall) Finding {
	if n := len(turns); n > 0 && turns[n-1].Block() != "" {
		return Uncheckable("turn %d was never answered: turn %d was blocked (%s)", k, answered, turns[n-1].Block())
	}
	return Uncheckable("turn %d was never answered", k)
}

// conversation is the text of a conversation: a single turn verbatim, several with their roles. Tool calls and
// results are left out.
func conversation(contents []eval.Content) string {
	if len(contents) == 1 {
		return turnText(contents[0])
	}
	var turns []string
	for i, c := range contents {
		if holdsResults(c) || i+1 < len(contents) && holdsResults(contents[i+1]) {
			continue
		}
		turns = append(turns, cmp.Or(c.Role, eval.RoleUser)+": "+turnText(c))
	}
	return strings.Join(turns, "\n\n")
}

func turnText(c eval.Content) string {
	var texts []string
	for _, p := range c.Parts {
		text := eval.TextOf(p)
		if _, ok := p.(eval.ImagePart); ok {
			text = "[an image]"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "\n")
}

// holdsResults reports a turn of tool results, which comes from the suite and not from the user.
func holdsResults(c eval.Content) bool {
	return slices.ContainsFunc(c.Parts, func(p eval.Part) bool { _, ok := p.(eval.ResultPart); return ok })
}

// lastOfUser is the text of the last user turn, "" when there is none.
func lastOfUser(contents []eval.Content) string {
	for _, c := range slices.Backward(contents) {
		if c.Role != eval.RoleModel && !holdsResults(c) {
			return turnText(c)
		}
	}
	return ""
}
