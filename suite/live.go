package suite

import (
	"math"
	"slices"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/yamlnode"
)

// TurnPick says which turns of a live chat a scorer looks at. The zero TurnPick is none in particular: the answer is that of the
// last turn, and what it cost is what the whole chat cost.
type TurnPick struct {
	Number int  // from 1; 0: none
	Last   bool // the last one that was answered
	All    bool // all that were answered
	Pos    diag.Pos
}

// Given reports whether turns were chosen.
func (c TurnPick) Given() bool { return c.Number > 0 || c.Last || c.All }

func turnPick(n yamlnode.Node) TurnPick {
	picked := TurnPick{Pos: n.Pos()}
	switch {
	case n.IsZero():
		return TurnPick{}
	case n.IsNumber():
		picked.Number = n.Int(1, math.MaxInt16)
		return picked
	}
	switch word := n.Str(); {
	case word == "all":
		picked.All = true
	case word == "last":
		picked.Last = true
	case n.IsScalar():
		n.Errorf("last, all, or a number from 1", "`%s` is not a choice of turns", word)
	}
	return picked
}

// beginsWithImage reports whether the first turn shows an image.
func (p *Prompt) beginsWithImage() bool {
	first := Prompt{turns: p.turns[:1]}
	return first.hasImage()
}

// checkTurns reports scorers that name a turn which the arm does not have.
func (l *loader) checkTurns(c *Case, arm Arm) {
	if slices.Contains(l.broken, arm.Prompt) {
		return
	}
	for _, sc := range c.ScorersFor(arm) {
		for _, t := range sc.Needs.Turns {
			if t.Number > 0 {
				l.checkTurn(t, arm)
			} else if !slices.ContainsFunc(l.arms, func(a Arm) bool { return a.Matches(sc.Arms) && a.Prompt.Live }) {
				l.diags.Errorf(
					t.Pos, "add `live: true` to a prompt with turns, or remove `turn`",
					"no arm of this scorer is a live chat, so that there are no turns to choose from",
				)
			}
		}
	}
}

// checkTurn checks that a prompt has the turn of a number.
func (l *loader) checkTurn(t TurnPick, arm Arm) {
	p, name := arm.Prompt, arm.Prompt.Name
	switch {
	case !p.Live:
		l.diags.Errorf(
			t.Pos, "narrow `arms` of the scorer, or add `live: true` to the prompt",
			"the prompt `%s` is no live chat, so that it has no turn %d", name, t.Number,
		)
	case t.Number > len(p.turns):
		l.diags.Errorf(
			t.Pos, "narrow `arms` of the scorer, or name an earlier turn", "the live chat `%s` has %s, and this names turn %d",
			name, diag.Count(len(p.turns), "turn"), t.Number,
		)
	}
}
