package suite

import (
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
)

// chat reads a list of turns: user and model alternate, and the user has the last one. A live chat lists only the user's.
func (l *loader) chat(n yaml.Node, live bool) []turn {
	c := chat{loader: l, live: live}
	items, keys := n.Seq(), turnBlock().Names()
	for _, item := range items {
		m := item.Map(keys...)
		if !item.IsMapping() {
			continue
		}
		if m.Len() != 1 {
			item.Errorf("one list item a turn: `- user: ...`", "a turn is one of user and model, found %d keys", m.Len())
			continue
		}
		for e := range m.Entries() {
			c.read(e)
		}
	}
	switch {
	case len(items) == 0 && n.IsSequence():
		n.Errorf("such as `- user: Hello`", "there are no turns")
	case c.last() == eval.RoleModel && !c.unknown:
		items[len(items)-1].Errorf("end with the turn that the model shall answer", "the last turn is the user's")
	}
	return c.turns
}

type chat struct {
	*loader
	live    bool
	turns   []turn
	unknown bool // the last role is invalid, and was reported
}

func (c *chat) last() string {
	if len(c.turns) == 0 {
		return ""
	}
	return c.turns[len(c.turns)-1].role
}

func (c *chat) read(e yaml.Entry) {
	role := e.Name()
	if role != eval.RoleUser && role != eval.RoleModel {
		c.unknown = true
		return
	}
	if !c.fits(e, role) {
		return
	}
	t := turn{role: role}
	if e.Value.IsSequence() {
		t.parts = c.parts(e.Value)
	} else {
		t.parts = []part{c.textPart(e.Value)}
	}
	c.turns = append(c.turns, t)
}

// fits checks that a role is next in turn, and in a live chat that it is the user's.
func (c *chat) fits(e yaml.Entry, role string) bool {
	if c.live {
		if role == eval.RoleModel {
			e.Key.Errorf("remove it: the model's own reply comes there", "a live chat lists the turns of the user alone")
		}
		return role == eval.RoleUser
	}
	if c.last() == role {
		e.Key.Errorf(
			"join the two, or add the turn between them", "turns alternate between user and model; this is the second `%s` in a row", role,
		)
	}
	if len(c.turns) == 0 && role == eval.RoleModel {
		e.Key.Errorf("begin with `- user: ...`", "the first turn is the user's")
	}
	return true
}
