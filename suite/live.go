package suite

import (
	"math"
	"slices"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/yaml"
)

// TurnPick says which turns of a live chat a scorer looks at. The zero TurnPick means the default: the answer of the last
// turn, at the cost of the whole chat.
type TurnPick struct {
	which whichTurns
	Pos   diag.Pos
}

// whichTurns is the number of a turn, counted from 1, or one of the values below.
type whichTurns int

const (
	noTurns   whichTurns = 0
	lastTurn  whichTurns = -1
	everyTurn whichTurns = -2
)

// Given reports whether turns were chosen.
func (c TurnPick) Given() bool { return c.which != noTurns }

// Number returns the number of the chosen turn, counted from 1. ok is false when a word chooses turns, or nothing does.
func (c TurnPick) Number() (n int, ok bool) { return max(0, int(c.which)), c.which > 0 }

// All reports whether all answered turns are chosen. If not, and there is no Number, the last one is.
func (c TurnPick) All() bool { return c.which == everyTurn }

func turnPick(n yaml.Node) TurnPick {
	picked := TurnPick{Pos: n.Pos()}
	switch {
	case n.IsZero():
		return TurnPick{}
	case n.IsNumber():
		picked.which = whichTurns(n.Int(1, math.MaxInt16))
		return picked
	}
	switch word := n.Str(); {
	case word == "all":
		picked.which = everyTurn
	case word == "last":
		picked.which = lastTurn
	case n.IsScalar():
		n.Errorf("last, all, or a number from 1", "`%s` is not a choice of turns", word)
	}
	return picked
}

func (p *Prompt) beginsWithImage() bool {
	first := Prompt{turns: p.turns[:1]}
	return first.hasImage()
}

func (l *loader) checkTurns(c *Case, arm Arm) {
	if slices.Contains(l.broken, arm.Prompt) {
		return
	}
	for _, sc := range c.ScorersFor(arm) {
		for _, t := range sc.Needs.Turns {
			if number, ok := t.Number(); ok {
				l.checkTurn(t.Pos, number, arm)
			} else if !slices.ContainsFunc(l.arms, func(a Arm) bool { return a.Matches(sc.Arms) && a.Prompt.Live }) {
				l.diags.Errorf(
					t.Pos, "add `live: true` to a prompt with turns, or remove `turn`",
					"no arm of this scorer is a live chat, so there are no turns to choose from",
				)
			}
		}
	}
}

func (l *loader) checkTurn(at diag.Pos, number int, arm Arm) {
	p, name := arm.Prompt, arm.Prompt.Name
	switch {
	case !p.Live:
		l.diags.Errorf(
			at, "narrow `arms` of the scorer, or add `live: true` to the prompt",
			"the prompt `%s` is not a live chat, so it has no turn %d", name, number,
		)
	case number > len(p.turns):
		l.diags.Errorf(
			at, "narrow `arms` of the scorer, or name an earlier turn", "the live chat `%s` has %s, and this names turn %d",
			name, diag.Count(len(p.turns), "turn"), number,
		)
	}
}
