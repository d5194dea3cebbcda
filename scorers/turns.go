package scorers

import (
	"fmt"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/suite"
)

// overTurns looks at the turns of a live chat that were chosen: one, or all that were answered, of which the least counts. Usage, timing
// and request are then those of the turn. Without a pick it looks at the answer as it is.
func overTurns(picked suite.TurnPick, a *Answer, look func(*Answer) Finding) Finding {
	answered := len(a.Turns)
	number, numbered := picked.Number()
	switch {
	case !picked.Given() || answered == 0 && !numbered: // an arm that is no live chat has one answer
		return look(a)
	case number > answered:
		return neverAnswered(number, a.Turns)
	case numbered:
		return atTurn(number, a, look)
	}
	worst := atTurn(answered, a, look)
	if picked.All() {
		for k := answered - 1; k > 0; k-- {
			if f := atTurn(k, a, look); !worse(worst, f) {
				worst = f // of equals the first
			}
		}
	}
	return worst
}

// atTurn looks at one turn, which is named in the reason.
func atTurn(k int, a *Answer, look func(*Answer) Finding) Finding {
	turn := &a.Turns[k-1]
	one := *a
	one.Response, one.Usage, one.Timing = &turn.Response, turn.Usage, turn.Timing
	if sent := 2*k - 1; a.Request != nil && sent < len(a.Request.Contents) {
		request := *a.Request
		request.Contents = request.Contents[:sent:sent]
		one.Request = &request
	}
	f := look(one.pick(a.Index))
	f.Reason = fmt.Sprintf("turn %d: %s", k, f.Reason)
	if f.Unscored != "" {
		f.Unscored = f.Reason
	}
	return f
}

// neverAnswered is a failure that `not:` does not turn into a pass: there was nothing to look at.
func neverAnswered(k int, turns []eval.Turn) Finding {
	if n := len(turns); n > 0 && turns[n-1].Block() != "" {
		return without("turn %d was never answered: turn %d was blocked (%s)", k, n, turns[n-1].Block())
	}
	return without("turn %d was never answered", k)
}
